// SPDX-License-Identifier: Apache-2.0
/// The npu dialect: instructions of an Ascend core.
#pragma once

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/npu_interfaces.h.inc"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/ir/npu_dialect.h.inc"

#include "compiler/ir/npu_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/npu_attrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/npu_transfer_ops.h.inc"
#define GET_OP_CLASSES
#include "compiler/ir/npu_vector_ops.h.inc"
