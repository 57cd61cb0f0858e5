// SPDX-License-Identifier: Apache-2.0
/// One element-wise nest as vector instructions.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <llvm/ADT/DenseMap.h>

#include <optional>
#include <string>

namespace tilewright::ascend {

/// What a value of the body is over all iterations: the same number, or a tile in UB.
struct NestValue {
  mlir::Value scalar; ///< null for a tile
  mlir::Value buffer;
  mlir::Value offset;
};

class NestVectorizer {
public:
  /// `waits`: order the instructions by barriers, for kernels without automatic flags.
  NestVectorizer(tile::ParallelOp nest, bool waits);

  /// Why the nest can't be vector instructions; nothing if it can.
  std::optional<std::string> obstacle();
  /// Replaces the nest; only where there is no obstacle.
  void run();

private:
  /// How an access walks its buffer.
  enum class Walk { Tile, Rows, Columns, Fixed, None };

  std::optional<std::string> obstacleOf(mlir::Operation* op);
  std::optional<std::string> obstacleOfAccess(mlir::Operation* op, tile::BufferType type,
                                              mlir::ValueRange indices, bool isStore);
  Walk walkOf(tile::BufferType type, mlir::ValueRange indices);
  bool isUniform(mlir::Value value);
  /// The first element of an access, with the nest's own indices at 0.
  mlir::Value firstElement(tile::BufferType type, mlir::ValueRange indices);

  void load(tile::LoadOp op);
  void compute(mlir::Operation* op);
  void store(tile::StoreOp op);
  void binary(mlir::Operation* op);
  void unary(mlir::Operation* op);
  NestValue valueOf(mlir::Value value);
  NestValue asTile(mlir::Value value);
  /// Where the result of `op` goes: the tile that it is stored to, or a new one.
  NestValue makeTarget(mlir::Operation* op);
  NestValue makeTile(mlir::Type element);
  void barrier();

  tile::ParallelOp nest;
  bool waits;
  mlir::ImplicitLocOpBuilder builder;
  IndexMaker make;
  int64_t rows = 1, columns = 1;
  llvm::DenseMap<mlir::Value, NestValue> values;
  llvm::DenseSet<mlir::Operation*> storedDirectly;
};

} // namespace tilewright::ascend
