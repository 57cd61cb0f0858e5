// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_SIMULATOR_ISA_ELEMENTWISE_H
#define TILEWRIGHT_SIMULATOR_ISA_ELEMENTWISE_H

#include "simulator/isa/instruction.h"

#include <cstddef>
#include <string>

namespace tilewright::ascend::isa {

/// The scalar operand, as float and as integer.
struct Scalar {
  float f = 0;
  int64_t i = 0;
};

/// Computes `n` elements in a row. `d` may be `a` or `b`.
using RunFunction = void (*)(void* d, const void* a, const void* b, size_t n, Scalar s);

/// The function of an element-wise instruction for its types; null if there is none.
RunFunction elementwiseRun(const VectorInstr& instr);
bool isElementwise(VectorOp op);
/// What only fills has none.
constexpr bool hasSource(VectorOp op) {
  return op != VectorOp::Duplicate && op != VectorOp::CreateVecIndex;
}
bool hasTwoSources(VectorOp op);
bool readsDestination(VectorOp op);

/// The function of a Cast for its types and rounding mode; null if the chip has no such cast.
RunFunction castRun(const VectorInstr& instr);
/// The rounding modes that a cast of these types has ("CAST_RINT or CAST_ODD"); empty: there is no such cast.
std::string modesOfCast(VectorInstr instr);

} // namespace tilewright::ascend::isa

#endif
