// SPDX-License-Identifier: Apache-2.0
/// How much arithmetic a kernel does, and which tensors it reads and writes: what a roofline needs.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tilewright {

struct KernelWork {
  /// Float operations of one launch, and integer ones of gemms; a multiply-add counts as two. Nothing if the number of turns
  /// of a loop depends on data.
  std::optional<double> flops;
  /// A branch whose condition depends on data, or one in an element-wise nest, was counted as the
  /// larger of its sides.
  bool isUpperBound = false;
  /// Of `flops`, those of gemms of bfloat16, and those of gemms of 8-bit integers.
  double bfloat16Flops = 0, byteOperations = 0;
  /// Per argument of the function: a tensor that is read, that is written.
  llvm::SmallVector<bool> isRead, isWritten;
};

/// `arguments` holds what is known of the function's arguments: symbols and integer scalars.
KernelWork countWork(mlir::func::FuncOp kernel, llvm::ArrayRef<std::optional<int64_t>> arguments);

} // namespace tilewright
