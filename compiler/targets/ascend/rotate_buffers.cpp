// SPDX-License-Identifier: Apache-2.0
/// RotateBuffers: in a T.Pipelined loop, buffers that two pipes hand on get one version per stage, which
/// iterations use in turn. So one iteration's data can arrive while another's is worked on.
///
///   %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
///   tile.for %i = %c0 to %n step %c1 pipelined(2) {
///     npu.load_ub %A[%i, 0] [1, 64] : ... to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
///     npu.unary exp %y[%c0] : ..., %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
/// becomes
///   %x = tile.alloc "x" : !tile.buffer<2x64xf32, UB>
///   tile.for %i = %c0 to %n step %c1 pipelined(2) {
///     %turn = arith.remsi %i, %c2
///     %at = arith.muli %turn, %c64
///     npu.load_ub %A[%i, 0] [1, 64] : ... to %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64
///     npu.unary exp %y[%c0] : ..., %x[%at] : !tile.buffer<2x64xf32, UB> count(%c64)
///
/// A buffer that each iteration overwrites before it reads it, also by a load that an edge may cut and its filling, or of which it
/// reads only the part that it has loaded (MarkFreshTiles), and that nothing outside of the loop touches, may rotate, with all views of it, by the innermost
/// such loop alone; where the memory has no room for another version, it stays as it is, with a remark. It works on instructions, which name an offset for each buffer, and stands before the
/// planning of memory and the flags, which then find fewer dependences.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipelined_loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

BufferType withVersions(BufferType type, int64_t versions) {
  SmallVector<int64_t> shape = {versions};
  llvm::append_range(shape, type.getShape());
  return BufferType::get(shape, type.getElementType(), type.getSpace());
}

/// A sequence stays one: it may hold what lies behind the rows of a tile.
BufferType viewWithVersions(BufferType type, int64_t versions) {
  if (type.getRank() != 1)
    return withVersions(type, versions);
  return BufferType::get({versions * type.getShape()[0]}, type.getElementType(), type.getSpace());
}

/// The buffer and all views of it, each behind what it views.
SmallVector<Value> namesOf(tile::AllocOp alloc) {
  SmallVector<Value> names = {alloc.getResult()};
  for (size_t next = 0; next < names.size(); ++next)
    for (Operation* user : names[next].getUsers())
      if (auto view = dyn_cast<tile::ViewOp>(user))
        names.push_back(view.getResult());
  return names;
}

struct RotateBuffers : KernelPass<RotateBuffers> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RotateBuffers)
  static constexpr llvm::StringLiteral kArgument = "ascend-rotate-buffers";
  static constexpr llvm::StringLiteral kDescription =
      "buffers of pipelined loops get a version per stage";

  explicit RotateBuffers(const chips::AscendChip& chip) : chip(chip) {}

  void runOnOperation() override {
    for (tile::ForOp loop : pipelinedLoops(getOperation())) {
      SmallVector<tile::AllocOp> allocs;
      getOperation().walk([&](tile::AllocOp alloc) {
        if (mayRotate(alloc, loop))
          allocs.push_back(alloc);
      });
      for (tile::AllocOp alloc : allocs)
        rotate(alloc, loop);
    }
  }

private:
  static bool mayRotate(tile::AllocOp alloc, tile::ForOp loop) {
    const BufferType type = alloc.getType();
    if ((type.getSpace() != MemorySpace::UB && type.getSpace() != MemorySpace::L1) ||
        alloc.getAddress() || type.getElementBits() < 8 || loop->isAncestor(alloc) ||
        alloc->hasAttr(kVersionsAttr)) // of a loop within
      return false;
    const int64_t bytes = npu::storageBytes(type);
    if (npu::storageBytes(withVersions(type, 2)) != 2 * bytes)
      return false;
    const auto names = namesOf(alloc);
    for (Value view : llvm::drop_begin(names)) {
      const auto seen = cast<BufferType>(view.getType());
      if (!seen.hasStaticShape() || npu::storageBytes(seen) != bytes ||
          npu::storageBytes(viewWithVersions(seen, 2)) != 2 * bytes)
        return false;
    }
    return isHandedOn(alloc, loop) && startsAfresh(alloc, loop);
  }

  /// Whether all uses are instructions in the loop, and not all on one pipe.
  static bool isHandedOn(tile::AllocOp alloc, tile::ForOp loop) {
    std::optional<Pipe> pipe;
    bool areSeveral = false;
    for (Operation* user : npu::usersOf(alloc)) {
      auto instruction = dyn_cast<npu::Instruction>(user);
      if (!instruction || isa<npu::CallOp>(user) || !loop->isProperAncestor(user))
        return false;
      areSeveral |= pipe && *pipe != instruction.getPipe();
      pipe = instruction.getPipe();
    }
    return areSeveral;
  }

  /// What all buffers of a memory take, each for itself.
  int64_t bytesIn(MemorySpace space) {
    int64_t bytes = 0;
    getOperation().walk([&](tile::AllocOp alloc) {
      if (alloc.getType().getSpace() == space)
        bytes += npu::storageBytes(alloc.getType());
    });
    return bytes;
  }

  void rotate(tile::AllocOp alloc, tile::ForOp loop) {
    const BufferType type = alloc.getType();
    const int64_t bytes = npu::storageBytes(type), capacity = capacityOf(chip, type.getSpace());
    const int64_t room = (capacity - bytesIn(type.getSpace())) / bytes;
    const int64_t versions = std::min<int64_t>(int64_t(loop.getNumStages()), 1 + room);
    if (versions < 2) {
      alloc.emitRemark() << alloc.getSymName().value_or("a buffer")
                         << " has one version for all stages of its loop: two need "
                         << bytesIn(type.getSpace()) + bytes << " bytes of "
                         << stringifyMemorySpace(type.getSpace()) << ", which has "
                         << roomIn(chip, type.getSpace());
      return;
    }
    const SmallVector<Value> names = namesOf(alloc);
    alloc->setAttr(kVersionsAttr, Builder(&getContext()).getI64IntegerAttr(versions));
    OpBuilder builder = OpBuilder::atBlockBegin(loop.getBodyBlock());
    const Location place = loop.getLoc();
    const auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, place, value);
    };
    const Value turn =
        arith::RemSIOp::create(builder, place, loop.getInductionVar(), constant(versions));
    llvm::SmallDenseMap<unsigned, Value> firsts; // by the bits of an element
    for (Value name : names) {
      const auto seen = cast<BufferType>(name.getType());
      Value& first = firsts[seen.getElementBits()];
      if (!first)
        first = arith::MulIOp::create(builder, place, turn,
                                      constant(bytes * 8 / int64_t(seen.getElementBits())));
      name.setType(name == names.front() ? withVersions(seen, versions)
                                         : viewWithVersions(seen, versions));
      for (OpOperand& use : llvm::make_early_inc_range(name.getUses()))
        if (!isa<tile::ViewOp>(use.getOwner()))
          shift(use, first);
    }
  }

  /// An instruction names the first element right behind a buffer on chip.
  static void shift(OpOperand& use, Value first) {
    Operation* user = use.getOwner();
    OpOperand& offset = user->getOpOperand(use.getOperandNumber() + 1);
    OpBuilder builder(user);
    offset.set(arith::AddIOp::create(builder, user->getLoc(), offset.get(), first));
  }

  chips::AscendChip chip;
};

} // namespace

std::unique_ptr<Pass> createRotateBuffers(const chips::AscendChip& chip) {
  return std::make_unique<RotateBuffers>(chip);
}

} // namespace tilewright::ascend
