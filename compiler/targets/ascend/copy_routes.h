// SPDX-License-Identifier: Apache-2.0
/// The routes of a copy between the memories of an Ascend core.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/event_numbers.h"
#include "compiler/targets/ascend/run_time_extents.h"
#include "compiler/targets/ascend/tile_addresses.h"
#include "compiler/targets/ascend/ub_rows.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::ascend {

/// Whether the DMA adds such elements to what memory holds while it stores.
inline bool isAddedByDma(mlir::Type element) {
  return element.isF16() || element.isBF16() || element.isF32() || element.isSignedInteger(8) ||
         element.isSignedInteger(16) || element.isInteger(32);
}

struct RouteContext {
  bool waits; ///< place the flags that the parts of one copy need
  const EventNumbers& events;
};

/// A region with its extents cut to what lies within the tensor.
struct ClampedRegion {
  tile::BufferRegion region;
  /// Whether it lies within the tensor in the dims of one element, and in those in which no edge can cut
  /// through it; null: it does.
  mlir::Value isThere;
  /// Whether that may fail of a part that stays within its tile.
  bool mayBeMissing = false;
  /// By dim, how many elements lie before the tensor's first.
  llvm::SmallVector<mlir::OpFoldResult> before;
};

/// Expands one copy; each route inserts its instructions before the copy, which the caller erases.
/// A failure was reported at the copy.
class CopyExpander {
public:
  CopyExpander(tile::CopyOp copy, mlir::ImplicitLocOpBuilder& builder, const RouteContext& context)
      : copy(copy), builder(builder), make(builder), context(context),
        source(copy.getSourceRegion()), target(copy.getTargetRegion()) {}

