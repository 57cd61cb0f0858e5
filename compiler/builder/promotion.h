// SPDX-License-Identifier: Apache-2.0
/// The language's dtype rules for operators.
///
/// - A literal integer takes the dtype of what it meets if it fits there; else it is an int32
/// (int64 if need be; beyond that a uint64, which meets no integer of another dtype). Beside an
/// integer of less than 32 bits it is an int32, as in TVM: `x * 3 // 4` of a uint8 doesn't wrap;
/// but not on an NPU.
///   A literal real number is a float32, beside a float64 a float64.
/// - bool with bool: int32 in arithmetic, bool in `&`, `|`, `^`. bool with a number: the number's
/// dtype.
/// - Integer with float: the float's dtype. Two floats: the wider one; float32 for two different
/// ones of one width.
/// - Two integers: the wider one; of one width, the unsigned one. int8 + int8 stays int8.
/// - Arithmetic on floats narrower than 16 bits is done in, and gives, float32.
/// - `/` of two integers is an error: `//` and `truncdiv` say which division is meant.
#pragma once

#include "tilewright/dtype.h"

#include <cstdint>
#include <optional>

namespace tilewright::builder {

/// The common dtype of two numbers, neither a literal.
Dtype promote(Dtype left, Dtype right);

/// The dtype in which a function or arithmetic operator computes on operands of dtype `common`.
Dtype computeDtype(Dtype common);

/// The dtype of an integer literal beside an operand of dtype `other`. `staysNarrow`: on an NPU, whose vector units
/// compute on 8 and 16 bits.
Dtype literalBeside(int64_t literal, Dtype other, bool staysNarrow = false);

/// The dtype of an integer literal alone: int32, or int64 beyond its range.
Dtype literalAlone(int64_t literal);

} // namespace tilewright::builder
