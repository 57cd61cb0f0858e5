// SPDX-License-Identifier: Apache-2.0
/// Where the last sums of a gemm go: StoreResults announces it before the gemm, LowerGemm takes it.
///
///   builtin.unrealized_conversion_cast %address, %bytes, %last : !llvm.ptr, index, i1 to !llvm.ptr, index, i1
///     {cpu.result = bf16}
#pragma once

#include "compiler/ir/tensor_ops.h"

namespace tilewright::cpu {

/// A matrix in global memory: its first element, bytes from row to row, its elements' type, and whether (i1) the sums
/// of this turn are the last ones, which go there and nowhere else. Where those are in tiles and become others, `stage`
/// is a buffer on chip for those of a micro-kernel.
struct ResultPlace {
  mlir::Value address, rowBytes, isLast;
  mlir::Type element;
  mlir::Value stage = {};
  explicit operator bool() const {
    return bool(address);
  }
};

/// Takes back what was announced before `gemm`.
ResultPlace takeResultPlace(tile::GemmOp gemm);

} // namespace tilewright::cpu
