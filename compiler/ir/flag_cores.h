// SPDX-License-Identifier: Apache-2.0
/// Which kind of core sets a flag between cores, or waits for it, where that stands outside of T.Scope in a kernel that
/// has work for both kinds and leaves the split to the compiler: the interpreter and the Ascend target both follow this.
///
///   T.copy(c, W[0, 0])               the cube core
///   T.set_cross_flag("FIX", 0)       the cube core, which alone has that pipe
///   T.copy(D, d)                     the vector cores
///   T.wait_cross_flag(0)             the vector cores: those that the flag's sets tell
///   T.copy(W[0, 0], w)               the vector cores
///   T.set_cross_flag("MTE3", 1)      the vector cores, as the statement before
#pragma once

#include "compiler/ir/ascend_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>

namespace tilewright::npu {

/// A set belongs to the kind of core that alone has its pipe, else to that of the statement before, as in
/// TileLang-Ascend; without one, to the kind that its waits can hear. A wait belongs to the kind that the sets of its
/// number tell, if that is one (on the other it would never end); else to that of the statement before.
struct CrossFlagCores {
  explicit CrossFlagCores(mlir::func::FuncOp kernel);

  struct Flag {
    mlir::Operation* op = nullptr;
    std::optional<ascend::Agent> agent; ///< nothing where nothing says it
    bool isScoped = false;
  };
  llvm::SmallVector<Flag> sets, waits;
  /// Whether the kernel has work for both kinds of core; outside of scopes.
  bool isOfBoth = false, isSplit = false;
};

} // namespace tilewright::npu
