// SPDX-License-Identifier: Apache-2.0
// One core (an AIC or an AIV) that runs a kernel: the scalar unit is a fiber, each other pipe a
// queue of records. A record runs when its waits hold; in the usual order that is at once.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_AGENT_H
#define TILEWRIGHT_SIMULATOR_MACHINE_AGENT_H

#include "simulator/isa/effects.h"
#include "simulator/machine/fault_place.h"
#include "simulator/machine/fiber.h"
#include "simulator/machine/kernel_api.h"
#include "simulator/machine/late_writes.h"
#include "simulator/machine/operands_text.h"
#include "simulator/machine/own_memory.h"
#include "simulator/machine/record_queue.h"
#include "simulator/machine/recurrence.h"
#include "simulator/machine/repetition.h"
#include "simulator/machine/trace.h"
#include "simulator/memory/global_memory.h"
#include "simulator/memory/local_memory.h"
#include "simulator/sync/core_hazards.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <variant>

namespace tilewright::ascend {

class CoreGroup;
class SyncSites;
struct CoreHeap;

enum class SyncKind : uint8_t { SetFlag, WaitFlag, Barrier, CrossSet };

struct SyncInstr {
  SyncKind kind;
  Pipe from = Pipe::S, to = Pipe::S;
  uint8_t id = 0;
  uint8_t mode = 0;
};

/// An instruction in the queue of its pipe.
struct Record {
  uint32_t site = 0;
  Clock dispatch;
  RemoteClockRef remote;
  std::variant<SyncInstr, VectorInstr, CopyInstr, CubeInstr> what;
  /// Runs after that many records of `needPipe` (unit flags).
  Pipe needPipe = Pipe::S;
  uint64_t needCount = 0;
};

constexpr unsigned numCrossFlags = 18; ///< 16 of the user, 2 of SyncAll:
constexpr uint32_t flagOfVectors = 16, flagOfAll = 17;
constexpr unsigned numEventIds = 16;

/// Why the host ends a kernel that may go on for ever: what it could prove, or only a limit.
enum class Ending : uint8_t {
  None,
  SameState,
  SameResults,
  SameLoop, ///< the same state, but not in memory
  NewResults,
  TimeLimit,
  IdleLimit,
  Blocked ///< waits in the operating system
};

/// A cross-core flag that has arrived.
struct CrossToken {
  RemoteClockRef clock;
};

class Agent final : private isa::AtomicStore {
public:
  enum class State : uint8_t { New, Ready, WaitsCross, Spins, Done, Failed };

  Agent(CoreGroup& group, AgentView view, uint32_t index, const LaunchOptions& options);
  ~Agent();

  void start(Fiber::Body body, void* argument);
  /// Runs the agent until it waits for another core or ends.
  void resume();
  bool canRun() const;

  // Called by the kernel API on the agent's fiber.
  void issue(const VectorInstr& instr, Place place);
  void issue(const CopyInstr& instr, Place place);
  void issue(const CubeInstr& instr, Place place);
  void setFlag(Pipe from, Pipe to, int32_t id, Place place);
  void waitFlag(Pipe from, Pipe to, int32_t id, Place place);
  void barrier(Pipe pipe, Place place);
  void barrierAll(Place place);
  void crossSet(uint32_t mode, Pipe pipe, uint32_t flag, Place place);
  void crossWait(uint32_t flag, Place place);
  void syncAll(bool onlyVector, Meeting by, Place place);
  /// Meetings without a hardware flag; see kernel_api.h.
  struct NoticeWait {
    NoticeOf of = NoticeOf::Meeting;
    uint64_t key = 0;
    uint32_t numKeys = 1; ///< of this and those behind it, the first that has come
    uint32_t count = 0;
    bool untilGroupEnds = false;
    const char* what = "";
  };
  void notify(NoticeOf of, uint64_t key, const char* what, Place place);
  /// Which key came, from the wait's first on; -1: none will.
  int32_t await(const NoticeWait& wait, Place place);
  void** mail();
  void* scalarAccess(const Operand& operand, uint32_t bytes, bool write, Place place,
                     bool pastCache = false);
  /// The line of GM that holds `address`, or all (0).
  void cleanCache(uint64_t address, Place place);
  /// The kernel's code calls again: what it has stored since is a write of the scalar unit.
  void noteText(const char* text);
  void noteScalarWrite() {
    if (late.scalarWrites())
      late.holdScalar();
  }
  void noteFreeBuffer(const Operand& buffer, Place freedAt);
  void noteUsedBuffer(const Operand& buffer);
  void noteRegister(Register written) {
    registers |= 1u << static_cast<unsigned>(written);
  }
  void checkRegister(Register read, const char* what, Place place);
  void drain(Pipe pipe);
  void drainAll();
  /// The kernel's function has returned.
  void finish();
  /// The status of a fault in a kernel of this kind.
  int32_t faultStatus() const;
  [[noreturn]] void fail(std::string sentence, Place place, int32_t status,
                         std::vector<ReportNote> notes = {});
  [[noreturn]] void stop(int32_t status);
  /// The same from a signal handler's landing: the fiber is not entered again.
  void failOutside(std::string sentence, int32_t status, const FaultPlace& place);
  void complain(const std::string& sentence, bool isError, Place place,
                std::vector<ReportNote> notes = {});
  /// Where that is, or the last instruction if it isn't known.
  Place placeOrLast(const FaultPlace& place) const {
    return place.file.empty() ? lastPlace : Place{keptText(place.file), place.line};
  }

