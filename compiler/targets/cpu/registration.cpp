// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/attribute_checks.h"
#include "compiler/targets/cpu/machine.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/Pass/PassRegistry.h>

namespace tilewright::cpu {

void registerPasses(mlir::DialectRegistry& registry) {
  registry.insert<AttributeChecks, mlir::LLVM::LLVMDialect, mlir::cf::ControlFlowDialect,
                  mlir::vector::VectorDialect>();
  std::string problem;
  const Machine machine = *findMachine("avx512", problem);
  mlir::registerPass([] { return createPlaceSizedTiles(); });
  mlir::registerPass([] { return createSplitThreads(); });
  mlir::registerPass([machine] { return createDeepenGemms(machine); });
  mlir::registerPass([] { return createSkipStages(); });
  mlir::registerPass([] { return createMarkRoundings(); });
  mlir::registerPass([machine] { return createLowerDots(machine); });
  mlir::registerPass([machine] { return createMultiplyByPieces(machine); });
  mlir::registerPass([machine] { return createMultiplyBySums(machine); });
  mlir::registerPass([machine] { return createPackGemmOperands(machine); });
  mlir::registerPass([] { return createPartOverlaps(); });
  mlir::registerPass([] { return createFunctionOverlaps(); });
  mlir::registerPass([] { return createStoreResults(); });
  mlir::registerPass([machine] { return createReadInPlace(machine); });
  mlir::registerPass([machine] { return createFuseReductions(machine); });
  mlir::registerPass([] { return createPlanScratch(); });
  mlir::registerPass([machine] { return createLowerGemm(machine); });
  mlir::registerPass([machine] { return createFetchNextBlock(machine); });
  mlir::registerPass([machine] { return createLowerReductions(machine); });
  mlir::registerPass([machine] { return createLowerCopies(machine); });
  mlir::registerPass([machine] { return createLowerTables(machine); });
  mlir::registerPass([machine] { return createLowerParallel(machine); });
  mlir::registerPass([] { return createMakeEntryPoints(); });
  mlir::registerPass([] { return createLowerCalls(); });
  mlir::registerPass([] { return createLowerPrints(); });
  mlir::registerPass([] { return createLowerBuffers(); });
  mlir::registerPass([] { return createExpandSmallFloats(); });
  mlir::registerPass([machine] { return createExpandDivisions(machine); });
  mlir::registerPass([machine] { return createExpandExponentials(machine); });
  mlir::registerPass([] { return createFlattenControlFlow(); });
  mlir::registerPass([] { return createConvertToLlvm(); });
}

} // namespace tilewright::cpu
