// SPDX-License-Identifier: Apache-2.0
/// What integers a value can be, where it stands.
#pragma once

#include "compiler/ir/dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"

#include <limits>
#include <optional>

namespace tilewright {

/// All integers from `low` to `high`. The limits of int64 stand for "not known".
struct IndexRange {
  static constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  int64_t low = kLowest;
  int64_t high = kHighest;

  bool isWithin(int64_t least, int64_t most) const {
    return low >= least && high <= most;
  }
  bool operator==(const IndexRange&) const = default;
};

/// Intervals over constants, block ids, thread ids, loop variables, arithmetic, and the conditions
/// of the branches that enclose a place. The walk that uses it calls `enter` and `leave` around
/// each nested region.
///
/// A symbol (a dynamic dim) is taken to be 0 to 2^48: the runtime refuses larger ones.
class IndexRanges {
public:
  static constexpr int64_t kLargestDim = int64_t(1) << 48;

  /// `leastDim`: 1 where only tensors that aren't empty count.
  explicit IndexRanges(int64_t leastDim = 0) : leastDim(leastDim) {}

  /// The place moves into a region of `region`'s parent: conditions of an scf.if hold in its
  /// branches.
  void enter(mlir::Region& region);
  void leave();
  /// What a value is known to be until the place is left.
  void assume(mlir::Value value, IndexRange range);
  /// The same of a condition that holds, or doesn't.
  void learn(mlir::Value condition, bool holds);

  IndexRange rangeOf(mlir::Value value);

  /// Whether value < limit is known from a loop's bound or a condition, however large they are.
  bool isBelow(mlir::Value value, mlir::Value limit);

  /// Whether a condition holds, where that is the same for all that its numbers can be.
  std::optional<bool> truthOf(mlir::Value condition);

  /// The kernel's symbol where `value` is the extent of a dim that is a plain symbol; else `value`.
  static mlir::Value symbolOf(mlir::Value value);

  /// The kernel's symbol that is a dim of one of its tensors; null where the dim is no plain symbol.
  static mlir::Value symbolOf(mlir::Value tensor, uint64_t dim);

private:
  struct Fact {
    mlir::Value value;
    IndexRange range;
    mlir::Value below; // value < below, if set
  };

  void learnComparison(mlir::Operation* comparison, bool holds);
  IndexRange compute(mlir::Value value);
  IndexRange computeArgument(mlir::BlockArgument argument);

  int64_t leastDim;
  std::vector<Fact> facts;
  std::vector<size_t> scopes;
  llvm::DenseMap<mlir::Value, IndexRange> known;
  unsigned depth = 0;
};

/// The `a % b` of a choice `rest < 0 ? rest + b : rest` with a constant b above 0, or of one that corrects the rest where
/// its sign is not that of any b: what is left has the sign of b, as in Python. Null if the choice is another one.
mlir::arith::RemSIOp flooredRemainder(mlir::arith::SelectOp choice);

/// What is known in a region: the conditions around that hold.
IndexRanges rangesIn(mlir::Region* region);

/// What is known of a number at an operation.
IndexRange rangeAt(mlir::Operation* place, mlir::OpFoldResult number);

} // namespace tilewright
