// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/machine.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/Pass/Pass.h>

namespace tilewright::cpu {

void registerDialects(mlir::DialectRegistry& registry) {
  registry
      .insert<mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect>();
}

void registerPasses() {
  std::string problem;
  // Always the same machine, so that tests give the same text everywhere.
  const Machine machine = findMachine("avx512", problem).value_or(Machine());
  mlir::registerPass(createPackGemmOperands);
  mlir::registerPass(createPlanScratch);
  mlir::registerPass([machine] { return createLowerGemm(machine); });
  mlir::registerPass([machine] { return createLowerReductions(machine); });
  mlir::registerPass(createLowerCopies);
  mlir::registerPass(createLowerParallel);
  mlir::registerPass(createMakeEntryPoints);
  mlir::registerPass(createLowerBuffers);
  mlir::registerPass(createExpandSmallFloats);
  mlir::registerPass(createFlattenControlFlow);
  mlir::registerPass(createConvertToLlvm);
}

} // namespace tilewright::cpu
