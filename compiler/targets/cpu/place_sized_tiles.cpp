// SPDX-License-Identifier: Apache-2.0
/// Sets memory aside for tiles whose shapes a call of the kernel gives, once for all blocks that a thread runs.
///
///   tile.launch (%bx) in (%g) { %s = tile.alloc_sized "s" (%n) : !tile.buffer<?x16xf32, shared> ... }
/// becomes
///   %bytes = 64 * %n      %place = tile.call "malloc"(%bytes) : (i64) -> i64
///   tile.launch (%bx) in (%g) {
///     tile.assert %n >= 0 ...      tile.assert %bytes small enough, and %place not 0 (the first tells %n)
///     %s = tile.tensor_at %place dims(%n) : !tile.buffer<?x16xf32, global> ... }
///
/// MakeEntryPoints frees it behind the blocks, FlattenControlFlow where a block ends them all. Scratch memory, which the runtime has
/// before it knows a call, has no place for them. It stands behind the passes that put barriers between threads that share
/// the block's memory, and before assertions are numbered; from here on such a tile is memory as any other.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/told_numbers.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/check_kernel.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

class SizedTile {
public:
  explicit SizedTile(tile::AllocSizedOp op)
      : op(op), type(op.getBuffer().getType()), builder(op.getLoc(), op) {}

  void place() {
    builder.setInsertionPoint(op->getParentOfType<tile::LaunchOp>());
    SmallVector<Value> dims;
    for (Value dim : op.getDims())
      dims.push_back(beforeLaunch(dim));
    SmallVector<Value> areNatural;
    Value bytes = bytesOf(dims, areNatural);
    Value more = arith::AddIOp::create(builder, bytes, number(1)); // malloc(0) may give 0
    Value address = tile::CallOp::create(builder, builder.getI64Type(), "malloc", more).getResult();
    Value isSmall = compare(arith::CmpIPredicate::sle, bytes, number(int64_t(kLargestScratch)));
    Value isThere = compare(arith::CmpIPredicate::ne, address, number(0));
    Value fits = arith::AndIOp::create(builder, isSmall, isThere);

    builder.setInsertionPoint(op);
    const std::string name = "'" + op.getSymName().value_or("a tile").str() + "'";
    const auto* isNatural = areNatural.begin();
    for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(extent))
        continue;
      auto check = tile::AssertOp::check(builder, op.getLoc(), *isNatural++,
                                         "dim " + std::to_string(dim) + " of " + name +
                                             " is {}, but it cannot be negative");
      check->setAttr(tile::kTellsAttr, builder.getUnitAttr());
    }
    tile::AssertOp::check(builder, op.getLoc(), fits,
                          name + " takes more than the " + std::to_string(kLargestScratch) +
                              " bytes that the cpu target has for a tile, or there is no memory "
                              "for it");
    auto global =
        BufferType::get(type.getShape(), type.getElementType(), tile::MemorySpace::Global);
    Value tensor = tile::TensorAtOp::create(builder, global, address, dims, ValueRange());
    op.getBuffer().replaceAllUsesWith(tensor);
    op.erase();
    moveViews(tensor);
  }

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  }

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }

  /// The number as it is before the launch: it is made of arguments alone.
  Value beforeLaunch(Value value) {
    Operation* made = value.getDefiningOp();
    if (!made || !made->getParentOfType<tile::LaunchOp>())
      return value;
    if (!mapping.contains(value)) {
      for (Value operand : made->getOperands())
        mapping.map(operand, beforeLaunch(operand));
      builder.clone(*made, mapping);
    }
    return mapping.lookup(value);
  }

  /// Of all elements; of too many just more than there may be. `areNatural`: of each dim, whether it isn't negative.
  Value bytesOf(ValueRange dims, SmallVectorImpl<Value>& areNatural) {
    const int64_t bits = type.getElementBits(), most = int64_t{1} << 31;
    int64_t fixed = 1;
    for (int64_t extent : type.getShape())
      if (!ShapedType::isDynamic(extent))
        fixed = std::min(fixed * std::min(extent, most), most);
    Value elements = number(fixed);
    for (Value dim : dims) {
      Value extent = arith::IndexCastOp::create(builder, builder.getI64Type(), dim);
      areNatural.push_back(compare(arith::CmpIPredicate::sge, extent, number(0)));
      extent = arith::MaxSIOp::create(builder, extent, number(0));
      extent = arith::MinSIOp::create(builder, extent, number(most));
      elements = arith::MulIOp::create(builder, elements, extent);
      elements = arith::MinSIOp::create(builder, elements, number(most));
    }
    Value all = arith::MulIOp::create(builder, elements, number(bits));
    all = arith::AddIOp::create(builder, all, number(7));
    return arith::DivUIOp::create(builder, all, number(8));
  }

  /// Views are of the same memory.
  static void moveViews(Value tensor) {
    for (Operation* user : tensor.getUsers())
      if (auto view = dyn_cast<tile::ViewOp>(user)) {
        const BufferType old = view.getType();
        view.getResult().setType(
            BufferType::get(old.getShape(), old.getElementType(), tile::MemorySpace::Global));
        moveViews(view.getResult());
      }
  }

  tile::AllocSizedOp op;
  BufferType type;
  ImplicitLocOpBuilder builder;
  IRMapping mapping;
};

struct PlaceSizedTiles : KernelPass<PlaceSizedTiles> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceSizedTiles)
  static constexpr llvm::StringLiteral kArgument = "cpu-place-sized-tiles";
  static constexpr llvm::StringLiteral kDescription =
      "set memory aside for tiles whose shapes a call gives";

  void runOnOperation() override {
    SmallVector<tile::AllocSizedOp> ops;
    getOperation().walk([&](tile::AllocSizedOp op) { ops.push_back(op); });
    for (tile::AllocSizedOp op : ops)
      SizedTile(op).place();
  }
};

} // namespace

std::unique_ptr<Pass> createPlaceSizedTiles() {
  return std::make_unique<PlaceSizedTiles>();
}

} // namespace tilewright::cpu
