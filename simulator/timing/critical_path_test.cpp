// SPDX-License-Identifier: Apache-2.0
// The critical path: what each instruction waited for, back from the end.
#include "simulator/timing/durations.h"
#include "simulator/timing/timing_test_records.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::ascend {
namespace {

using namespace timing_test;

TraceEvent barrier(Pipe pipe) {
  TraceEvent e;
  e.kind = TraceKind::Barrier;
  e.pipe = e.other = pipe;
  return e;
}

TraceEvent add(uint32_t repeats) {
  return vectorEvent(VectorOp::Add, DType::F16, repeats);
}

std::vector<bool> critical(const CoreTime& core) {
  std::vector<bool> marks;
  marks.reserve(core.operations.size());
  for (const TimedOperation& operation : core.operations)
    marks.push_back(operation.isCritical);
  return marks;
}

// The cube waits for both vector cores, of which the first is slower; a third pair has nothing to do with it.
TEST(CriticalPath, CrossesCores) {
  const TraceEvent crossSet = crossEvent(TraceKind::CrossSet, Pipe::MTE3, 3, 2);
  TraceEvent store = copyEvent(Pipe::FIX, 2 << 20, 4096);
  store.from = Space::L0C;
  Trace cube = {crossEvent(TraceKind::CrossWait, Pipe::S, 3, 0), store};
  Trace slow = {copyEvent(Pipe::MTE2, 0, 27200), set(Pipe::MTE2, Pipe::MTE3),
                await(Pipe::MTE2, Pipe::MTE3), copyEvent(Pipe::MTE3, 0, 27200), crossSet};
  Trace quick = {copyEvent(Pipe::MTE3, 1 << 20, 2720), crossSet};
  std::vector<TimedCore> cores = {{"AIC 0", true, 0, 0, &cube, nullptr},
                                  {"AIV 0", false, 0, 0, &slow, nullptr},
                                  {"AIV 1", false, 0, 1, &quick, nullptr}};
  TimingReport report = estimateTime(cores, chip(), timing());
  ASSERT_EQ(report.stuck, "");
  EXPECT_TRUE(report.cores[0].operations[0].isCritical);
  EXPECT_TRUE(report.cores[1].operations[0].isCritical);
  EXPECT_TRUE(report.cores[1].operations[1].isCritical);
  EXPECT_FALSE(report.cores[2].operations[0].isCritical);

  // A core that only waits for the others is last to end, and nothing of it is on the path.
  cube.pop_back();
  report = estimateTime(cores, chip(), timing());
  EXPECT_TRUE(report.cores[1].operations[1].isCritical);
  EXPECT_FALSE(report.cores[2].operations[0].isCritical);
}

TEST(CriticalPath, GoesThroughTheBlockBefore) {
  TraceEvent mmad;
  mmad.kind = TraceKind::Cube;
  mmad.op = uint8_t(CubeOp::Mmad);
  mmad.pipe = Pipe::M;
  mmad.type = DType::F16;
  mmad.m = mmad.n = mmad.k = 512;
  const TimingReport report = estimate(std::vector<Trace>(25, {mmad}), true);
  EXPECT_TRUE(report.cores[24].operations[0].isCritical);
  EXPECT_TRUE(report.cores[0].operations[0].isCritical);
  EXPECT_FALSE(report.cores[1].operations[0].isCritical);
}

// A flag that was set long before a barrier costs nothing: the instructions before the barrier count.
TEST(CriticalPath, AStaleFlagBehindABarrierIsNoCause) {
  Trace trace = {copyEvent(Pipe::MTE2, 0, 256), set(Pipe::MTE2, Pipe::V, 1)};
  trace.resize(trace.size() + 40); // scalar accesses: the next copy is issued late
  for (const TraceEvent& event :
       {copyEvent(Pipe::MTE2, 1 << 20, 32768), set(Pipe::MTE2, Pipe::V, 0),
        await(Pipe::MTE2, Pipe::V, 0), add(100), barrier(Pipe::V), add(100), barrier(Pipe::V),
        await(Pipe::MTE2, Pipe::V, 1), add(100)})
    trace.push_back(event);
  EXPECT_EQ(critical(estimate({trace}).cores[0]),
            std::vector<bool>({false, true, true, true, true}));
}

// What sets a flag when nothing runs: not the flag that its pipe took long ago.
TEST(CriticalPath, AFlagSetBehindABarrierComesFromTheInstructionBefore) {
  const Trace trace = {copyEvent(Pipe::MTE2, 0, 256),
                       set(Pipe::MTE2, Pipe::V),
                       await(Pipe::MTE2, Pipe::V),
                       add(100),
                       barrier(Pipe::V),
                       set(Pipe::V, Pipe::MTE3),
                       await(Pipe::V, Pipe::MTE3),
                       copyEvent(Pipe::MTE3, 0, 256)};
  EXPECT_EQ(critical(estimate({trace}).cores[0]), std::vector<bool>({true, true, true}));
}

// With two buffers and much to compute, a tile's copy is over long before the vector unit is free.
TEST(CriticalPath, OfTwoBuffersHoldsEachComputation) {
  Trace trace = {set(Pipe::V, Pipe::MTE2, 0), set(Pipe::V, Pipe::MTE2, 1)};
  for (uint8_t tile = 0; tile < 8; ++tile) {
    const uint8_t buffer = tile % 2;
    for (const TraceEvent& event :
         {await(Pipe::V, Pipe::MTE2, buffer), copyEvent(Pipe::MTE2, uint64_t(tile) << 20, 4096),
          set(Pipe::MTE2, Pipe::V, buffer), await(Pipe::MTE2, Pipe::V, buffer), add(500),
          barrier(Pipe::V), add(500), barrier(Pipe::V), set(Pipe::V, Pipe::MTE2, buffer)})
      trace.push_back(event);
  }
  const CoreTime core = estimate({trace}).cores[0];
  for (size_t i = 0; i < core.operations.size(); ++i)
    EXPECT_EQ(core.operations[i].isCritical, i == 0 || core.operations[i].pipe == Pipe::V) << i;
}

// The scalar unit comes late to SyncAll, so that no instruction of its core held it up.
TEST(CriticalPath, StartsWhereOnlyTheScalarUnitWasBusy) {
  Trace late = {copyEvent(Pipe::MTE3, 0, 256)};
  late.resize(200); // scalar accesses
  Trace other = {copyEvent(Pipe::MTE3, 1 << 20, 2560)};
  for (Trace* trace : {&late, &other}) {
    trace->push_back(crossEvent(TraceKind::SyncAll, Pipe::S, 16, 0));
    trace->push_back(crossEvent(TraceKind::CrossWait, Pipe::S, 16, 0));
    trace->push_back(copyEvent(Pipe::MTE2, 0, 4096));
  }
  const TimingReport report = estimate({late, other});
  EXPECT_FALSE(report.cores[0].operations[0].isCritical);
  EXPECT_FALSE(report.cores[1].operations[0].isCritical);
  EXPECT_TRUE(report.cores[0].operations[1].isCritical || report.cores[1].operations[1].isCritical);
}

// The queue is full until the first instruction has ended; what is issued then waited for that.
TEST(CriticalPath, RoomInAQueueComesFromTheEndThatMadeIt) {
  Trace trace = {add(100), barrier(Pipe::V), add(1)};
  trace.resize(3 + size_t(timing().queueDepth), barrier(Pipe::V));
  trace.push_back(copyEvent(Pipe::MTE2, 0, 4096));
  EXPECT_EQ(critical(estimate({trace}).cores[0]), std::vector<bool>({true, false, true}));
}

// Copies that fill the path of their pipe together, though all but the first are issued early.
TEST(CriticalPath, HoldsEachCopyOfAFullPath) {
  Trace trace;
  for (uint64_t i = 0; i < 40; ++i)
    trace.push_back(copyEvent(Pipe::MTE2, i << 20, 8192));
  EXPECT_EQ(critical(estimate({trace}).cores[0]), std::vector<bool>(40, true));
}

// The second ends with the first: longer would not be later.
TEST(CriticalPath, GoesPastWhatIsOverBeforeTheOneBefore) {
  TraceEvent copy = copyEvent(Pipe::V, 0, 32);
  copy.from = copy.to = Space::UB;
  const Trace trace = {add(10), copy, set(Pipe::V, Pipe::MTE3), await(Pipe::V, Pipe::MTE3),
                       copyEvent(Pipe::MTE3, 0, 256)};
  EXPECT_EQ(critical(estimate({trace}).cores[0]), std::vector<bool>({true, false, true}));
}

// --- any sequence ---------------------------------------------------------------------------

/// Random launches that cannot wait for ever: flags are set before they are waited for, and what
/// all cores do together they do in one order.
class RandomLaunch {
public:
  /// `plain`: only what depends on no other transfer but those of its own pipe.
  RandomLaunch(uint32_t seed, uint32_t blocks, bool plain) : random(seed), plain(plain) {
    for (uint32_t block = 0; block < blocks; ++block)
      for (uint32_t i = 0; i < 3; ++i)
        cores.push_back({(i ? "AIV " : "AIC ") + std::to_string(block), i == 0, block,
                         i == 0 ? 0 : i - 1, nullptr, nullptr});
    traces.resize(cores.size());
    open.resize(cores.size());
    for (uint32_t round = upTo(4) + 1; round > 0; --round) {
      for (uint32_t core = 0; core < cores.size(); ++core)
        for (uint32_t i = upTo(60); i > 0; --i)
          addRecord(core);
      meet(upTo(6));
    }
    for (uint32_t core = 0; core < cores.size(); ++core)
      for (uint32_t i = upTo(12); i > 0; --i)
        addRecord(core);
    for (uint32_t core = 0; core < cores.size(); ++core)
      cores[core].trace = &traces[core];
  }
  RandomLaunch(const RandomLaunch&) = delete;

