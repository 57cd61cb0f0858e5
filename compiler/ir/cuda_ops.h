// SPDX-License-Identifier: Apache-2.0
/// The cuda dialect.
#pragma once

#include "compiler/ir/region.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::cuda {
using tile::BufferRegion;
} // namespace tilewright::cuda

#include "compiler/ir/cuda_dialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/cuda_types.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/cuda_ops.h.inc"
