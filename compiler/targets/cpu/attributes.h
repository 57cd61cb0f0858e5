// SPDX-License-Identifier: Apache-2.0
/// Attributes by which the passes of the CPU target talk to each other.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tilewright::cpu {

/// On tile.alloc: the buffer's byte offset in the scratch memory (i64).
inline constexpr llvm::StringLiteral kOffsetAttr = "cpu.offset";
/// On the kernel, and later on its module: bytes of scratch memory per thread (i64).
inline constexpr llvm::StringLiteral kScratchBytesAttr = "cpu.scratch_bytes";
/// The same of global memory that belongs to a launch; there, kOffsetAttr counts in it.
inline constexpr llvm::StringLiteral kWorkspaceBytesAttr = "cpu.workspace_bytes";

/// On tile.gemm: b is in panels, so many of its rows interleaved in 32 bits (i64;
/// pack_gemm_operands.cpp).
inline constexpr llvm::StringLiteral kPackedAttr = "cpu.packed";
/// On a tile.gemm whose b is packed: tiles of AMX multiply it (gemm_tiles.h). On tile.launch, and later on what is made
/// of it and on its module: it has such a gemm, so its tiles are configured.
inline constexpr llvm::StringLiteral kTilesAttr = "cpu.tiles";
/// On such a tile.gemm: its operands are so many pieces of each number (i64; multiply_by_pieces.cpp).
inline constexpr llvm::StringLiteral kPiecesAttr = "cpu.pieces";
/// On a tile.gemm whose b is packed: so many pairs of steps of k are multiplied as sums (i64; multiply_by_sums.cpp).
inline constexpr llvm::StringLiteral kSumsAttr = "cpu.sums";
/// On the ldtilecfg before a gemm, which has no address yet: rows of its tiles of a and c, groups in a row of a
/// (array of i64).
inline constexpr llvm::StringLiteral kTileShapeAttr = "cpu.tile_shape";
/// On a cast before such a gemm: where it copies parts of a to (gemm_tiles.h).
inline constexpr llvm::StringLiteral kStageAttr = "cpu.stage";
/// On a tile.gemm of floats narrower than float32: each sum goes on from c, product after product along k, so that the
/// numbers are those of an NPU to the bit.
inline constexpr llvm::StringLiteral kInOrderAttr = "cpu.in_order";
/// On a cast before a gemm of bytes: b holds unsigned bytes there, the signed ones plus 128, and the buffer has a place
/// for the sum of each row of a.
inline constexpr llvm::StringLiteral kRowSumsAttr = "cpu.row_sums";
/// On a cast before a tile.gemm: "a" or "b", the operand of whose next tile it holds the address
/// (fetch_ahead.h).
inline constexpr llvm::StringLiteral kAheadAttr = "cpu.ahead";
/// On such a cast: of that matrix (i64).
inline constexpr llvm::StringLiteral kElementBytesAttr = "cpu.element_bytes";
/// On such a cast that also holds the number of a turn: how many turns share the tile (i64).
inline constexpr llvm::StringLiteral kTurnsAttr = "cpu.turns";
/// On a tile.copy of rows from a tensor: it asks for those so many further on (i64), which nobody fetches ahead.
inline constexpr llvm::StringLiteral kRowsAheadAttr = "cpu.rows_ahead";
/// On a cast before a tile.gemm: where its last sums go, as elements of this type (store_results.h).
inline constexpr llvm::StringLiteral kResultAttr = "cpu.result";
/// On a tile.copy: what it would bring is read where it lies; it only says what that is (read_in_place.cpp).
inline constexpr llvm::StringLiteral kInPlaceAttr = "cpu.in_place";
/// On a tile.load or tile.store of a fragment: in each group of so many elements of a row (i64) the even ones lie before
/// the odd ones (fuse_reductions.cpp; who takes that: isApart in vector_nest.h).
inline constexpr llvm::StringLiteral kApartAttr = "cpu.apart";
/// On an arith.truncf to bfloat16: a NaN has nothing in the lower 16 bits of its float32 (mark_roundings.cpp).
inline constexpr llvm::StringLiteral kShortNansAttr = "cpu.short_nans";
/// On such a one: only the first bits of the number are right.
inline constexpr llvm::StringLiteral kRoughAttr = "cpu.rough";
/// On a loop over strips of a row: what all of it costs, in arithmetic operations (i64; fetch_next_block.cpp).
inline constexpr llvm::StringLiteral kStripCostAttr = "cpu.strip_cost";
/// On a loop before a tile.gemm: each turn stores rows of b, which the gemm may take from registers (feed_gemm.h).
inline constexpr llvm::StringLiteral kFeedsAttr = "cpu.feeds";
/// On math.exp2: it stands among a gemm's products, which the multipliers are busy with.
inline constexpr llvm::StringLiteral kBesideProductsAttr = "cpu.beside_products";
/// On tile.assert: its number in the manifest (i32).
inline constexpr llvm::StringLiteral kAssertAttr = "cpu.assert";
/// On the function that runs blocks: its last argument is the TwLaunch, its second the scratch
/// memory.
inline constexpr llvm::StringLiteral kBlocksAttr = "cpu.blocks";

} // namespace tilewright::cpu
