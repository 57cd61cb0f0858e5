// SPDX-License-Identifier: Apache-2.0
/// Where a tile of gemms is copied to its twin on the vector cores.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// The uses of a tile, in text order.
struct TwinUses {
  llvm::SmallVector<mlir::Operation*> gemms;
  llvm::SmallVector<mlir::Operation*> readers, writers; ///< of the twin
};

/// The operations before which copies stand, so that every use of the twin finds what the gemms before it
/// have computed, and no copy undoes what the vector cores have written. As few as suffice.
llvm::SmallVector<mlir::Operation*> placesOfCopies(mlir::func::FuncOp kernel, const TwinUses& uses);

} // namespace tilewright::ascend
