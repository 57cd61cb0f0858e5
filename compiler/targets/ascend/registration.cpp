// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassRegistry.h>

namespace tilewright::ascend {

void registerPasses(mlir::DialectRegistry& registry) {
  registry.insert<npu::NpuDialect, mlir::scf::SCFDialect>();
  const chips::AscendChip& chip = *chips::findAscendChip("910B2");
  mlir::registerPass([&chip] { return createCheckKernel(chip); });
  mlir::registerPass(createScopeCrossFlags);
  mlir::registerPass(createPlaceLocals);
  mlir::registerPass(createMarkStatements);
  mlir::registerPass([] { return createPlainUpdates(true); });
  mlir::registerPass(createMarkOnce);
  mlir::registerPass(createCheckScopes);
  mlir::registerPass(createGuardOnce);
  mlir::registerPass(createScopeVariables);
  mlir::registerPass(createPartVariables);
  mlir::registerPass(createMarkFreshTiles);
  mlir::registerPass([&chip] { return createStageGlobalTiles(chip, true); });
  mlir::registerPass([&chip] { return createCopyRows(chip); });
  mlir::registerPass([] { return createExpandGemms(true); });
  mlir::registerPass([] { return createExpandCopies(true); });
  mlir::registerPass(createExpandReductions);
  mlir::registerPass(createBoundArguments);
  mlir::registerPass([] { return createVectorizeParallel(false); });
  mlir::registerPass(createLazyChoices);
  mlir::registerPass([] { return createExpandElements(true, true); });
  mlir::registerPass([] { return createExpandCalls(true); });
  mlir::registerPass(createDropIdleWork);
  mlir::registerPass(createPlainDivisions);
  mlir::registerPass(createShareDims);
  mlir::registerPass(createShareNames);
  mlir::registerPass(createForwardFills);
  mlir::registerPass(createForwardVariables);
  mlir::registerPass(createCubeVid);
  mlir::registerPass([&chip] { return createRotateBuffers(chip); });
  mlir::registerPass(createLoadAhead);
  mlir::registerPass([] { return createDefinePadding(false); });
  mlir::registerPass([&chip] { return createPlanMemory(chip, true); });
  mlir::registerPass([] { return createInsertFlags(WithinCores::All, true); });
  mlir::registerPass(createPairWorkspaces);
  mlir::registerPass(createFoldClears);
  mlir::registerPass([] { return createStructureExits(); });
  mlir::registerPass([] { return createFollowVariables(); });
  mlir::registerPass([] { return createPlaceBuffers(false, true); });
  mlir::registerPass([] { return createAddWorkspaces(true, true, true); });
  mlir::registerPass(createShareVectorWork);
  mlir::registerPass(createWideIndices);
  mlir::registerPass([] { return createCheckHazards(WithinCores::All, true, true); });
  mlir::registerPass(createWideEnds);
  mlir::registerPass([] { return createSplitCubeVector(true); });
  mlir::registerPass(createPlainExits);
}

} // namespace tilewright::ascend