  // Called by the group or the machine.
  void deliver(uint32_t flag, CrossToken token, Place setAt) {
    arrivals[flag] = {arrivals[flag].open + 1, setAt};
    if (live)
      live->tokens[flag].push_back(std::move(token));
  }
  void deliverNotice(uint64_t key, RemoteClockRef clock) {
    if (live)
      live->notices[key].push_back(std::move(clock));
  }
  /// A set of this core for which, with it, so many have not been waited for.
  void noteCrossSet(uint32_t flag, size_t outstanding, Place setAt);
  /// At the end of the launch: flags that arrived, perhaps after the kernel's end, but were not
  /// waited for.
  void checkArrivals();
  size_t numArrivals(uint32_t flag) const {
    return live ? live->tokens[flag].size() : 0;
  }
  /// Adds the pending atomic additions to memory.
  void commitAtomics();
  bool hasAtomics() const {
    return !pending.empty();
  }
  /// Random legal orders are asked for: cores take short turns, in any order.
  bool takesTurns() const {
    return options.randomOrderSeed != 0;
  }
  uint64_t random();
  /// Gives back memories and stack; the hazards' logs stay.
  void release();
  /// What waits, for a deadlock report.
  std::string describeWait() const;
  /// The cross-core flag that it waits for, or -1.
  int awaitedFlag() const {
    return state == State::WaitsCross && waitingFor < static_cast<int>(numUserFlags) ? waitingFor
                                                                                     : -1;
  }
  /// The first flag that has arrived more often than it was waited for, or numUserFlags.
  uint32_t arrivedFlag() const;
  Place arrivedAt(uint32_t flag) const {
    return arrivals[flag].setAt;
  }
  /// For a deadlock report: a set of the flag that a pipe hasn't come to.
  std::string describeQueuedSet(uint32_t flag) const;
  bool waitsInSyncAll() const {
    return state == State::WaitsCross && (waitingFor == flagOfAll || waitingFor == flagOfVectors);
  }
  /// True if it waits in a SyncAll that the other core is to call, too, but has ended.
  bool missesInSyncAll(const Agent& other) const {
    return waitsInSyncAll() && other.state == State::Done &&
           (waitingFor == flagOfAll || (waitingFor == flagOfVectors && !other.view.cube));
  }
  Place waitPlace() const {
    return lastPlace;
  }
  std::string name() const {
    return hazards.core;
  }

