// SPDX-License-Identifier: Apache-2.0
/// What the two vector cores of a block do to the same bytes of global memory, as they come to it.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <vector>

namespace tilewright::ascend {

struct VectorRace {
  mlir::Operation* first = nullptr; ///< in the order of the text, or both
  mlir::Operation* second = nullptr;
  mlir::Value tensor;
  bool firstWrites = false, secondWrites = false;
};

/// Where one vector core of a block reads or writes what the other one writes, and nothing orders the two. The first turns of
/// the kernel's loops are run, of the first block, on both vector cores and on the cube core, with all flags and meetings
/// between them: what one core has done before it sets a flag is over for who waits for it. Of what is sure
/// only: places that numbers of blocks, cores and turns say, and branches that go together.
std::vector<VectorRace> findVectorRaces(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