  TimingReport estimated(const chips::AscendTiming& constants) const {
    chips::AscendChip small = chip(); // the blocks beyond the second wait for a place
    small.cubeCores = 2;
    small.vectorCores = 4;
    return estimateTime(cores, small, constants);
  }

  std::vector<TimedCore> cores;
  std::vector<Trace> traces;

private:
  struct Flag {
    Pipe from, to;
    uint8_t id;
  };

  uint32_t upTo(uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(0, most)(random);
  }
  Pipe pipeOf(uint32_t core) {
    constexpr Pipe cube[] = {Pipe::MTE2, Pipe::MTE1, Pipe::M, Pipe::FIX};
    constexpr Pipe vector[] = {Pipe::MTE2, Pipe::V, Pipe::V, Pipe::MTE3};
    return (cores[core].isCube ? cube : vector)[upTo(3)];
  }

  TraceEvent operation(uint32_t core) {
    const Pipe pipe = pipeOf(core);
    const uint64_t address = ++places << 20;
    if (pipe == Pipe::V && upTo(4) > 0)
      return add(1 + upTo(99));
    TraceEvent copy = copyEvent(pipe, address, 32ull * (1 + upTo(upTo(3) ? 20 : 500)));
    if (pipe == Pipe::V)
      copy.from = copy.to = Space::UB;
    if (pipe == Pipe::V || pipe == Pipe::MTE3 || (pipe == Pipe::MTE2 && !cores[core].isCube))
      return copy;
    copy.kind = pipe == Pipe::MTE2 ? TraceKind::Copy : TraceKind::Cube;
    copy.type = DType::F16;
    if (pipe == Pipe::MTE2) {
      copy.to = Space::L1;
    } else if (pipe == Pipe::MTE1) {
      copy.op = uint8_t(CubeOp::Load2D);
      copy.from = Space::L1;
      copy.to = upTo(1) ? Space::L0A : Space::L0B;
    } else if (pipe == Pipe::M) {
      copy.op = uint8_t(CubeOp::Mmad);
      copy.m = copy.n = copy.k = 16 * (1 + upTo(7));
    } else {
      copy.op = uint8_t(CubeOp::Fixpipe);
      copy.from = Space::L0C;
      copy.to = plain || upTo(1) ? Space::GM : Space::L1;
      copy.m = copy.n = 16 * (1 + upTo(7));
    }
    return copy;
  }

