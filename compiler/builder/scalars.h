// SPDX-License-Identifier: Apache-2.0
/// From operators on IR values of one type to the ops of `arith` and `math`.
#pragma once

#include "compiler/builder/construction.h"

namespace tilewright::builder {

/// What two operands are computed in.
struct Promoted {
  Dtype dtype;
  bool isIndex = false;   // int32 in 64 bits
  bool isLiteral = false; // both are literals
};
/// Whether one is a literal beyond int64 and the other an integer of a dtype but uint64, which no rule brings
/// together without loss.
bool meetsLargerLiteral(const Construction& state, Value left, Value right);
Promoted promoteBoth(const Construction& state, Value left, Value right);

/// The operand in the common type.
mlir::Value toPromoted(Construction& state, Value value, const Promoted& promoted);

/// Both operands have the type of `dtype`, or index; the result too, or i1 for comparisons.
mlir::Value emitBinary(Construction& state, BinaryOp op, mlir::Value left, mlir::Value right,
                       Dtype dtype);
mlir::Value emitUnary(Construction& state, UnaryOp op, mlir::Value operand, Dtype dtype);

} // namespace tilewright::builder
