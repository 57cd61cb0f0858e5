// SPDX-License-Identifier: Apache-2.0
/// ExpandElements: loads and stores of single elements of UB and of global memory become
/// instructions of the scalar unit.
///
///     %v = tile.load %A[%i, %j]      // A has dims [?, 64]; %i may lie outside
///   ->
///     %v = scf.if %inside -> f32 { npu.get_value %A[%i * 64 + %j] } else { 0 }
///
/// With `waits` (a kernel without automatic flags), an element of UB that a vector instruction takes as
/// its scalar is read behind a barrier of all pipes, as users of the language expect.
///
/// Without them, an element of a tensor that the DMA stores to in this kernel is read past the scalar unit's
/// cache, which does not see such stores.
///
/// Elements of `local` and `var` buffers stay: they are the text's own arrays and variables. It
/// stands behind VectorizeParallel, which takes the nests that need no single elements.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/source_text.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferType;

OpFoldResult extentOf(ImplicitLocOpBuilder& builder, Value buffer, size_t dim) {
  const auto type = cast<BufferType>(buffer.getType());
  if (type.isDynamicDim(int64_t(dim)))
    return tile::DimOp::create(builder, buffer, dim).getResult();
  return builder.getIndexAttr(type.getShape()[dim]);
}

/// The element's number as it lies in memory.
Value elementOffset(ImplicitLocOpBuilder& builder, const IndexMaker& make, Value buffer,
                    ValueRange indices) {
  const auto type = cast<BufferType>(buffer.getType());
  if (!type.isGlobal())
    return make.value(ubOffset(make, type, getAsOpFoldResult(indices)));
  OpFoldResult sum = make.index(0);
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    const OpFoldResult extent = extentOf(builder, buffer, dim);
    if (std::optional<int64_t> number = getConstantIntValue(extent))
      sum = make.mul(sum, *number);
    else
      sum = arith::MulIOp::create(builder, make.value(sum), make.value(extent)).getResult();
    sum = make.add(sum, indices[dim]);
  }
  return make.value(sum);
}

/// Whether every index is within its dim, as a value.
Value isInside(ImplicitLocOpBuilder& builder, const IndexMaker& make, Value buffer,
               ValueRange indices) {
  Value inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    // As unsigned numbers, those below 0 are too large as well.
    Value within = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, index,
                                         make.value(extentOf(builder, buffer, dim)));
    inside = inside ? arith::AndIOp::create(builder, inside, within).getResult() : within;
  }
  return inside;
}

LogicalResult checkPlace(Operation* op, BufferType type) {
  const tile::MemorySpace space = type.getSpace();
  if ((space == tile::MemorySpace::UB || space == tile::MemorySpace::Global) && !type.getStrided())
    return success();
  return op->emitError() << "unsupported on ascend: single elements of "
                         << (type.getStrided() ? "a strided tensor"
                                               : stringifyMemorySpace(space).str());
}

/// Whether a vector instruction takes the number, as it is or computed with.
bool isForVector(Value number) {
  return llvm::any_of(number.getUsers(), [](Operation* user) {
    if (auto instruction = dyn_cast<npu::Instruction>(user))
      return instruction.getPipe() == Pipe::V;
    return isPure(user) && user->getNumResults() == 1 && isForVector(user->getResult(0));
  });
}

/// The tensors that the DMA stores to.
DenseSet<Value> storedByDma(func::FuncOp kernel) {
  DenseSet<Value> tensors;
  kernel.walk([&](Operation* op) {
    if (auto fromUb = dyn_cast<npu::StoreUbOp>(op))
      tensors.insert(npu::storageOf(fromUb.getGlobalRegion().buffer));
    else if (auto fromL0c = dyn_cast<npu::StoreL0cOp>(op))
      tensors.insert(npu::storageOf(fromL0c.getGlobalRegion().buffer));
  });
  return tensors;
}