  void addRecord(uint32_t core) {
    Trace& trace = traces[core];
    std::vector<Flag>& flags = open[core];
    const uint32_t kind = upTo(19);
    if (kind < 5) {
      const Flag flag = {upTo(9) ? pipeOf(core) : Pipe::S, upTo(9) ? pipeOf(core) : Pipe::S,
                         uint8_t(upTo(3))};
      trace.push_back(set(flag.from, flag.to, flag.id));
      flags.push_back(flag);
    } else if (kind < 10 && !flags.empty()) {
      const auto one = flags.begin() + upTo(uint32_t(flags.size() - 1));
      trace.push_back(await(one->from, one->to, one->id));
      flags.erase(one);
    } else if (kind == 10) {
      trace.push_back(barrier(pipeOf(core)));
    } else if (kind == 11) {
      trace.emplace_back().kind = upTo(3) ? TraceKind::Scalar : TraceKind::BarrierAll;
    } else {
      trace.push_back(operation(core));
      if (plain && cores[core].isCube && trace.back().pipe == Pipe::MTE1)
        trace.pop_back(); // what MTE2 writes slows it down
    }
  }

  /// All cores wait for others: 1 SyncAll of a kind, 2 of both kinds, 3 and 4 flags of mode 2, 5 a
  /// flag of mode 0, 6 words in GM.
  void meet(uint32_t how) {
    for (uint32_t core = 0; core < cores.size(); ++core) {
      Trace& trace = traces[core];
      const bool isCube = cores[core].isCube;
      const Pipe last = isCube ? Pipe::FIX : Pipe::MTE3;
      if (how == 1 || how == 2) {
        trace.push_back(crossEvent(TraceKind::SyncAll, Pipe::S, uint8_t(15 + how), 0));
        trace.push_back(crossEvent(TraceKind::CrossWait, Pipe::S, uint8_t(15 + how), 0));
      } else if (how == 3 || how == 4) {
        trace.push_back(
            crossEvent(isCube == (how == 3) ? TraceKind::CrossSet : TraceKind::CrossWait,
                       isCube == (how == 3) ? last : Pipe::S, 5, 2));
      } else if (how == 5) {
        trace.push_back(crossEvent(TraceKind::CrossSet, last, 6, 0));
        trace.push_back(crossEvent(TraceKind::CrossWait, Pipe::S, 6, 0));
      } else if (how == 6) {
        trace.emplace_back().kind = TraceKind::Notice;
        trace.emplace_back().kind = TraceKind::AwaitNotice;
        trace.back().repeats = 1 + upTo(uint32_t(core));
      }
    }
  }

