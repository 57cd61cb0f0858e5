// SPDX-License-Identifier: Apache-2.0
/// ExpandCalls: a call of a user's own function becomes an instruction, with its buffers as they lie
/// in memory.
///
///     ascend.call "twice"(%x, %c0, %n) ["rw", "value"]     // %x: [4, 10] of float32 in UB
///   ->
///     ascend.pipe_barrier all
///     npu.call "twice"(%x, %n) offsets [%c0] bytes [256] access ["rw"] pipe all on vector
///     ascend.pipe_barrier all
///
/// A printed buffer is such a call, too, of AscendC::DumpTensor: an instruction of the scalar unit, which reads what it
/// prints before the next one begins.
///
/// Nothing is known of what such a function queues, so barriers of all pipes stand around it where
/// the compiler places what orders instructions. A function of Ascend C itself, or of our device
/// headers, whose tensors are all in UB is an instruction of the vector unit. It stands where buffers have their memories, and
/// before these are planned.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/operation_name.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/place_words.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferType;
using tile::MemorySpace;

struct Argument {
  Value value;
  Value offset; ///< of a buffer, in elements, as the user counts them
  StringAttr access;

  BufferType type() const {
    return cast<BufferType>(value.getType());
  }
};

SmallVector<Argument> argumentsOf(CallExternOp call) {
  SmallVector<Argument> arguments;
  auto operand = call.getOperands().begin();
  for (auto access : call.getAccess().getAsRange<StringAttr>()) {
    Argument argument{*operand++, Value(), access};
    if (access.getValue() != "value")
      argument.offset = *operand++;
    arguments.push_back(argument);
  }
  return arguments;
}

bool isCubeMemory(MemorySpace space) {
  return space == MemorySpace::L1 || space == MemorySpace::L0A || space == MemorySpace::L0B ||
         space == MemorySpace::L0C;
}

class CallExpander {
public:
  CallExpander(CallExternOp call, bool isOrdered)
      : call(call), isOrdered(isOrdered), builder(call.getLoc(), call), make(builder),
        arguments(argumentsOf(call)) {}

  LogicalResult expand() {
    const std::optional<Agent> agent = findAgent();
    if (!agent)
      return failure();
    SmallVector<Value> values, offsets;
    SmallVector<int64_t> bytes;
    SmallVector<Attribute> access;
    for (const Argument& argument : arguments) {
      values.push_back(argument.value);
      if (!argument.offset)
        continue;
      const FailureOr<Value> offset = offsetInMemory(argument);
      if (failed(offset))
        return failure();
      offsets.push_back(*offset);
      bytes.push_back(bytesFrom(argument, *offset));
      access.push_back(argument.access);
    }
    const Pipe pipe = isVectorInstruction() ? Pipe::V : isScalarInstruction() ? Pipe::S : Pipe::All;
    auto made = npu::CallOp::create(builder, call.getCallee(), values, offsets,
                                    builder.getDenseI64ArrayAttr(bytes),
                                    builder.getArrayAttr(access), pipe, *agent, rowsInMemory());
    if (Attribute name = call->getAttr(kCalledAsAttr))
      made->setAttr(kCalledAsAttr, name);
    if (isOrdered && pipe == Pipe::All) {
      builder.setInsertionPoint(made);
      placeBarrier(made, *agent);
      builder.setInsertionPointAfter(made);
      placeBarrier(made, *agent);
    }
    call.erase();
    return success();
  }

private:
  /// The kind of core whose memories the buffers are in; else that of the scope, or the vector cores.
  std::optional<Agent> findAgent() {
    const Argument* ofCube = nullptr;
    const Argument* ofVector = nullptr;
    for (const Argument& argument : arguments) {
      if (!argument.offset)
        continue;
      const MemorySpace space = argument.type().getSpace();
      if (isCubeMemory(space))
        ofCube = &argument;
      else if (space == MemorySpace::UB)
        ofVector = &argument;
      else if (space != MemorySpace::Global || argument.type().getStrided())
        return refuse("takes tiles and dense tensors");
    }
    if (ofCube && ofVector)
      return refuse("has tiles of the cube core and of the vector cores");
    if (auto scope = call->getParentOfType<ScopeOp>())
      return scope.getAgent();
    return ofCube ? Agent::Cube : Agent::Vector;
  }

