// SPDX-License-Identifier: Apache-2.0
/// Tensors that a kernel uses only where its scalar arguments say so.
#pragma once

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>

namespace tilewright::tile {

/// A scalar argument of a kernel, by its number, compared with a number.
struct ScalarTest {
  int64_t argument;
  mlir::arith::CmpIPredicate predicate; ///< signed
  int64_t number;
  bool operator==(const ScalarTest&) const = default;
};

/// Any of several, each of which is all of some tests.
using Condition = llvm::SmallVector<llvm::SmallVector<ScalarTest>>;

/// When a tensor is used, if all that uses it stands in branches on scalar arguments, which compare them with numbers.
std::optional<Condition> neededIf(mlir::func::FuncOp kernel, unsigned tensor);

} // namespace tilewright::tile
