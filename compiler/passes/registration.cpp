// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/Passes.h"

void tilewright::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass(createMarkInBounds);
  mlir::registerPass(createAssertRegions);
  mlir::registerPass([] { return createRepeatAtomics(); });
  mlir::registerPass(createTakeTurns);
  mlir::registerPass(createJoinBarriers);
  mlir::registerPass(createGroupThreads);
  mlir::registerPass(createSplitFragments);
  mlir::registerPass(createHoistInvariants);
  mlir::registerPass(createInsertSyncs);
}
