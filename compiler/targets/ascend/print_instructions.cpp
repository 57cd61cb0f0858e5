// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/print_instructions.h"

#include "compiler/targets/ascend/print_scalars.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using namespace npu;
using tile::BufferRegion;
using tile::BufferType;

/// Prints one instruction; `()` collects what stands between the brackets.
class InstructionPrinter {
public:
  InstructionPrinter(const SourceText& text, const GlobalLayouts& globals)
      : text(text), globals(globals) {}

  std::optional<std::string> print(Operation* op);

private:
  using Parts = std::initializer_list<std::string>;
  static std::string callAsNamed(const std::string& function, Parts parts) {
    return function + "(" + llvm::join(parts, ", ") + ");";
  }
  std::string call(const std::string& function, Parts parts) const {
    return callAsNamed(text.function(function), parts);
  }

  std::string bufferName(Value buffer) const {
    auto layout = globals.find(buffer);
    return layout == globals.end() ? text.text(buffer) : layout->second.name;
  }
  std::string slice(Value buffer, Value offset) const {
    const std::string name = bufferName(buffer);
    return isConstantIntValue(offset, 0) ? name : name + "[" + text.text(offset) + "]";
  }
  Expression number(OpFoldResult value) const {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return {std::to_string(*constant)};
    return text.expression(cast<Value>(value));
  }
  std::string global(const BufferRegion& region) const;
  /// "rows, columns" and, apart, the elements from one row to the next.
  std::pair<std::string, std::string> rows(const BufferRegion& region) const;

  /// Counts of the running kernel, or `most` of each.
  std::string counts(ValueRange counts, ArrayRef<uint64_t> most) const;
  /// Of a tile, as the kernel runs or as it is allocated.
  std::string height(Value pitch, uint64_t rows) const;
  std::string shape(Value count, RepeatAttr repeat) const;
  std::string scalar(Value value) const {
    return text.text(value);
  }
  std::string transfer(Operation* op);
  std::string vector(Operation* op);
  std::string otherVector(Operation* op);
  std::string wait(Operation* op);

  const SourceText& text;
  const GlobalLayouts& globals;
};

Expression product(const Expression& left, const Expression& right) {
  if (left.text == "1")
    return right;
  if (right.text == "1")
    return left;
  return {left.within(Expression::kProduct) + " * " + right.within(Expression::kProduct + 1),
          Expression::kProduct};
}

std::string InstructionPrinter::global(const BufferRegion& region) const {
  const GlobalLayout& layout = globals.find(region.buffer)->second;
  std::string sum;
  for (auto [dim, offset] : llvm::enumerate(region.offsets)) {
    if (isConstantIntValue(offset, 0))
      continue;
    const Expression term = product(number(offset), layout.strides[dim]);
    sum += (sum.empty() ? "" : " + ") + term.within(Expression::kSum);
  }
  return sum.empty() ? layout.name : layout.name + "[" + sum + "]";
}

std::pair<std::string, std::string> InstructionPrinter::rows(const BufferRegion& region) const {
  const GlobalLayout& layout = globals.find(region.buffer)->second;
  const size_t last = region.extents.size() - 1;
  const Expression columns = number(region.extents[last]);
  for (size_t dim = 0; dim < last; ++dim)
    if (!isConstantIntValue(region.extents[dim], 1))
      return {number(region.extents[dim]).text + ", " + columns.text, layout.strides[dim].text};
  return {"1, " + columns.text, columns.text};
}

std::string InstructionPrinter::shape(Value count, RepeatAttr repeat) const {
  if (!repeat)
    return text.text(count);
  std::string blocks, strides;
  for (int64_t stride : repeat.getBlocks())
    blocks += std::to_string(stride) + ", ";
  for (int64_t stride : repeat.getStrides())
    strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
  return std::to_string(repeat.getLanes()) + ", " + std::to_string(repeat.getTimes()) + ", {" +
         blocks + strides + "}";
}

std::string text64(uint64_t value) {
  return std::to_string(int64_t(value));
}

