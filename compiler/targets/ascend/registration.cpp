// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/IR/DialectRegistry.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassRegistry.h>

namespace tilewright::ascend {

void registerPasses(mlir::DialectRegistry& registry) {
  registry.insert<npu::NpuDialect>();
  mlir::registerPass([] { return createInsertFlags(true, true); });
  mlir::registerPass(createCheckHazards);
}

} // namespace tilewright::ascend
