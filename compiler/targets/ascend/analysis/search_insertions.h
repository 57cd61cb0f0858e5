// SPDX-License-Identifier: Apache-2.0
/// Covers one hazard after the other by a flag or barrier, and finds the place where it holds up least and keeps no core
/// from being held. What turns out to be needless is taken out elsewhere (prune_insertions.h).
#pragma once

#include "compiler/targets/ascend/analysis/insertion_state.h"
#include "compiler/targets/ascend/analysis/repeated_checks.h"

#include <vector>

namespace tilewright::ascend::model {

class InsertionSearch {
public:
  explicit InsertionSearch(InsertionState& state)
      : state(state), program(state.program), conflicts(state.conflicts), result(state.result) {}

  /// Until no hazard is left.
  void coverAll();
  /// Between cores, the chip counts sets, but its documentation allows no two in a row, and its counter ends
  /// at 15. So a flag that one core may set again before the other has waited for it is moved to where
  /// something keeps the cores together, or gets a flag that leads back.
  void holdAll();
  /// The same once some have been moved or taken out, without a search.
  void settle();
  /// What only a branch needs stands there.
  void moveIntoBranches();
  /// Where buffers go back in turns, they also come in turns.
  void followBack();

private:
  bool addNext(FirstHazards& firstHazards);
  unsigned endTurnsFor(const Hazard& hazard);
  static bool isBetter(const Hazard& a, const Hazard& b);
  void add(const Hazard& hazard, const std::vector<Hazard>& hazards);
  void carry(Insertion& insertion, const std::vector<Hazard>& hazards);
  int64_t apart(const Hazard& hazard, const Node* loop) const;
  void takeTurns(Insertion& insertion, const Node* loop, int64_t distance);

  void moveIntoBranch(Insertion& insertion);
  void moveBackIntoBranch(Insertion& insertion);
  bool moveBarrierIntoBranch(Insertion& insertion);
  void follow(Insertion& insertion);

  bool hold(unsigned number);
  bool isHeldNow(unsigned number) const;
  bool tryAs(unsigned number, const Insertion& changed);
  bool holdBetween(unsigned number);
  bool holdAtOnce(unsigned number);
  bool addBack(unsigned number);
  bool addMeeting(unsigned number);
  bool takeBack();

  InsertionState& state;
  Program& program;
  const Conflicts& conflicts;
  Inserted& result;
};

} // namespace tilewright::ascend::model
