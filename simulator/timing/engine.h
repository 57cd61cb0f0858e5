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
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr unsigned crossFlags = 18; ///< 16 of the user; 16 and 17 are those of SyncAll

  /// A flag that was set: when, and by which operation of the setting core.
  struct Token {
    double time = 0;
    int64_t operation = -1;
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
    std::vector<Signal> signals;
  };
  struct PipeState {
    std::deque<uint32_t> queue; ///< events
    double freeAt = 0;          ///< the next operation starts no earlier
    std::deque<Running> running;
    double idleSince = 0;
    double busySince = 0;
    uint32_t lastOperation = none;
    std::string waitsFor; ///< why it stood still last
    Token cause;          ///< the latest thing that the next operation had to wait for
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
  /// Starts blocks on places of the chip that are free, in their order.
  void admit();
  void endCore(uint32_t core);
  /// Puts into L2 what an earlier launch of the same kernel would have left there.
  void warmL2();
  void stepScalar(uint32_t core);
  /// True if the scalar unit got past its event; else it waits.
  bool issueNext(uint32_t core, const TraceEvent& event);
  bool takeCross(uint32_t core, const TraceEvent& event);
  bool takeNotices(uint32_t core, const TraceEvent& event);
  void raiseNotice(uint64_t word);
  void stepPipe(uint32_t core, Pipe pipe);
  /// True if the pipe got past the head of its queue.
  bool executeHead(uint32_t core, Pipe pipe, const TraceEvent& event, uint32_t index);
  bool startOperation(uint32_t core, Pipe pipe, const TraceEvent& event, uint32_t index);
  void startData(uint32_t core, Pipe pipe);
  void startFlow(uint32_t core, Pipe pipe, Running& running, const TraceEvent& event);
  void endFlow(uint32_t core, Pipe pipe, uint32_t operation);
  void endOperation(uint32_t core, Pipe pipe, uint32_t operation);
  void endComputation(uint32_t core, Pipe pipe);
  void signalWhenDone(uint32_t core, Pipe pipe, const Signal& signal);
  void raise(uint32_t core, Pipe from, const Signal& signal, int64_t operation);
  void raiseCross(uint32_t core, const Signal& signal);
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
  const chips::AscendChip& chip;
  const chips::AscendTiming& timing;
  SharedMemory memory;
  TimingReport report;
  std::vector<CoreState> states;
  std::map<uint32_t, Block> blocks; ///< by number
  std::map<uint32_t, Block>::iterator nextBlock;
  std::vector<uint32_t> freePlaces; ///< where the chip has room for a block, the first one last
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
  /// AIV sets of modes 1 and 2: by block, mode, flag and sub-block.
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, std::deque<Token>> halves[2];
  uint64_t lastOrder = 0;
  double now = 0;
};

} // namespace tilewright::ascend