  static constexpr uint32_t numUserFlags = 16;
  struct CrossSets {
    uint32_t count = 0, mode = 0;
    Place last;
  };
  std::map<uint32_t, CrossSets> crossSets; ///< of this core, by flag
  CrossSets setsOf(uint32_t flag) const {
    auto found = crossSets.find(flag);
    return found == crossSets.end() ? CrossSets{} : found->second;
  }
  AgentView view;
  MaskState mask;
  StoreState storeState;
  ScalarResults results;
  CoreHazards hazards;
  State state = State::New;
  int32_t status = 0;
  const uint32_t index;
  Place lastPlace;
  Fiber fiber;
  Trace trace;
  /// Not 0 while simulator code runs on the fiber: a signal must not abandon it there.
  volatile int inside = 0;
  std::atomic<Ending> interrupted{Ending::None};
  /// Interrupts that came while the kernel's code was in a library.
  unsigned delayedInterrupts = 0;
  uint64_t printedBytes = 0;
  double printLimit() const {
    return options.printLimit;
  }
  uint64_t jumpsFrom = 0; ///< where the kernel's code has called longjmp
  CallChain blockedAt;    ///< only its caller: of the library in which the kernel waited
  /// Fails if it was interrupted where it couldn't be left.
  void endIfInterrupted() {
    if (Ending ending = interrupted.load(std::memory_order_relaxed); ending != Ending::None)
      fail(sentenceOf(ending), placeOrLast(blockedAt.caller ? placeOf(blockedAt) : FaultPlace{}),
           507014);
  }
  /// Calls of the kernel into the machine; the watchdog sees by it that something happens.
  std::atomic<uint64_t> calls{0};
  /// Calls that can have changed something for another core: all but reads of the scalar unit.
  uint64_t progress() const {
    return calls.load(std::memory_order_relaxed) - quietCalls;
  }
  std::string sentenceOf(Ending ending) const;
  /// The agent does the same again and again, and nobody is left who could change that.
  void endRepeating(Ending ending);
  /// In a long launch, its states are looked at.
  bool isInspected() const {
    return inspected && inspected->load(std::memory_order_relaxed);
  }
  /// Of the kernel's code: its stack, and below it what it has in registers, `from` an address on.
  void noteState(uint64_t from);
  /// In what may be a loop: whether the kernel's own code writes memory between two calls of it.
  void beforeOwnCode() {
    if (recurrence.wantsTest())
      ownMemory = fingerprintOfOwnMemory(*memory);
  }
  void afterOwnCode() {
    if (ownMemory != 0 && ownMemory != fingerprintOfOwnMemory(*memory))
      recurrence.writesByItself();
    ownMemory = 0;
  }
  /// It is in a loop that only what it reads can end, and its own code has not written to memory that nobody looks at.
  bool isProven() const {
    return recurrence.isProven() && seesOwnMemory();
  }
  uint64_t ownMemory = 0; ///< when its own code went on; 0: nobody asks
  const LocalMemory& localMemory() const {
    return *memory;
  }
  const std::atomic<bool>* inspected = nullptr;
  std::atomic<bool>* someHaveFailed = nullptr; ///< of the launch
  const void* kernelCode = nullptr;            ///< an address in it
  std::vector<Interval>
      versions; ///< the first one of each tensor, by its number; empty: there is one only
  /// Cores whose state isn't the same may repeat themselves for so much longer.
  static constexpr double patienceWithoutProof = 7;
  Recurrence recurrence;
  /// GM for as long as this agent lives.
  uint64_t allocate(uint64_t bytes);
  /// Lets other cores go on while this one does the same again and again.
  void yieldTurn();
  Repetition repetition;
  uint64_t spins = 0;
  uint64_t quietCalls = 0;
  CoreHeap* heap = nullptr; ///< what its kernel has taken; null: nothing

private:
  void endWith(int32_t newStatus) {
    status = newStatus;
    state = State::Failed;
    if (someHaveFailed)
      *someHaveFailed = true;
  }
  void needMixedKernel(const char* what, Place place);
  /// SyncAll has flags of its own among the kernel's 16.
  void warnOfSharedFlags();
  uint32_t sharedFlag = 0; ///< 11 to 14: used by the kernel itself, at `sharedFlagAt`
  Place sharedFlagAt;
  bool meetsByFlags = false;
  bool hasPipe(Pipe pipe) const;
  void warnOfPipe(const char* what, Pipe pipe, Place place);
  void warnOfLanes(const VectorInstr& instr, bool fromRegister, Place place);
  /// Code outside any scope of a mixed kernel: the core of the other kind runs it, if there is one.
  void leaveToOtherCore(const char* what, Place place);
  template <class Instr> void issueOn(Pipe pipe, const Instr& instr, uint32_t site);
  template <class Instr> void execute(Pipe pipe, const Instr& instr, uint32_t site);
  void addToTrace(const TraceEvent& event);
  void executeSync(const SyncInstr& instr, uint32_t site);
  bool canExecute(const Record& record, Pipe pipe) const;
  void executeHead(Pipe pipe);
  /// Runs queue heads until none can; true if one ran.
  bool pump();
  bool pumpRandom(unsigned steps);
  /// What is done between two calls of the kernel.
  void pumpSome();
  void drawHabits();
  /// Lets other cores go on, now and then.
  void mayYield();
  void push(Pipe pipe, Record record);
  bool isMuted(Place place, const char* what, const std::string& detail);
  /// A flag is muted by its line, or both ends of it by event and id.
  bool isFlagMuted(Place place, const char* what, Pipe from, Pipe to, int32_t id);
  /// Notes a step for `repetition`; true if it is like an earlier one.
  bool isRepeated(uint32_t site, uint64_t place = 0, const void* left = nullptr,
                  uint64_t bytes = 0);
  bool isRepeated(uint32_t site, const isa::AccessList& accesses);
  bool watchesRepetition() {
    return !options.randomOrderSeed && repetition.isLooking();
  }
  /// Notes of a report on what is executed: its pipe and operands, and what to change.
  std::vector<ReportNote> workingNotes(const std::string& advice) const;
  /// Fails in the kernel's words if it has a name for the tensor, and the bytes are not all its own.
  void failBeyond(Space space, uint16_t number, Interval bytes, bool isWritten, Place place);
  /// Of a tensor in versions: what lies behind one of them isn't its own, but the next one's.
  void checkVersion(const Access& access, uint32_t site);
  void checkGlobal(const Access& access, uint32_t site);
  /// GM that is there, but not given to the tensor.
  /// `takesBlocks`: what it reads is rounded up to whole blocks of 32 bytes, which may hold more than the tensor.
  void checkGivenSize(const Operand& tensor, const Access& access, uint32_t site, bool takesBlocks);
  void checkLocal(const Access& access, uint32_t site);
  [[noreturn]] void failWithoutMemory(const char* what, bool writes, Place place);
  void leave();
  [[noreturn]] void abandon();
  /// The same text for as long as the process lives: a Place only points to its file.
  static const char* keptText(const std::string& text);
  void checkFlagsAtEnd();
  void checkModesAtEnd();
  /// Registers of the vector unit: at the call, in the order of which they are read and written.
  void useRegisters(const VectorInstr& instr, Place place);
  /// At the call, as its order counts and not that in which the pipes run.
  void checkNotFreed(const Operand& operand, bool isWrite, const char* what, Pipe pipe,
                     Place place);
  void checkNotFreed(const VectorInstr& instr, Place place);
  void checkNotFreed(const CopyInstr& instr, Place place);
  void checkNotFreed(const CubeInstr& instr, Place place);
  /// What the kernel may know of its core lies where a wild write of its may reach it.
  bool isViewIntact() const {
    return std::memcmp(&view, viewAtStart, sizeof viewAtStart) == 0;
  }
  bool validEvent(Pipe from, Pipe to, int32_t id, Place place, const char* what);
  /// What a deadlock report says of the flag that this wait needs.
  std::string whereSet(const SyncInstr& wait) const;
  /// The cross-core flags that its pipes would set, did they not stand.
  void noteSetsBehind(std::vector<ReportNote>& notes) const;
  /// Where a deadlock is reported: the scalar unit's wait, or what the first pipe stands at (the end of a kernel is a line
  /// of the host's own headers).
  enum class Headline : uint8_t { ScalarWait, FirstHead };
  [[noreturn]] void deadlock(const std::string& waitsFor, Headline headline = Headline::ScalarWait);
  std::string describeHeads() const;