std::string InstructionPrinter::counts(ValueRange counts, ArrayRef<uint64_t> most) const {
  SmallVector<std::string> texts;
  for (const Value count : counts)
    texts.push_back(text.text(count));
  if (counts.empty())
    llvm::append_range(texts, llvm::map_range(most, text64));
  return llvm::join(texts, ", ");
}

std::string InstructionPrinter::height(Value pitch, uint64_t rows) const {
  return pitch ? text.text(pitch) : text64(rows);
}

std::string InstructionPrinter::transfer(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case<LoadUbOp>([&](LoadUbOp load) {
        auto [size, pitch] = rows(load.getGlobalRegion());
        std::string parts = slice(load.getTarget(), load.getTargetOffset()) + ", " +
                            global(load.getGlobalRegion()) + ", " + size + ", " + pitch + ", " +
                            text64(load.getPitch());
        if (load.getPad())
          parts += ", " + scalar(load.getPad());
        if (load.getBefore())
          parts += ", " + text.text(load.getBefore());
        return call("copyGmToUb", {parts});
      })
      .Case<StoreUbOp>([&](StoreUbOp store) {
        auto [size, pitch] = rows(store.getGlobalRegion());
        return call(store.getAtomicAdd() ? "addUbToGm" : "copyUbToGm",
                    {global(store.getGlobalRegion()),
                     slice(store.getSource(), store.getSourceOffset()), size,
                     text64(store.getPitch()), pitch});
      })
      .Case<LoadL1Op>([&](LoadL1Op load) {
        auto [size, pitch] = rows(load.getGlobalRegion());
        return call("copyGmToL1",
                    {slice(load.getTarget(), load.getTargetOffset()),
                     global(load.getGlobalRegion()), size, pitch, text64(load.getRows())});
      })
      .Case<FillL1Op>([&](FillL1Op fill) {
        return call("fillL1",
                    {slice(fill.getTarget(), fill.getTargetOffset()),
                     fill.getCount() ? text.text(fill.getCount()) : text64(fill.getBytes())});
      })
      .Case<LoadL0Op>([&](LoadL0Op load) {
        const bool isA = load.getTarget().getType().getSpace() == tile::MemorySpace::L0A;
        std::string name = isA ? "copyL1ToL0A" : "copyL1ToL0B";
        if (load.getTranspose())
          name += "Transposed";
        return call(name,
                    {slice(load.getTarget(), load.getTargetOffset()),
                     slice(load.getSource(), load.getSourceOffset()), text.text(load.getRow()),
                     text.text(load.getColumn()), text64(load.getRows()),
                     counts(load.getCounts(), {load.getHeight(), load.getWidth()})});
      })
      .Case<MmadOp>([&](MmadOp multiply) {
        return call(
            multiply.getPairs() ? "multiply<true>" : "multiply",
            {slice(multiply.getC(), multiply.getCOffset()),
             slice(multiply.getA(), multiply.getAOffset()),
             slice(multiply.getB(), multiply.getBOffset()),
             counts(multiply.getCounts(), {multiply.getM(), multiply.getN(), multiply.getK()}),
             text.text(multiply.getInit())});
      })
      .Case<StoreL0cOp>([&](StoreL0cOp store) {
        auto [size, pitch] = rows(store.getGlobalRegion());
        std::string parts = global(store.getGlobalRegion()) + ", " +
                            slice(store.getSource(), store.getSourceOffset()) + ", " + size + ", " +
                            height(store.getPitch(), store.getRows()) + ", " + pitch;
        if (store.getScale())
          parts += ", " + scalar(store.getScale());
        std::string name = store.getAtomicAdd() ? "addL0cToGm" : "copyL0cToGm";
        return call(name + (store.getRelu() ? "<true>" : ""), {parts});
      })
      .Case<MoveL0cOp>([&](MoveL0cOp move) {
        std::string parts = slice(move.getTarget(), move.getTargetOffset()) + ", " +
                            slice(move.getSource(), move.getSourceOffset()) + ", " +
                            counts(move.getCounts(), {move.getHeight(), move.getWidth()}) + ", " +
                            height(move.getPitch(), move.getSourceRows()) + ", " +
                            text64(move.getTargetRows());
        if (move.getScale())
          parts += ", " + scalar(move.getScale());
        return call(move.getRelu() ? "copyL0cToL1<true>" : "copyL0cToL1", {parts});
      })
      .Case<CopyUbOp>([&](CopyUbOp copy) {
        return call("copyUbToUb", {slice(copy.getTarget(), copy.getTargetOffset()),
                                   slice(copy.getSource(), copy.getSourceOffset()),
                                   text64(copy.getCount()), text64(copy.getBytes()),
                                   text64(copy.getSourcePitch()), text64(copy.getTargetPitch())});
      })
      .Case<SetValueOp>([&](SetValueOp set) {
        return bufferName(set.getTarget()) + ".SetValue(" + text.text(set.getTargetOffset()) +
               ", " + scalar(set.getValue()) + ");";
      })
      .Case<GetValueOp>([&](GetValueOp get) {
        return bufferName(get.getSource()) + ".GetValue(" + text.text(get.getSourceOffset()) + ")";
      })
      .Case<CallOp>([&](CallOp function) {
        std::string parts;
        size_t number = 0;
        for (Value argument : function.getArguments())
          parts +=
              (parts.empty() ? "" : ", ") + (isa<BufferType>(argument.getType())
                                                 ? slice(argument, function.getOffsets()[number++])
                                                 : scalar(argument));
        return callAsNamed(function.getCallee().str(), {parts});
      })
      .Default([](auto) { return std::string(); });
}

