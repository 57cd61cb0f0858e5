// SPDX-License-Identifier: Apache-2.0
// Where the operands of vector instructions may start in UB: at a block of 32 bytes, but for results
// of reductions, lists of pairs and the mask register's bytes.
#include "simulator/isa/vector.h"

#include <algorithm>

namespace tilewright::ascend::isa {

namespace {

constexpr uint32_t bytesOfPair = 8;    // of a sorted list
constexpr uint32_t registerBytes = 16; // the mask of Compare and Select

bool movesRegister(VectorOp op) {
  return op == VectorOp::SetCmpMask || op == VectorOp::GetCmpMask;
}

uint32_t dstMultiple(const VectorInstr& i) {
  if (movesRegister(i.op))
    return registerBytes;
  if (i.op >= VectorOp::WholeReduceSum && i.op <= VectorOp::ReduceMin)
    return std::min(static_cast<uint32_t>(resultBytes(i)), blockBytes);
  return blockBytes;
}

bool writesAux(VectorOp op) {
  return (op >= VectorOp::ReduceSum && op <= VectorOp::ReduceMin) || op == VectorOp::ExtractScores;
}

/// What the instruction's third operand is called.
const char* auxName(VectorOp op) {
  switch (op) {
  case VectorOp::Select:
    return "selMask";
  case VectorOp::ExtractScores:
    return "dstIndex";
  case VectorOp::ReduceSum:
  case VectorOp::ReduceMax:
  case VectorOp::ReduceMin:
    return "sharedTmpBuffer";
  default:
    return "srcOffset";
  }
}

} // namespace

std::string misaligned(const Operand& operand, const char* name, uint32_t multiple, bool written) {
  if (operand.address % multiple == 0)
    return {};
  return std::string(name) + " starts at UB byte " + std::to_string(operand.address) +
         ", which is no multiple of " + std::to_string(multiple) +
         (written ? " [ErrorWrite4]" : " [ErrorRead4]");
}

namespace {
std::string checkLists(const VectorInstr& i) {
  const Operand* lists[] = {&i.src0, &i.src1, &i.aux, &i.extra};
  for (unsigned k = 0; k < 4; ++k)
    if (i.validBits >> k & 1)
      if (auto e = misaligned(*lists[k], ("list " + std::to_string(k)).c_str(), bytesOfPair, false);
          !e.empty())
        return e;
  return {};
}
} // namespace

std::string checkStarts(const VectorInstr& i) {
  if (i.op == VectorOp::TransDataTo5HD) // its operands are its lists
    return {};
  if (auto e = misaligned(i.dst, "dst", dstMultiple(i), true); !e.empty())
    return e;
  if (i.op == VectorOp::MrgSort)
    return checkLists(i);
  uint32_t multiple = movesRegister(i.op) ? registerBytes : blockBytes;
  if (auto e = misaligned(i.src0, "src", multiple, false); !e.empty())
    return e;
  if (auto e = misaligned(i.src1, "src1", multiple, false); !e.empty())
    return e;
  return misaligned(i.aux, auxName(i.op), multiple, writesAux(i.op));
}

} // namespace tilewright::ascend::isa
