// SPDX-License-Identifier: Apache-2.0
/// What the integers of a kernel can be where it stands: its variables, arguments, and what it has read. One state is a
/// range for each; several states are all that may be.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Operation.h>

#include <optional>
#include <vector>

namespace tilewright::ascend {

struct PossibleState {
  /// By slot. A float that is known is its bits as a double; more than one number are any.
  std::vector<IndexRange> ranges;
  /// By slot: another one that holds the same number, as a variable that was read and not assigned to since; else -1.
  std::vector<int> same;

  /// The slot that says what the number is.
  size_t numberAt(size_t slot) const {
    while (same[slot] >= 0)
      slot = size_t(same[slot]);
    return slot;
  }
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
  /// For an element of a tile, where it lies in it.
  unsigned addElement(mlir::Value tile, llvm::ArrayRef<int64_t> place);
  struct Element {
    llvm::SmallVector<int64_t> place;
    unsigned slot = 0;
  };
  llvm::ArrayRef<Element> elementsOf(mlir::Value tile) const;
  /// In which nothing is known.
  PossibleState first() const;

  IndexRange rangeOf(const PossibleState& state, mlir::Value value);
  /// Of a float that is known.
  std::optional<double> floatOf(const PossibleState& state, mlir::Value value);
  /// What a value is, as a slot has it.
  IndexRange contentOf(const PossibleState& state, mlir::Value value);
  /// What a value is taken to be until that is taken back: the numbers of a nest.
  llvm::DenseMap<mlir::Value, IndexRange> assumed;
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
  IndexRange computeLoad(const PossibleState& state, tile::LoadOp load);
  std::optional<double> computeFloat(const PossibleState& state, mlir::Value value);
  IndexRange computeOp(const PossibleState& state, mlir::Operation* op);
  IndexRange computeOfFloats(const PossibleState& state, mlir::Operation* op, IndexRange all);
  bool isSame(const PossibleState& state, mlir::Value left, mlir::Value right) const;
  bool narrowTo(PossibleState& state, mlir::Value value, IndexRange range);

  llvm::DenseMap<mlir::Value, unsigned> slots;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Element>> elements;
  std::vector<IndexRange> firstRanges;
  IndexRanges ranges;
  unsigned fuel = 0;
};

} // namespace tilewright::ascend
