// SPDX-License-Identifier: Apache-2.0
/// What the parts of insertion share (insert_flags.cpp has their order): the program, what has been inserted so far,
/// and what is asked of both.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

#include <set>

namespace tilewright::ascend::model {

/// Whether the statements of a hazard are of two kinds of core.
bool isBetweenCores(const Hazard& hazard);

class InsertionState {
public:
  InsertionState(Program& program, const Conflicts& conflicts, const InsertOptions& options)
      : program(program), conflicts(conflicts), options(options) {}

  /// Whether a hazard is the compiler's to cover, and can be.
  bool isWanted(const Hazard& hazard) const;
  WantedHazard wanted() const;
  /// Whether no wanted hazard is left and no core runs ahead, without an insertion, of this program or of its iterations.
  bool isCovered(unsigned without = kNone) const;
  bool isCovered(const Program& of, const Conflicts& conflictsIn, unsigned without) const;
  bool mustBeHeld(unsigned number) const;
  /// Flags that nothing can hold may count, as those of kernels may.
  void releaseUnheld();

  void append(Insertion insertion);
  void replace(Insertion& insertion, const Insertion& by);
  void addFlags(Insertion& insertion);
  /// Takes out, one after the other, what nothing needs.
  void prune();

  Program& program;
  const Conflicts& conflicts;
  const InsertOptions& options;
  Inserted result;
  /// Flags between cores, but for these by number, are not set twice in a row, and must not be.
  bool isHeld = false;
  std::set<unsigned> released;
  unsigned nextNumber = 0;

private:
  bool isLeftToCompiler(const Hazard& hazard) const;
};

} // namespace tilewright::ascend::model
