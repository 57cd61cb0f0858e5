// SPDX-License-Identifier: Apache-2.0
/// A kernel of several launches (`with T.Kernel(...)` one behind the other) is a device function for each, and the host
/// starts one after the other on one stream: what a launch has written, the next one reads.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <string>

namespace tilewright::ascend {

/// A copy of the module for each launch, without the others. Where there are several, their kernels are `NAME_0`,
/// `NAME_1`, ..., and what they share in global memory (T.alloc_global) lies at the same place in all.
llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> separateLaunches(mlir::ModuleOp module);

/// What the host functions of one launch ask for.
struct LaunchNeeds {
  int64_t coresPerBlock = 1;
  int64_t workspaceBytes = 0;
  bool hasBlockWorkspace = false; ///< `NAME_0_workspace` gives the bytes for a grid
};

/// The host functions of a kernel of several launches, over those of each: NAME_grid, NAME_workspace if any launch has
/// one, and NAME_launch. The grid is one of cores, the most that a launch asks for.
std::string hostOfLaunches(llvm::StringRef name, llvm::ArrayRef<LaunchNeeds> launches);

} // namespace tilewright::ascend
