// SPDX-License-Identifier: Apache-2.0
/// Constants of the language, and what they fold to. Folding gives exactly what the kernel would
/// compute.
#pragma once

#include "compiler/builder/operators.h"
#include "tilewright/dtype.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::builder {

/// A number without a dtype. Integers and bools are held in 64 bits, sign- or zero-extended by the
/// dtype that goes with them (uint64 as its bits).
struct Constant {
  bool isReal = false;
  int64_t integer = 0;
  double real = 0;

  static Constant ofInteger(int64_t value) {
    return {false, value, 0};
  }
  static Constant ofReal(double value) {
    return {true, 0, value};
  }
};

/// Whether an integer can be written in a dtype without loss of digits; a negative one as the bits
/// of an unsigned dtype of its width does not count.
bool fits(int64_t value, Dtype dtype);

/// Whether an integer of a dtype has a double of its own.
bool isExactInDouble(Constant integer, Dtype dtype);

/// The constant as `dtype` holds it. Nothing where the result is not ours to decide (a real number
/// beyond an integer's range) or where we do not model the rounding (8-bit and smaller floats).
std::optional<Constant> foldCast(Constant value, Dtype from, Dtype to);

/// Both operands and, but for comparisons, the result have dtype `dtype`. With `wide`, integers are
/// not wrapped to the dtype: literals and indices are computed in 64 bits. Nothing where it does
/// not fold (a division by zero, a shift beyond the width, and with `wide` an overflow of 64 bits).
std::optional<Constant> foldBinary(BinaryOp op, Constant left, Constant right, Dtype dtype,
                                   bool wide);
std::optional<Constant> foldUnary(UnaryOp op, Constant operand, Dtype dtype, bool wide);

/// For messages, of a constant of dtype `dtype`: "3", "0.5".
std::string toText(Constant value, Dtype dtype);

} // namespace tilewright::builder
