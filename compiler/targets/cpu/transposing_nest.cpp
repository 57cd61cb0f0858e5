// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/transposing_nest.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/stream_stores.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

class TransposingNest {
public:
  TransposingNest(tile::ParallelOp nest, const Machine& machine)
      : nest(nest), body(nest.getBodyBlock()), extents(nest.getStaticExtents()),
        lanes(machine.vectorBits / 32), asksAhead(machine.hasTwoWideMultipliers),
        along(nest.getInductionVars().back()) {}

  /// Finds the loads across, and the variable that they are dense along.
  bool fits() {
    if (extents.size() < 2 || lanes < 4 || llvm::any_of(extents, ShapedType::isDynamic) ||
        extents.back() % lanes != 0)
      return false;
    bool hasStored = false;
    for (Operation& op : body->without_terminator()) {
      if (!take(op) || (hasStored && isa<tile::LoadOp>(op)))
        return false;
      hasStored |= isa<tile::StoreOp>(op);
    }
    return across && hasStored && extents[across.getArgNumber()] % lanes == 0 && hasKnownStrides();
  }

  void emit(ImplicitLocOpBuilder& builder) const {
    IndexMath math(builder);
    SmallVector<Range> ranges;
    SmallVector<Value> variables;
    for (Value variable : body->getArguments())
      if (variable != across && variable != along) {
        variables.push_back(variable);
        ranges.push_back({math.constant(0), math.constant(extentOf(variable))});
      }
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IRMapping known;
      known.map(variables, at);
      OpBuilder::InsertionGuard guard(inner);
      for (Value variable : {Value(across), along}) {
        IndexMath innerMath(inner);
        auto loop =
            scf::ForOp::create(inner, innerMath.constant(0), innerMath.constant(extentOf(variable)),
                               innerMath.constant(lanes));
        known.map(variable, loop.getInductionVar());
        inner.setInsertionPointToStart(loop.getBody());
      }
      block(inner, known);
    });
  }

