// SPDX-License-Identifier: Apache-2.0
/// Scalar arithmetic as expressions of C++.
#pragma once

#include "compiler/targets/ascend/source_text.h"

#include <optional>

namespace tilewright::ascend {

/// The expression of an `arith` or `math` op with one result, whose operands are bound; nothing if
/// the scalar unit has no such operation.
std::optional<Expression> scalarExpression(mlir::Operation* op, const SourceText& text);

/// Whether it is a division of integers by what isn't known to differ from 0.
bool mayDivideByZero(mlir::Operation* op);

/// An integer or float constant as it stands in C++.
std::string constantText(mlir::Attribute value, mlir::Type type);

} // namespace tilewright::ascend
