// SPDX-License-Identifier: Apache-2.0
/// What differs between the two vector cores of a block.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/Operation.h>

#include <optional>

namespace tilewright::tile {
class ForOp;
class LoadOp;
} // namespace tilewright::tile

namespace tilewright::ascend {

/// How much a number grows from the first vector core to the second; nothing if that isn't known.
class VectorSteps {
public:
  std::optional<int64_t> of(mlir::Value value);
  /// Whether `op` runs as often on both cores, as far as loops and branches say.
  bool runsOnBoth(mlir::Operation* op);

private:
  std::optional<int64_t> ofLoop(tile::ForOp loop);
  std::optional<int64_t> ofResult(mlir::Operation* op);
  /// Whether a number that a variable or a tile holds may be another one on the second vector core.
  bool mayDiffer(tile::LoadOp load);

  llvm::DenseSet<mlir::Value> followed; ///< variables
};

inline std::optional<int64_t> vectorStep(mlir::Value value) {
  return VectorSteps().of(value);
}

/// Takes, for what variables hold where `number` is computed of them, what has been stored there, if only one
/// store can have been the last.
void takeStored(mlir::Value number);

/// Puts `op` into a branch that only the first vector core of a block takes.
void onFirstVector(mlir::Operation* op);

} // namespace tilewright::ascend
