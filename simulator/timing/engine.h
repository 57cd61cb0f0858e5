// SPDX-License-Identifier: Apache-2.0
/// The event simulation behind estimateTime. A core's scalar unit walks through the trace in its
/// order and puts each record into its pipe's queue; each pipe takes its records in order.
#pragma once

#include "simulator/timing/shared_memory.h"
#include "simulator/timing/timing_model.h"

#include <deque>
#include <queue>

namespace tilewright::ascend {

class TimingEngine {
public:
  TimingEngine(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
               const chips::AscendTiming& timing, bool startsWarm);
  TimingReport run();

private:
  static constexpr uint32_t none = OperationRef::none;
  static constexpr double timeEpsilon = 1e-7; // cycles
  static constexpr unsigned crossFlags = 18;  ///< 16 of the user; 16 and 17 are those of SyncAll

  /// From when on something could go on, and the operation, if any, that it waited for until then. What lies between
  /// the two is the scalar unit's work, or the way of a flag to another core.
  struct Reason {
    double time = 0;
    OperationRef by;
  };
  /// A flag that was set: when it can be seen, what its setting waited for, and by which core.
  struct Token : Reason {
    uint32_t core = none;
  };
  struct Queued {
    uint32_t event = 0;
    Reason issued; ///< when, and what the scalar unit had waited for before
  };
  /// What happens when an operation ends.
  struct Signal {
    Pipe to = Pipe::S;
    uint8_t id = 0;
    bool isCross = false;
    uint8_t mode = 0;
  };
  struct Running {
    uint32_t operation = none;
    bool isTransfer = false;
    double bytes = 0;    ///< of a transfer that waits for its turn
    double dataFrom = 0; ///< earliest start of its data
    bool isScheduled = false;
    bool dataRuns = false;
    bool isHit = false;  ///< L2 has what it reads
    bool isDone = false; ///< all data has arrived
    OperationRef before; ///< the one before it in its pipe
    OperationRef heldBy; ///< set if it was over before that one, and so ends with it
    std::vector<Signal> signals;
  };
  struct PipeState {
    std::deque<Queued> queue;
    Reason free;  ///< the next operation starts no earlier, because of the last one
    Reason taken; ///< why the latest record was taken when it was
    Reason ended; ///< the operation that ended last
    std::deque<Running> running;
    double idleSince = 0;
    double busySince = 0;
    double emptySince = 0;                ///< nothing was issued to it
    std::string waitsFor;                 ///< why it stood still last
    std::map<std::string, double> stalls; ///< of the time for which it has been idle now
  };
  struct CoreState {
    uint32_t next = 0; ///< event that the scalar unit comes to
    double scalarFreeAt = 0;
    double scalarBusy = 0;
    PipeState pipes[numPipes];
    std::deque<Token> flags[numPipes][numPipes][16];
    std::deque<Token> crossTokens[crossFlags];
    std::map<uint64_t, std::deque<Token>> notices; ///< by the word in GM
    uint32_t waitingArrivals[crossFlags] =
        {}; ///< sets of a global flag that wait for the other cores
    std::string waitsFor;
    double blockedSince = -1; ///< the scalar unit waits
    Reason cause;             ///< what the scalar unit waited for last
    Reason ended;             ///< the operation that ended last
    bool isDone = false;
  };
  struct Wake {
    double time;
    uint64_t order;
    uint32_t core;
    uint8_t pipe;
    bool endsOperation;
    bool operator>(const Wake& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  const TraceEvent& eventOf(uint32_t core, uint32_t index) const {
    return (*inputs[core].trace)[index];
  }
  void wake(double time, uint32_t core, Pipe pipe, bool endsOperation = false);
  /// Starts blocks on places of the chip that are free, in their order. `freedBy` made one free.
  void admit(const Reason& freedBy);
  void endCore(uint32_t core);
  /// Puts into L2 what an earlier launch of the same kernel would have left there.
  void warmL2();
  void stepScalar(uint32_t core);
  /// True if the scalar unit got past its event; else it waits.
  bool issueNext(uint32_t core, const TraceEvent& event);
  /// The scalar unit waits; false.
  bool block(uint32_t core, const std::string& reason);
  /// The scalar unit goes on; if it waited, books the time to `reason`.
  void unblock(uint32_t core, const std::string& reason, const OperationRef& by);
  bool takeCross(uint32_t core, const TraceEvent& event);
  bool takeNotices(uint32_t core, const TraceEvent& event);
  void raiseNotice(uint32_t core, uint64_t word);
  /// True if no pipe of the core has anything to do; else the scalar unit waits for that.
  bool awaitPipes(uint32_t core);
  void stepPipe(uint32_t core, Pipe pipe);
  /// True if the pipe got past the head of its queue.
  bool executeHead(uint32_t core, Pipe pipe, const Queued& head);
  bool startOperation(uint32_t core, Pipe pipe, const Queued& head);
  void startData(uint32_t core, Pipe pipe);
  void holdUp(uint32_t core, const Running& running);
  void startFlow(uint32_t core, Pipe pipe, Running& running, const TraceEvent& event);
  void endFlow(uint32_t core, Pipe pipe, uint32_t operation);
  void endOperation(uint32_t core, Pipe pipe, uint32_t operation);
  void endComputation(uint32_t core, Pipe pipe);
  void signalWhenDone(uint32_t core, Pipe pipe, const Signal& signal);
  void raise(uint32_t core, Pipe from, const Signal& signal, const OperationRef& by);
  void raiseCross(uint32_t core, const Signal& signal, const OperationRef& by);
  /// What came last of a core that has nothing more to do: an operation, or its scalar unit's work.
  const Reason& lastReason(uint32_t core) const;
  static Reason latest(std::initializer_list<Reason> reasons);
  void settleStall(PipeState& state) const;
  bool isQuiet(uint32_t core) const;
  void countBytes(CoreTime& core, const TraceEvent& event);
  void markCritical();
  void finish();
  std::string describeStuck() const;

  /// The cores of one block, and how many of them have not ended.
  struct Block {
    std::vector<uint32_t> cores;
    size_t running = 0;
    uint32_t place = 0;
  };

  const std::vector<TimedCore>& inputs;
  const bool startsWarm;
  const chips::AscendTiming& timing;
  SharedMemory memory;
  TimingReport report;
  std::vector<CoreState> states;
  std::map<uint32_t, Block> blocks; ///< by number
  std::map<uint32_t, Block>::iterator nextBlock;
  std::vector<uint32_t> freePlaces; ///< where the chip has room for a block, the first one last
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
  /// AIV sets of modes 1 and 2 that wait for the other one: by sub-block, and block, mode and flag.
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, uint32_t> halves[2];
  uint64_t lastOrder = 0;
  double now = 0;
};

} // namespace tilewright::ascend
