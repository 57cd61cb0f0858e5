// SPDX-License-Identifier: Apache-2.0
/// What the parts of insertion share (insert_flags.cpp has their order): the program, what has been inserted so far,
/// and what is asked of both.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

#include <map>
#include <vector>

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
  /// Which flags between cores are asked for: all once they are held.
  IsWantedFlag mustBeHeld() const;
  /// Whether no wanted hazard is left and no core runs ahead, without an insertion, of this program or of its iterations.
  bool isCovered(unsigned without = kNone) const;
  bool isCovered(const Program& of, const Conflicts& conflictsIn, unsigned without) const;
  /// One whose flag a core may set again before the other has waited for it, by its number; or kNone.
  unsigned firstUnheld() const;
  /// Makes a meeting of both kinds of core of one: where it waits, each tells the other that it has come. So neither
  /// sets any flag of a meeting again before the other has waited for it, however the program goes on.
  void meet(unsigned number);

  void append(Insertion insertion);
  void replace(Insertion& insertion, const Insertion& by);
  void addFlags(Insertion& insertion);
  /// Takes out, one after the other, what nothing needs.
  void prune();

  Program& program;
  const Conflicts& conflicts;
  const InsertOptions& options;
  Inserted result;
  /// Flags between cores are not set twice in a row, and must not be.
  bool isHeld = false;
  unsigned nextNumber = 0;

private:
  bool isLeftToCompiler(const Hazard& hazard) const;
  std::vector<Insertion>::iterator find(unsigned number);
  unsigned flagOfMeetings(Agent to);
  void addOtherHalf(const Insertion& there);

  std::map<Agent, unsigned> flagsOfMeetings; ///< by who waits
};

} // namespace tilewright::ascend::model
