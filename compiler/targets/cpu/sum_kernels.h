// SPDX-License-Identifier: Apache-2.0
/// Micro-kernels that multiply by Winograd's inner products (multiply_by_sums.cpp), where LowerGemm finds {cpu.sums}.
///
///   tile.gemm %a[0, 0] [64, 96] : <64x112xf32, shared>, %b[0, 0] [96, 64] : <99x64xf32, shared>
///     into %C : <64x64xf32, fragment> {cpu.packed = 1, cpu.sums = 32}
/// becomes, for AVX-512
///   scf.if %is_finite { scf.for %n = 0 to 64 step 16 { scf.for %m = 0 to 64 step 16 {
///     %c:16 = a row's own products less a column's               // 16 rows of a vector of C
///     %r:16 = scf.for %k = 0 to 32 iter_args(%c:16) {
///       %b0, %b1, %b2 = llvm.load of rows %k, %k + 32, %k + 64
///       of each row   %c + (a[%k] + %b1) (a[%k + 32] + %b0) + a[%k + 64] %b2 }
///     llvm.store %r * 2 ^ (a row's exponent + a column's) + C } }
///   } else { the same with products alone }
///
/// Behind each row of a lie its terms, behind the rows of each panel of b those of its columns. Where a row or a column has
/// what isn't finite, or subnormal numbers alone, which no power of two brings to 1, its own products count as NaN: products
/// alone are right there.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/machine.h"

namespace tilewright::cpu {

/// Where terms lie: the sum of a row's or column's own products (less than 0 of a's), the power of two
/// that scales its sums back (as a float, of zeros minus infinity), and in the first row of a or panel of b the sum of all own products, which says whether pairs will do.
inline constexpr int64_t kOwnProducts = 0, kExponent = 1, kAllOfRow = 2, kAllOfColumn = 2;
/// So many elements lie behind a row of a, which keep lines whole and rows out of each other's sets, and so many rows behind
/// a panel of b.
inline constexpr int64_t kTermsOfRow = 16, kTermsOfColumn = 3;
/// Pairs are a multiple of this, and so is a depth of which some are made.
inline constexpr int64_t kPairStep = 8;

/// How many pairs a depth has: a third of it, rounded down.
int64_t pairsOfDepth(int64_t depth);

/// Replaces a gemm by micro-kernels.
void lowerToSums(tile::GemmOp op, const Machine& machine);

} // namespace tilewright::cpu
