// SPDX-License-Identifier: Apache-2.0
/// Which elements of tiles a kernel asks for, by their constant places, and what its operations make of them.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/possible_states.h"

namespace tilewright::ascend {

class KnownElements {
public:
  explicit KnownElements(StateSpace& space) : space(space) {}

  /// Those that a launch asks for outside of nests.
  void find(tile::LaunchOp launch);
  /// The slot of the element that is read, if it is one of these.
  std::optional<unsigned> slotOf(tile::LoadOp load) const;
  /// All that has a part in a tile with such elements; a nest as a whole.
  llvm::ArrayRef<mlir::Operation*> users() const {
    return using_;
  }
  /// What they are behind an operation.
  void run(mlir::Operation* op, PossibleState& state);
  /// The slots of the elements of all tiles in which an operation has a part.
  llvm::SmallVector<unsigned> slotsOf(mlir::Operation* op) const;

private:
  struct Place {
    mlir::Value tile;
    llvm::SmallVector<int64_t> at;
  };
  void addSources(const Place& place, std::vector<Place>& open) const;
  void fill(tile::FillOp fill, PossibleState& state);
  void copy(tile::CopyOp copy, PossibleState& state);
  void runNest(tile::ParallelOp nest, PossibleState& state);
  void store(tile::StoreOp store, PossibleState& state);
  std::optional<IndexRange> stored(tile::ParallelOp nest, tile::StoreOp store,
                                   const StateSpace::Element& element, const PossibleState& state);
  void forgetAll(mlir::Value tile, PossibleState& state);

  StateSpace& space;
  std::vector<mlir::Operation*> using_;
  llvm::SmallVector<mlir::Value> tiles;
};

} // namespace tilewright::ascend