  std::nullopt_t refuse(const char* reason) {
    call.emitError() << "unsupported on ascend: the call of " << nameOfCall(call, call.getCallee())
                     << " " << reason;
    return std::nullopt;
  }

  /// Users count elements as if rows lay side by side; in memory they are padded to blocks, and the
  /// last two dims to fractals.
  FailureOr<Value> offsetInMemory(const Argument& argument) {
    const BufferType type = argument.type();
    if (type.isGlobal() || type.getRank() == 0)
      return argument.offset;
    const bool isInUb = type.getSpace() == MemorySpace::UB;
    const ArrayRef<int64_t> shape = type.getShape();
    const int64_t columns = shape.back();
    const int64_t rows = isInUb || type.getRank() < 2 ? 1 : shape[shape.size() - 2];
    const int64_t unit = rows * columns;
    const int64_t stored = isInUb ? npu::rowPitch(type) : tileElements(type);
    if (unit == stored || unit == 0 || isConstantIntValue(argument.offset, 0))
      return argument.offset;
    const std::optional<int64_t> number = getConstantIntValue(argument.offset);
    if (!isInUb && number && *number % unit != 0) {
      call.emitError() << "unsupported on ascend: a pointer to element " << *number
                       << " of a tile in " << stringifyMemorySpace(type.getSpace())
                       << ", where whole tiles lie in fractals of 16 rows";
      return failure();
    }
    if (number)
      return make.constant(*number / unit * stored + *number % unit);
    Value size = make.constant(unit);
    Value whole = arith::DivSIOp::create(builder, argument.offset, size);
    Value rest = arith::RemSIOp::create(builder, argument.offset, size);
    return make.value(make.add(make.mul(whole, stored), rest));
  }

  /// Up to the end of the buffer: how far the function goes is not known.
  static int64_t bytesFrom(const Argument& argument, Value offset) {
    const std::optional<int64_t> first = getConstantIntValue(offset);
    if (argument.type().isGlobal() || !first)
      return ShapedType::kDynamic;
    const int64_t skipped = *first * int64_t(argument.type().getElementBits()) / 8;
    return std::max<int64_t>(npu::storageBytes(argument.type()) - skipped, 0);
  }

  /// What is touched of each buffer, where it is known and lies in UB as the user counts it.
  DenseI64ArrayAttr rowsInMemory() {
    if (!call.getRows())
      return {};
    SmallVector<int64_t> rows(*call.getRows());
    size_t first = 0;
    for (const Argument& argument : arguments) {
      if (!argument.offset)
        continue;
      const BufferType type = argument.type();
      const bool isPadded = type.getRank() > 0 && npu::rowPitch(type) != type.getShape().back();
      if (type.getSpace() != MemorySpace::UB ||
          (isPadded && rows[first + 1] > type.getShape().back()))
        rows[first] = 0;
      first += 3;
    }
    return builder.getDenseI64ArrayAttr(rows);
  }

  bool isVectorInstruction() {
    bool hasTile = false;
    for (const Argument& argument : arguments) {
      if (argument.offset && argument.type().getSpace() != MemorySpace::UB)
        return false;
      hasTile |= bool(argument.offset);
    }
    const StringRef callee = call.getCallee();
    return hasTile && callee != kDump &&
           (callee.starts_with("AscendC::") || callee.starts_with("tilewright::"));
  }

  /// Of the scalar unit's cache, or what is printed.
  bool isScalarInstruction() {
    return call.getCallee().starts_with("AscendC::DataCacheCleanAndInvalid") ||
           call.getCallee() == kDump;
  }

