// SPDX-License-Identifier: Apache-2.0
// Flags between cores that run short of ids.
#include "compiler/targets/ascend/analysis/random_programs.h"

namespace tilewright::ascend::model {
namespace {

using namespace testing;

/// No id between cores counts, however few there are.
TEST(InsertFlags, RandomProgramsWithFewIdsBetweenCores) {
  Counts counts;
  InsertOptions options;
  options.betweenAgents = true;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    options.endCross = 2 + seed % 4;
    const Mix mix{.cube = true,
                  .branches = seed % 3 != 0,
                  .linear = seed % 5 == 0,
                  .asks = seed % 7 == 0,
                  .exits = seed % 11 == 0};
    insertAndTry(seed, mix, options, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(100 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Two tiles in turn: each has an id there and one back, if there are four; with less, ids are shared. None counts.
TEST(InsertFlags, TilesInTurnBetweenCores) {
  for (const unsigned ids : {4U, 3U, 2U, 1U}) {
    ByHand hand;
    Node* loop = hand.loop(nullptr);
    Access global = ByHand::write(0, 64, {{loop->id, 64, 2}});
    global.isGlobal = true;
    hand.statement(loop, Pipe::FIX, {global}, Agent::Cube);
    global.isWrite = false;
    hand.statement(loop, Pipe::MTE2, {global});
    InsertOptions options;
    options.betweenAgents = true;
    options.endCross = ids;
    const std::string text = hand.insert(options);
    EXPECT_EQ(text.find("+ set cube.FIX to vector.S 2 + 1 * loop0 % 2") != std::string::npos,
              ids == 4)
        << text;
    const Verdict verdict = check(hand.program, Conflicts(hand.program));
    EXPECT_TRUE(verdict.unheld.empty() && verdict.hazards.empty()) << text;
  }
}

/// A tile, and three in turn, are handed on in each turn: five ids. With less, whoever sets one is told of its last wait.
TEST(InsertFlags, IdsBetweenCoresRunShortInALoop) {
  for (const unsigned ids : {5U, 4U, 3U, 2U, 1U}) {
    ByHand hand;
    Node* loop = hand.loop(nullptr);
    Access global = ByHand::write(0, 64);
    global.isGlobal = true;
    for (const Pipe pipe : {Pipe::S, Pipe::MTE3}) {
      if (pipe == Pipe::MTE3)
        global = ByHand::write(64, 128, {{loop->id, 64, 3}});
      global.isGlobal = global.isWrite = true;
      hand.statement(loop, pipe, {global});
      global.isWrite = false;
      hand.statement(loop, Pipe::MTE2, {global}, Agent::Cube);
    }
    InsertOptions options;
    options.betweenAgents = true;
    options.endCross = ids;
    const std::string text = hand.insert(options);
    if (ids == 5) {
      EXPECT_NE(text.find("+ set vector.S to cube.S 1\n"), std::string::npos) << text;
      EXPECT_NE(text.find("+ set vector.MTE3 to cube.S 2 + 1 * loop0 % 3\n"), std::string::npos)
          << text;
    }
    EXPECT_TRUE(check(hand.program, Conflicts(hand.program)).unheld.empty()) << text;
    EXPECT_FALSE(anyRun(hand.program, kNone, kRuns, [](const Replay& run) {
      return !run.isClean();
    })) << text;
  }
}

/// Tiles that go from one core to the other one by one, or all at first; in a loop or not.
TEST(InsertFlags, MoreTilesThanIdsBetweenCores) {
  for (const bool isLate : {false, true})
    for (const bool isInLoop : {false, true})
      for (const unsigned ids : {11U, 4U, 2U, 1U}) {
        constexpr int64_t tiles = 24;
        ByHand hand;
        Node* loop = isInLoop ? hand.loop(nullptr) : nullptr;
        const auto use = [&](bool isWrite, int64_t tile) {
          Access global = ByHand::read(64 * tile, 64 * tile + 64);
          global.isGlobal = true;
          global.isWrite = isWrite;
          if (isWrite)
            hand.statement(loop, Pipe::FIX, {global}, Agent::Cube);
          else
            hand.statement(loop, Pipe::MTE2, {global});
        };
        for (int64_t tile = 0; tile < tiles; ++tile) {
          use(true, tile);
          if (!isLate)
            use(false, tile);
        }
        for (int64_t tile = 0; isLate && tile < tiles; ++tile)
          use(false, tile);
        InsertOptions options;
        options.betweenAgents = true;
        options.endCross = ids;
        const std::string text = hand.insert(options);
        EXPECT_TRUE(check(hand.program, Conflicts(hand.program)).unheld.empty()) << text;
        EXPECT_FALSE(anyRun(hand.program, kNone, kRuns, [](const Replay& run) {
          return !run.isClean();
        })) << text;
      }
}

/// Loops side by side, inner loops and branches: where neither moving ends nor flags back hold a core, or where ids run
/// out, cores meet. One id there and one back are enough, and none counts.
TEST(InsertFlags, LoopsSideBySideBetweenCores) {
  for (unsigned ids = 1; ids <= 11; ++ids) {
    ByHand hand;
    int64_t tile = 0;
    const auto handOn = [&](Node* parent, unsigned tiles) {
      for (unsigned i = 0; i < tiles; ++i, ++tile) {
        Access global = ByHand::write(64 * tile, 64 * tile + 64);
        global.isGlobal = true;
        hand.statement(parent, Pipe::FIX, {global}, Agent::Cube);
        global.isWrite = false;
        hand.statement(parent, Pipe::MTE2, {global});
      }
    };
    handOn(hand.loop(nullptr), 2);
    Node* second = hand.loop(nullptr, 2);
    handOn(second, 1);
    Node* middle = hand.loop(second);
    handOn(hand.program.add(middle->body, middle, NodeKind::If), 2);
    Node* inner = hand.loop(middle, 2);
    handOn(hand.program.add(inner->body, inner, NodeKind::If), 2);
    handOn(hand.loop(middle), 4);
    InsertOptions options;
    options.betweenAgents = true;
    options.endCross = ids;
    const std::string text = hand.insert(options);
    EXPECT_TRUE(check(hand.program, Conflicts(hand.program)).unheld.empty()) << text;
    EXPECT_FALSE(anyRun(hand.program, kNone, kRuns, [](const Replay& run) {
      return !run.isClean();
    })) << text;
  }
}

} // namespace
} // namespace tilewright::ascend::model
