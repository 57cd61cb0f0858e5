// SPDX-License-Identifier: Apache-2.0
/// From an LLVM module to machine code: our short optimisation pipeline, and the code generator.
#pragma once

#include <atomic>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright::cpu {

struct Machine;

/// Optimises in place. Much shorter than LLVM's -O2: emitted code has no calls to inline, no
/// exceptions and no globals; what pays is cleaning up addresses, hoisting, and the loop
/// vectoriser. Once `cancel` is set, the passes that remain do nothing.
void optimizeModule(llvm::Module& module, const Machine& machine, llvm::TargetMachine& target,
                    const std::atomic<bool>* cancel = nullptr);

/// The object file's bytes; empty if the target cannot emit one. Once `cancel` is set, the passes of
/// the code generator that only optimise do nothing, so that it ends soon.
std::string emitObject(llvm::Module& module, llvm::TargetMachine& target,
                       const std::atomic<bool>* cancel = nullptr);

/// The assembly text, for people. Works on a copy, so that `emitObject` may follow.
std::string emitAssembly(const llvm::Module& module, llvm::TargetMachine& target);

} // namespace tilewright::cpu
