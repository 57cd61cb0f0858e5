// SPDX-License-Identifier: Apache-2.0
/// Numbers as sums of multiples of variables.
#pragma once

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

#include "mlir/IR/Value.h"

namespace tilewright::builder {

/// constant + sum of coefficient * variable. A variable that occurs twice counts once, with its net coefficient: that
/// keeps ranges exact.
struct LinearForm {
  int64_t constant = 0;
  llvm::MapVector<mlir::Value, int64_t> terms;

  /// Adds a multiple of an integer, of which no sum is taken to leave its type. False, and of no more use, where the
  /// numbers get too large or the integer is made of too much.
  bool add(mlir::Value value, int64_t scale);
  bool add(const LinearForm& other, int64_t scale);
  bool isConstant() const;
};

/// The integer itself where it was only put into another type that has all its values.
mlir::Value uncast(mlir::Value number);

/// Which variables of some forms are the same expression of the same values: building never joins them, so that
/// `k % 3 : k % 3 + 1` holds two of `k % 3`, and `if n[k] < 0: A[n[k]]` two reads with nothing written between.
class SameValues {
public:
  /// Puts one variable in the place of all that are the same.
  void join(LinearForm& form);

private:
  mlir::Value firstLike(mlir::Value value);

  static constexpr int kMostComparisons = 1000; // an index is a small expression
  int budget = kMostComparisons;
  llvm::SmallVector<mlir::Value> firsts;
};

} // namespace tilewright::builder
