// SPDX-License-Identifier: Apache-2.0
/// Integers in the body of an element-wise nest as sums of its indices.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/same_number.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/IRMapping.h>

#include <array>
#include <optional>

namespace tilewright::ascend {

/// `base` + row factor * row + column factor * column, of a nest of one or two dims; one dim is the
/// columns. `base` is the same in all iterations; null: 0.
struct IndexForm {
  std::array<int64_t, 2> factors = {0, 0};
  mlir::Value base;

  bool isFixed() const {
    return factors[0] == 0 && factors[1] == 0;
  }
};

class NestIndices {
public:
  NestIndices(tile::ParallelOp nest, const mlir::IRMapping& uniform,
              mlir::ImplicitLocOpBuilder& builder)
      : nest(nest), uniform(uniform), builder(builder), make(builder) {}

  /// Of an index of a load or store, or of what is computed of indices; nothing for other values.
  std::optional<IndexForm> of(mlir::Value value) const;
  /// Learns what `op` computes, if its operands are forms; true then.
  bool add(mlir::Operation* op);

private:
  tile::ParallelOp nest;
  const mlir::IRMapping& uniform;
  mlir::ImplicitLocOpBuilder& builder;
  IndexMaker make;
  llvm::DenseMap<mlir::Value, IndexForm> forms;
};

/// The same, with extents such as that of `c[p * 32:p * 32 + 32]` as numbers.
tile::BufferRegion withKnownExtents(tile::BufferRegion region);
/// Whether two numbers are the same for sure.
bool isSameIndex(mlir::OpFoldResult a, mlir::OpFoldResult b);
/// Whether two regions of buffers of one shape are the same for sure.
bool isSameRegion(const tile::BufferRegion& a, const tile::BufferRegion& b);
/// a - b, if that is a number for sure. Either may be null, which is 0.
std::optional<int64_t> differenceOf(mlir::Value a, mlir::Value b);
/// Whether a number is a sum of such as `isKnown` knows, once what it adds and takes away again is left out.
bool isSumOf(mlir::Value number, llvm::function_ref<bool(mlir::Value)> isKnown);

} // namespace tilewright::ascend
