// SPDX-License-Identifier: Apache-2.0
/// The value of scalar ops (arith, math).
#pragma once

#include "compiler/interpreter/storage.h"

#include <optional>

namespace tilewright::interpreter {

/// The result of an op without regions and memory, or nothing, with an error, if the op isn't known or its
/// operands have no result (as in a division of an integer by zero).
std::optional<Scalar> evaluate(mlir::Operation* op, llvm::ArrayRef<Scalar> operands);

} // namespace tilewright::interpreter
