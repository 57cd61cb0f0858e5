// SPDX-License-Identifier: Apache-2.0
/// What an instruction touches, and how tiles lie in the memories of an Ascend core.
#pragma once

#include "compiler/ir/region.h"

#include <array>
#include <memory>
#include <optional>

namespace tilewright::npu {

/// One range of memory that an instruction reads or writes. An instruction that updates memory has
/// two: a read and a write.
struct Access {
  mlir::Value buffer; ///< as the instruction names it; `storageOf` follows views
  /// The first element, counted as they lie in memory. Null for regions of global memory.
  mlir::Value offset;
  /// From the first byte to behind the last that is touched; kDynamic: to the end of the buffer.
  int64_t bytes = mlir::ShapedType::kDynamic;
  bool isWrite = false;
  /// Of global memory: the part of the tensor.
  std::optional<tile::BufferRegion> region = std::nullopt;
  /// Where not all of `bytes` are touched: so many bytes of each row, `pitch` bytes apart.
  struct Rows {
    int64_t count = 1, bytes = 0, pitch = 0;
  };
  std::optional<Rows> rows = std::nullopt;
  /// Where `bytes` are a tile of which a piece is touched that values place: it begins so many times each value, in
  /// elements, behind `offset`, and has these rows. Who can't follow the values takes the tile.
  struct Piece {
    std::array<std::pair<mlir::Value, int64_t>, 2> steps;
    Rows rows;
  };
  std::shared_ptr<const Piece> piece = nullptr;
  /// Whether less than that may be touched: as much as numbers say that the kernel has as it runs.
  bool isAtMost = false;
  /// Only behind a barrier that the instruction itself has in its pipe.
  bool isBehindBarrier = false;

  tile::BufferType type() const {
    return llvm::cast<tile::BufferType>(buffer.getType());
  }
};

/// On an npu.mmad: nothing else has a part of c's tile, so what it leaves of that is nobody's.
inline constexpr llvm::StringLiteral kAloneAttr = "npu.alone";

/// Sets `bytes` and `rows` of an access to `count` rows of `bytes`, `pitch` bytes apart.
void setRowBytes(Access& access, int64_t count, int64_t bytes, int64_t pitch);

/// The alloc or argument behind views.
mlir::Value storageOf(mlir::Value buffer);
/// All that uses a buffer, under its own name or through views of it; the views themselves are no uses.
llvm::SmallVector<mlir::Operation*> usersOf(mlir::Value buffer);
/// Whether `op` itself, but for a view, has what lies in the storage as an operand.
bool usesStorage(mlir::Operation* op, mlir::Value storage);

/// Bytes of one 32-byte block, the unit of UB and of a row of a fractal.
inline constexpr int64_t kBlockBytes = 32;
/// What a vector instruction takes at once.
inline constexpr int64_t kRepeatBytes = 256;

/// How far rows may lie apart for one instruction, in blocks.
inline constexpr int64_t kMostStride = 255;

/// Elements to a block: the width of a fractal.
int64_t blockElements(tile::BufferType type);

/// Elements from one row to the next where a buffer lies in UB: the last dim, rounded up to whole
/// blocks if there is more than one row. Rows of one element lie side by side, as what a reduction
/// gives.
int64_t rowPitch(tile::BufferType type);

/// Rows of the last two dims as L1, L0A, L0B and L0C hold them: rounded up to whole fractals.
int64_t fractalRows(tile::BufferType type);

/// Bytes that a buffer takes on chip, in whole blocks (L0: fractals): rows padded as above.
int64_t storageBytes(tile::BufferType type);

} // namespace tilewright::npu
