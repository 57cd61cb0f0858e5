// SPDX-License-Identifier: Apache-2.0
/// Event numbers for flags that expansions place: those that the kernel does not use itself.
#pragma once

#include "compiler/ir/ascend_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <array>
#include <cstdint>

namespace tilewright::ascend {

class EventNumbers {
public:
  /// Notes what the kernel's own flags use.
  explicit EventNumbers(mlir::func::FuncOp kernel);

  /// The `number`-th free event between two pipes, the same at each call; the last event if none
  /// is left.
  int64_t free(Pipe from, Pipe to, int64_t number) const;

private:
  /// A bit per event, by pipes.
  std::array<std::array<uint8_t, 8>, 8> used{};
};

} // namespace tilewright::ascend
