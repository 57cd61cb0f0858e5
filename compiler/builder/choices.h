// SPDX-License-Identifier: Apache-2.0
/// Choices, of which one side alone counts: built as branches, and computed both where that is harmless.
#pragma once

#include "compiler/builder/construction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::builder {

/// An `if` without results becomes one that gives a value, or, where both sides are harmless, a
/// select.
mlir::Value finishChoice(Construction& state, mlir::scf::IfOp op, mlir::Value whenTrue,
                         mlir::Value whenFalse);

} // namespace tilewright::builder
