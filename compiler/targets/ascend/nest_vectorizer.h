// SPDX-License-Identifier: Apache-2.0
/// One element-wise nest as vector instructions.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_operations.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

#include <optional>
#include <string>

namespace tilewright::ascend {

/// What the vector unit computes in.
bool isVectorType(mlir::Type type);
/// The instruction of two tiles that an operation is; nothing where there is none.
std::optional<npu::BinaryKind> binaryKind(mlir::Operation* op);
/// That it has no such operation, and what it has.
std::string lacking(mlir::Operation* op);

/// A value of the body is, over all iterations, the same number, a sum of the nest's indices, or a
/// tile in UB. Each operation is made for all iterations before the next one.
class NestVectorizer {
public:
  /// `waits`: order the instructions by barriers, for kernels without automatic flags.
  NestVectorizer(tile::ParallelOp nest, bool waits);

  /// Replaces the nest; or says why it can't be vector instructions, and changes nothing.
  std::optional<std::string> run();
  /// Whether it computes in float32 what the kernel computes in bfloat16.
  bool widensBfloat16 = false;

private:
  using Tile = TileOperations::Result;

  /// How an access walks its buffer.
  enum class Walk { Tile, Rows, Columns, Fixed };
  struct Access {
    Walk walk = Walk::Tile;
    VectorTile tile;
  };

  bool refuse(std::string text) {
    reason = std::move(text);
    return false;
  }
  std::nullopt_t none(std::string text) {
    reason = std::move(text);
    return std::nullopt;
  }

  bool vectorize();
  void nameTile(mlir::Operation* op);
  bool readShape();
  bool hoist(mlir::Operation& op);
  bool isHoistable(tile::LoadOp load);
  bool isTileOfOne(tile::BufferType type) const;
  bool checkOverlaps();
  bool checkLaterUses(tile::StoreOp op);
  bool isOfIndices(const VectorTile& tile, mlir::Value value);
  bool storeIndices(const VectorTile& target, const VectorTile& source, tile::StoreOp op);
  std::optional<llvm::SmallVector<IndexForm>> formsOf(mlir::ValueRange indices);
  std::optional<Access> accessOf(tile::BufferType type, mlir::Value buffer,
                                 mlir::ValueRange indices);

  bool isPaddingBehind(tile::BufferType type) const;

  bool load(tile::LoadOp op);
  Tile spreadSmall(const VectorTile& line, bool isNumberPerRow);
  bool store(tile::StoreOp op);
  // Functions of T.tile that are one instruction (named_functions.cpp).
  /// What an instruction makes for the nest's last operation, with those it takes in.
  struct Fused {
    mlir::Operation* last = nullptr;
    llvm::SmallVector<mlir::Operation*, 2> inner;
    mlir::Value source, factor;
    std::optional<npu::UnaryKind> unary = std::nullopt;
    std::optional<npu::ScalarKind> scalar = std::nullopt;
    bool isUpdate = false; ///< adds to what its target holds
  };
  std::optional<Fused> fused();
  std::optional<Fused> fusedSum(mlir::Operation* last, bool isByScalar);
  std::optional<Fused> fusedSlope(mlir::Operation* last);
  Tile computedAtOnce();
  /// T.tile.createvecindex, if the nest is one that the instruction counts exactly.
  bool countUp();

  /// Nothing for what the vector unit can't compute.
  Tile computed(mlir::Operation* op);
  Tile binary(mlir::Operation* op, npu::BinaryKind kind);
  // One row for all rows of a large tile (nest_lines.cpp).
  bool keepsLine(const VectorTile& line) const;
  Tile byLines(mlir::Operation* op, npu::BinaryKind kind);
  // One number for each row, which an instruction takes beside a tile (nest_lines.cpp).
  bool keepsNumbers(tile::LoadOp op, const VectorTile& numbers) const;
  Tile byRows(mlir::Operation* op, npu::BinaryKind kind);
  Tile asWide(mlir::Value value);
  Tile shifted(mlir::Operation* op);
  Tile bits(mlir::Operation* op);
  Tile converted(mlir::Operation* op);
  std::optional<npu::Rounding> namedRounding();
  bool castBy(npu::Rounding rounding);
  Tile lowBits(mlir::Operation* op);
  Tile lowHalves(const VectorTile& source, const VectorTile& target);
  Tile unsignedShorts(mlir::Operation* op, const VectorTile& floats,
                      std::optional<npu::Rounding> rounding);
  Tile unary(mlir::Operation* op);
  Tile magnitude(mlir::Operation* op);
  Tile rounded(mlir::Operation* op);
  Tile multiplied(const VectorTile& source, double factor, mlir::Operation* op);
  Tile function(npu::FunctionKind kind, mlir::Operation* op);

