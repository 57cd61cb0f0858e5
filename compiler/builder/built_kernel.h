// SPDX-License-Identifier: Apache-2.0
/// What `KernelBuilder::finish` makes: a module of tile IR with the context that owns it. The
/// driver and the interpreter see this class; users see only KernelModule.
#pragma once

#include "tilewright/builder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>

namespace tilewright {

class BuiltKernel final : public KernelModule {
public:
  /// `module` holds one kernel, called `name`, and lives in `context`, which runs without threads.
  BuiltKernel(std::string name, std::unique_ptr<mlir::MLIRContext> context,
              mlir::OwningOpRef<mlir::ModuleOp> module);

  std::string name() const override {
    return kernelName;
  }
  std::string text(bool places = false) const override;

  /// The tile IR. Whoever reads, clones or prints it holds `lock()` as long as anything of the
  /// context is in use: a context without threads serves one thread at a time, and a kernel may be
  /// compiled again while a cancelled compilation of it still runs.
  mlir::ModuleOp module() const {
    return *ir;
  }
  std::unique_lock<std::mutex> lock() const {
    return std::unique_lock(mutex);
  }

  /// The BuiltKernel behind a KernelModule: there is no other implementation.
  static const BuiltKernel& of(const KernelModule& kernel) {
    return static_cast<const BuiltKernel&>(kernel);
  }

private:
  std::string kernelName;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> ir;
  mutable std::mutex mutex;
};

} // namespace tilewright
