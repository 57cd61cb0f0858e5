// SPDX-License-Identifier: Apache-2.0
/// The questions of happens_before.h, asked of one program again and again: what is known before some nodes of its
/// outermost block, and of the loops in it (known_turns.h), is kept, so that each walk begins where something is new, and ends
/// where all is as it was.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

#include <memory>

namespace tilewright::ascend::model {

/// What is known before nodes of a program's outermost block.
class Checkpoints;
class KnownTurns;
class State;

/// As `hazardsOfFirst`, again and again: of a program of which only what stands behind the last insertions changes. What a
/// turn of its longest loop, if that is long, has to do with itself and with what stands before comes first, so that not all
/// turns are walked each time.
class FirstHazards {
public:
  FirstHazards(const Program& program, const Conflicts& conflicts, WantedHazard isWanted);
  ~FirstHazards();
  FirstHazards(const FirstHazards&) = delete;
  FirstHazards& operator=(const FirstHazards&) = delete;
  std::vector<Hazard> find();
  /// Of what has been put in since.
  void noteInsertion(unsigned number);

private:
  std::vector<Hazard> findInTurn();
  size_t firstOf(unsigned insertion) const;

  const Program& program;
  const Conflicts& conflicts;
  WantedHazard isWanted;
  std::unique_ptr<Checkpoints> known;
  /// What stands before a long loop, and its body, as long as that is asked for; with it and the loops and branches around it,
  /// each by how much is before what it holds; and what is known there.
  Block toItsEnd;
  std::vector<std::pair<size_t, const Node*>> entered;
  std::unique_ptr<Checkpoints> knownInTurn;
};

/// As `hasHazard`, of one insertion after the other.
class Removals {
public:
  Removals(const Program& program, const Conflicts& conflicts, WantedHazard isWanted,
           IsWantedFlag mustBeHeld);
  ~Removals();
  Removals(const Removals&) = delete;
  Removals& operator=(const Removals&) = delete;
  bool areMissed(unsigned without);
  /// As `check`, but of hazards that aren't wanted, and of faults, it doesn't tell all.
  Verdict check(unsigned without);
  /// An insertion is about to be taken out, for good.
  void takeOut(unsigned number);

private:
  bool isReady();
  Verdict walkWithout(unsigned without, bool areAllAsked);

  const Program& program;
  const Conflicts& conflicts;
  WantedHazard isWanted;
  IsWantedFlag mustBeHeld;
  std::unique_ptr<Checkpoints> known;
  std::unique_ptr<KnownTurns> turns; ///< of loops of the outermost block
  std::vector<std::pair<const Node*, std::vector<State>>> passed; ///< on the last walk
  unsigned lastUnmissed = kNone;                                  ///< on that
  bool isClean = true;                                            ///< with all insertions
  bool isChanged = false;                                         ///< since that was asked
};

} // namespace tilewright::ascend::model