const char* unaryName(UnaryKind kind) {
  static const char* const names[] = {"Exp",  "Ln",    "Abs",  "Reciprocal",
                                      "Sqrt", "Rsqrt", "Relu", "Not"};
  return names[size_t(kind)];
}

const char* binaryName(BinaryKind kind) {
  static const char* const names[] = {"Add", "Sub", "Mul", "Div",      "Max",
                                      "Min", "And", "Or",  "MulAddDst"};
  return names[size_t(kind)];
}

const char* scalarName(ScalarKind kind) {
  static const char* const names[] = {"Adds",      "Muls",      "Maxs",       "Mins",
                                      "LeakyRelu", "ShiftLeft", "ShiftRight", "Axpy"};
  return names[size_t(kind)];
}

std::string functionName(FunctionKind kind) {
  static const char* const names[] = {"sine",  "cosine",      "hyperbolicTangent", "errorFunction",
                                      "power", "exclusiveOr", "roundDown",         "roundToEven"};
  return names[size_t(kind)];
}

std::string compareName(CompareMode mode) {
  return "CMPMODE::" + stringifyCompareMode(mode).upper();
}

std::string roundName(Rounding rounding) {
  return "RoundMode::CAST_" + stringifyRounding(rounding).upper();
}

std::string InstructionPrinter::vector(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case<UnaryOp>([&](UnaryOp unary) {
        return call(unaryName(unary.getKind()), {slice(unary.getTarget(), unary.getTargetOffset()),
                                                 slice(unary.getSource(), unary.getSourceOffset()),
                                                 shape(unary.getCount(), unary.getRepeatAttr())});
      })
      .Case<BinaryOp>([&](BinaryOp binary) {
        return call(binaryName(binary.getKind()),
                    {slice(binary.getTarget(), binary.getTargetOffset()),
                     slice(binary.getSource(), binary.getSourceOffset()),
                     slice(binary.getOther(), binary.getOtherOffset()),
                     shape(binary.getCount(), binary.getRepeatAttr())});
      })
      .Case<ScalarOp>([&](ScalarOp scale) {
        return call(scalarName(scale.getKind()),
                    {slice(scale.getTarget(), scale.getTargetOffset()),
                     slice(scale.getSource(), scale.getSourceOffset()), scalar(scale.getValue()),
                     shape(scale.getCount(), scale.getRepeatAttr())});
      })
      .Case<CastOp>([&](CastOp convert) {
        return call("Cast", {slice(convert.getTarget(), convert.getTargetOffset()),
                             slice(convert.getSource(), convert.getSourceOffset()),
                             roundName(convert.getRounding()),
                             shape(convert.getCount(), convert.getRepeatAttr())});
      })
      .Case<DuplicateOp>([&](DuplicateOp fill) {
        std::string size;
        if (RepeatAttr repeat = fill.getRepeatAttr())
          size = std::to_string(repeat.getLanes()) + ", " + std::to_string(repeat.getTimes()) +
                 ", " + std::to_string(repeat.getBlocks()[0]) + ", " +
                 std::to_string(repeat.getStrides()[0]);
        else
          size = text.text(fill.getCount());
        return call("Duplicate", {slice(fill.getTarget(), fill.getTargetOffset()),
                                  scalar(fill.getValue()), size});
      })
      .Default([&](Operation*) { return otherVector(op); });
}

