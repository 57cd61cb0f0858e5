// SPDX-License-Identifier: Apache-2.0
/// The op classes of memory_ops.td.
#pragma once

#include "compiler/ir/region.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "compiler/ir/memory_ops.h.inc"