  void placeBarrier(Operation* made, Agent agent) {
    OpBuilder::InsertionGuard guard(builder);
    if (!made->getParentOfType<ScopeOp>()) {
      auto scope = ScopeOp::create(builder, agent);
      builder.setInsertionPointToStart(&scope.getBody().emplaceBlock());
    }
    auto barrier = PipeBarrierOp::create(builder, Pipe::All);
    const std::string place = placeWords(call);
    barrier->setAttr(kWhyAttr,
                     builder.getStringAttr("nothing is known of what " +
                                           nameOfCall(call, call.getCallee()) +
                                           (place.empty() ? "" : " (" + place + ")") + " queues"));
  }

  CallExternOp call;
  bool isOrdered;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  SmallVector<Argument> arguments;
};

/// The message is the number of the dump, or is printed before it. Rows that are padded are dumps of their
/// own.
LogicalResult dumpBuffer(tile::PrintOp print) {
  const auto type = cast<BufferType>(print.getValue().getType());
  const ArrayRef<int64_t> shape = type.getShape();
  const MemorySpace space = type.getSpace();
  if ((space != MemorySpace::UB && space != MemorySpace::Global) || type.getStrided() ||
      llvm::is_contained(shape, ShapedType::kDynamic))
    return print.emitError() << "unsupported on ascend: printing a buffer in "
                             << stringifyMemorySpace(space)
                             << "; it prints dense tensors and tiles in UB of static shapes";
  ImplicitLocOpBuilder builder(print.getLoc(), print);
  const IndexMaker make(builder);
  const auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(value)));
  };
  int32_t number = 0;
  if (print.getMessage().getAsInteger(10, number) && !print.getMessage().empty())
    tile::PrintOp::create(builder, print.getMessage(), Value(), false);
  const int64_t columns = shape.empty() ? 1 : shape.back();
  auto limit = print->getAttrOfType<IntegerAttr>("count");
  const int64_t elements = std::min(type.getNumElements(), limit ? limit.getInt() : INT64_MAX);
  const int64_t rows = columns == 0 ? 0 : elements / columns;
  const bool isPadded =
      space == MemorySpace::UB && elements > columns && npu::rowPitch(type) != columns;
  const auto dump = [&](Value offset, int64_t count) {
    const SmallVector<Value> operands = {print.getValue(), offset, integer(number), integer(count)};
    CallExternOp::create(builder, kDump, operands, builder.getStrArrayAttr({"r", "value", "value"}),
                         DenseI64ArrayAttr());
  };
  Value offset = make.constant(0);
  if (isPadded && elements % columns != 0) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(print);
    dump(make.constant(rows * columns), elements % columns);
  }
  if (isPadded) {
    auto loop = tile::ForOp::create(builder, offset, make.constant(rows), make.constant(1));
    nameLoop(loop, "row");
    builder.setInsertionPointToStart(loop.getBodyBlock());
    offset = make.value(make.mul(loop.getInductionVar(), columns));
  }
  dump(offset, isPadded ? columns : elements);
  print.erase();
  return success();
}

class ExpandCalls : public KernelPass<ExpandCalls> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-calls";
  static constexpr llvm::StringLiteral kDescription =
      "calls of a user's own functions become instructions";

  explicit ExpandCalls(bool isOrdered) : isOrdered(isOrdered) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect, AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::PrintOp> prints;
    getOperation().walk([&](tile::PrintOp print) {
      if (print.getValue() && isa<BufferType>(print.getValue().getType()))
        prints.push_back(print);
    });
    for (tile::PrintOp print : prints)
      if (failed(dumpBuffer(print)))
        signalPassFailure();
    SmallVector<CallExternOp> calls;
    getOperation().walk([&](CallExternOp call) { calls.push_back(call); });
    for (CallExternOp call : calls)
      if (failed(CallExpander(call, isOrdered).expand()))
        signalPassFailure();
  }

private:
  bool isOrdered;
};

} // namespace

std::unique_ptr<Pass> createExpandCalls(bool isOrdered) {
  return std::make_unique<ExpandCalls>(isOrdered);
}

} // namespace tilewright::ascend
