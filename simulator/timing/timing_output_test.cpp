// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/timing_output.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_NE(json.find("\"pipes_us\":{\"S\":0."), std::string::npos) << json;
  EXPECT_NE(json.find("{\"name\":\"AIV 0\",\"start_us\":0.000,\"end_us\":0."), std::string::npos);
  EXPECT_NE(json.find("\"waits_us\":{\"flag MTE2_V id 0\":0."), std::string::npos) << json;
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

} // namespace
} // namespace tilewright::ascend