private:
  bool hasKnownStrides() const {
    return llvm::all_of(body->without_terminator(), [&](Operation& op) {
      if (auto store = dyn_cast<tile::StoreOp>(op))
        return strideOf(store.getBuffer(), store.getIndices(), across).has_value();
      auto load = dyn_cast<tile::LoadOp>(op);
      return !load || !isMoving(load.getResult()) ||
             strideOf(load.getBuffer(), load.getIndices(),
                      llvm::is_contained(turned, load) ? along : Value(across))
                 .has_value();
    });
  }

  int64_t extentOf(Value variable) const {
    return extents[cast<BlockArgument>(variable).getArgNumber()];
  }

  /// By how much an index grows with a variable of the nest; nothing if it isn't the same everywhere.
  std::optional<int64_t> stepOf(Value index, Value variable) const {
    if (index == variable)
      return 1;
    Operation* op = index.getDefiningOp();
    if (!op || !nest->isProperAncestor(op))
      return 0;
    if (isa<tile::LoadOp>(op))
      return std::nullopt;
    SmallVector<int64_t> steps;
    for (Value operand : op->getOperands()) {
      const std::optional<int64_t> step = stepOf(operand, variable);
      if (!step)
        return std::nullopt;
      steps.push_back(*step);
    }
    if (llvm::all_of(steps, [](int64_t step) { return step == 0; }))
      return 0;
    if (isa<arith::AddIOp>(op))
      return steps[0] + steps[1];
    if (isa<arith::SubIOp>(op))
      return steps[0] - steps[1];
    if (auto product = dyn_cast<arith::MulIOp>(op))
      if (std::optional<int64_t> factor = getConstantIntValue(product.getRhs()))
        return steps[0] * *factor;
    return std::nullopt;
  }

  /// Whether the last index grows by 1 with `variable`, and no other does at all.
  bool isDenseAlong(Value variable, ValueRange indices) const {
    return stepOf(indices.back(), variable) == 1 && staysAlong(variable, indices.drop_back());
  }
  bool staysAlong(Value variable, ValueRange indices) const {
    return llvm::all_of(indices, [&](Value index) { return stepOf(index, variable) == 0; });
  }

  static bool isRowOfFloats(Value buffer) {
    const auto type = cast<BufferType>(buffer.getType());
    return type.getElementType().isF32() && !type.isPerThread() &&
           (buffer.getDefiningOp<tile::AllocOp>() || isDenseTensor(buffer));
  }

  bool take(Operation& op) {
    if (op.hasAttr(kApartAttr))
      return false;
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return store.getInBounds() && isRowOfFloats(store.getBuffer()) &&
             isDenseAlong(along, store.getIndices());
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return load.getInBounds() && takeLoad(load);
    if (op.getNumRegions() || op.getNumResults() != 1 || !isPure(&op))
      return false;
    if (llvm::none_of(op.getOperands(), [&](Value value) { return isMoving(value); }))
      return op.getResult(0).getType().isIndex() || staysAsWhole(op);
    moving.insert(op.getResult(0));
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op) &&
           op.getResult(0).getType().isF32();
  }

  /// Of what is no index: whether it is computed of none that grows along a row.
  bool staysAsWhole(Operation& op) const {
    return llvm::all_of(op.getOperands(), [&](Value value) {
      return isa<FloatType>(value.getType()) || stepOf(value, along) == 0;
    });
  }

  bool takeLoad(tile::LoadOp load) {
    if (staysAlong(along, load.getIndices()))
      return true;
    if (!isRowOfFloats(load.getBuffer()))
      return false;
    moving.insert(load.getResult());
    if (isDenseAlong(along, load.getIndices()))
      return true;
    if (stepOf(load.getIndices().back(), along) != 0 ||
        llvm::any_of(load.getIndices(), [&](Value index) { return !stepOf(index, along); }))
      return false;
    for (BlockArgument variable : body->getArguments().drop_back())
      if ((!across || across == variable) && isDenseAlong(variable, load.getIndices())) {
        across = variable;
        turned.push_back(load);
        return true;
      }
    return false;
  }

  /// Whether a float differs along a row.
  bool isMoving(Value value) const {
    return moving.contains(value);
  }

  /// By how many elements an access moves on in memory with `variable`; nothing where that isn't known.
  std::optional<int64_t> strideOf(Value buffer, ValueRange indices, Value variable) const {
    const ArrayRef<int64_t> shape = cast<BufferType>(buffer.getType()).getShape();
    int64_t stride = 0, size = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      const std::optional<int64_t> step = stepOf(indices[dim], variable);
      if (!step || (*step != 0 && ShapedType::isDynamic(size)))
        return std::nullopt;
      stride += *step * (*step != 0 ? size : 0);
      size = ShapedType::isDynamic(size) || ShapedType::isDynamic(shape[dim]) ? ShapedType::kDynamic
                                                                              : size * shape[dim];
    }
    return stride;
  }

  /// A row of a block: further by a known number of elements, which spares index arithmetic and time to compile it.
  Value pointerTo(ImplicitLocOpBuilder& builder, Value first, int64_t offset) const {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    LLVM::GEPArg index = int32_t(offset);
    if (!llvm::isInt<LLVM::kGEPConstantBitWidth>(offset)) // more than such an argument holds
      index = Value(arith::ConstantIntOp::create(builder, offset, 64));
    return LLVM::GEPOp::create(builder, pointer, builder.getF32Type(), first, ArrayRef(index));
  }

  /// Of a tensor's rows: asks for the same line of what comes when the innermost loop around the blocks goes on. Rows lie
  /// in pages of their own, whose addresses take longer than the turning.
  template <typename Access>
  void askAhead(ImplicitLocOpBuilder& builder, Access access, Value first, int64_t offset,
                bool isWritten) const {
    Value buffer = access.getBuffer();
    if (!asksAhead || !cast<BufferType>(buffer.getType()).isGlobal())
      return;
    for (Value variable : llvm::reverse(body->getArguments())) {
      if (variable == across || variable == along)
        continue;
      const std::optional<int64_t> stride = strideOf(buffer, access.getIndices(), variable);
      if (!stride)
        return;
      Value later = LLVM::GEPOp::create(
          builder, first.getType(), builder.getF32Type(), first,
          ValueRange(arith::ConstantIntOp::create(builder, offset + *stride, 64)),
          LLVM::GEPNoWrapFlags::none);
      LLVM::Prefetch::create(builder, later, isWritten, /*hint=*/isWritten ? 3 : 2, /*cache=*/1);
      return;
    }
  }

  /// Where an access begins for a block.
  Value firstOf(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices,
                IRMapping& known) const {
    return addressOf(builder, buffer, llvm::map_to_vector(indices, [&](Value index) {
                       return computed(builder, index, known);
                     }));
  }

  /// As many elements in both directions as a vector has lanes.
  void block(ImplicitLocOpBuilder& builder, IRMapping& start) const {
    llvm::DenseMap<Operation*, SmallVector<Value>> columns;
    llvm::DenseMap<Operation*, Value> firsts;
    auto type = VectorType::get({lanes}, builder.getF32Type());
    for (Operation& op : body->without_terminator()) {
      if (auto store = dyn_cast<tile::StoreOp>(op))
        firsts[store] = firstOf(builder, store.getBuffer(), store.getIndices(), start);
      auto load = dyn_cast<tile::LoadOp>(op);
      if (!load || !isMoving(load.getResult()))
        continue;
      Value first = firsts[load] = firstOf(builder, load.getBuffer(), load.getIndices(), start);
      if (!llvm::is_contained(turned, load))
        continue;
      const int64_t stride = *strideOf(load.getBuffer(), load.getIndices(), along);
      SmallVector<Value> rows;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        rows.push_back(LLVM::LoadOp::create(builder, type, pointerTo(builder, first, lane * stride),
                                            floatBytes));
        askAhead(builder, load, first, lane * stride, /*isWritten=*/false);
      }
      columns[load] = transposed(builder, rows);
    }
    for (int64_t lane = 0; lane < lanes; ++lane)
      row(builder, start, lane, columns, firsts);
  }

  Value computed(ImplicitLocOpBuilder& builder, Value value, IRMapping& known) const {
    Operation* op = value.getDefiningOp();
    if (known.contains(value) || !op || !nest->isProperAncestor(op))
      return known.lookupOrDefault(value);
    for (Value operand : op->getOperands())
      computed(builder, operand, known);
    builder.clone(*op, known);
    return known.lookup(value);
  }

  /// All of the body for one row of what is written.
  void row(ImplicitLocOpBuilder& builder, const IRMapping& start, int64_t lane,
           const llvm::DenseMap<Operation*, SmallVector<Value>>& columns,
           const llvm::DenseMap<Operation*, Value>& firsts) const {
    IRMapping known, values;
    for (Value variable : body->getArguments())
      known.map(variable, start.lookup(variable));
    known.map(across,
              IndexMath(builder).add(start.lookup(across), IndexMath(builder).constant(lane)));
    auto type = VectorType::get({lanes}, builder.getF32Type());
    auto vectorOf = [&](Value value) -> Value {
      if (!values.contains(value))
        values.map(value,
                   vector::BroadcastOp::create(builder, type, computed(builder, value, known)));
      return values.lookup(value);
    };
    auto here = [&](auto access) {
      return pointerTo(builder, firsts.lookup(access),
                       lane * *strideOf(access.getBuffer(), access.getIndices(), across));
    };
    for (Operation& op : body->without_terminator()) {
      if (auto store = dyn_cast<tile::StoreOp>(op)) {
        const bool isStreamed = store->hasAttr(kStreamAttr);
        if (!isStreamed)
          askAhead(builder, store, firsts.lookup(store),
                   lane * *strideOf(store.getBuffer(), store.getIndices(), across),
                   /*isWritten=*/true);
        LLVM::StoreOp::create(builder, vectorOf(store.getValue()), here(store),
                              isStreamed ? unsigned(lanes * floatBytes) : floatBytes,
                              /*isVolatile=*/false, /*isNonTemporal=*/isStreamed);
      } else if (!isMoving(op.getResult(0))) {
        continue; // where it is used
      } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
        auto found = columns.find(load);
        values.map(load.getResult(),
                   found != columns.end()
                       ? found->second[size_t(lane)]
                       : Value(LLVM::LoadOp::create(builder, type, here(load), floatBytes)));
      } else {
        OperationState state(op.getLoc(), op.getName());
        for (Value operand : op.getOperands())
          state.addOperands(vectorOf(operand));
        state.addTypes(type);
        state.attributes = op.getDiscardableAttrDictionary();
        state.propertiesAttr = op.getPropertiesAsAttribute();
        values.map(op.getResult(0), builder.create(state)->getResult(0));
      }
    }
  }

  static constexpr unsigned floatBytes = 4;

  Operation* nest;
  Block* body;
  ArrayRef<int64_t> extents;
  int64_t lanes;
  bool asksAhead;
  /// The last variable, and the one along which elements that are read lie side by side.
  Value along;
  BlockArgument across;
  SmallVector<tile::LoadOp> turned;
  /// Floats that differ along a row.
  llvm::DenseSet<Value> moving;
};

} // namespace

bool emitTransposed(ImplicitLocOpBuilder& builder, tile::ParallelOp nest, const Machine& machine) {
  TransposingNest transposing(nest, machine);
  if (!transposing.fits())
    return false;
  transposing.emit(builder);
  return true;
}

} // namespace tilewright::cpu
