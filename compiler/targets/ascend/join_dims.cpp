// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/join_dims.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;

namespace {

/// A load or a store.
struct Access {
  Operation* op;
  OpOperand& buffer;
  MutableOperandRange indices;

  BufferType type() const {
    return cast<BufferType>(buffer.get().getType());
  }
};

std::optional<Access> accessOf(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return Access{op, load.getBufferMutable(), load.getIndicesMutable()};
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return Access{op, store.getBufferMutable(), store.getIndicesMutable()};
  return std::nullopt;
}

/// The buffer's type with dims `dim` and `dim + 1` as one, if all elements stay where they are.
std::optional<BufferType> joined(BufferType type, size_t dim) {
  SmallVector<int64_t> shape(type.getShape());
  const int64_t inner = shape[dim + 1];
  shape[dim] *= inner;
  shape.erase(shape.begin() + int64_t(dim) + 1);
  const auto made = BufferType::get(shape, type.getElementType(), type.getSpace());
  SmallVector<int64_t> strides = ubStrides(type);
  if (strides[dim] != inner * strides[dim + 1] ||
      npu::storageBytes(made) != npu::storageBytes(type))
    return std::nullopt;
  strides.erase(strides.begin() + int64_t(dim));
  return ubStrides(made) == strides ? std::optional(made) : std::nullopt;
}

class DimJoiner {
public:
  DimJoiner(tile::ParallelOp nest, unsigned first) : nest(nest), first(first) {}

  /// Dims `first` and the next one as one; null if that can't be.
  tile::ParallelOp run() {
    const SmallVector<OpFoldResult> extents = nest.getMixedExtents();
    const std::optional<int64_t> outer = getConstantIntValue(extents[first]),
                                 inner = getConstantIntValue(extents[first + 1]);
    if (!outer || !inner || !findPlaces(*inner))
      return {};
    OpBuilder builder(nest);
    for (auto& [op, place] : places)
      move(builder, op, place);
    SmallVector<OpFoldResult> made = extents;
    made[first] = builder.getIndexAttr(*outer * *inner);
    made.erase(made.begin() + first + 1);
    auto result = tile::ParallelOp::create(builder, nest.getLoc(), made);
    result->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    moveBody(result);
    nest.erase();
    return result;
  }

private:
  /// The place among an access's indices where the two stand, if they are used there only, or not at all.
  bool findPlaces(int64_t inner) {
    const Value before = nest.getInductionVars()[first],
                behind = nest.getInductionVars()[first + 1];
    for (const Value variable : {before, behind})
      for (Operation* user : variable.getUsers())
        if (!accessOf(user))
          return false;
    const WalkResult walked = nest.getBody().walk([&](Operation* op) {
      const std::optional<Access> access = accessOf(op);
      if (!access || !llvm::any_of(op->getOperands(), [&](Value operand) {
            return operand == before || operand == behind;
          }))
        return WalkResult::advance();
      const std::optional<size_t> place = placeIn(*access, before, behind);
      if (!place || access->type().getShape()[*place + 1] != inner)
        return WalkResult::interrupt();
      places.emplace_back(op, *place);
      return WalkResult::advance();
    });
    return !walked.wasInterrupted();
  }

  static std::optional<size_t> placeIn(const Access& access, Value before, Value behind) {
    const BufferType type = access.type();
    const OperandRange indices = access.indices;
    const auto found = llvm::find(indices, before);
    const size_t place = size_t(found - indices.begin());
    const auto uses = [&](Value value) { return llvm::count(access.op->getOperands(), value); };
    if (type.getSpace() != tile::MemorySpace::UB || type.getStrided() || !type.hasStaticShape() ||
        place + 1 >= indices.size() || indices[place + 1] != behind || uses(before) != 1 ||
        uses(behind) != 1 || !joined(type, place))
      return std::nullopt;
    return place;
  }

  void move(OpBuilder& builder, Operation* op, size_t place) {
    Access access = *accessOf(op);
    Value& view = views[{access.buffer.get(), place}];
    if (!view)
      view = tile::ViewOp::create(builder, nest.getLoc(), *joined(access.type(), place),
                                  access.buffer.get(), ValueRange());
    access.buffer.set(view);
    access.indices.erase(unsigned(place) + 1);
  }

  void moveBody(tile::ParallelOp result) {
    Block *from = nest.getBodyBlock(), *to = result.getBodyBlock();
    unsigned next = 0;
    for (auto [number, variable] : llvm::enumerate(nest.getInductionVars()))
      if (number != first + 1)
        variable.replaceAllUsesWith(to->getArgument(next++));
    from->getTerminator()->erase();
    to->getOperations().splice(to->begin(), from->getOperations());
  }

  tile::ParallelOp nest;
  unsigned first;
  SmallVector<std::pair<Operation*, size_t>> places;
  llvm::DenseMap<std::pair<Value, size_t>, Value> views;
};

} // namespace

tile::ParallelOp joinDims(tile::ParallelOp nest) {
  for (unsigned first = 0;
       nest.getInductionVars().size() > 2 && first + 1 < nest.getInductionVars().size();)
    if (tile::ParallelOp made = DimJoiner(nest, first).run())
      nest = made;
    else
      ++first;
  return nest;
}

} // namespace tilewright::ascend
