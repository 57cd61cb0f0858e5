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
/// Without them, what the DMA touches in this kernel goes past the scalar unit's cache, which sees no
/// stores of the DMA, and whose own stores it doesn't see: the line of an element is forgotten before it is
/// read, and cleaned behind a store. So it is for elements of tensors that cores hand to each other, or that both kinds store.
///
/// With `splits`, where cube and vector cores share the kernel, scalar_agents.h says which of them does it.
///
/// Elements of `local` and `var` buffers stay: they are the text's own arrays and variables. It
/// stands behind VectorizeParallel, which takes the nests that need no single elements.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"
#include "compiler/targets/ascend/source_text.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include <llvm/ADT/MapVector.h>

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
  return op->emitError()
         << "unsupported on ascend: single elements of "
         << (type.getStrided()
                 ? "a strided tensor"
                 : stringifyMemorySpace(space).str() +
                       "; cores read and write those of UB (T.alloc_ub) and of tensors");
}

/// Whether a vector instruction takes the number, as it is or computed with.
bool isForVector(Value number) {
  return llvm::any_of(number.getUses(), [](OpOperand& use) {
    Operation* user = use.getOwner();
    if (Value result = resultOfBranch(use))
      return isForVector(result);
    if (auto instruction = dyn_cast<npu::Instruction>(user))
      return instruction.getPipe() == Pipe::V;
    return isPure(user) && user->getNumResults() == 1 && isForVector(user->getResult(0));
  });
}

/// Tensors of which the scalar unit's cache must not keep lines.
struct Uncached {
  DenseSet<Value> read;    ///< others write them
  DenseSet<Value> written; ///< others touch them

  Uncached(func::FuncOp kernel, const ScalarAgents& agents) {
    bool coresMeet = false;
    kernel.walk([&](Operation* op) {
      coresMeet |= isa<SyncAllOp, SetCrossFlagOp, WaitCrossFlagOp>(op);
      if (auto instruction = dyn_cast<npu::Instruction>(op))
        addAccesses(instruction);
      else if (auto call = dyn_cast<CallExternOp>(op))
        addOperands(call);
    });
    addElements(kernel, agents, coresMeet);
  }

private:
  void addAccesses(npu::Instruction op) {
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      add(access.buffer, access.isWrite);
  }

  /// A function may touch them in any way, but cleans what it has itself left in the cache.
  void addOperands(CallExternOp call) {
    for (Value operand : call.getOperands())
      if (isa<BufferType>(operand.getType()))
        add(operand, /*isWritten=*/true);
  }

  /// What one core's scalar unit writes and another's reads or writes: where the text lets cores meet, all that is
  /// stored; else what the cube core and the vector cores share, whose flags are found later.
  void addElements(func::FuncOp kernel, const ScalarAgents& agents, bool coresMeet) {
    llvm::MapVector<Value, SmallVector<Agent>> writers;
    kernel.walk([&](tile::StoreOp store) {
      writers[npu::storageOf(store.getBuffer())].append(
          agents.running(store, agents.ofStore(store)));
    });
    DenseSet<Value> shared;
    kernel.walk([&](tile::LoadOp load) {
      const Value tensor = npu::storageOf(load.getBuffer());
      auto stores = writers.find(tensor);
      if (stores == writers.end())
        return;
      for (const Agent reader : agents.running(load, agents.ofLoad(load)))
        if (llvm::any_of(stores->second, [&](Agent writer) { return writer != reader; }))
          shared.insert(tensor);
    });
    for (const auto& [tensor, cores] : writers)
      if (coresMeet || shared.contains(tensor) || !llvm::all_equal(cores))
        add(tensor, /*isWritten=*/true);
  }

  void add(Value buffer, bool isWritten) {
    const Value tensor = npu::storageOf(buffer);
    if (!cast<BufferType>(tensor.getType()).isGlobal())
      return;
    written.insert(tensor);
    if (isWritten)
      read.insert(tensor);
  }
};

class Expander {
public:
  Expander(func::FuncOp kernel, bool waits, bool splits)
      : waits(waits), agents(kernel, splits), uncached(kernel, agents) {
    kernel.walk([&](Operation* op) {
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        saidOf[op] = agents.ofLoad(load);
        elementsRead.insert(npu::storageOf(load.getBuffer()));
      } else if (auto store = dyn_cast<tile::StoreOp>(op))
        saidOf[op] = agents.ofStore(store);
    });
  }

  LogicalResult expand(tile::LoadOp load);
  LogicalResult expand(tile::StoreOp store);

