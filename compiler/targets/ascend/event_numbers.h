// SPDX-License-Identifier: Apache-2.0
/// Event numbers for flags that expansions place: those that the kernel does not use itself.
#pragma once

#include "compiler/ir/ascend_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include <array>
#include <cstdint>
#include <optional>

namespace tilewright::ascend {

class EventNumbers {
public:
  /// Notes what the kernel's own flags use.
  explicit EventNumbers(mlir::func::FuncOp kernel);

  /// The `number`-th free event between two pipes, the same at each call; none if fewer are left.
  std::optional<int64_t> free(Pipe from, Pipe to, int64_t number) const;

  /// Lets `to` wait for what is queued on `from`: by a flag, or a barrier of all pipes if no event is free.
  void order(mlir::ImplicitLocOpBuilder& builder, Pipe from, Pipe to) const;

private:
  /// A bit per event that a set may name, by pipes.
  std::array<std::array<uint8_t, 8>, 8> used{};
};

} // namespace tilewright::ascend
