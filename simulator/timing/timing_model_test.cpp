// SPDX-License-Identifier: Apache-2.0
// Durations of single instructions, the exact cycles of short sequences, throughput against the
// formulas.
#include "simulator/timing/timing_model.h"

#include "simulator/timing/durations.h"
#include "simulator/timing/timing_test_records.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::ascend {
namespace {

using namespace timing_test;

// The published anchors of section 1.6: 22 + repeats without conflicts, 22 + 2 * repeats with.
TEST(Durations, VectorInstructions) {
  auto total = [](const TraceEvent& e) {
    Duration d = durationOf(e, timing(), 0);
    return d.occupied + d.latency;
  };
  EXPECT_EQ(total(vectorEvent(VectorOp::Add, DType::F16, 127)), 149);
  EXPECT_EQ(total(vectorEvent(VectorOp::Add, DType::F16, 32, 0x20000, 0, 0x2000)), 86);
  EXPECT_EQ(total(vectorEvent(VectorOp::Add, DType::F16, 128, 0x20000, 0, 0x8000)), 278);
  // A source in the bank that is written: 135 cycles for 64 repeats.
  EXPECT_NEAR(total(vectorEvent(VectorOp::Add, DType::F32, 64, 0x8100, 0, 0x4100)), 135, 0.5);
  EXPECT_EQ(total(vectorEvent(VectorOp::Exp, DType::F32, 10)), 22 + 20);
  EXPECT_EQ(total(vectorEvent(VectorOp::Exp, DType::F16, 10)), 22 + 40);
  EXPECT_EQ(total(vectorEvent(VectorOp::WholeReduceSum, DType::F32, 10)), 22 + 70);
}

TEST(Durations, CubeInstructions) {
  TraceEvent mmad;
  mmad.kind = TraceKind::Cube;
  mmad.op = uint8_t(CubeOp::Mmad);
  mmad.type = DType::F16;
  mmad.m = mmad.n = mmad.k = 64;
  Duration d = durationOf(mmad, timing(), 0);
  EXPECT_EQ(d.occupied, 64 + 6);
  EXPECT_NEAR(d.occupied + d.latency, 125.0, 1.01);
  mmad.m = 128;
  mmad.n = 256;
  d = durationOf(mmad, timing(), 0);
  EXPECT_EQ(d.occupied, 512 + 6);
  EXPECT_NEAR(d.occupied, 521, 0.006 * 521); // published, of a row that is predicted
  EXPECT_NEAR(d.occupied + d.latency, 575.0, 1.01);
  mmad.type = DType::F32;
  EXPECT_EQ(durationOf(mmad, timing(), 0).occupied, 8 * 16 * 16 + 6); // 4 of K per cycle
  mmad.type = DType::I8;
  EXPECT_EQ(durationOf(mmad, timing(), 0).occupied, 256 + 6);

  TraceEvent load;
  load.kind = TraceKind::Cube;
  load.op = uint8_t(CubeOp::Load2D);
  load.to = Space::L0A;
  load.bytes = uint64_t{128} * 64 * 2;
  double a = durationOf(load, timing(), 0).occupied;
  load.to = Space::L0B;
  load.bytes = uint64_t{64} * 256 * 2;
  Duration b = durationOf(load, timing(), 0);
  EXPECT_EQ(a + b.occupied + b.latency, 367); // the first one's latency hides behind the second
  // 84 bytes per cycle that MTE2 writes are taken from L1's port: 172 are left of 256.
  load.to = Space::L0A;
  load.bytes = uint64_t{172} * 100;
  EXPECT_NEAR(durationOf(load, timing(), 84).occupied, 9.5 + 100, 1e-9);
  // Other paths: 32 bytes per cycle to the bias table, 64 elements from L0C to L1.
  load.op = uint8_t(CubeOp::LoadBias);
  load.bytes = 1024;
  EXPECT_EQ(durationOf(load, timing(), 0).occupied, 9.5 + 32);
  TraceEvent store = mmad;
  store.op = uint8_t(CubeOp::Fixpipe);
  store.m = 64;
  store.n = 128;
  d = durationOf(store, timing(), 0);
  EXPECT_EQ(d.occupied + d.latency, 128 + 20);
}

TEST(TimingModel, OneCopyIsLatencyAndBytes) {
  TimingReport report = estimate({{copyEvent(Pipe::MTE2, 0, 8192)}});
  ASSERT_EQ(report.stuck, "");
  ASSERT_EQ(report.cores[0].operations.size(), 1U);
  const TimedOperation& copy = report.cores[0].operations[0];
  EXPECT_NEAR(copy.end - copy.start, 189 + 256, 1e-3);
  EXPECT_NEAR(copy.start, 1000 + 3.5, 1e-6);
  EXPECT_NEAR(report.cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles, 445, 1e-3);
  EXPECT_EQ(report.cores[0].bytesByPath.at("GM->UB"), 8192U);
}

TEST(TimingModel, SmallCopiesFollowEachOther) {
  Trace trace;
  for (int i = 0; i < 1000; ++i)
    trace.push_back(copyEvent(Pipe::MTE2, uint64_t(i) * 128, 128));
  TimingReport report = estimate({trace});
  EXPECT_NEAR(report.cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles / 1000, 21.26, 0.5);
}

TEST(TimingModel, FlagsOrderPipes) {
  // copy, add, copy back: each starts when the one before has ended.
  Trace trace = {copyEvent(Pipe::MTE2, 0, 8192),
                 set(Pipe::MTE2, Pipe::V),
                 await(Pipe::MTE2, Pipe::V),
                 vectorEvent(VectorOp::Add, DType::F16, 32),
                 set(Pipe::V, Pipe::MTE3),
                 await(Pipe::V, Pipe::MTE3),
                 copyEvent(Pipe::MTE3, 1 << 20, 8192)};
  TimingReport report = estimate({trace});
  const auto& ops = report.cores[0].operations;
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_NEAR(ops[1].start, ops[0].end, 1e-3);
  EXPECT_NEAR(ops[1].end - ops[1].start, 54, 1e-3);
  EXPECT_NEAR(ops[2].start, ops[1].end, 1e-3);
  EXPECT_NEAR(ops[2].end - ops[2].start, 8192 / 27.2, 1e-3);
  EXPECT_NEAR(report.cores[0].endCycle, ops[2].end, 1e-3);
  EXPECT_TRUE(ops[0].isCritical && ops[1].isCritical && ops[2].isCritical);
  EXPECT_NEAR(report.cores[0].pipes[unsigned(Pipe::V)].stallCycles.at("flag MTE2_V id 0"),
              ops[1].start - 1000, 1e-3);
}

TEST(TimingModel, LatencyHidesBehindASuccessorButNotBehindABarrier) {
  Trace plain = {vectorEvent(VectorOp::Add, DType::F16, 10),
                 vectorEvent(VectorOp::Add, DType::F16, 10)};
  Trace barrier = plain;
  TraceEvent fence;
  fence.kind = TraceKind::Barrier;
  fence.pipe = fence.other = Pipe::V;
  barrier.insert(barrier.begin() + 1, fence);
  double hidden = estimate({plain}).cores[0].pipes[unsigned(Pipe::V)].busyCycles;
  double exposed = estimate({barrier}).cores[0].pipes[unsigned(Pipe::V)].busyCycles;
  EXPECT_NEAR(hidden, 10 + 10 + 22, 1e-6);
  EXPECT_NEAR(exposed, 32 + 32, 1e-6);
}

// The first ends at 1037.5, while the scalar unit, which is at 1036.5, issues the second.
TEST(TimingModel, NothingStartsBeforeItIsIssued) {
  Trace trace = {vectorEvent(VectorOp::Add, DType::F16, 12)};
  trace.resize(4); // scalar accesses
  trace.push_back(trace[0]);
  const CoreTime core = estimate({trace}).cores[0];
  const auto& operations = core.operations;
  EXPECT_NEAR(operations[0].end, 1037.5, 1e-6);
  EXPECT_NEAR(operations[1].start, 1040, 1e-6);
}

TEST(TimingModel, CoresShareMemory) {
  // 48 cores read 1 MiB each: memory is the limit; one alone is limited by its path.
  auto reader = [](uint64_t core) {
    Trace trace;
    trace.reserve(32);
    for (uint64_t i = 0; i < 32; ++i)
      trace.push_back(copyEvent(Pipe::MTE2, (core << 24) + i * 32768, 32768));
    return trace;
  };
  std::vector<Trace> traces;
  traces.reserve(48);
  for (uint64_t core = 0; core < 48; ++core)
    traces.push_back(reader(core));
  double all = estimate(traces).cores[7].pipes[unsigned(Pipe::MTE2)].busyCycles;
  double one = estimate({reader(0)}).cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles;
  EXPECT_NEAR(one, 189 + 1048576 / 32.0, 1);
  double bytesPerSecond = 48 * 1048576.0 / (all - 189) * 1.85e9;
  EXPECT_NEAR(bytesPerSecond, timing().memoryBytesPerSecond, 0.001 * timing().memoryBytesPerSecond);
}

TEST(TimingModel, ReadsOfTheSameTileHitL2) {
  std::vector<Trace> traces;
  for (int core = 0; core < 48; ++core) {
    Trace trace;
    for (uint64_t i = 0; i < 64; ++i)
      trace.push_back(copyEvent(Pipe::MTE2, i % 2 * 65536, 65536));
    traces.push_back(trace);
  }
  TimingReport report = estimate(traces);
  EXPECT_LT(report.limitShares.at("HBM"), 0.01);
  EXPECT_NEAR(report.cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles, 189 + 64 * 2048, 300);
}

TEST(TimingModel, CopiesOfAPipeShareItsPath) {
  // Both copies are in flight; together they take as long as one of twice the size.
  TimingReport report =
      estimate({{copyEvent(Pipe::MTE2, 0, 8192), copyEvent(Pipe::MTE2, 1 << 20, 8192)}});
  EXPECT_NEAR(report.cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles, 189 + 512, 1);
}

TEST(TimingModel, CopiesToL1FillThePathTogether) {
  auto busy = [&](int copies) {
    Trace trace;
    for (int i = 0; i < copies; ++i) {
      TraceEvent copy = copyEvent(Pipe::MTE2, uint64_t(i) << 20, 40200);
      copy.to = Space::L1;
      trace.push_back(copy);
    }
    return estimate({trace}, true).cores[0].pipes[unsigned(Pipe::MTE2)].busyCycles;
  };
  double latency = timing().readLatencyCycles, issue = timing().copyIssueCycles;
  EXPECT_NEAR(busy(1), latency + 40200 / 40.2, 1);
  EXPECT_NEAR(busy(2), latency + issue + 40200 / 40.2, 1); // side by side
  EXPECT_NEAR(busy(6), latency + 6 * 40200 / 110.0, 60);   // the core's share of L2
}

TEST(TimingModel, L2HoldsWhatAnEarlierLaunchLeft) {
  std::vector<Trace> traces(1);
  for (uint64_t i = 0; i < 16; ++i)
    traces[0].push_back(copyEvent(Pipe::MTE2, i * 65536, 65536));
  auto share = [&](bool startsWarm) {
    std::vector<TimedCore> cores = {{"core", false, 0, 0, &traces[0], nullptr}};
    return estimateTime(cores, chip(), timing(), startsWarm).limitShares.at("HBM");
  };
  EXPECT_GT(share(false), 0.03);
  EXPECT_EQ(share(true), 0);
  for (TraceEvent& copy : traces[0])
    copy.mode = 1; // goes past L2
  EXPECT_GT(share(true), 0.03);
}

TEST(TimingModel, WritesGoAtThePaceOfMemoryWhenL2IsFull) {
  // 48 cores read and write; what is written is more than L2 takes beside what streams through it.
  std::vector<Trace> traces(48);
  constexpr uint64_t bytes = 32768, copies = 64;
  for (uint64_t core = 0; core < traces.size(); ++core)
    for (uint64_t i = 0; i < copies; ++i) {
      traces[core].push_back(copyEvent(Pipe::MTE2, (core << 30) + i * bytes, bytes));
      traces[core].push_back(copyEvent(Pipe::MTE3, (1ull << 40) + (core << 30) + i * bytes, bytes));
    }
  TimingReport report = estimate(traces);
  double moved = 2.0 * 48 * copies * bytes;
  double held = timing().dirtyShare * double(chip().l2Bytes);
  double seconds = (report.cores[0].endCycle - 1000) / 1.85e9;
  EXPECT_NEAR(seconds, (moved - held) / timing().memoryBytesPerSecond, 0.05 * seconds);
}

// From two sources that are no gated row: 128-byte copies of 48 cores that take 564.8 us for 12288^2 halves, and the
// read latency of a published cost model, 311 or 351 cycles. And one core needs as many to read at the rate of its path.
TEST(TimingModel, RequestsInFlightFollowFromPublishedNumbers) {
  const chips::AscendTiming all = timing();
  const double copies = 12288.0 * 12288 * 2 / 128 / 48;
  const double cyclesPerCopy = 564.8e-6 * 1850e6 / copies;
  EXPECT_NEAR(cyclesPerCopy, 21.26, 0.01);
  EXPECT_LT(311 / cyclesPerCopy, all.copiesInFlight);
  EXPECT_GT(351 / cyclesPerCopy, all.copiesInFlight);
  EXPECT_EQ(all.copiesInFlight, std::exp2(std::round(std::log2(331 / cyclesPerCopy))));
  const double needed = all.readLatencyCycles * all.gmToUbBytes / all.requestBytes;
  EXPECT_NEAR(needed, 11.8, 0.05);
  EXPECT_LT(needed, all.copiesInFlight);
}

TEST(TimingModel, WritesWaitBehindReadsPastL2) {
  auto busy = [](uint64_t cores, uint8_t mode) {
    std::vector<Trace> traces(cores);
    for (uint64_t core = 0; core < cores; ++core) {
      for (uint64_t i = 0; i < 8; ++i) {
        traces[core].push_back(copyEvent(Pipe::MTE2, (core << 30) + i * 32768, 32768));
        traces[core].back().mode = mode;
      }
      traces[core].push_back(copyEvent(Pipe::MTE3, (1ull << 40) + (core << 30), 32768));
    }
    return estimate(traces).cores[0].pipes[unsigned(Pipe::MTE3)].busyCycles;
  };
  // 48 cores have 8 KiB each in flight, and HBM gives them at its rate: so long does a read wait.
  double rate = timing().memoryBytesPerSecond / 1.85e9;
  double wait = 48 * 8192 / rate;
  double before = 189 * 27.2; // bytes, until the first read has begun
  EXPECT_NEAR(busy(48, 1), 189 + (32768 - before) / 27.2 * wait / 189, 60);
  EXPECT_NEAR(busy(48, 0), 32768 / 27.2, 1); // these wait in L2
  EXPECT_NEAR(busy(4, 1), 32768 / 27.2, 1);  // nothing waits
}

TEST(TimingModel, WaitsThatNothingEndsAreReported) {
  TimingReport report =
      estimate({{await(Pipe::MTE2, Pipe::V), vectorEvent(VectorOp::Add, DType::F16, 1)}});
  EXPECT_EQ(report.stuck, "core 0; V waits for flag MTE2_V id 0");
}

TEST(TimingModel, BlocksBeyondTheChipsCoresWait) {
  // 24 cube cores: 30 blocks of one multiplication take two rounds, and 24 take one.
  TraceEvent mmad;
  mmad.kind = TraceKind::Cube;
  mmad.op = uint8_t(CubeOp::Mmad);
  mmad.pipe = Pipe::M;
  mmad.type = DType::F16;
  mmad.m = mmad.n = mmad.k = 512;
  const TimingReport one = estimate(std::vector<Trace>(24, {mmad}), true);
  const TimingReport two = estimate(std::vector<Trace>(30, {mmad}), true);
  EXPECT_NEAR(two.cores[29].endCycle, 2 * one.cores[0].endCycle, 1);
  EXPECT_EQ(two.cores[29].startCycle, one.cores[0].endCycle);
  EXPECT_EQ(two.cores[24].place, two.cores[0].place);
  EXPECT_NEAR(two.coreMicroseconds(), one.coreMicroseconds() * 30 / 24, 1e-6);
  EXPECT_NEAR(two.meanBusyMicroseconds(Pipe::M), one.meanBusyMicroseconds(Pipe::M) * 30 / 24, 1e-6);
  EXPECT_LT(two.limitShares.at("cube"), 1);
}

/// A cube core and two vector cores, of which one has nothing to do: MTE2 of the cube core is busy all the time, that of
/// the vector core hardly.
TEST(TimingModel, PipesAreThoseOfOneKindOfCore) {
  Trace cube, vector, nothing;
  for (uint64_t i = 0; i < 64; ++i)
    cube.push_back(copyEvent(Pipe::MTE2, i << 16, 65536));
  vector = {copyEvent(Pipe::MTE2, 1 << 30, 64), set(Pipe::MTE2, Pipe::V),
            await(Pipe::MTE2, Pipe::V), vectorEvent(VectorOp::Exp, DType::F32, 255)};
  const std::vector<TimedCore> cores = {{"cube core 0", true, 0, 0, &cube, nullptr},
                                        {"vector core 0", false, 0, 0, &vector, nullptr},
                                        {"vector core 1", false, 0, 1, &nothing, nullptr}};
  const TimingReport report = estimateTime(cores, chip(), timing());
  const std::vector<KindTime> kinds = report.kinds();
  ASSERT_EQ(kinds.size(), 2U);
  const auto cyclesOf = [&](size_t core, Pipe pipe) {
    return report.cores[core].pipes[unsigned(pipe)].busyCycles;
  };
  EXPECT_STREQ(kinds[0].name(), "cube");
  EXPECT_EQ(kinds[0].launched, 1U);
  EXPECT_EQ(kinds[0].ofChip, 24U);
  const PipeUse& ofCube = kinds[0].pipes[unsigned(Pipe::MTE2)];
  EXPECT_NEAR(ofCube.busyMicroseconds, cyclesOf(0, Pipe::MTE2) / 1850, 1e-9);
  EXPECT_GT(ofCube.share, 0.95);
  EXPECT_EQ(kinds[0].pipes[unsigned(Pipe::V)].users, 0U);
  EXPECT_STREQ(kinds[1].name(), "vector");
  EXPECT_EQ(kinds[1].launched, 2U);
  EXPECT_EQ(kinds[1].ofChip, 48U);
  EXPECT_EQ(kinds[1].last, 1U);
  const double time = report.cores[1].endCycle, idle = report.cores[2].endCycle;
  EXPECT_NEAR(kinds[1].microseconds, (time + idle) / 2 / 1850, 1e-9);
  for (const Pipe pipe : {Pipe::MTE2, Pipe::V}) { // of the one that has it, and of that one's time
    const PipeUse& use = kinds[1].pipes[unsigned(pipe)];
    EXPECT_EQ(use.users, 1U);
    EXPECT_NEAR(use.busyMicroseconds, cyclesOf(1, pipe) / 1850, 1e-9);
    EXPECT_NEAR(use.share, cyclesOf(1, pipe) / time, 1e-9);
  }
  EXPECT_GT(kinds[1].pipes[unsigned(Pipe::V)].share, 0.3);
}

/// Of 96 blocks each of the 48 cores runs two; what it waits for is that of both.
TEST(TimingModel, WaitsAreThoseOfAllThatACoreRuns) {
  const Trace trace = {copyEvent(Pipe::MTE2, 0, 1024), set(Pipe::MTE2, Pipe::V),
                       await(Pipe::MTE2, Pipe::V), vectorEvent(VectorOp::Exp, DType::F32, 10)};
  const TimingReport report = estimate(std::vector<Trace>(96, trace));
  const KindTime kind = report.kinds().at(0);
  EXPECT_EQ(kind.launched, 48U);
  double waits = 0;
  int blocks = 0;
  for (const CoreTime& core : report.cores)
    if (core.place == report.cores[kind.last].place) {
      waits += core.pipes[unsigned(Pipe::V)].stallCycles.at("flag MTE2_V id 0") / 1850;
      ++blocks;
    }
  EXPECT_EQ(blocks, 2);
  EXPECT_NEAR(kind.pipes[unsigned(Pipe::V)].waitMicroseconds.at("flag MTE2_V id 0"), waits, 1e-9);
  const auto& ofLast = report.cores[kind.last].pipes[unsigned(Pipe::V)].stallCycles;
  EXPECT_GT(waits, 1.5 * ofLast.at("flag MTE2_V id 0") / 1850);
}

TEST(TimingModel, UnitsAreSharesOfTheWholeChip) {
  TraceEvent mmad;
  mmad.kind = TraceKind::Cube;
  mmad.op = uint8_t(CubeOp::Mmad);
  mmad.pipe = Pipe::M;
  mmad.type = DType::F16;
  mmad.m = mmad.n = mmad.k = 512;
  const TimingReport report = estimate(std::vector<Trace>(6, {mmad}), true);
  const CoreTime& core = report.cores[0];
  EXPECT_NEAR(report.limitShares.at("cube"),
              core.pipes[unsigned(Pipe::M)].busyCycles / core.endCycle * 6 / 24, 1e-9);
}

TEST(TimingModel, CrossCoreFlagsJoinCubeAndVectors) {
  TraceEvent crossSet;
  crossSet.kind = TraceKind::CrossSet;
  crossSet.pipe = Pipe::MTE3;
  crossSet.id = 3;
  crossSet.mode = 2;
  TraceEvent crossWait;
  crossWait.kind = TraceKind::CrossWait;
  crossWait.id = 3;
  Trace cube = {crossWait};
  Trace first = {copyEvent(Pipe::MTE3, 0, 27200), crossSet};
  Trace second = {copyEvent(Pipe::MTE3, 1 << 20, 2720), crossSet};
  std::vector<TimedCore> cores = {{"AIC 0", true, 0, 0, &cube, nullptr},
                                  {"AIV 0", false, 0, 0, &first, nullptr},
                                  {"AIV 1", false, 0, 1, &second, nullptr}};
  TimingReport report = estimateTime(cores, chip(), timing());
  ASSERT_EQ(report.stuck, "");
  EXPECT_NEAR(report.cores[0].endCycle, 1003.5 + 1000 + 500 + 1, 0.1); // the slower of the two
}

// What cores poll words in GM for: one is told when the other has done all that it issued.
TEST(TimingModel, NoticesJoinCores) {
  TraceEvent notice;
  notice.kind = TraceKind::Notice;
  notice.address = 7;
  TraceEvent wait = notice;
  wait.kind = TraceKind::AwaitNotice;
  wait.repeats = 2;
  Trace first = {copyEvent(Pipe::MTE3, 0, 27200), notice};
  Trace second = {copyEvent(Pipe::MTE3, 1 << 20, 2720), notice};
  Trace third = {wait};
  TimingReport report = estimate({first, second, third});
  ASSERT_EQ(report.stuck, "");
  EXPECT_NEAR(report.cores[2].endCycle, 1003.5 + 1000 + 500 + 11, 0.1);
  EXPECT_NEAR(report.cores[2].pipes[unsigned(Pipe::S)].stallCycles.at(
                  "core 0 (IBSet, GroupBarrier or Matmul)"),
              3.5 + 1000 + 500, 0.1);
  EXPECT_TRUE(report.cores[0].operations[0].isCritical);
  EXPECT_FALSE(report.cores[1].operations[0].isCritical);
  EXPECT_EQ(estimate({first, third}).stuck,
            "core 1 waits for another core (IBSet, GroupBarrier or Matmul)");
}

TEST(TimingModel, WaitsForFlagsBetweenCoresAreNamed) {
  const TraceEvent crossSet = crossEvent(TraceKind::CrossSet, Pipe::MTE3, 3, 2);
  Trace cube = {crossEvent(TraceKind::CrossWait, Pipe::S, 3, 0), copyEvent(Pipe::MTE2, 0, 4096)};
  Trace slow = {copyEvent(Pipe::MTE3, 0, 27200), crossSet};
  Trace quick = {copyEvent(Pipe::MTE3, 1 << 20, 2720), crossSet};
  std::vector<TimedCore> cores = {{"AIC 0", true, 0, 0, &cube, nullptr},
                                  {"AIV 0", false, 0, 0, &slow, nullptr},
                                  {"AIV 1", false, 0, 1, &quick, nullptr}};
  const CoreTime waiting = estimateTime(cores, chip(), timing()).cores[0];
  for (Pipe pipe : {Pipe::S, Pipe::MTE2}) {
    const auto& stalls = waiting.pipes[unsigned(pipe)].stallCycles;
    ASSERT_TRUE(stalls.contains("cross-core flag 3 of AIV 0")) << pipeLabel(pipe);
    EXPECT_NEAR(stalls.at("cross-core flag 3 of AIV 0"), 3.5 + 1000 + 500, 0.1);
  }
  EXPECT_NEAR(waiting.pipes[unsigned(Pipe::MTE2)].stallCycles.at("issue"), 1 + 3.5, 0.1);
}

// First for a flag of its own core, then, with nothing in its queue, for another core.
TEST(TimingModel, APipeThatWaitsTwiceHasTwoCauses) {
  const TraceEvent crossSet = crossEvent(TraceKind::CrossSet, Pipe::MTE3, 3, 0);
  Trace first = {copyEvent(Pipe::MTE2, 0, 8192),
                 set(Pipe::MTE2, Pipe::V),
                 await(Pipe::MTE2, Pipe::V),
                 crossSet,
                 crossEvent(TraceKind::CrossWait, Pipe::S, 3, 0),
                 vectorEvent(VectorOp::Add, DType::F16, 32)};
  Trace second = {copyEvent(Pipe::MTE3, 1 << 20, 27200), crossSet};
  const CoreTime core = estimate({first, second}).cores[0];
  const auto& stalls = core.pipes[unsigned(Pipe::V)].stallCycles;
  const double copied = core.operations[0].end;
  EXPECT_NEAR(stalls.at("flag MTE2_V id 0"), copied - 1000, 0.1);
  EXPECT_NEAR(stalls.at("cross-core flag 3 of core 1"), 1003.5 + 1000 + 500 - copied, 0.1);
  EXPECT_NEAR(stalls.at("issue"), 1 + 3.5, 0.1);
}

TEST(TimingModel, SyncAllIsAStallAndOnTheCriticalPath) {
  std::vector<Trace> traces;
  traces.reserve(3);
  for (uint64_t core = 0; core < 3; ++core)
    traces.push_back({copyEvent(Pipe::MTE3, core << 20, core == 1 ? 27200 : 2720),
                      crossEvent(TraceKind::SyncAll, Pipe::S, 16, 0),
                      crossEvent(TraceKind::CrossWait, Pipe::S, 16, 0),
                      copyEvent(Pipe::MTE2, core << 20, core == 2 ? 8192 : 4096)});
  const TimingReport report = estimate(traces);
  ASSERT_EQ(report.stuck, "");
  for (const CoreTime& core : report.cores) {
    const auto& stalls = core.pipes[unsigned(Pipe::MTE2)].stallCycles;
    ASSERT_TRUE(stalls.contains("SyncAll of core 1"));
    EXPECT_NEAR(stalls.at("SyncAll of core 1"), &core == &report.cores[1] ? 500 : 1400, 2);
  }
  EXPECT_TRUE(report.cores[1].operations[0].isCritical); // the last to come
  EXPECT_TRUE(report.cores[2].operations[1].isCritical); // the last to end
  EXPECT_FALSE(report.cores[2].operations[0].isCritical);
  EXPECT_FALSE(report.cores[0].operations[1].isCritical);
}

// Each path that has a documented or derived limit, and none of which nothing is known.
TEST(TimingModel, EveryPathHasItsLimit) {
  auto share = [](Pipe pipe, Space from, Space to, double limit) {
    TraceEvent copy = copyEvent(pipe, 0, 65536);
    copy.from = from;
    copy.to = to;
    copy.type = DType::F16;
    const CoreTime core = estimate({{copy}}).cores[0];
    const std::string path = std::string(spaceLabel(from)) + "->" + spaceLabel(to);
    const double reached = core.shareOfPath(path);
    EXPECT_NEAR(reached, limit == 0 ? -1 : 65536 / limit / core.endCycle, 1e-9) << path;
    EXPECT_LE(reached, 1) << path;
  };
  share(Pipe::MTE2, Space::GM, Space::UB, 32);
  share(Pipe::MTE2, Space::GM, Space::L1, 110);
  share(Pipe::MTE3, Space::UB, Space::GM, 27.2);
  share(Pipe::V, Space::UB, Space::UB, 256);
  share(Pipe::MTE1, Space::L1, Space::L0A, 256);
  share(Pipe::MTE1, Space::L1, Space::L0B, 128);
  share(Pipe::MTE3, Space::L1, Space::GM, 0);
  TraceEvent store;
  store.kind = TraceKind::Cube;
  store.op = uint8_t(CubeOp::Fixpipe);
  store.type = DType::F16;
  store.from = Space::L0C;
  store.bytes = 6750;
  EXPECT_EQ(leastPathCycles(store, timing()), 100); // to GM
  store.to = Space::L1;
  store.bytes = 12800; // 64 elements per cycle, of whatever type
  EXPECT_EQ(leastPathCycles(store, timing()), 100);
  store.from = Space::L1;
  store.to = Space::BT;
  EXPECT_EQ(leastPathCycles(store, timing()), 400);
}

TEST(TimingModel, ReadsThatHitHaveL2AsTheirLimit) {
  const std::vector<Trace> traces(48, {copyEvent(Pipe::MTE2, 0, 65536)});
  std::vector<TimedCore> cores;
  cores.reserve(traces.size());
  for (uint32_t i = 0; i < traces.size(); ++i)
    cores.push_back({"core", false, i, 0, &traces[i], nullptr});
  const TimingReport warm = estimateTime(cores, chip(), timing(), true);
  const double seconds = warm.cores[0].endCycle / 1.85e9;
  EXPECT_NEAR(warm.limitShares.at("L2"), 48 * 65536 / seconds / 5.0e12, 0.001);
  EXPECT_FALSE(estimate({{copyEvent(Pipe::MTE2, 0, 65536)}}).limitShares.contains("L2"));
}

} // namespace
} // namespace tilewright::ascend
