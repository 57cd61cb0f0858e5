// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/operation_name.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Interfaces/CastInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

std::string operationName(Operation* op) {
  const char* word =
      llvm::TypeSwitch<Operation*, const char*>(op)
          .Case<arith::AddIOp, arith::AddFOp>([](auto) { return "add"; })
          .Case<arith::SubIOp, arith::SubFOp>([](auto) { return "sub"; })
          .Case<arith::MulIOp, arith::MulFOp>([](auto) { return "mul"; })
          .Case<arith::DivSIOp, arith::DivUIOp, arith::DivFOp, arith::FloorDivSIOp,
                arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "div"; })
          .Case<arith::RemSIOp, arith::RemUIOp, arith::RemFOp>([](auto) { return "mod"; })
          .Case<arith::MaxSIOp, arith::MaxUIOp, arith::MaximumFOp, arith::MaxNumFOp>(
              [](auto) { return "max"; })
          .Case<arith::MinSIOp, arith::MinUIOp, arith::MinimumFOp, arith::MinNumFOp>(
              [](auto) { return "min"; })
          .Case<arith::NegFOp>([](auto) { return "neg"; })
          .Case<math::AbsIOp, math::AbsFOp>([](auto) { return "abs"; })
          .Case<math::PowFOp, math::IPowIOp, math::FPowIOp>([](auto) { return "pow"; })
          .Case<math::RoundEvenOp>([](auto) { return "nearbyint"; })
          .Case<arith::AndIOp>([](auto) { return "bitwise_and"; })
          .Case<arith::OrIOp>([](auto) { return "bitwise_or"; })
          .Case<arith::XOrIOp>([](auto) { return "bitwise_xor"; })
          .Case<arith::ShLIOp>([](auto) { return "bitwise_lshift"; })
          .Case<arith::ShRSIOp, arith::ShRUIOp>([](auto) { return "bitwise_rshift"; })
          .Case<arith::CmpIOp, arith::CmpFOp>([](auto) { return "compare"; })
          .Case<arith::SelectOp>([](auto) { return "if_then_else"; })
          .Case<CastOpInterface>([](auto) { return "cast"; })
          .Default([](auto) { return nullptr; });
  return word ? word : op->getName().stripDialect().str();
}

/// Whether the number is computed of a tile of unsigned integers, or for one: an addition doesn't say.
static bool isOfUnsignedTile(Operation* op) {
  const Type type = op->getResult(0).getType();
  const auto isUnsigned = [](Value buffer) {
    return cast<tile::BufferType>(buffer.getType()).getElementType().isUnsignedInteger();
  };
  SmallVector<Operation*> work{op};
  DenseSet<Operation*> seen;
  while (!work.empty()) {
    Operation* next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto load = dyn_cast<tile::LoadOp>(next)) {
      if (isUnsigned(load.getBuffer()))
        return true;
      continue;
    }
    for (Value operand : next->getOperands())
      if (Operation* made = operand.getType() == type ? operand.getDefiningOp() : nullptr)
        work.push_back(made);
  }
  return llvm::any_of(op->getUsers(), [&](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    return store && isUnsigned(store.getBuffer());
  });
}

std::string operationOfDtype(Operation* op) {
  Type type = op->getResult(0).getType();
  const bool isUnsigned = isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, arith::MaxUIOp,
                              arith::MinUIOp, arith::ShRUIOp>(op);
  if (type.isSignlessInteger() && !type.isInteger(1) && (isUnsigned || isOfUnsignedTile(op)))
    type = IntegerType::get(op->getContext(), type.getIntOrFloatBitWidth(), IntegerType::Unsigned);
  return operationName(op) + " of " + tile::dtypeName(type);
}

std::string nameOfCall(Operation* call, StringRef callee) {
  auto name = call->getAttrOfType<StringAttr>(kCalledAsAttr);
  return name ? name.str() : "'" + callee.str() + "'";
}

} // namespace tilewright::ascend
