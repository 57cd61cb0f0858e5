// SPDX-License-Identifier: Apache-2.0
/// Where the ends of insertions stand.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

#include <utility>

namespace tilewright::ascend::model {

/// From the outermost block to the node.
std::vector<Node*> pathTo(const Node* node);

/// Whether all cores of a block come to a node alike.
bool isReachedByAll(const Node* node);

/// The nodes of one block that hold the two statements of a hazard: of the body of `loop`, or if
/// that is null, of the innermost block that has both.
std::pair<Node*, Node*> siblings(const Hazard& hazard, const Node* loop);

/// The innermost loop around both, or null.
const Node* innermostLoop(const Hazard& hazard);

/// Whether one node stands right behind another.
bool isNext(const Program& program, const Node* node, const Node* next);

/// Of two nodes of a branch.
bool isInSameArm(const Node* branch, Node* a, Node* b);

/// Both in one block. A set behind the wait lets this iteration's wait meet the last one's set.
Insertion withEnds(Insertion insertion, Node* setAt, Node* waitAt);

/// Set right before it is waited for.
Insertion atOnce(Insertion insertion);

/// Of two flags, one that stands behind both; nothing where there is none.
std::optional<Insertion> joined(const Insertion& a, const Insertion& b);

/// Whether a node has a set of an insertion before it.
bool isSetBefore(unsigned number, const Node& node);

/// Between cores the pipes don't count: a wait holds all of them.
bool leadsBack(const Insertion& other, const Insertion& insertion);

/// Adds its syncs to the nodes that it names.
void place(const Insertion& insertion);

/// Takes all syncs of an insertion out.
void remove(Program& program, unsigned number);
/// The same where what has been inserted is written out as statements of its own.
void removeFrom(Block& block, unsigned number);

} // namespace tilewright::ascend::model
