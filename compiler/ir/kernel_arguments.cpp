// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/kernel_arguments.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/root_buffer.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/AffineExpr.h>
#include <mlir/IR/Iterators.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::tile {

using namespace mlir;

static AffineMap mapAttribute(func::FuncOp kernel, unsigned number, StringRef name) {
  auto attribute = kernel.getArgAttrOfType<AffineMapAttr>(number, name);
  return attribute ? attribute.getAffineMap() : AffineMap();
}

/// The shape of a tensor whose dims are all static.
static AffineMap staticShape(BufferType type, unsigned symbols) {
  SmallVector<AffineExpr> dims;
  for (int64_t dim : type.getShape())
    dims.push_back(getAffineConstantExpr(dim, type.getContext()));
  return AffineMap::get(0, symbols, dims, type.getContext());
}

namespace {

struct Effect {
  bool reads = false, writes = false;
};

} // namespace

/// What a function of the user's own does with one of its buffers.
static Effect effectOfCall(ascend::CallExternOp call, Value buffer) {
  Effect effect;
  unsigned next = 0;
  for (auto access : call.getAccess().getAsRange<StringAttr>()) {
    const bool isBuffer = access.getValue() != "value";
    if (isBuffer && call.getOperand(next) == buffer) {
      effect.reads |= access.getValue().contains('r');
      effect.writes |= access.getValue().contains('w');
    }
    next += isBuffer ? 2 : 1; // its offset
  }
  return effect;
}

/// What an op does with the elements of an operand; of whom nothing is known may write them.
static Effect effectOn(Operation* op, Value buffer) {
  if (isPure(op))
    return {};
  if (isa<PrintOp>(op))
    return {.reads = true};
  if (auto call = dyn_cast<ascend::CallExternOp>(op))
    return effectOfCall(call, buffer);
  auto known = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (known)
    known.getEffectsOnValue(buffer, effects);
  if (effects.empty())
    return {.writes = true};
  Effect effect;
  for (const MemoryEffects::EffectInstance& each : effects) {
    effect.reads |= isa<MemoryEffects::Read>(each.getEffect());
    effect.writes |= isa<MemoryEffects::Write>(each.getEffect());
  }
  return effect;
}

/// Whether a number is computed, by arithmetic alone, of what an op loaded of a storage.
static bool isMadeOf(Value number, Value storage, int depth = 0) {
  Operation* op = number.getDefiningOp();
  if (!op || depth > 8)
    return false;
  if (auto load = dyn_cast<LoadOp>(op))
    return rootBuffer(load.getBuffer()) == storage;
  const bool mayChoose = isa<arith::SelectOp, arith::CmpFOp, arith::CmpIOp>(op);
  if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || mayChoose)
    return false;
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isMadeOf(operand, storage, depth + 1); });
}

/// Whether a write of an op surely reads what it replaces, or another element of the same buffer.
static bool isUpdate(Operation* op, Value buffer) {
  if (auto gemm = dyn_cast<GemmOp>(op)) {
    const Value clear = gemm.getClear();
    return !gemm.getClearAccum() && (!clear || getConstantIntValue(clear) == 0);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return !reduce.getClear();
  auto store = dyn_cast<StoreOp>(op);
  return store && isMadeOf(store.getValue(), rootBuffer(buffer));
}

llvm::DenseSet<Operation*> unusedOps(func::FuncOp kernel) {
  llvm::DenseSet<Operation*> unused;
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation* op) {
    const bool onlyGives =
        (isPure(op) || isa<LoadOp>(op)) && op->getNumResults() > 0 && op->getNumRegions() == 0;
    if (onlyGives &&
        llvm::all_of(op->getUsers(), [&](Operation* user) { return unused.contains(user); }))
      unused.insert(op);
  });
  return unused;
}

llvm::MapVector<Value, BufferTraffic> bufferTraffic(func::FuncOp kernel) {
  llvm::MapVector<Value, BufferTraffic> traffic;
  const llvm::DenseSet<Operation*> unused = unusedOps(kernel);
  kernel.walk([&](Operation* op) {
    if (unused.contains(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<BufferType>(operand.getType()))
        continue;
      const Effect effect = effectOn(op, operand);
      BufferTraffic& buffer = traffic[rootBuffer(operand)];
      if (effect.reads && !buffer.reader)
        buffer.reader = op;
      buffer.isWritten |= effect.writes;
      const bool updates = effect.writes && isUpdate(op, operand);
      if (updates && !buffer.updater)
        buffer.updater = op;
      if (effect.writes && !updates && !buffer.setter)
        buffer.setter = op;
      if (effect.reads && !buffer.setter && !buffer.earlyUse)
        buffer.earlyUse = op;
    }
  });
  return traffic;
}

