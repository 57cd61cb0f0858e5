// SPDX-License-Identifier: Apache-2.0
/// DefinePadding: where a tile's rows end within a block of 32 bytes, something is written behind each
/// row before instructions that go over all of the tile read there.
///
///   %x = tile.alloc "x" : !tile.buffer<4x5xf32, UB>        // rows of 8
///   npu.set_value %v to %x[%i] : ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c29)
/// becomes
///   %x = tile.alloc "x" : !tile.buffer<4x5xf32, UB>
///   npu.duplicate %x[%c0] : ..., %zero : f32 count(%c32)
///   npu.set_value %v to %x[%i] : ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c29)
///
/// What lies there means nothing, but must not be left from another buffer's time: it could be a number that
/// traps, and the host reports reads of what was never written. Tiles that all writers fill, with what pads
/// their rows, stay as they are. Bytes are written as 16-bit numbers, through a view. It stands before the planning of memory, so that lives begin there, and
/// before the flags.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

bool hasPadding(BufferType type) {
  const unsigned bits = type.getElementBits();
  return type.getSpace() == MemorySpace::UB && type.getRank() > 1 &&
         (bits == 8 || bits == 16 || bits == 32) && npu::rowPitch(type) > type.getShape().back() &&
         type.getShape().back() > 1;
}

struct DefinePadding : KernelPass<DefinePadding> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DefinePadding)
  static constexpr llvm::StringLiteral kArgument = "ascend-define-padding";
  static constexpr llvm::StringLiteral kDescription =
      "write behind rows that end within a block, where it is read";

  void runOnOperation() override {
    SmallVector<tile::AllocOp> allocs;
    getOperation().walk([&](tile::AllocOp alloc) {
      if (hasPadding(alloc.getType()) && isReadUndefined(alloc))
        allocs.push_back(alloc);
    });
    for (tile::AllocOp alloc : allocs)
      define(alloc);
  }

private:
  /// Bytes are filled through views, which are followed for their sake.
  static void collectUsers(Value buffer, bool followsViews, SmallVector<Operation*>& users) {
    for (Operation* user : buffer.getUsers())
      if (auto view = dyn_cast<tile::ViewOp>(user); view && followsViews)
        collectUsers(view, true, users);
      else
        users.push_back(user);
  }

  /// Whether something reads more than a row, and something else writes no padding.
  static bool isReadUndefined(tile::AllocOp alloc) {
    const BufferType type = alloc.getType();
    const int64_t rowBytes = type.getShape().back() * int64_t(type.getElementBits()) / 8;
    bool isRead = false, isDefined = true;
    SmallVector<Operation*> users;
    collectUsers(alloc, type.getElementBits() == 8, users);
    for (Operation* user : users) {
      auto instruction = dyn_cast<npu::Instruction>(user);
      if (!instruction)
        return true; // a view: nothing is known
      SmallVector<npu::Access> accesses;
      instruction.getAccesses(accesses);
      for (const npu::Access& access : accesses) {
        if (npu::storageOf(access.buffer) != alloc.getResult())
          continue;
        const bool isOneRow = !ShapedType::isDynamic(access.bytes) && access.bytes <= rowBytes;
        if (access.isWrite)
          isDefined &= writesPadding(user, access, type);
        else
          isRead |= !isOneRow;
      }
    }
    return isRead && !isDefined;
  }

  static bool writesPadding(Operation* op, const npu::Access& access, BufferType type) {
    if (auto load = dyn_cast<npu::LoadUbOp>(op))
      return load.getPad() != nullptr;
    const int64_t behindRow = npu::rowPitch(type) - type.getShape().back();
    const int64_t needed = npu::storageBytes(type) - behindRow * int64_t(type.getElementBits()) / 8;
    return !op->hasAttr("repeat") && !ShapedType::isDynamic(access.bytes) && access.bytes >= needed;
  }

  static void define(tile::AllocOp alloc) {
    const BufferType type = alloc.getType();
    ImplicitLocOpBuilder builder(alloc.getLoc(), alloc->getContext());
    builder.setInsertionPointAfter(alloc);
    Value buffer = alloc;
    Type element = type.getElementType();
    if (type.getElementBits() == 8) {
      element = builder.getIntegerType(16, /*isSigned=*/true);
      const auto pairs = BufferType::get({npu::storageBytes(type) / 2}, element, MemorySpace::UB);
      buffer = tile::ViewOp::create(builder, pairs, alloc, ValueRange());
    }
    const unsigned bits = cast<BufferType>(buffer.getType()).getElementBits();
    const TypedAttr zero = isa<FloatType>(element)
                               ? TypedAttr(builder.getFloatAttr(element, 0.0))
                               : TypedAttr(builder.getIntegerAttr(builder.getIntegerType(bits), 0));
    const Value value = arith::ConstantOp::create(builder, zero);
    const Value first = arith::ConstantIndexOp::create(builder, 0);
    const Value count = arith::ConstantIndexOp::create(builder, npu::storageBytes(type) * 8 / bits);
    npu::DuplicateOp::create(builder, buffer, first, value, count, npu::RepeatAttr());
  }
};

} // namespace

std::unique_ptr<Pass> createDefinePadding() {
  return std::make_unique<DefinePadding>();
}

} // namespace tilewright::ascend
