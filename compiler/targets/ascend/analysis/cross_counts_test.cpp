// SPDX-License-Identifier: Apache-2.0
// What is said of flags between cores in loops of any length, against runs of many lengths, followed by code that shares
// nothing with it.
#include "compiler/targets/ascend/analysis/cross_counts.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::ascend::model {
namespace {

constexpr unsigned kLength = 1'000; ///< the value that loops are as long as
using Kind = CrossCounts::Kind;

/// One end of a flag, in turns of a loop that `asks` chooses, or in all of them.
struct End {
  bool isSet = false;
  unsigned flag = 0;
  enum Asks : uint8_t { Always, NotIn, OnlyIn, NotLast } asks = Always;
  int64_t turn = 0;
};

/// `times` of the value, and `more`, turns of what is in it.
struct Part {
  int64_t times = 0, more = 1;
  std::vector<End> ends;
  int64_t turns(int64_t value) const {
    return std::max<int64_t>(times * value + more, 0);
  }
};
using Text = std::vector<Part>;
using Kernel = std::array<Text, 2>; ///< of the cube core and of the vector cores

std::vector<End> runOf(const Text& text, int64_t value) {
  std::vector<End> run;
  for (const Part& part : text)
    for (int64_t turn = 0; turn < part.turns(value); ++turn)
      for (const End& end : part.ends)
        if (end.asks == End::Always || (end.asks == End::NotIn && turn != end.turn) ||
            (end.asks == End::OnlyIn && turn == end.turn) ||
            (end.asks == End::NotLast && turn < part.turns(value) - 1))
          run.push_back(end);
  return run;
}

bool matches(const Kernel& kernel, int64_t value) {
  const std::array<std::vector<End>, 2> runs = {runOf(kernel[0], value), runOf(kernel[1], value)};
  std::array<size_t, 2> at = {0, 0};
  std::map<std::pair<size_t, unsigned>, int> set; // by who waits
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (const size_t core : {0, 1})
      for (; at[core] < runs[core].size(); ++at[core], isMore = true) {
        const End& end = runs[core][at[core]];
        if (end.isSet)
          ++set[{1 - core, end.flag}];
        else if (set[{core, end.flag}] == 0)
          break;
        else
          --set[{core, end.flag}];
      }
  }
  const auto isLeft = [](const auto& flag) { return flag.second != 0; };
  return at[0] == runs[0].size() && at[1] == runs[1].size() && std::ranges::none_of(set, isLeft);
}

Program programOf(const Kernel& kernel) {
  Program program;
  for (const Agent to : {Agent::Cube, Agent::Vector})
    for (unsigned id = 0; id < 2; ++id)
      program.addFlag({to == Agent::Cube ? Agent::Vector : Agent::Cube, Pipe::S}, {to, Pipe::S}, id,
                      /*isCross=*/true);
  for (const Agent agent : {Agent::Cube, Agent::Vector})
    for (const Part& part : kernel[static_cast<size_t>(agent)]) {
      Node* loop = program.add(program.body, nullptr, NodeKind::Loop);
      loop->trips = part.times == 0 ? part.more : -1;
      loop->length = {part.more, 1, {}};
      if (part.times != 0)
        loop->length.terms = {{.loop = kLength, .bytes = part.times}};
      for (const End& end : part.ends) {
        Node* parent = loop;
        if (end.asks != End::Always) {
          parent = program.add(loop->body, loop, NodeKind::If);
          Condition condition{.terms = {{.loop = loop->id, .bytes = 1}}};
          condition.kind = end.asks == End::NotIn ? Comparison::NotEqual : Comparison::Equal;
          condition.constant = -end.turn;
          if (end.asks == End::NotLast)
            condition = {
                .kind = Comparison::Greater, .terms = {}, .left = {{.loop = loop->id, .bytes = 1}}};
          parent->conditions = {condition};
        }
        Sync& sync = program.add(parent->body, parent, NodeKind::Sync)->sync;
        const bool isToCube = (agent == Agent::Cube) != end.isSet;
        sync.kind = end.isSet ? SyncKind::Set : SyncKind::Wait;
        sync.queue = {agent, end.isSet ? Pipe::MTE2 : Pipe::S};
        sync.flag = end.flag + (isToCube ? 0 : 2);
      }
    }
  return program;
}

