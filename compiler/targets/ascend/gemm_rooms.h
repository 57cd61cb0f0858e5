// SPDX-License-Identifier: Apache-2.0
/// Where gemms of tiles in L1 work in L0A and L0B: all that the kernel's own buffers there leave.
#pragma once

#include "compiler/ir/dialect.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdint>

namespace tilewright::ascend {

/// Two halves of one memory, which begin at byte `start`.
struct GemmRoom {
  static constexpr int64_t kBytes = 65536; ///< of L0A and of L0B
  int64_t start = 0, half = kBytes / 2;
};

struct GemmRooms {
  GemmRoom a, b;
};

/// The end of the widest gap between the buffers that the kernel has placed, behind all others of its own.
GemmRoom gemmRoom(mlir::func::FuncOp kernel, tile::MemorySpace space);

} // namespace tilewright::ascend