  std::mt19937 random;
  bool plain;
  uint64_t places = 0;
  std::vector<std::vector<Flag>> open; ///< flags that are set and not yet waited for
};

/// Cycles for which an operation kept its pipe from the next one.
double occupied(const TimedOperation& operation, const TraceEvent& event,
                const chips::AscendTiming& constants) {
  if (isTransfer(event))
    return constants.copyIssueCycles;
  if (event.kind == TraceKind::Cube && CubeOp(event.op) == CubeOp::Load2D)
    return operation.end - operation.start - constants.loadLatencyCycles;
  return durationOf(event, constants, 0).occupied;
}

/// Why `later` did not start earlier; empty if nothing says so.
std::string linkBetween(const RandomLaunch& launch, const TimingReport& report,
                        const chips::AscendTiming& constants, const OperationRef& first,
                        const TimedOperation& later, uint32_t core) {
  const TimedOperation& before = report.cores[first.core].operations[first.operation];
  const TraceEvent& event = launch.traces[first.core][before.event];
  auto isStart = [&](double time) { return std::abs(later.start - time) < 1e-3; };
  if (isStart(before.end))
    return "its end";
  if (first.core != core || before.pipe != later.pipe)
    return "";
  if (isStart(before.start + occupied(before, event, constants)))
    return "its pipe was occupied";
  // What transfers wait until the path of their pipe is free, or share it.
  return isTransfer(launch.traces[core][later.event]) && before.start < later.start &&
                 later.start < before.end + 1e-3 && before.end < later.end + 1e-3
             ? "the path was full"
             : "";
}

/// Follows the path back from the end and returns how many operations it has.
size_t followPath(const RandomLaunch& launch, const TimingReport& report,
                  const chips::AscendTiming& constants) {
  OperationRef at;
  double end = 0;
  for (const CoreTime& core : report.cores)
    end = std::max(end, core.endCycle);
  for (uint32_t core = 0; core < report.cores.size(); ++core)
    for (uint32_t i = 0; i < report.cores[core].operations.size(); ++i)
      if (const TimedOperation& one = report.cores[core].operations[i];
          one.isCritical && std::abs(one.end - end) < 1e-3)
        at = {core, i}; // the last one in its pipe of those that end together
  size_t length = 0;
  while (at.isSet()) {
    const TimedOperation& one = report.cores[at.core].operations[at.operation];
    EXPECT_TRUE(one.isCritical);
    ++length;
    if (one.cause.isSet())
      EXPECT_NE(linkBetween(launch, report, constants, one.cause, one, at.core), "")
          << report.cores[at.core].name << ": " << pipeLabel(one.pipe) << " at " << one.start;
    else
      EXPECT_NEAR(one.start, 0, 1e-3) << "nothing explains the start";
    at = one.cause;
  }
  return length;
}

// Where the scalar unit and the ways between cores take no time, each start on the path is an end,
// and the path reaches from the launch to the end.
TEST(CriticalPath, LeavesNoGap) {
  chips::AscendTiming constants = timing();
  for (auto constant :
       {&chips::AscendTiming::issueCycles, &chips::AscendTiming::flagIssueCycles,
        &chips::AscendTiming::scalarAccessCycles, &chips::AscendTiming::crossCoreFlagCycles,
        &chips::AscendTiming::coreStartCycles})
    (constants.*constant).value = 0;
  size_t operations = 0;
  for (uint32_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const RandomLaunch launch(seed, 1 + seed % 2, false);
    const TimingReport report = launch.estimated(constants);
    ASSERT_EQ(report.stuck, "");
    size_t marked = 0;
    for (const CoreTime& core : report.cores)
      for (const TimedOperation& operation : core.operations)
        marked += operation.isCritical;
    EXPECT_EQ(followPath(launch, report, constants), marked);
    operations += marked;
  }
  EXPECT_GT(operations, 400 * 12);
}

double endOf(const TimingReport& report) {
  double end = 0;
  for (const CoreTime& core : report.cores)
    end = std::max(end, core.endCycle);
  return end;
}

// What is on the path can't take longer without the whole taking as much longer.
TEST(CriticalPath, HoldsWhatTheTimeDependsOn) {
  for (uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomLaunch launch(seed, 1 + seed % 2, true);
    chips::AscendTiming constants = timing();
    constants.copiesInFlight.value = 1;  // of copies that share a path, each waits for each
    constants.copyIssueCycles.value = 0; // of short ones only the start counts
    const TimingReport report = launch.estimated(constants);
    const double before = endOf(report);
    for (uint32_t core = 0; core < report.cores.size(); ++core)
      for (const TimedOperation& operation : report.cores[core].operations) {
        TraceEvent& event = launch.traces[core][operation.event];
        const TraceEvent kept = event;
        if (!operation.isCritical || event.kind == TraceKind::Cube || event.to == Space::L1)
          continue;
        double longer = 8;
        event.repeats += 8;
        event.bytes += event.to == Space::GM ? 8 * 34 : 256;
        if (event.to == Space::GM)
          longer = 8 * 34 / constants.ubToGmBytes;
        else if (event.from == Space::UB && event.kind == TraceKind::Copy)
          longer = 256 / constants.ubToUbBytes;
        EXPECT_GT(endOf(launch.estimated(constants)), before + longer - 0.01)
            << report.cores[core].name << ": " << pipeLabel(operation.pipe) << " at "
            << operation.start;
        event = kept;
      }
  }
}

} // namespace
} // namespace tilewright::ascend
