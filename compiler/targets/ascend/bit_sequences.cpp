// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/bit_sequences.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

namespace {

bool mayLieInUb(BufferType type) {
  const MemorySpace space = type.getSpace();
  return space == MemorySpace::UB || space == MemorySpace::Shared || space == MemorySpace::Fragment;
}

bool isMatrix(BufferType type) {
  return type.getRank() == 2 && type.hasStaticShape() && !type.getStrided() && mayLieInUb(type);
}

bool isPadded(BufferType type) {
  return npu::rowPitch(type) != type.getShape().back();
}

BufferType sequenceOf(BufferType type) {
  return BufferType::get({type.getNumElements()}, type.getElementType(), type.getSpace());
}

std::optional<OperandRange> indicesOf(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getIndices();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getIndices();
  return std::nullopt;
}

Value bufferOf(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getBuffer();
  return cast<tile::StoreOp>(op).getBuffer();
}

bool isInBounds(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getInBounds();
  return cast<tile::StoreOp>(op).getInBounds();
}

void moveTo(Operation* op, Value sequence, Value number) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    load.getBufferMutable().set(sequence);
    load.getIndicesMutable().assign(number);
  } else {
    auto store = cast<tile::StoreOp>(op);
    store.getBufferMutable().set(sequence);
    store.getIndicesMutable().assign(number);
  }
}

bool isWholeCopy(tile::CopyOp copy, Value tile) {
  const bool isTarget = copy.getTarget() == tile;
  return copy.getSource() != copy.getTarget() && !copy.getTranspose() &&
         (isTarget ? copy.getTargetRegion() : copy.getSourceRegion()).isWhole() &&
         (isTarget ? copy.getSource() : copy.getTarget()).getType().isGlobal();
}

/// Whether all that uses a tile can name it as a sequence, or sees it as one.
bool canBeSequence(tile::AllocOp alloc) {
  return isMatrix(alloc.getType()) && llvm::all_of(alloc->getUsers(), [&](Operation* user) {
           if (indicesOf(user))
             return isInBounds(user);
           if (auto view = dyn_cast<tile::ViewOp>(user))
             return view.getType() == sequenceOf(alloc.getType());
           if (auto fill = dyn_cast<tile::FillOp>(user))
             return fill.getTargetRegion().isWhole();
           auto copy = dyn_cast<tile::CopyOp>(user);
           return copy && isWholeCopy(copy, alloc);
         });
}

bool isSeenAsSequence(tile::AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), [](Operation* user) { return isa<tile::ViewOp>(user); });
}

class SequenceNamer {
public:
  void run(tile::AllocOp alloc) {
    llvm::SetVector<tile::ParallelOp> nests;
    for (Operation* user : alloc->getUsers())
      if (auto nest = indicesOf(user) ? user->getParentOfType<tile::ParallelOp>() : nullptr)
        nests.insert(nest);
    for (tile::ParallelOp nest : nests)
      if (canBeLine(nest))
        makeLine(nest);
    for (Operation* user : llvm::make_early_inc_range(alloc->getUsers()))
      if (indicesOf(user))
        nameElement(user, alloc);
      else if (auto fill = dyn_cast<tile::FillOp>(user)) {
        OpBuilder builder(fill);
        tile::FillOp::create(builder, fill.getLoc(), fill.getValue(),
                             tile::BufferRegion::whole(viewOf(alloc.getResult())));
        fill.erase();
      }
  }

private:
  /// Of a buffer, right behind what defines it: it stands for whatever comes.
  Value viewOf(Value buffer) {
    Value& view = views[buffer];
    if (!view) {
      OpBuilder builder(buffer.getContext());
      builder.setInsertionPointAfterValue(buffer);
      view = tile::ViewOp::create(builder, buffer.getLoc(),
                                  sequenceOf(cast<BufferType>(buffer.getType())), buffer,
                                  ValueRange());
    }
    return view;
  }

  /// Whether a nest takes element (i, j) of tiles of its own shape, and does nothing else with i and j.
  static bool canBeLine(tile::ParallelOp nest) {
    const std::optional<SmallVector<int64_t>> extents =
        getConstantIntValues(nest.getMixedExtents());
    if (!extents || extents->size() != 2)
      return false;
    const ValueRange variables = nest.getInductionVars();
    for (const Value variable : variables)
      for (Operation* user : variable.getUsers())
        if (!indicesOf(user))
          return false;
    return !nest.getBody()
                .walk([&](Operation* op) {
                  const std::optional<OperandRange> indices = indicesOf(op);
                  return !indices || takesOwn(bufferOf(op), *indices, variables, *extents)
                             ? WalkResult::advance()
                             : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  static bool takesOwn(Value buffer, OperandRange indices, ValueRange variables,
                       ArrayRef<int64_t> extents) {
    const auto type = cast<BufferType>(buffer.getType());
    if (llvm::none_of(indices, [&](Value index) { return llvm::is_contained(variables, index); }))
      return true;
    auto alloc = buffer.getDefiningOp<tile::AllocOp>();
    return llvm::equal(indices, variables) && isMatrix(type) && type.getShape() == extents &&
           (!isPadded(type) || (alloc && canBeSequence(alloc)));
  }

  void makeLine(tile::ParallelOp nest) {
    OpBuilder builder(nest);
    const SmallVector<int64_t> extents = *getConstantIntValues(nest.getMixedExtents());
    auto line = tile::ParallelOp::create(
        builder, nest.getLoc(),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(extents[0] * extents[1])});
    line->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    const ValueRange variables = nest.getInductionVars();
    nest.getBody().walk([&](Operation* op) {
      const std::optional<OperandRange> indices = indicesOf(op);
      if (indices && llvm::equal(*indices, variables))
        moveTo(op, viewOf(bufferOf(op)), line.getInductionVars()[0]);
    });
    Block *from = nest.getBodyBlock(), *to = line.getBodyBlock();
    from->getTerminator()->erase();
    to->getOperations().splice(to->begin(), from->getOperations());
    nest.erase();
  }

  void nameElement(Operation* op, tile::AllocOp alloc) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    const OperandRange indices = *indicesOf(op);
    Value width = arith::ConstantIndexOp::create(builder, alloc.getType().getShape()[1]);
    Value start = arith::MulIOp::create(builder, indices[0], width);
    Value number = arith::AddIOp::create(builder, start, indices[1]);
    moveTo(op, viewOf(alloc.getResult()), number);
  }

  llvm::DenseMap<Value, Value> views;
};

} // namespace

void nameAsSequences(Operation* kernel) {
  SmallVector<tile::AllocOp> allocs;
  kernel->walk([&](tile::AllocOp alloc) { allocs.push_back(alloc); });
  SequenceNamer namer;
  // A nest brings its other tiles along.
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (tile::AllocOp& alloc : allocs)
      if (alloc && isMatrix(alloc.getType()) && isPadded(alloc.getType()) &&
          isSeenAsSequence(alloc) && canBeSequence(alloc)) {
        namer.run(alloc);
        alloc = {};
        isDone = false;
      }
  }
}

} // namespace tilewright::ascend
