// SPDX-License-Identifier: Apache-2.0
/// Micro-kernels on the tile registers of AMX, where LowerGemm finds {cpu.tiles}.
///
///   tile.gemm %a : <64x512xbf16, shared>, %b : <512x64xbf16, shared> into %C : <64x64xf32, fragment>
///     {cpu.packed = 2, cpu.tiles}
/// becomes
///   scf.for %n = 0 to 64 step 32 { scf.for %m = 0 to 64 step 32 {
///     tileloadd of 2 x 2 tiles of C, or tilezero                   // 16 rows of 16 sums each: tmm0 to tmm3
///     scf.for %k = 0 to 256 step 16 {                              // pairs: 64 bytes of a row of a
///       tileloadd of 2 tiles of a (tmm4, tmm5), of 2 of b (tmm6, tmm7)
///       tdpbf16ps of each with each }
///     tilestored of the 2 x 2 tiles } }
///
/// A tile of b is 16 rows of a panel as PackGemmOperands makes it; one of a is 64 bytes of 16 rows where they lie. What
/// b's tiles take from the second-level cache leaves no time for those of a: where rows of a are long, or far apart, and
/// columns are many, 512 bytes of 32 rows at a time are copied, tile by tile, to a place that stays in the first level
/// ({cpu.stage}), and meet all columns, whose sums lie behind it meanwhile, each micro-kernel's in one run. Bytes
/// are multiplied with or without a sign on either side, so nothing is shifted. Numbers of registers are given here, not
/// by LLVM: a gemm needs these 8 and no more, and all that it does with them stays in this order.
///
/// What tiles hold is configured where a thread begins to run blocks (MakeEntryPoints): 16 rows of 64 bytes. Where the
/// depth isn't a multiple of 16 groups, a divisor of it is a tile's; fewer than 16 rows in the end get tiles of so
/// many. Such a gemm configures anew, which takes as long as some 12 products, and what was configured after it.
///
/// Micro-kernels ask for the next part of a, for the next sums, and for where results go. What fetch_ahead.h announces they
/// leave: packing b asks for its rows itself, and so many requests in so short a time only keep it from its own.
///
/// Of pieces of numbers ({cpu.pieces}) a step has as many tiles for each of the others, which meet as piecesThatMeet in
/// gemm_tiles.cpp says: smaller products first, and one of two tiles stays from each product to the next. a lies as tiles.
///
/// Sums that go straight to a result of their own type are stored by tiles; others from a place on chip that
/// StoreResults announces.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/machine.h"

namespace tilewright::cpu {

/// Of a tile: rows, and columns of sums.
inline constexpr int64_t kTileRows = 16, kTileColumns = 16;
/// Tiles of sums of one micro-kernel.
inline constexpr int64_t kTilesOfSums = 4;

/// Steps along k, each of a tile, in a part of a that is copied: two tiles of rows are 16 KB of it.
inline constexpr int64_t kTileStepsOfPart = 8;

/// How many groups of 32 bits one instruction multiplies for each element of a tile of c, of rows of `groups` of them:
/// a divisor. 0 where it is too small to be worth it.
int64_t tileDepth(int64_t groups);
/// How many of a row of b lie side by side in a panel of it.
int64_t tilePanelColumns(int64_t columns);
/// Into how many equal parts of at most kTileStepsOfPart whole steps the depth is cut; 0: it can't be.
int64_t tileParts(int64_t groups);
/// Bytes of a place for a part of a, and for sums of so many columns.
int64_t tileStageBytes(int64_t columns);
/// Whether parts of a are copied, of a gemm of so many rows and columns, groups in a row and bytes from row to row of a.
bool tilesAreCopied(int64_t rows, int64_t columns, int64_t groups, int64_t rowBytes);

/// Replaces a gemm by micro-kernels, and marks the launch around it.
void lowerToTiles(tile::GemmOp op, const Machine& machine);

/// The 64 bytes that ldtilecfg reads, for tiles of so many rows of a, and groups in each.
llvm::SmallVector<int8_t> tileConfiguration(int64_t rows, int64_t groups);

} // namespace tilewright::cpu
