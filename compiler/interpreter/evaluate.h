// SPDX-License-Identifier: Apache-2.0
/// The value of scalar ops (arith, math).
#pragma once

#include "compiler/interpreter/storage.h"

#include <optional>

namespace tilewright::interpreter {

/// The result of an op without regions and memory, or nothing if the op isn't known or its operands
/// have no result (division of an integer by zero; `op` then carries an error already, given by
/// `failed`).
std::optional<Scalar> evaluate(mlir::Operation* op, llvm::ArrayRef<Scalar> operands);

} // namespace tilewright::interpreter