  llvm::LogicalResult globalToUb();
  llvm::LogicalResult ubToGlobal();
  llvm::LogicalResult globalToL1();
  llvm::LogicalResult l0cToGlobal();
  llvm::LogicalResult l0cToL1();
  llvm::LogicalResult l1ToL0();
  llvm::LogicalResult ubToUb();
  /// Stores add to what the tensor holds.
  bool atomicAdd = false;

private:
  using Body = llvm::function_ref<llvm::LogicalResult(const tile::BufferRegion& source,
                                                      const tile::BufferRegion& target)>;
  /// Runs `body` for each pair of rectangles of at most two dims: loops over what is left.
  llvm::LogicalResult forEachRectangle(Body body);
  /// Of several rows in UB: so many columns of each as a row has there, where their number is known at run time only.
  void keepRowsApart();
  /// Of dim `uncutBefore` only the end is cut.
  ClampedRegion clamp(const tile::BufferRegion& region, bool isSource,
                      std::optional<size_t> uncutBefore);
  /// What is known where the copy moves anything; `withinTile`: that this stays within a tile.
  IndexRanges rangesIfMoving(bool withinTile);
  /// Whether a tensor's edge may cut a part of it in a dim, and anything is left.
  bool mayBeCut(const tile::BufferRegion& region, size_t dim);
  /// Whether anything of `whole` was cut off; null if that cannot be.
  mlir::Value isCut(const ClampedRegion& clamped, const tile::BufferRegion& whole);
  /// What the first elements of a dim, which lie before the tensor, do to the other side of a copy.
  void cutBefore(ClampedRegion& clamped, size_t dim);
  /// The part of `local` that is copied if `global`, the other side, was cut.
  tile::BufferRegion behindCut(const tile::BufferRegion& local, const tile::BufferRegion& global,
                               const ClampedRegion& clamped);
  /// Takes what is less than a block off the last dim's offset, which a load then pads; null: none.
  mlir::Value padBefore(tile::BufferRegion& ub, const tile::BufferRegion& whole);
  /// The dim of a tensor whose elements lie side by side in UB.
  static std::optional<size_t> densePartner(const tile::BufferRegion& global,
                                            const tile::BufferRegion& ub);
  /// Of a dim that can't be cut before the tensor: refuses a copy that begins there, as far as is known, or
  /// has the kernel check where it begins.
  llvm::LogicalResult requireFirst(const tile::BufferRegion& global, std::optional<size_t> dim,
                                   llvm::StringRef reason);
  mlir::Value isMore(mlir::OpFoldResult number, int64_t than);
  void addCondition(mlir::Value& all, mlir::Value condition);
  void ifThere(const ClampedRegion& clamped, llvm::function_ref<void()> body);
  /// What is loaded of `whole` into `tile`, after a fill where something of it was cut off.
  llvm::LogicalResult padAndLoad(const ClampedRegion& clamped, const tile::BufferRegion& whole,
                                 const tile::BufferRegion& tile,
                                 llvm::function_ref<llvm::LogicalResult()> fill,
                                 llvm::function_ref<void()> load);
  llvm::LogicalResult requireBlockStart(const tile::BufferRegion& region, llvm::StringRef role);
  llvm::LogicalResult refuseRowsWithinBlocks();
  void joinRows(tile::BufferRegion& global, tile::BufferRegion& ub, bool isLoad);
  llvm::LogicalResult requireRows(const tile::BufferRegion& global, const tile::BufferRegion& ub);
  void fillL1(const tile::BufferRegion& region, mlir::Value offset);
  void fillColumns(const tile::BufferRegion& region, mlir::Value offset);
  llvm::LogicalResult requireSquares(const RunTimeExtent& rows, const RunTimeExtent& columns);
  static std::pair<uint64_t, mlir::Value> rowsAndPitch(const tile::BufferRegion& tile,
                                                       mlir::OpFoldResult height);
  llvm::SmallVector<mlir::Value> countsOf(const RunTimeExtent& rows, const RunTimeExtent& columns);
  llvm::LogicalResult transposeInUb();
  llvm::LogicalResult columnInUb(const UbRows& from, const UbRows& to);
  llvm::LogicalResult copyElements();
  llvm::LogicalResult lowBitsInUb();
  llvm::LogicalResult numbersInUb();
  llvm::LogicalResult copyRows(const UbRows& from, const UbRows& to);
  /// Of a part of a tile in L1 or L0C, whose columns are checked.
  mlir::FailureOr<mlir::Value> l1Offset(const tile::BufferRegion& region, llvm::StringRef role);
  mlir::Value fractalOffset(const tile::BufferRegion& region, mlir::OpFoldResult height);
  mlir::Value padValue();
  void order(Pipe from, Pipe to);

  static bool endsInDenseDim(const tile::BufferRegion& global);
  static bool isMultipleOfBlock(mlir::OpFoldResult extent, tile::BufferType type);
  static tile::BufferRegion asRows(tile::BufferRegion region, const tile::BufferRegion& whole);
  static int64_t pitchOf(const tile::BufferRegion& ub);

  tile::CopyOp copy;
  mlir::ImplicitLocOpBuilder& builder;
  IndexMaker make;
  const RouteContext& context;
  tile::BufferRegion source, target;
};

/// Dims that are not statically 1.
llvm::SmallVector<size_t> wideDims(const tile::BufferRegion& region);

/// Sets a region of UB. Failures are reported at `op`.
llvm::LogicalResult fillRegion(mlir::ImplicitLocOpBuilder& builder, mlir::Operation* op,
                               const tile::BufferRegion& region, mlir::Value value);

/// Whether rows behind the first of a region of UB begin within a block of 32 bytes: side by side, or a part of
/// such rows.
bool rowsBeginWithinBlocks(const tile::BufferRegion& ub);

/// How many elements a copy between a tensor and UB has, if they are one row in both, though the regions have
/// several: side by side in UB, at no block's start, and in the tensor, where no edge cuts them.
std::optional<int64_t> elementsOfOneRow(tile::CopyOp copy, bool isLoad);

/// Whether a region's elements lie one to a row, each at a block of its own.
bool isColumnInUb(const tile::BufferRegion& ub);

} // namespace tilewright::ascend
