// SPDX-License-Identifier: Apache-2.0
/// Reductions and running sums that go line by line: nests that become instructions like any others.
#pragma once

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

/// On nests that combine the lines of a reduction: of integers along rows the dtype, which the vector unit reduces not;
/// of others empty.
constexpr const char* kReductionAttr = "reduction";

/// Of regions in UB of one element type.
struct LineReduction {
  npu::ReduceKind kind;
  tile::BufferRegion source, target;
  size_t dim; ///< of the source
  bool clear;
  bool ofMagnitudes = false; ///< of floats
};

/// The part of its target that a reduction writes: as much as its source has of what is kept, where the kernel alone knows
/// how much that is.
tile::BufferRegion resultsOf(tile::ReduceOp reduce);

void reduceByLines(mlir::ImplicitLocOpBuilder& builder, const LineReduction& reduction);

/// Replaces a running sum or maximum.
llvm::LogicalResult scanByLines(tile::ScanOp scan);

} // namespace tilewright::ascend
