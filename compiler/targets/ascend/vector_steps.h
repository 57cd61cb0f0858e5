// SPDX-License-Identifier: Apache-2.0
/// What differs between the two vector cores of a block.
#pragma once

#include "compiler/ir/npu_ops.h"

#include <mlir/IR/Operation.h>

#include <optional>

namespace tilewright::ascend {

/// How much a number grows from the first vector core to the second; nothing if that isn't known.
std::optional<int64_t> vectorStep(mlir::Value value);

/// Takes, for what variables hold where `number` is computed of them, what has been stored there, if only one
/// store can have been the last.
void takeStored(mlir::Value number);

/// The cube core runs once per block, as if it were vector core 0: warns of a store of the part that vid says, for the
/// other one is left out.
void warnOfPartOfVid(npu::StoreL0cOp store);

/// Puts `op` into a branch that only the first vector core of a block takes.
void onFirstVector(mlir::Operation* op);

} // namespace tilewright::ascend