private:
  AgentAttr attribute(std::optional<Agent> agent, ImplicitLocOpBuilder& builder) const {
    return agent ? AgentAttr::get(builder.getContext(), *agent) : AgentAttr();
  }

  /// Memory and the scalar unit's cache agree on the line of an element, which leaves the cache: what is
  /// written there has reached memory, a read behind it is one of memory.
  void cleanLine(ImplicitLocOpBuilder& builder, Operation* user, std::optional<Agent> agent,
                 Value buffer, Value offset, StringRef access) const {
    const std::string callee = "AscendC::DataCacheCleanAndInvalid<" +
                               cppType(cast<BufferType>(buffer.getType()).getElementType()) +
                               ", AscendC::CacheLine::SINGLE_CACHE_LINE, "
                               "AscendC::DcciDst::CACHELINE_OUT>";
    for (const Agent each : agents.running(user, agent))
      npu::CallOp::create(builder, callee, buffer, offset,
                          builder.getDenseI64ArrayAttr({ShapedType::kDynamic}),
                          builder.getStrArrayAttr({access}), Pipe::S, each, DenseI64ArrayAttr())
          ->setAttr(kOfElementAttr, builder.getUnitAttr());
  }

  bool waits;
  ScalarAgents agents;
  Uncached uncached;
  /// Said before the first is expanded: what ShareVectorWork has asked, too. An element of a tensor that goes to the vector
  /// cores, because nobody else needs it, would else look like one that nobody else has.
  DenseMap<Operation*, std::optional<Agent>> saidOf;
  DenseSet<Value> elementsRead; ///< of tensors, and of all else
};

LogicalResult Expander::expand(tile::LoadOp load) {
  ImplicitLocOpBuilder builder(load.getLoc(), load);
  const IndexMaker make(builder);
  Value buffer = load.getBuffer();
  const BufferType type = load.getBuffer().getType();
  if (failed(checkPlace(load, type)))
    return failure();
  if (waits && !type.isGlobal() && isForVector(load.getValue()))
    PipeBarrierOp::create(builder, Pipe::All);
  const std::optional<Agent> agent = saidOf.lookup(load);
  auto get = [&] {
    Value offset = elementOffset(builder, make, buffer, load.getIndices());
    if (!waits && uncached.read.contains(npu::storageOf(buffer)))
      cleanLine(builder, load, agent, buffer, offset, "r");
    return npu::GetValueOp::create(builder, load.getValue().getType(), buffer, offset,
                                   attribute(agent, builder))
        .getResult();
  };
  Value result;
  if (type.isGlobal() && !load.getInBounds() && !load.getIndices().empty()) {
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

LogicalResult Expander::expand(tile::StoreOp store) {
  ImplicitLocOpBuilder builder(store.getLoc(), store);
  const IndexMaker make(builder);
  Value buffer = store.getBuffer();
  const BufferType type = store.getBuffer().getType();
  if (failed(checkPlace(store, type)))
    return failure();
  const std::optional<Agent> agent = saidOf.lookup(store);
  OpBuilder::InsertionGuard guard(builder);
  if (type.isGlobal() && !store.getInBounds() && !store.getIndices().empty()) {
    Value inside = isInside(builder, make, buffer, store.getIndices());
    auto branch = scf::IfOp::create(builder, inside, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  Value offset = elementOffset(builder, make, buffer, store.getIndices());
  // A line that an element was read of may be in the cache still, older than memory.
  if (!waits && uncached.read.contains(npu::storageOf(buffer)) &&
      elementsRead.contains(npu::storageOf(buffer)))
    cleanLine(builder, store, agent, buffer, offset, "r");
  npu::SetValueOp::create(builder, store.getValue(), buffer, offset, attribute(agent, builder));
  if (!waits && uncached.written.contains(npu::storageOf(buffer)))
    cleanLine(builder, store, agent, buffer, offset, "w");
  store.erase();
  return success();
}

class ExpandElements : public KernelPass<ExpandElements> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-elements";
  static constexpr llvm::StringLiteral kDescription =
      "single elements are read and written by the scalar unit";

  ExpandElements(bool waits, bool splits) : waits(waits), splits(splits) {}

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
    Expander expander(getOperation(), waits, splits);
    for (Operation* op : work) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (failed(load ? expander.expand(load) : expander.expand(cast<tile::StoreOp>(op))))
        signalPassFailure();
    }
  }

private:
  bool waits, splits;
};

} // namespace

std::unique_ptr<Pass> createExpandElements(bool waits, bool splits) {
  return std::make_unique<ExpandElements>(waits, splits);
}

} // namespace tilewright::ascend
