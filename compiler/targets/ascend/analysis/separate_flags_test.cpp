// SPDX-License-Identifier: Apache-2.0
// Flags that share an id: what is known of each, and where one may be taken for another.
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/random_programs.h"
#include "compiler/targets/ascend/analysis/separate_flags.h"

#include <gtest/gtest.h>

namespace tilewright::ascend::model {
namespace {

using testing::ByHand;

/// Syncs by hand; each flag is an insertion's.
struct Flags : ByHand {
  unsigned flag(Agent to, unsigned id) {
    const Agent from = to == Agent::Cube ? Agent::Vector : Agent::Cube;
    return program.addFlag({from, Pipe::S}, {to, Pipe::S}, id, /*isCross=*/true);
  }
  Sync& sync(Node* parent, SyncKind kind, unsigned flag) {
    Block& block = parent ? parent->body : program.body;
    Sync& sync = program.add(block, parent, NodeKind::Sync)->sync;
    sync.kind = kind;
    sync.flag = flag;
    const Flag& is = program.flags[flag];
    sync.queue = kind == SyncKind::Set ? is.from : is.to;
    return sync;
  }
  void set(Node* parent, unsigned flag) {
    sync(parent, SyncKind::Set, flag).insertion = flag;
  }
  void wait(Node* parent, unsigned flag) {
    sync(parent, SyncKind::Wait, flag).insertion = flag;
  }
  void setAndWait(Node* parent, unsigned flag) {
    set(parent, flag);
    wait(parent, flag);
  }
};

/// In each turn of a loop two inner ones, each with a tile that goes to the vector cores and a flag back. The two tiles
/// have one id. What the first flag back tells is old once the second tile has gone; the second one tells of both.
TEST(SharedIds, AreKnownOfEachFlag) {
  for (const bool isTold : {true, false}) {
    Flags made;
    const unsigned first = made.flag(Agent::Vector, 7), second = made.flag(Agent::Vector, 7),
                   back = made.flag(Agent::Cube, 2), tells = made.flag(Agent::Cube, 5);
    made.set(nullptr, back);
    Node* loop = made.loop(nullptr);
    Node* inner = made.loop(loop);
    made.wait(inner, back);
    made.setAndWait(inner, first);
    made.set(inner, back);
    if (isTold)
      made.set(loop, tells);
    Node* other = made.loop(loop);
    if (isTold)
      made.wait(other, tells);
    made.setAndWait(other, second);
    if (isTold)
      made.set(other, tells);
    if (isTold)
      made.wait(loop, tells);
    made.wait(nullptr, back);
    const Verdict verdict = check(made.program, Conflicts(made.program));
    EXPECT_TRUE(verdict.faults.empty()) << print(made.program);
    EXPECT_EQ(verdict.unheld.contains(first), !isTold) << print(made.program);
    EXPECT_EQ(verdict.unheld.contains(second), !isTold) << print(made.program);
  }
}

/// The second of two tiles with one id goes before the core that sends it knows that the first one has come.
TEST(SharedIds, MayBeTakenForEachOther) {
  for (const bool isTold : {true, false}) {
    Flags made;
    const unsigned tile = made.flag(Agent::Vector, 7), back = made.flag(Agent::Cube, 7);
    for (const unsigned owner : {0U, 1U}) {
      made.sync(nullptr, SyncKind::Set, tile).owner = owner;
      made.sync(nullptr, SyncKind::Wait, tile).owner = owner;
      if (isTold && owner == 0)
        made.setAndWait(nullptr, back);
    }
    EXPECT_FALSE(check(made.program, Conflicts(made.program)).areMixed);
    separateFlags(made.program);
    std::set<unsigned> tiles;
    for (const Node& node : made.program.nodes)
      if (node.sync.owner != kNone) {
        tiles.insert(node.sync.flag);
        EXPECT_EQ(made.program.flags[node.sync.flag].id, 7U);
      }
    EXPECT_EQ(tiles.size(), 2U);
    const Verdict verdict = checkIterations(made.program, Conflicts(made.program));
    EXPECT_TRUE(verdict.isClean());
    EXPECT_EQ(verdict.areMixed, !isTold);
  }
}

/// Flags of one id within a core, of which one is set while the other is.
TEST(SharedIds, AreNotSetAtOnce) {
  for (const bool areApart : {true, false}) {
    Flags made;
    const Queue from{Agent::Vector, Pipe::MTE2}, to{Agent::Vector, Pipe::V};
    const unsigned flag = made.program.addFlag(from, to, 0);
    std::vector<std::pair<SyncKind, unsigned>> order = {
        {SyncKind::Set, 0}, {SyncKind::Wait, 0}, {SyncKind::Set, 1}, {SyncKind::Wait, 1}};
    if (!areApart)
      std::swap(order[1], order[2]);
    for (const auto& [kind, owner] : order)
      made.sync(nullptr, kind, flag).owner = owner;
    separateFlags(made.program);
    EXPECT_EQ(check(made.program, Conflicts(made.program)).faults.empty(), areApart);
  }
}

/// A wait that meets the set of another insertion.
TEST(SharedIds, AreEachInsertionsOwn) {
  Flags made;
  const Queue from{Agent::Vector, Pipe::MTE2}, to{Agent::Vector, Pipe::V};
  const unsigned flag = made.program.addFlag(from, to, 0);
  made.sync(nullptr, SyncKind::Set, flag).owner = 0;
  made.sync(nullptr, SyncKind::Wait, flag).owner = 1;
  EXPECT_TRUE(check(made.program, Conflicts(made.program)).faults.empty());
  separateFlags(made.program);
  EXPECT_FALSE(check(made.program, Conflicts(made.program)).faults.empty());
}

} // namespace
} // namespace tilewright::ascend::model
