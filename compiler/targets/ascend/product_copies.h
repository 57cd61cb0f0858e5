// SPDX-License-Identifier: Apache-2.0
/// How what a gemm has computed gets from L0C to L1, where another gemm reads it.
///
/// Fixpipe writes 16 bits to L1, in whole groups of 16 columns, as they lie. What it can't, goes through global memory
/// if no number changes (float32 to float32), and else through UB, where vector cores convert or transpose:
///
///   tile.copy %s : !tile.buffer<64x64xsi32, L0C> to %h : !tile.buffer<64x64xsi8, L1>
/// becomes
///   tile.copy %s : ... to %product : !tile.buffer<64x64xsi32, UB>
///   tile.copy %product : ... to %h : ...
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// What Fixpipe converts on its way to global memory; from int32 to float16 by a scale.
bool isStoredAs(mlir::Type from, mlir::Type to);

/// Whether Fixpipe converts as a copy from L0C asks for, with its scale or without one.
bool isConvertedByFixpipe(tile::CopyOp copy);

enum class ProductRoute { Fixpipe, Memory, Vectors };

/// Of a copy from a gemm's result to a tile that a gemm reads.
ProductRoute productRoute(tile::CopyOp copy);

/// Leads copies of gemms' results, to what gemms read or to tensors, through UB where only vector cores can make
/// them: before buffers are placed, in kernels whose flags are automatic.
void leadProductsThroughUb(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