std::string InstructionPrinter::otherVector(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case<CompareOp>([&](CompareOp compare) {
        return call("Compare", {slice(compare.getTarget(), compare.getTargetOffset()),
                                slice(compare.getSource(), compare.getSourceOffset()),
                                slice(compare.getOther(), compare.getOtherOffset()),
                                compareName(compare.getMode()), text.text(compare.getCount())});
      })
      .Case<CompareScalarOp>([&](CompareScalarOp compare) {
        return call("CompareScalar", {slice(compare.getTarget(), compare.getTargetOffset()),
                                      slice(compare.getSource(), compare.getSourceOffset()),
                                      scalar(compare.getValue()), compareName(compare.getMode()),
                                      text.text(compare.getCount())});
      })
      .Case<SelectOp>([&](SelectOp select) {
        return call("Select", {slice(select.getTarget(), select.getTargetOffset()),
                               slice(select.getMask(), select.getMaskOffset()),
                               slice(select.getSource(), select.getSourceOffset()),
                               slice(select.getOther(), select.getOtherOffset()),
                               "SELMODE::VSEL_TENSOR_TENSOR_MODE", text.text(select.getCount())});
      })
      .Case<SelectScalarOp>([&](SelectScalarOp select) {
        return call("Select",
                    {slice(select.getTarget(), select.getTargetOffset()),
                     slice(select.getMask(), select.getMaskOffset()),
                     slice(select.getSource(), select.getSourceOffset()), scalar(select.getValue()),
                     "SELMODE::VSEL_TENSOR_SCALAR_MODE", text.text(select.getCount())});
      })
      .Case<SequenceOp>([&](SequenceOp sequence) {
        const std::string target = slice(sequence.getTarget(), sequence.getTargetOffset());
        const std::string count = text.text(sequence.getCount());
        if (matchPattern(sequence.getStep(), m_OneFloat()) ||
            matchPattern(sequence.getStep(), m_One()))
          return call("CreateVecIndex", {target, scalar(sequence.getFirst()), count});
        return call("ArithProgression",
                    {target, scalar(sequence.getFirst()), scalar(sequence.getStep()), count});
      })
      .Case<FunctionOp>([&](FunctionOp function) {
        std::string parts = slice(function.getTarget(), function.getTargetOffset()) + ", " +
                            slice(function.getSource(), function.getSourceOffset());
        if (function.getOther())
          parts += ", " + slice(function.getOther(), function.getOtherOffset());
        return call(functionName(function.getKind()),
                    {parts, slice(function.getScratch(), function.getScratchOffset()),
                     text.text(function.getCount())});
      })
      .Case<ReduceOp>([&](ReduceOp reduce) {
        static const char* const kinds[] = {"Sum", "Max", "Min"};
        const auto count = [&](Value number, uint64_t known) {
          return number ? text.text(number) : text64(known);
        };
        return call(
            std::string(reduce.getDim() == 1 ? "reduceRows" : "reduceColumns") + "<Reduce::" +
                kinds[size_t(reduce.getKind())] + (reduce.getClear() ? ">" : ", false>"),
            {slice(reduce.getTarget(), reduce.getTargetOffset()),
             slice(reduce.getSource(), reduce.getSourceOffset()),
             slice(reduce.getScratch(), reduce.getScratchOffset()),
             count(reduce.getRowCount(), reduce.getRows()),
             count(reduce.getColumnCount(), reduce.getColumns()), text64(reduce.getPitch())});
      })
      .Case<BroadcastOp>([&](BroadcastOp spread) {
        return call(spread.getDim() == 1 ? "broadcastRows" : "broadcastColumns",
                    {slice(spread.getTarget(), spread.getTargetOffset()),
                     slice(spread.getSource(), spread.getSourceOffset()),
                     slice(spread.getScratch(), spread.getScratchOffset()),
                     text64(spread.getRows()), text64(spread.getColumns()),
                     text64(spread.getPitch())});
      })
      .Case<RowBinaryOp>([&](RowBinaryOp op) {
        return call(stringifyBinaryKind(op.getKind()).str() + "ByRows",
                    {slice(op.getTarget(), op.getTargetOffset()),
                     slice(op.getSource(), op.getSourceOffset()),
                     slice(op.getOther(), op.getOtherOffset()),
                     slice(op.getScratch(), op.getScratchOffset()), text64(op.getRows()),
                     text64(op.getColumns())});
      })
      .Case<TransposeOp>([&](TransposeOp turn) {
        return call("transposeTile", {slice(turn.getTarget(), turn.getTargetOffset()),
                                      slice(turn.getSource(), turn.getSourceOffset()),
                                      text64(turn.getRows()), text64(turn.getColumns())});
      })
      .Default([](auto) { return std::string(); });
}

