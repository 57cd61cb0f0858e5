// SPDX-License-Identifier: Apache-2.0
/// A gemm whose first micro-kernel computes the rows of b that a nest before it would store: what isn't a product runs
/// beside products then, on pipes that they leave idle.
///
///   scf.for %j = 0 to 128 step 2 { ... exp2 ... llvm.store %row, %weight[%j] ... } {cpu.feeds}
///   tile.gemm %v, %weight into %out {transpose_a}
/// becomes, of the first 8 rows of %out
///   ... exp2 ... llvm.store %row, %weight[0] ...
///   scf.for %j = 0 to 126 step 2 {
///     ... exp2 ... llvm.store %row, %weight[%j + 2] ...
///     ... llvm.load %weight[%j] ... math.fma ... }
///   ... the products of the last two rows
///
/// FuseReductions marks the loop, LowerGemm takes it. AVX-512 only: with 16 registers there is no room.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/machine.h"

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::cpu {

/// How many rows the micro-kernel has that computes b as it goes, of a gemm of `rows` rows: fewer than others have, for
/// the computation needs registers, too. 0: there is none.
int64_t rowsOfFedKernel(int64_t rows, const Machine& machine);

/// The gemm behind `reduce` whose b is all that `nest` stores row by row, in `reduce`'s source: if only nests
/// stand between, which touch neither its operands nor its sums, and `nest` doesn't touch those either. Null if not.
tile::GemmOp gemmToFeed(tile::ParallelOp nest, tile::ReduceOp reduce, const Machine& machine);

/// Moves the nests between `reduce` and `gemm` behind the gemm.
void moveNestsBehind(tile::ReduceOp reduce, tile::GemmOp gemm);

/// The loop before `gemm` that feeds it `depth` rows of `columns` elements; null if there is none.
mlir::scf::ForOp loopThatFeeds(tile::GemmOp gemm, int64_t depth, int64_t columns);

} // namespace tilewright::cpu
