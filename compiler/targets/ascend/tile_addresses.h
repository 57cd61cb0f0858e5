// SPDX-License-Identifier: Apache-2.0
/// Where the first element of a region lies, for instructions that count elements.
#pragma once

#include "compiler/ir/npu_ops.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

/// Rows and columns of a fractal of L0C; in L1, L0A and L0B it has so many rows of 32 bytes.
inline constexpr int64_t kFractalSide = 16;

/// The next multiple of `unit`; both are positive.
int64_t roundUp(int64_t value, int64_t unit);

/// Whether a buffer lies where the cube core takes its operands from: in L0A or L0B.
bool isL0(mlir::Value buffer);
/// Whether it is the constant 0.
bool isZero(mlir::Value number);

/// Makes index arithmetic, folded as it is made.
class IndexMaker {
public:
  explicit IndexMaker(mlir::ImplicitLocOpBuilder& builder) : builder(builder) {}

  mlir::Value constant(int64_t value) const;
  mlir::Value value(mlir::OpFoldResult number) const;
  mlir::OpFoldResult add(mlir::OpFoldResult a, mlir::OpFoldResult b) const;
  mlir::OpFoldResult sub(mlir::OpFoldResult a, mlir::OpFoldResult b) const;
  mlir::OpFoldResult mul(mlir::OpFoldResult a, int64_t factor) const;
  mlir::OpFoldResult product(mlir::OpFoldResult a, mlir::OpFoldResult b) const;
  mlir::OpFoldResult min(mlir::OpFoldResult a, mlir::OpFoldResult b) const;
  /// At least 0.
  mlir::OpFoldResult notNegative(mlir::OpFoldResult a) const;
  /// a / divisor, of numbers that are not negative.
  mlir::OpFoldResult div(mlir::OpFoldResult a, int64_t divisor) const;
  mlir::OpFoldResult index(int64_t value) const;

private:
  mlir::ImplicitLocOpBuilder& builder;
};

/// The next multiple of `unit` of a number that is not negative.
mlir::OpFoldResult roundUpTo(const IndexMaker& make, mlir::OpFoldResult number, int64_t unit);

/// A number modulo `unit`, where that is known; a value that `isZero` says so of counts as 0.
std::optional<int64_t> remainderOf(mlir::OpFoldResult number, int64_t unit,
                                   llvm::function_ref<bool(mlir::Value)> isZero = nullptr);
/// Whether a number is a multiple of `unit` for sure.
bool isMultipleOf(mlir::OpFoldResult number, int64_t unit);

/// By how much a number grows with each iteration of a loop in which `op` runs every time, at least twice,
/// if that is no multiple of `unit`. `growth` says what it grows by with a loop's number.
std::optional<int64_t> stepBesides(mlir::Operation* op, int64_t unit,
                                   llvm::function_ref<std::optional<int64_t>(mlir::Value)> growth);

/// Of an element of UB that is known to lie within a block of 32 bytes whenever `op` runs, or in one of two
/// iterations of a loop around it, where: "at byte 12 of its buffer", for a diagnostic.
std::optional<std::string> startWithinBlock(mlir::OpFoldResult offset, tile::BufferType type,
                                            mlir::Operation* op);

/// The kernel ends with a sentence where `condition` does not hold; each {} of it is one of the numbers. What memory
/// holds, only a core of kind `agent` reads.
void requireHere(mlir::ImplicitLocOpBuilder& builder, mlir::Value condition,
                 const std::string& sentence, mlir::ValueRange numbers, Agent agent);

/// Refuses, at `op`, a part of UB that is known to begin within a block of 32 bytes. Where nothing is known,
/// the kernel checks it. `role` names the part.
llvm::LogicalResult requireBlockStart(mlir::ImplicitLocOpBuilder& builder, mlir::Operation* op,
                                      llvm::StringRef role, mlir::OpFoldResult offset,
                                      tile::BufferType type);

/// Refuses, at `op`, a part of a tile in L1 or L0C whose first row or column is known to be no multiple of a
/// unit: the cube core's memories are accessed in whole fractals. Where nothing is known, the kernel checks
/// it. `role` names the part.
llvm::LogicalResult requireFractalStart(mlir::ImplicitLocOpBuilder& builder, mlir::Operation* op,
                                        llvm::StringRef role, const tile::BufferRegion& region,
                                        int64_t rowUnit, int64_t columnUnit);

/// In how many rows of L1 a load to L0A or L0B goes. Floats that are transposed on their way to L0B come by a window,
/// which ends at any row and begins at any of 4-byte elements: L0B has them as fractals of 8 x 16.
int64_t loadedRows(tile::BufferType type, tile::MemorySpace to, bool isTransposedOnTheWay);

/// Gives a tile in L1 as many rows as loads of it take at once, if nothing but copies, fills and gemms, all of which say
/// which part they mean, knows how many there are, and no address: what is behind k, a gemm leaves out.
void growToSquares(const tile::BufferRegion& region, tile::MemorySpace to,
                   bool isTransposedOnTheWay);

/// Refuses, at `op`, a part of a tile in L1 that no load to `to`, L0A or L0B, can read, as it is or transposed.
llvm::LogicalResult requireLoadable(mlir::ImplicitLocOpBuilder& builder, mlir::Operation* op,
                                    llvm::StringRef role, const tile::BufferRegion& region,
                                    tile::MemorySpace to, bool isTransposedOnTheWay);

/// A buffer in UB for the instructions of one statement.
mlir::Value makeTemporary(mlir::OpBuilder& builder, mlir::Location place,
                          llvm::ArrayRef<int64_t> shape, mlir::Type element, const char* name);

/// Elements from one index to the next of each dim of a buffer in UB.
llvm::SmallVector<int64_t> ubStrides(tile::BufferType type);

/// Of an element of UB, or of global memory that is dense and static.
mlir::OpFoldResult ubOffset(const IndexMaker& make, tile::BufferType type,
                            llvm::ArrayRef<mlir::OpFoldResult> indices);

/// The first element of the tile (the last two dims) that holds a region of L1, L0A, L0B or L0C.
mlir::OpFoldResult tileOffset(const IndexMaker& make, tile::BufferType type,
                              llvm::ArrayRef<mlir::OpFoldResult> indices);

/// Row and column of a region in its tile; row 0 for one dim.
std::pair<mlir::OpFoldResult, mlir::OpFoldResult>
placeInTile(const IndexMaker& make, llvm::ArrayRef<mlir::OpFoldResult> indices);

/// Elements of one tile of fractals.
int64_t tileElements(tile::BufferType type);

} // namespace tilewright::ascend
