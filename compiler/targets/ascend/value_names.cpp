// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/value_names.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// What the kernel calls a buffer; empty if it has no name.
std::string bufferName(Value buffer) {
  const Value storage = npu::storageOf(buffer);
  if (auto alloc = storage.getDefiningOp<tile::AllocOp>())
    return alloc.getSymName().value_or("").str();
  auto argument = dyn_cast<BlockArgument>(storage);
  auto kernel = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kNameAttr)
                     : StringAttr();
  return name ? name.str() : "";
}

std::string ofBuffer(Value buffer, const char* what) {
  const std::string name = bufferName(buffer);
  return name.empty() ? what : name + "_" + what;
}

/// Of a region of a tensor: its last dim are columns, the one before rows.
std::string roleIn(const tile::BufferRegion& region, Value value) {
  const size_t rank = region.offsets.size();
  const auto role = [&](size_t dim, const char* row, const char* column) -> std::string {
    return dim + 1 == rank ? column : dim + 2 == rank ? row : std::string();
  };
  for (size_t dim = 0; dim < rank; ++dim) {
    if (getAsOpFoldResult(value) == region.extents[dim])
      return role(dim, "rows", "columns");
    if (getAsOpFoldResult(value) == region.offsets[dim])
      return role(dim, "row", "column");
  }
  return "";
}

std::string roleIn(Operation* user, Value value) {
  if (auto instruction = dyn_cast<npu::Instruction>(user)) {
    SmallVector<npu::Access> accesses;
    instruction.getAccesses(accesses);
    for (const npu::Access& access : accesses) {
      if (access.offset == value)
        return ofBuffer(access.buffer, "start");
      if (access.region)
        if (std::string role = roleIn(*access.region, value); !role.empty())
          return role;
    }
  }
  if (auto loop = dyn_cast<tile::ForOp>(user))
    return loop.getUpper() == value ? "end" : loop.getLower() == value ? "begin" : "step";
  if (isa<scf::IfOp>(user))
    return "condition";
  return "";
}

} // namespace

StringRef nameOfVariable(Value value) {
  const StringRef name = nameOf(value.getLoc());
  const bool isPart = llvm::any_of(value.getUsers(), [&](Operation* user) {
    return user->getNumResults() == 1 && nameOf(user->getLoc()) == name;
  });
  return isPart ? "" : name;
}

std::string nameByUse(Value value) {
  Operation* op = value.getDefiningOp();
  if (auto get = dyn_cast_or_null<npu::GetValueOp>(op))
    return ofBuffer(get.getSource(), "value");
  if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
    return ofBuffer(load.getBuffer(), "value");
  for (Operation* user : value.getUsers())
    if (std::string role = roleIn(user, value); !role.empty())
      return role;
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    if (auto load = op->getOperand(0).getDefiningOp<tile::LoadOp>())
      return ofBuffer(load.getBuffer(), "value");
  if (value.getType().isInteger(1))
    return "condition";
  if (isa_and_nonnull<arith::MinSIOp, arith::MinUIOp>(op))
    return "least";
  if (isa_and_nonnull<arith::MaxSIOp, arith::MaxUIOp>(op))
    return "most";
  if (isa_and_nonnull<arith::RemSIOp, arith::RemUIOp>(op))
    return "rest";
  return value.getType().isIndex() ? "index" : "number";
}

} // namespace tilewright::ascend
