// SPDX-License-Identifier: Apache-2.0
/// The base of passes whose output depends on the machine.
#pragma once

#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/machine.h"

namespace tilewright::cpu {

/// A KernelPass for one machine. In tilewright-opt the option `cpu` names another than its own:
/// `--cpu-lower-gemm=cpu=znver5`.
template <typename Derived> class MachinePass : public KernelPass<Derived> {
public:
  explicit MachinePass(Machine machine) : machine(std::move(machine)) {}
  MachinePass(const MachinePass& other) : KernelPass<Derived>(other), machine(other.machine) {}

  llvm::LogicalResult initialize(mlir::MLIRContext* context) override {
    std::string problem;
    std::optional<Machine> named = cpu.empty() ? machine : findMachine(cpu, problem);
    if (!named)
      return mlir::emitError(mlir::UnknownLoc::get(context), problem);
    machine = *named;
    return mlir::success();
  }

protected:
  Machine machine;

private:
  mlir::Pass::Option<std::string> cpu{*this, "cpu", llvm::cl::desc("the CPU to lower for")};
};

} // namespace tilewright::cpu