  // Conditions (nest_conditions.cpp).
  Tile compared(mlir::Operation* op);
  Tile comparedFloats(mlir::arith::CmpFOp op);
  Tile comparedAsFloats(mlir::arith::CmpIOp op);
  Tile withTopBitFlipped(mlir::Value value);
  Tile unsignedExtreme(mlir::Operation* op);
  Tile maskFor(mlir::Value condition, const VectorTile& like);
  Tile selected(mlir::Operation* op);
  Tile selectedBytes(mlir::arith::SelectOp op);
  Tile selectedWide(mlir::arith::SelectOp op);
  Tile comparedWide(mlir::arith::CmpIOp op);
  Tile selectedConditions(mlir::arith::SelectOp op);
  bool storeCondition(const VectorTile& target, mlir::Value condition);

  // Bytes (nest_bytes.cpp). A tile of them is one of bytes, as they lie in memory, or of 16 bits of which the low 8
  // count.
  Tile shortsOf(mlir::Value value);
  Tile extendedByte(mlir::Value value, bool hasNoSign);
  Tile smallAsFloats(mlir::Value value, bool hasNoSign);
  Tile computedBytes(mlir::Operation* op, npu::BinaryKind kind);
  Tile shiftedBytes(mlir::Operation* op);
  Tile pairsOf(mlir::Value value);
  Tile bitsInPairs(mlir::Operation* op, mlir::Value left, mlir::Value right);
  bool storeBytes(const VectorTile& target, mlir::Value value);

  /// The number that a value is in all iterations; null if it is none.
  mlir::Value scalarOf(mlir::Value value);
  Tile tileOf(mlir::Value value);
  /// The same as float32 where the vector unit doesn't compute in its type.
  Tile operandOf(mlir::Value value);
  /// Where the result of `op` goes: the tile that it is stored to, or a new one; in functions of T.tile one
  /// that nothing needs any more, which `mayBeSource` says of those that `op` reads.
  VectorTile targetOf(mlir::Operation* op, mlir::Type element, bool mayBeSource = true);
  VectorTile spareTile(mlir::Operation* op, mlir::Type element, bool mayBeSource);
  /// Whether something behind `op` and before `end` uses what lies in the buffer.
  bool isNeededBehind(mlir::Operation* op, mlir::Value storage, mlir::Operation* end);
  /// A result that was computed in a wider type, as that of `op`.
  Tile narrowed(mlir::Operation* op, const VectorTile& wide);

  tile::ParallelOp nest;
  bool waits;
  mlir::ImplicitLocOpBuilder builder;
  IndexMaker make;
  mlir::IRMapping uniform;
  NestIndices indices;
  TileOperations tiles;
  int64_t rows = 1, columns = 1;
  llvm::DenseMap<mlir::Value, VectorTile> values;
  llvm::DenseMap<mlir::Value, VectorTile> lines;      ///< loaded, but not spread over the rows yet
  llvm::DenseMap<mlir::Value, VectorTile> rowNumbers; ///< nor these over the columns
  llvm::DenseMap<mlir::Value, npu::Rounding> roundings;
  llvm::DenseMap<mlir::Operation*, VectorTile> storedDirectly;
  llvm::SmallVector<VectorTile> spares; ///< made for results, each of which may hold a later one
  std::optional<Fused> atOnce;
  std::string reason;
};

} // namespace tilewright::ascend
