// SPDX-License-Identifier: Apache-2.0
/// Which statement of the kernel an instruction is a part of: the locations of its operations hold a number,
/// which all that they become inherit.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>

namespace tilewright::ascend {

/// Nothing if the operation is of no statement, as loops, branches and buffers of the kernel's own are.
std::optional<unsigned> statementOf(mlir::Operation* op);

/// Takes all numbers away.
void unmarkStatements(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
