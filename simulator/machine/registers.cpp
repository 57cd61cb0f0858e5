// SPDX-License-Identifier: Apache-2.0
// Registers that have no value before a kernel puts one there. On a chip they hold what an earlier kernel has left, so
// that a kernel may seem to be right without. What the documentation gives a value (masks, padding, HF32) isn't here.
#include "simulator/machine/agent.h"

namespace tilewright::ascend {

namespace {
struct RegisterText {
  const char* name;
  const char* advice;
  bool ofCube = false;
};
constexpr const char* setImage = "call SetFmatrix(l1H, l1W, padList, mode) before it, for this one";
constexpr RegisterText textsOfRegisters[] = {
    {"the scale of SetDeqScale",
     "call SetDeqScale(scale) before it; 1 leaves the values as they are"},
    {"the scale and offset of SetDeqScale", "call SetDeqScale(scale, offset, signMode) before it"},
    {"the scales of SetDeqScale", "call SetDeqScale(tensor, vdeqInfo) before it"},
    {"the register of compare masks",
     "call SetCmpMask, or Compare without a destination, before it"},
    {"the register of maxima and minima", "call WholeReduceMax, ReduceMax or their like before it"},
    {"the register of sums", "call WholeReduceSum or ReduceSum before it"},
    {"the register of merged counts", "call MrgSort before it"},
    {"the left register of images", setImage, true},
    {"the right register of images", setImage, true},
    {"the scale of SetFixpipePreQuantFlag", "call SetFixpipePreQuantFlag(scale) before it", true},
};

bool computes(const VectorInstr& i) {
  return i.form == VectorForm::Count ? i.count != 0 : i.form != VectorForm::Mask || i.repeat != 0;
}
} // namespace

void Agent::checkRegister(Register read, const char* what, Place place) {
  const auto number = static_cast<unsigned>(read);
  const RegisterText& text = textsOfRegisters[number];
  // In code for both kinds of core, the other kind's calls do nothing.
  if (!options.check || text.ofCube != view.cube || (registers >> number & 1) != 0)
    return;
  complain(std::string(what) + " reads " + text.name + ", which nothing has written [ErrorRead2]",
           true, place, {{{}, text.advice}});
}

void Agent::useRegisters(const VectorInstr& i, Place place) {
  auto reads = [&](Register one) {
    if (computes(i))
      checkRegister(one, isa::nameOf(i.op), place);
  };
  switch (i.op) {
  case VectorOp::Cast:
    return i.src0.type == DType::I32 && i.dst.type == DType::F16 ? reads(Register::DeqScale)
                                                                 : void();
  case VectorOp::AddDeqRelu:
    return reads(Register::DeqScale);
  case VectorOp::CastDeq:
    return reads(i.mode ? Register::DeqTable : Register::DeqParameters);
  case VectorOp::GetCmpMask:
    return checkRegister(Register::CompareMask, isa::nameOf(i.op), place);
  case VectorOp::Select: // with bits in memory, they go through the register
    return i.validBits ? reads(Register::CompareMask) : noteRegister(Register::CompareMask);
  case VectorOp::SetCmpMask:
  case VectorOp::CompareToMask:
    return noteRegister(Register::CompareMask);
  case VectorOp::WholeReduceMax:
  case VectorOp::WholeReduceMin:
  case VectorOp::ReduceMax:
  case VectorOp::ReduceMin:
    return noteRegister(Register::Extreme);
  case VectorOp::WholeReduceSum:
  case VectorOp::RepeatReduceSum:
  case VectorOp::ReduceSum:
    return noteRegister(Register::Accumulated);
  case VectorOp::MrgSort:
    return noteRegister(Register::SortedCounts);
  default:
    return;
  }
}

} // namespace tilewright::ascend
