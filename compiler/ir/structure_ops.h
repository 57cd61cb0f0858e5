// SPDX-License-Identifier: Apache-2.0
/// The op classes of structure_ops.td.
#pragma once

#include "compiler/ir/region.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "compiler/ir/structure_ops.h.inc"