std::string pipeName(Pipe pipe) {
  return "PIPE_" + stringifyPipe(pipe).upper();
}

std::string eventName(Pipe from, Pipe to) {
  return "HardEvent::" + stringifyPipe(from).upper() + "_" + stringifyPipe(to).upper();
}

std::string InstructionPrinter::wait(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case<SetFlagOp>([&](SetFlagOp set) {
        return "SetFlag<" + eventName(set.getFrom(), set.getTo()) + ">(" +
               text.text(set.getEvent()) + ");";
      })
      .Case<WaitFlagOp>([&](WaitFlagOp waits) {
        return "WaitFlag<" + eventName(waits.getFrom(), waits.getTo()) + ">(" +
               text.text(waits.getEvent()) + ");";
      })
      .Case<PipeBarrierOp>([&](PipeBarrierOp barrier) {
        return "PipeBarrier<" + pipeName(barrier.getPipe()) + ">();";
      })
      .Case<SetCrossFlagOp>([&](SetCrossFlagOp set) {
        return "CrossCoreSetFlag<" + std::to_string(set.getMode()) + ", " +
               pipeName(set.getPipe()) + ">(" + text.text(set.getFlag()) + ");";
      })
      .Case<WaitCrossFlagOp>([&](WaitCrossFlagOp waits) {
        return "CrossCoreWaitFlag(" + text.text(waits.getFlag()) + ");";
      })
      .Case<SyncAllOp>([&](SyncAllOp) { return std::string("SyncAll<false>();"); })
      .Default([](auto) { return std::string(); });
}

std::optional<std::string> InstructionPrinter::print(Operation* op) {
  for (auto part :
       {&InstructionPrinter::transfer, &InstructionPrinter::vector, &InstructionPrinter::wait})
    if (std::string statement = (this->*part)(op); !statement.empty())
      return statement;
  return std::nullopt;
}

} // namespace

std::optional<std::string> instructionText(Operation* op, const SourceText& text,
                                           const GlobalLayouts& globals) {
  return InstructionPrinter(text, globals).print(op);
}

} // namespace tilewright::ascend
