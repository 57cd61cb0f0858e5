// SPDX-License-Identifier: Apache-2.0
/// Finds the flags and barriers that a program lacks: every hazard covered, in every iteration, and
/// none of what is inserted can be left out. docs/ascend-sync.md says how.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

namespace tilewright::ascend::model {

/// What one insertion is, and why it is there.
struct Insertion {
  unsigned number = 0;
  bool isBarrier = false;
  bool isBarrierOfAll = false; ///< where there is no event, or none is left
  Queue from, to;              ///< of a barrier the same
  /// What it orders first: the hazard that made it necessary.
  Hazard why;
  /// Flag: the first of its event ids, and how many it takes in turn.
  unsigned firstFlag = kNone;
  unsigned slots = 1;
  bool isCross = false;
  /// Orders nothing, but keeps the core that sets another flag from running ahead.
  bool holds = false;
  /// Of these, one for whose sake other flags can share an id.
  bool tells = false;
  /// One half of a meeting of both kinds of core: which one; kNone: of none. All meetings have one flag there and one
  /// back.
  unsigned meeting = kNone;
  /// Set after `setAt`, or right before the wait if null; waited for before `waitAt`.
  Node* setAt = nullptr;
  Node* waitAt = nullptr;
  /// In a branch: both stand right behind this node instead.
  Node* behind = nullptr;
  /// Set once before this loop and waited for after it, as well as in it; null: not carried.
  Node* carriedBy = nullptr;
  /// The loop by whose number the ids take turns, if there are several.
  Node* slotLoop = nullptr;
};

/// Where an insertion could not be made.
struct Unorderable {
  Hazard hazard;
  std::string reason;
};

struct InsertOptions {
  bool withinAgents = true; ///< flags and barriers of one agent
  /// Cross-core flags; without, only for what the compiler itself leads from one kind of core to the other.
  bool betweenAgents = false;
  bool scalarOnly = false; ///< of one agent, only what the scalar unit has to do with others
  bool ofParts = false;    ///< of one agent, what parts of one statement have to do with each other
  /// Event ids below this are for the compiler.
  unsigned numEvents = 6;
  /// Cross-core flags from `firstCross` to before `endCross`.
  unsigned firstCross = 0, endCross = 11;
};

struct Inserted {
  std::vector<Insertion> insertions;
  std::vector<Unorderable> failures;
};

/// Adds syncs to `before` and `after` of the nodes and flags to the program.
Inserted insertFlags(Program& program, const Conflicts& conflicts, const InsertOptions& options);

} // namespace tilewright::ascend::model