/// The scalar unit's cache forgets the line of an element: a read behind it is one of memory.
void forgetLine(ImplicitLocOpBuilder& builder, tile::LoadOp load, Value offset) {
  auto scope = load->getParentOfType<ScopeOp>();
  Value buffer = load.getBuffer();
  const std::string callee = "AscendC::DataCacheCleanAndInvalid<" +
                             cppType(load.getBuffer().getType().getElementType()) +
                             ", AscendC::CacheLine::SINGLE_CACHE_LINE, "
                             "AscendC::DcciDst::CACHELINE_OUT>";
  npu::CallOp::create(builder, callee, buffer, offset,
                      builder.getDenseI64ArrayAttr({ShapedType::kDynamic}),
                      builder.getStrArrayAttr({"r"}), Pipe::S,
                      scope ? scope.getAgent() : Agent::Vector, DenseI64ArrayAttr());
}

LogicalResult expandLoad(tile::LoadOp load, bool waits, const DenseSet<Value>& changing) {
  ImplicitLocOpBuilder builder(load.getLoc(), load);
  const IndexMaker make(builder);
  Value buffer = load.getBuffer();
  if (failed(checkPlace(load, load.getBuffer().getType())))
    return failure();
  if (waits && !load.getBuffer().getType().isGlobal() && isForVector(load.getValue()))
    PipeBarrierOp::create(builder, Pipe::All);
  const bool isGuarded =
      load.getBuffer().getType().isGlobal() && !load.getInBounds() && !load.getIndices().empty();
  auto get = [&] {
    Value offset = elementOffset(builder, make, buffer, load.getIndices());
    if (!waits && changing.contains(npu::storageOf(buffer)))
      forgetLine(builder, load, offset);
    return npu::GetValueOp::create(builder, load.getValue().getType(), buffer, offset).getResult();
  };
  Value result;
  if (isGuarded) {
    Value inside = isInside(builder, make, buffer, load.getIndices());
    auto branch = scf::IfOp::create(builder, TypeRange(load.getValue().getType()), inside, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, get());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(
        builder, arith::ConstantOp::create(builder, builder.getZeroAttr(load.getValue().getType()))
                     .getResult());
    result = branch.getResult(0);
  } else {
    result = get();
  }
  load.getValue().replaceAllUsesWith(result);
  load.erase();
  return success();
}

LogicalResult expandStore(tile::StoreOp store) {
  ImplicitLocOpBuilder builder(store.getLoc(), store);
  const IndexMaker make(builder);
  Value buffer = store.getBuffer();
  if (failed(checkPlace(store, store.getBuffer().getType())))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  if (store.getBuffer().getType().isGlobal() && !store.getInBounds() &&
      !store.getIndices().empty()) {
    Value inside = isInside(builder, make, buffer, store.getIndices());
    auto branch = scf::IfOp::create(builder, inside, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  npu::SetValueOp::create(builder, store.getValue(), buffer,
                          elementOffset(builder, make, buffer, store.getIndices()));
  store.erase();
  return success();
}

class ExpandElements : public KernelPass<ExpandElements> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-elements";
  static constexpr llvm::StringLiteral kDescription =
      "single elements are read and written by the scalar unit";

  explicit ExpandElements(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation*> work;
    getOperation().walk([&](Operation* op) {
      if (auto load = dyn_cast<tile::LoadOp>(op); load && !load.getBuffer().getType().isPerThread())
        work.push_back(op);
      if (auto store = dyn_cast<tile::StoreOp>(op);
          store && !store.getBuffer().getType().isPerThread())
        work.push_back(op);
    });
    const DenseSet<Value> changing = storedByDma(getOperation());
    for (Operation* op : work) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (failed(load ? expandLoad(load, waits, changing) : expandStore(cast<tile::StoreOp>(op))))
        signalPassFailure();
    }
  }

private:
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createExpandElements(bool waits) {
  return std::make_unique<ExpandElements>(waits);
}

} // namespace tilewright::ascend
