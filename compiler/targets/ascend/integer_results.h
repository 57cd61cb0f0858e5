// SPDX-License-Identifier: Apache-2.0
/// Integer arithmetic on known numbers, as the kernel computes it.
#pragma once

#include <mlir/IR/Operation.h>

#include <cstdint>
#include <optional>

namespace tilewright::ascend {

/// A number as its type has it: what has no room wraps round; of one bit, 0 or 1.
int64_t asOfType(int64_t number, mlir::Type type);

/// The result of an operation on integers whose operands are `numbers`; nothing for any other operation, and where the
/// result has no meaning (a division by 0).
std::optional<int64_t> integerResult(mlir::Operation* op, llvm::ArrayRef<int64_t> numbers);

} // namespace tilewright::ascend
