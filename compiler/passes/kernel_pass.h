// SPDX-License-Identifier: Apache-2.0
/// The base of our passes over kernels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright {

/// A pass over one function. `Derived` gives `kArgument` and `kDescription`, and `runOnOperation`;
/// nothing else is needed, and no table is generated: an edit to one pass compiles one file.
template <typename Derived>
class KernelPass : public mlir::PassWrapper<Derived, mlir::OperationPass<mlir::func::FuncOp>> {
public:
  llvm::StringRef getArgument() const final {
    return Derived::kArgument;
  }
  llvm::StringRef getDescription() const final {
    return Derived::kDescription;
  }
  llvm::StringRef getName() const final {
    return Derived::kArgument;
  }
};

} // namespace tilewright
