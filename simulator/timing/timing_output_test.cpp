// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/timing_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tilewright::ascend {
namespace {

/// One core that copies and adds, with names that must be escaped.
struct Example {
  Trace trace;
  std::vector<TimedLine> lines = {{"dir/k\"1.cpp", 12, "DataCopy</script>"},
                                  {"dir/k.cpp", 13, "Add"}};
  std::vector<TimedCore> cores;
  TimingReport report;

  Example() {
    TraceEvent copy;
    copy.kind = TraceKind::Copy;
    copy.pipe = Pipe::MTE2;
    copy.to = Space::UB;
    copy.bytes = 8192;
    copy.site = 0;
    TraceEvent set;
    set.kind = TraceKind::SetFlag;
    set.pipe = Pipe::MTE2;
    set.other = Pipe::V;
    TraceEvent wait = set;
    wait.kind = TraceKind::WaitFlag;
    std::swap(wait.pipe, wait.other);
    TraceEvent add;
    add.kind = TraceKind::Vector;
    add.pipe = Pipe::V;
    add.repeats = 32;
    add.site = 1;
    trace = {copy, set, wait, add};
    cores = {{"AIV 0", false, 0, 0, &trace, &lines}};
    report = estimateTime(cores, *chips::findAscendChip("910B1"), chips::arch2201Timing());
  }
};

size_t count(const std::string& text, const std::string& piece) {
  size_t number = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++number;
  return number;
}

TEST(TimingOutput, TextNamesPipesStallsAndPaths) {
  std::string text = timingText(Example().report);
  EXPECT_NE(text.find("modelled time on 910B1 at 1850 MHz: task 1.31 us"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" us, vector cores 0.81 us on average (1 of 48)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("flag MTE2_V id 0"), std::string::npos) << text;
  EXPECT_NE(text.find("GM->UB: 8192 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("  V     busy       0.03 us"), std::string::npos) << text;
}

TEST(TimingOutput, JsonHoldsWhatTheTextSays) {
  const std::string json = timingJson(Example().report);
  EXPECT_EQ(
      json.find("{\"kernel\":\"\",\"chip\":\"910B1\",\"clock_mhz\":1850.000,\"task_us\":1.31"), 0U)
      << json;
  EXPECT_NE(json.find("\"limits\":{\"HBM\":0."), std::string::npos) << json;
  EXPECT_NE(json.find("\"kinds\":{\"vector\":{\"cores\":1,\"cores_of_chip\":48,\"core_us\":0."),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"last\":\"AIV 0\",\"pipes\":{\"S\":{\"busy_us\":0."), std::string::npos)
      << json;
  EXPECT_NE(json.find("{\"name\":\"AIV 0\",\"kind\":\"vector\",\"start_us\":0.000,\"end_us\":0."),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"waits_us\":{\"flag MTE2_V id 0\":0."), std::string::npos) << json;
  EXPECT_NE(json.find(",\"cores\":1,\"waits_us\":{\"flag MTE2_V id 0\":0."), std::string::npos)
      << json;
  EXPECT_NE(json.find("\"bytes\":{\"GM->UB\":8192}"), std::string::npos) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
}

TEST(TimingOutput, ChromeTraceHasOneEventPerInstruction) {
  Example example;
  std::string json = chromeTrace(example.report, example.cores);
  EXPECT_EQ(count(json, "\"ph\":\"X\""), 2U);
  EXPECT_NE(json.find("\"line\":\"dir/k\\\"1.cpp:12\""), std::string::npos);
  EXPECT_NE(json.find("\"critical\":true"), std::string::npos);
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
}

TEST(TimingOutput, PageIsOneClosedScript) {
  Example example;
  std::string page = timelinePage(example.report, example.cores);
  EXPECT_EQ(count(page, "</script>"), 1U);
  EXPECT_NE(page.find("DataCopy\\u003c/script>"), std::string::npos);
  EXPECT_NE(page.find("2 of 2 instructions"), std::string::npos);
  EXPECT_NE(page.find("dir/k.cpp:13"), std::string::npos);
  std::string cut = timelinePage(example.report, example.cores, 1);
  EXPECT_NE(cut.find("1 of 2 instructions"), std::string::npos);
}

TEST(TimingOutput, EveryOutputNamesTheKernel) {
  Example example;
  example.report.kernel = "_Z5scaleILi3EEvPhPFviE"; // scale<3>(unsigned char*, void (*)(int))
  EXPECT_EQ(example.report.kernelName(), "scale<3>");
  example.report.kernel = "a";
  EXPECT_EQ(example.report.kernelName(), "a");
  example.report.kernel = "_Z5scalePh";
  EXPECT_EQ(timingText(example.report).find("kernel scale, modelled time on 910B1"), 0U);
  const std::string page = timelinePage(example.report, example.cores);
  EXPECT_NE(page.find("const title=\"scale on 910B1: task "), std::string::npos);
  const std::string json = chromeTrace(example.report, example.cores);
  EXPECT_NE(json.find("\"otherData\":{\"kernel\":\"scale\","), std::string::npos);
  EXPECT_NE(json.find("{\"name\":\"AIV 0 of scale\"}"), std::string::npos);
}

TEST(TimingOutput, PathsHaveTheirLimitBesideThem) {
  const TimingReport report = Example().report;
  const double share = 8192 / 32.0 / report.cores[0].endCycle;
  char words[64];
  std::snprintf(words, sizeof words, ", %.1f %% of its limit of 32.0\n", 100 * share);
  EXPECT_NE(timingText(report).find(words), std::string::npos) << timingText(report);
  std::snprintf(words, sizeof words, "\"path_limits\":{\"GM->UB\":%.3f}", share);
  EXPECT_NE(timingJson(report).find(words), std::string::npos) << timingJson(report);
}

// Perfetto drops slices that overlap another of their track in part.
TEST(TimingOutput, SlicesOfATrackDoNotOverlap) {
  Example example;
  const TraceEvent copy = example.trace[0];
  example.trace.clear();
  for (uint64_t i = 0; i < 40; ++i) {
    example.trace.push_back(copy);
    example.trace.back().address = i << 20;
    example.trace.back().bytes = 64 + i * 96 % 1000;
  }
  example.report =
      estimateTime(example.cores, *chips::findAscendChip("910B1"), chips::arch2201Timing());
  const std::string json = chromeTrace(example.report, example.cores);
  std::map<int, int64_t> ends; // of each track, in nanoseconds
  size_t slices = 0;
  for (size_t at = json.find("\"ph\":\"X\""); at != std::string::npos;
       at = json.find("\"ph\":\"X\"", at + 1), ++slices) {
    int track = 0;
    double start = 0, length = 0;
    const size_t tid = json.find("\"tid\":", at);
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): our own numbers
    ASSERT_EQ(std::sscanf(json.c_str() + tid, "\"tid\":%d,\"ts\":%lf,\"dur\":%lf", &track, &start,
                          &length),
              3);
    const int64_t from = std::llround(start * 1000);
    EXPECT_GE(from, ends[track]);
    ends[track] = from + std::llround(length * 1000);
  }
  EXPECT_EQ(slices, 40U);
  EXPECT_GT(ends.size(), 1U);
  EXPECT_EQ(count(json, "\"args\":{\"name\":\"MTE2\"}"), ends.size());
}

// What of a large launch is kept holds the whole critical path.
TEST(TimingOutput, CoresOnTheCriticalPathAreKeptFirst) {
  Example example;
  example.cores = {{"idle", false, 0, 0, &example.trace, &example.lines},
                   {"first", false, 1, 0, &example.trace, &example.lines},
                   {"last", false, 2, 0, &example.trace, &example.lines}};
  example.report =
      estimateTime(example.cores, *chips::findAscendChip("910B1"), chips::arch2201Timing());
  for (CoreTime& core : example.report.cores)
    for (TimedOperation& operation : core.operations)
      operation.isCritical = core.name != "idle";
  example.report.cores[2].endCycle += 1000;
  const std::string page = timelinePage(example.report, example.cores, 4);
  EXPECT_NE(page.find("\"core\":\"first\""), std::string::npos);
  EXPECT_EQ(page.find("\"core\":\"idle\""), std::string::npos);
}

} // namespace
} // namespace tilewright::ascend