Operation* firstOfUpdates(func::FuncOp kernel, Value tensor) {
  Operation* first = nullptr;
  const WalkResult end = kernel.walk([&](Operation* op) {
    for (Value operand : op->getOperands()) {
      if (!isa<BufferType>(operand.getType()) || rootBuffer(operand) != tensor ||
          !effectOn(op, operand).writes)
        continue;
      auto ofElement = dyn_cast<AtomicOp>(op);
      if (ofElement && ofElement.getKind() == AtomicKind::Load)
        continue;
      if (!isa<AtomicTileOp>(op) && (!ofElement || ofElement.getKind() == AtomicKind::Store))
        return WalkResult::interrupt();
      first = first ? first : op;
    }
    return WalkResult::advance();
  });
  return end.wasInterrupted() ? nullptr : first;
}

ArgumentTraffic argumentTraffic(func::FuncOp kernel) {
  ArgumentTraffic traffic;
  traffic.isRead.assign(kernel.getNumArguments(), false);
  traffic.isWritten.assign(kernel.getNumArguments(), false);
  for (const auto& [buffer, found] : bufferTraffic(kernel)) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    if (!argument || argument.getOwner() != &kernel.getBody().front())
      continue;
    traffic.isRead[argument.getArgNumber()] = found.reader != nullptr;
    traffic.isWritten[argument.getArgNumber()] = found.isWritten;
  }
  return traffic;
}

/// Whether anything but views and numbers that nobody uses take it.
static bool isTouched(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) {
    const bool onlyMakes = isPure(user) && user->getNumResults() > 0 && user->getNumRegions() == 0;
    return !onlyMakes || llvm::any_of(user->getResults(), isTouched);
  });
}

SmallVector<KernelArgument> kernelArguments(func::FuncOp kernel) {
  SmallVector<KernelArgument> arguments;
  const ArgumentTraffic traffic = argumentTraffic(kernel);
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number) {
    KernelArgument argument{};
    argument.number = number;
    argument.used = isTouched(kernel.getArgument(number));
    argument.written = traffic.isWritten[number];
    Type type = kernel.getArgument(number).getType();
    argument.element = type;
    if (auto symbol = kernel.getArgAttrOfType<StringAttr>(number, kSymbolAttr)) {
      argument.kind = KernelArgument::Symbol;
      argument.name = symbol.str();
      if (auto scalar = kernel.getArgAttrOfType<StringAttr>(number, kScalarAttr))
        argument.scalar = scalar.str();
    } else {
      if (auto name = kernel.getArgAttrOfType<StringAttr>(number, kNameAttr))
        argument.name = name.str();
      argument.buffer = dyn_cast<BufferType>(type);
      argument.kind = argument.buffer ? KernelArgument::Tensor : KernelArgument::Scalar;
      if (argument.buffer)
        argument.element = argument.buffer.getElementType();
      else if (auto dtype = kernel.getArgAttrOfType<TypeAttr>(number, kDtypeAttr))
        argument.element = dtype.getValue();
      if (auto pointee = kernel.getArgAttrOfType<TypeAttr>(number, kPointeeAttr))
        argument.pointee = pointee.getValue();
    }
    arguments.push_back(argument);
  }
  const auto symbols = unsigned(llvm::count_if(arguments, [](const KernelArgument& argument) {
    return argument.kind == KernelArgument::Symbol;
  }));
  unsigned slot = 0;
  for (auto kind : {KernelArgument::Tensor, KernelArgument::Scalar, KernelArgument::Symbol})
    for (KernelArgument& argument : arguments)
      if (argument.kind == kind)
        argument.slot = slot++;
  for (KernelArgument& argument : arguments) {
    if (argument.kind != KernelArgument::Tensor)
      continue;
    argument.shape = mapAttribute(kernel, argument.number, kShapeAttr);
    argument.strides = mapAttribute(kernel, argument.number, kStridesAttr);
    if (!argument.shape)
      argument.shape = staticShape(argument.buffer, symbols);
  }
  return arguments;
}

} // namespace tilewright::tile
