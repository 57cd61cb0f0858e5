// SPDX-License-Identifier: Apache-2.0
/// The ascend dialect.
#pragma once

#include "compiler/ir/dialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/ir/ascend_dialect.h.inc"

#include "compiler/ir/ascend_enums.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/ascend_ops.h.inc"

namespace tilewright::ascend {

/// On a call: what the kernel calls the function (`T.tile.block_reduce_sum`), where that isn't its name.
inline constexpr char kCalledAsAttr[] = "ascend.called_as";

} // namespace tilewright::ascend
