// SPDX-License-Identifier: Apache-2.0
/// What the integers of a kernel can be where it stands: its variables, arguments, and what it has read. One state is a
/// range for each; several states are all that may be.
#pragma once

#include "compiler/ir/index_ranges.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Operation.h>

#include <optional>
#include <vector>

namespace tilewright::ascend {

struct PossibleState {
  std::vector<IndexRange> ranges; ///< by slot
  /// By slot: the slot of the variable whose number it is, for one that was read and not assigned to since; else -1.
  std::vector<int> same;

  bool operator==(const PossibleState& other) const = default;
};
using PossibleStates = std::vector<PossibleState>;

/// All that an integer of a type can be.
IndexRange rangeOfType(mlir::Type type);

class StateSpace {
public:
  /// A place for a number that states tell apart. By a variable's buffer: what it holds.
  unsigned addSlot(mlir::Value value, IndexRange first);
  std::optional<unsigned> slotOf(mlir::Value value) const;
  /// In which nothing is known.
  PossibleState first() const;

  IndexRange rangeOf(const PossibleState& state, mlir::Value value);
  /// From here on the variable is another number; what was read before stays.
  static void assign(PossibleState& state, unsigned variable, IndexRange range);
  /// The same of what `value` is, which may be a question: then its answers are told apart.
  void assign(const PossibleState& state, unsigned slot, mlir::Value value, PossibleStates& into);
  void read(PossibleState& state, mlir::Value load, unsigned variable) const;
  /// Nothing is known of it any more, or it is of no use.
  void forget(PossibleState& state, unsigned slot) const;

  /// Adds what a state becomes where a condition holds, and where it doesn't.
  void split(const PossibleState& state, mlir::Value condition, PossibleStates& holding,
             PossibleStates& others);
  /// Makes it one in which two values compare so; false if there is none.
  bool narrow(PossibleState& state, mlir::arith::CmpIPredicate asked, mlir::Value left,
              mlir::Value right);

  /// Fewer that stand for the same, or, from `most` on, for more.
  static void join(PossibleStates& states, size_t most);
  static PossibleState hullOf(llvm::ArrayRef<PossibleState> states);
  static bool isCovered(const PossibleState& state, const PossibleState& by);

private:
  IndexRange compute(const PossibleState& state, mlir::Value value);
  IndexRange computeOp(const PossibleState& state, mlir::Operation* op);
  bool narrowTo(PossibleState& state, mlir::Value value, IndexRange range);

  llvm::DenseMap<mlir::Value, unsigned> slots;
  std::vector<IndexRange> firstRanges;
  IndexRanges ranges;
  unsigned fuel = 0;
};

} // namespace tilewright::ascend