CrossCounts countsOf(const Kernel& kernel) {
  return countCrossFlags(programOf(kernel));
}

const End kSet{.isSet = true}, kWait{};

TEST(CrossCounts, TellsOfFlagsWithOneEnd) {
  const Part loop{.times = 1, .more = 0, .ends = {kSet}}, idle{.times = 1, .more = 0, .ends = {}};
  EXPECT_EQ(countsOf({Text{loop}, Text{idle}}).kind, Kind::Wrong);
  const CrossCounts waits = countsOf({Text{idle}, Text{{.times = 1, .more = 0, .ends = {kWait}}}});
  ASSERT_EQ(waits.faults.size(), 1);
  EXPECT_EQ(waits.faults.front().kind, FaultKind::NeverSet);
}

TEST(CrossCounts, CountsTurnsOfAnyLength) {
  const auto kernel = [](int64_t times, int64_t more, const End& wait) {
    return Kernel{Text{{times, more, {kSet}}}, Text{{times, more, {wait}}}};
  };
  const auto twice = [](int64_t times, int64_t more) {
    return Kernel{Text{{times, more, {kSet, kSet}}}, Text{{times, more, {kWait}}}};
  };
  for (const auto& [times, more] :
       {std::pair<int64_t, int64_t>{1, 0}, {1, 3}, {0, 100}, {0, 1'000}}) {
    EXPECT_EQ(countsOf(kernel(times, more, kWait)).kind, Kind::Match);
    EXPECT_EQ(countsOf(twice(times, more)).kind, Kind::Wrong);
    const End notInThird{.asks = End::NotIn, .turn = 2};
    const CrossCounts skipped = countsOf(kernel(times, more, notInThird));
    EXPECT_EQ(skipped.kind, times == 0 ? Kind::Wrong : Kind::WrongSoFar);
    const End notIn50{.asks = End::NotIn, .turn = 50};
    EXPECT_EQ(countsOf(kernel(times, more, notIn50)).kind,
              times == 0 ? Kind::Wrong : Kind::WrongSoFar);
  }
  EXPECT_EQ(countsOf(twice(0, 1'000'000)).kind, Kind::WrongSoFar);
  EXPECT_EQ(countsOf(kernel(0, 1'000'000, kWait)).kind, Kind::Unknown); // the last turn isn't seen
}

/// `if count == 0` chooses the first turn on both sides, which count for themselves, and an `if` in which one counts alone
/// leaves nothing known.
TEST(CrossCounts, FollowsVariablesOfEachSide) {
  const auto kindOf = [](int64_t setsIn, int64_t waitsIn, bool isAsked) {
    Program program = programOf({});
    program.variables = 1;
    program.add(program.body, nullptr, NodeKind::Assign)->variable = 0;
    for (const Agent agent : {Agent::Cube, Agent::Vector}) {
      const auto add = [&](Block& block, Node* parent, NodeKind kind) {
        Node* node = program.add(block, parent, kind);
        node->side = agent;
        return node;
      };
      Node* loop = add(program.body, nullptr, NodeKind::Loop);
      loop->trips = 40;
      Node* branch = add(loop->body, loop, NodeKind::If);
      branch->variable = 0;
      branch->value = static_cast<int>(agent == Agent::Cube ? setsIn : waitsIn);
      Sync& sync = add(branch->body, branch, NodeKind::Sync)->sync;
      sync.kind = agent == Agent::Cube ? SyncKind::Set : SyncKind::Wait;
      sync.queue = {agent, agent == Agent::Cube ? Pipe::FIX : Pipe::S};
      sync.flag = 2;
      Node* asks = isAsked ? add(loop->body, loop, NodeKind::If) : nullptr;
      Node* counts = add(asks ? asks->body : loop->body, asks ? asks : loop, NodeKind::Assign);
      counts->variable = 0;
      counts->value = 1;
      counts->isStep = true;
    }
    return countCrossFlags(program).kind;
  };
  EXPECT_EQ(kindOf(0, 0, false), Kind::Match);
  EXPECT_EQ(kindOf(0, 1, false), Kind::Match);
  EXPECT_EQ(kindOf(0, 0, true), Kind::Unknown);
}

/// A kernel may be made for one length, or for long ones.
TEST(CrossCounts, LeavesAloneWhatOneLengthFits) {
  for (const int64_t length : {8, 50, 500})
    EXPECT_EQ(countsOf({Text{{1, 0, {kSet}}}, Text{{0, length, {kWait}}}}).kind, Kind::Unknown);
  const Text ahead = {{0, 8, {kSet}}, {1, -8, {kSet}}};
  EXPECT_EQ(countsOf({ahead, Text{{1, 0, {kWait}}}}).kind, Kind::Match);
  const Text waits = {{1, 0, {kWait}}};
  EXPECT_EQ(countsOf({waits, ahead}).kind, Kind::Unknown);
}

/// To tell which kernel a test is about.
std::string print(const Kernel& kernel) {
  std::string text;
  for (const Text& each : kernel) {
    for (const auto& [times, more, ends] : each) {
      text += std::to_string(times) + "n+" + std::to_string(more) + ":";
      for (const End& end : ends)
        text += std::string(end.isSet ? " set" : " wait") + std::to_string(end.flag) +
                std::array{"", " but in ", " in ", " but last "}[end.asks] +
                (end.asks == End::Always ? "" : std::to_string(end.turn));
      text += "; ";
    }
    text += "| ";
  }
  return text;
}

TEST(CrossCounts, AgreesWithRunsOfManyLengths) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  std::map<Kind, int> seen;
  for (int number = 0; number < 600; ++number) {
    Kernel kernel;
    const int parts = pick(1, 2);
    for (int i = 0; i < parts; ++i) {
      const Part like{.times = pick(0, 3) ? 1 : 0, .more = pick(0, 2), .ends = {}};
      for (Text& text : kernel)
        text.push_back(like);
      const int ends = pick(1, 2);
      for (int j = 0; j < ends; ++j) {
        End end{.isSet = true, .flag = static_cast<unsigned>(pick(0, 1))};
        if (pick(0, 4) == 0)
          end = {true, end.flag, static_cast<End::Asks>(pick(1, 3)), pick(0, 3)};
        const auto from = static_cast<size_t>(pick(0, 1));
        kernel[from].back().ends.push_back(end);
        end.isSet = false;
        kernel[1 - from].back().ends.push_back(end);
      }
    }
    Part& changed = kernel[static_cast<size_t>(pick(0, 1))].back();
    if (const int change = pick(0, 5); change == 0)
      ++changed.more;
    else if (change == 1 && !changed.ends.empty())
      changed.ends.pop_back();
    else if (change == 2 && !changed.ends.empty())
      changed.ends.push_back(changed.ends.front());
    else if (change == 3 && !changed.ends.empty())
      changed.ends.back().asks = End::NotLast;
    const CrossCounts counts = countsOf(kernel);
    ++seen[counts.kind];
    const int64_t first = std::max<int64_t>(counts.turns + 3, 6); // all turns that branches ask for
    for (int64_t value = counts.kind == Kind::Match ? 0 : first; value < 45; ++value)
      if (counts.kind == Kind::Match)
        ASSERT_TRUE(matches(kernel, value)) << print(kernel) << "with " << value;
      else if (counts.kind == Kind::Wrong || counts.kind == Kind::WrongSoFar)
        ASSERT_FALSE(matches(kernel, value)) << print(kernel) << "with " << value;
  }
  EXPECT_GT(seen[Kind::Match], 100);
  EXPECT_GT(seen[Kind::Wrong], 50);
}

} // namespace
} // namespace tilewright::ascend::model