  struct Flag {
    uint16_t count = 0;
    uint16_t queuedWaits = 0; ///< issued, but not yet executed
    uint32_t setSite = 0;
    Clock clock;
  };
  Flag& flagOf(Pipe from, Pipe to, unsigned id) const {
    return live->flags[static_cast<unsigned>(from)][static_cast<unsigned>(to)][id];
  }
  struct PendingAtomic {
    uint8_t* address;
    DType type;
    std::vector<uint8_t> data;
  };

  struct Working {
    Pipe pipe = Pipe::S;
    InstrRef instr;
  };
  Working working; ///< the instruction that is executed, or was last

  CoreGroup& group;
  const LaunchOptions& options;
  std::unique_ptr<LocalMemory> memory;
  isa::Context context;
  using FlagTable = std::array<std::array<std::array<Flag, numEventIds>, numPipes>, numPipes>;
  /// Queues, arrivals and flags: dropped when the core has ended.
  struct Live {
    RecordQueue<Record> queues[numPipes];
    RecordQueue<CrossToken> tokens[numCrossFlags];
    FlagTable flags;
    std::map<uint64_t, std::deque<RemoteClockRef>> notices;
    Place crossSetAt[numCrossFlags]; ///< the last time
    Clock unitClock[2];              ///< of the last Mmad and the last Fixpipe with a unit flag
    uint8_t nowhere[512] = {};
  };
  std::unique_ptr<Live> live = std::make_unique<Live>();
  /// The last scalar read of GM that was noted: polling notes it once.
  struct LastRead {
    uint64_t address = 0, progress = 0;
    uint32_t site = ~0u;
  };
  LastRead lastRead;
  std::vector<void*> allocated;
  unsigned char viewAtStart[offsetof(AgentView, pipe)]; ///< of the part that stays as it is
  bool unitFlagSet[2] = {}; ///< in the trace: from Fixpipe to Mmad, and back
  uint64_t queued = 0;
  uint64_t issuedCount[numPipes] = {};
  uint64_t executedCount[numPipes] = {};
  RemoteClockRef remote;
  int waitingFor = -1; ///< cross-core flag, or noticeWait
  static constexpr int noticeWait = 99;
  NoticeWait awaited;
  /// The first of the awaited keys that has come as often as is awaited, or -1.
  int32_t arrivedKey() const;
  void traceNotice(TraceKind kind, uint64_t key, uint32_t count, const char* what, Place place);
  bool isGroupEnding() const;
  struct Arrivals {
    uint32_t open = 0; ///< not waited for
    Place setAt;
  };
  Arrivals arrivals[numCrossFlags];
  struct FreeBuffer {
    Space space;
    Interval bytes;
    Place freedAt;
  };
  std::vector<FreeBuffer> freeBuffers;
  std::vector<PendingAtomic> pending;
  Interval pendingHull{~0ull, 0};
  GlobalRange cachedRange;
  uint64_t cachedVersion = 0;
  uint64_t randomState;
  uint32_t registers = 0; ///< a bit for each Register that has a value
  LateWrites late;
  enum class Lateness : uint8_t { Never, Sometimes, UntilOrdered };
  Lateness lateness = Lateness::Never;
  /// Random order: a launch has steady habits, so that a pipe may fall far behind another.
  uint32_t pumpOnceIn = 1;
  uint8_t priorities[numPipes] = {};

  void store(AtomicOp op, DType type, uint8_t* address, const uint8_t* data,
             uint64_t bytes) override;
};

TraceEvent traceOf(const VectorInstr& instr, Pipe pipe, uint32_t site);
TraceEvent traceOf(const CopyInstr& instr, Pipe pipe, uint32_t site);
TraceEvent traceOf(const CubeInstr& instr, Pipe pipe, uint32_t site);
TraceEvent scalarTrace(const Operand& operand, uint32_t bytes, bool write, uint32_t site);
TraceEvent syncTrace(TraceKind kind, Pipe pipe, Pipe other, unsigned id, uint32_t site);

/// Ends the agent of this thread at the line of its kernel that has called.
[[noreturn]] void failKernelHere(const std::string& sentence);

/// The agent whose code runs on this thread, or null.
Agent* currentAgent();
void setCurrentAgent(Agent* agent);

} // namespace tilewright::ascend

#endif
