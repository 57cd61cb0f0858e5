// SPDX-License-Identifier: Apache-2.0
/// What holds in every run of a program, where `check`, which takes iterations and runs as one, can't tell: of a slice of
/// the program (slice.h) iterations are written out (unroll.h), and what never changes in a run tells runs apart (cases.h).
///
/// The one proof of insertion and of the checker: nothing is taken out but what it says that no run needs, and nothing
/// is warned of that it says all runs order. So the checker finds nothing in what insertion has made.
#pragma once

#include "compiler/targets/ascend/analysis/cases.h"

namespace tilewright::ascend::model {

struct RunQuestion {
  unsigned without = kNone;          ///< an insertion that is not there
  WantedHazard isWanted = nullptr;   ///< null: all
  IsWantedFlag mustBeHeld = nullptr; ///< null: none
};

class RunProof {
public:
  /// The program may lose insertions later, nothing else.
  explicit RunProof(const Program& program) : program(program), cases(program) {}

  /// Whether all runs order all pairs of statements, and no flag that was inserted is unmatched in what decides that.
  bool isOrdered(const Slice& slice, const RunQuestion& question = {});
  /// Of some pairs, those that this can't be said of: of those, if it can be told, that some run leaves unordered.
  Findings unordered(const std::set<NodePair>& pairs);
  /// Whether no run takes one flag of an id for another one (separate_flags.h).
  bool areApart();

private:
  using IsSo = std::function<bool(const Unrolled&, const Conflicts&)>;
  bool always(const Slice& slice, const IsSo& isSo);
  Findings hazardsOfIterations(const std::set<NodePair>& suspects) const;
  Findings hazardsOfCases(const Findings& suspects);
  void showInFirstTurns(Findings& found) const;

  const Program& program;
  Cases cases;
};

} // namespace tilewright::ascend::model
