// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/built_kernel.h"

#include "mlir/IR/OperationSupport.h"

#include "llvm/Support/raw_ostream.h"

namespace tilewright {

BuiltKernel::BuiltKernel(std::string name, std::unique_ptr<mlir::MLIRContext> context,
                         mlir::OwningOpRef<mlir::ModuleOp> module)
    : kernelName(std::move(name)), context(std::move(context)), ir(std::move(module)) {}

std::string BuiltKernel::text(bool places) const {
  auto guard = lock();
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (places)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module()->print(stream, flags);
  return text;
}

} // namespace tilewright
