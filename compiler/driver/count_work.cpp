// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/count_work.h"

#include "compiler/ir/parse_kernel.h"
#include "tilewright/work.h"

#include "mlir/IR/Diagnostics.h"

namespace tilewright {

std::optional<Work> countWork(std::string_view tileText,
                              const std::vector<std::optional<int64_t>>& arguments,
                              std::string& error) {
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic& diagnostic) { error = diagnostic.str(); });
  auto module = ir::parseKernel(tileText, context);
  if (!module)
    return std::nullopt;
  auto kernels = (*module).getOps<mlir::func::FuncOp>();
  if (kernels.empty()) {
    error = "the text has no kernel";
    return std::nullopt;
  }
  mlir::func::FuncOp kernel = *kernels.begin();
  if (kernel.getNumArguments() != arguments.size()) {
    error = "the kernel has " + std::to_string(kernel.getNumArguments()) + " arguments but " +
            std::to_string(arguments.size()) + " were given";
    return std::nullopt;
  }
  KernelWork counted = countWork(kernel, arguments);
  Work work{
      counted.flops, counted.isUpperBound, counted.bfloat16Flops, counted.byteOperations, {}, {}};
  work.isRead.assign(counted.isRead.begin(), counted.isRead.end());
  work.isWritten.assign(counted.isWritten.begin(), counted.isWritten.end());
  return work;
}

} // namespace tilewright
