// SPDX-License-Identifier: Apache-2.0
// The launch, loops, branches and buffers of a kernel.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/print_format.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipelined_loops.h"
#include "compiler/targets/ascend/print_body.h"
#include "compiler/targets/ascend/print_scalars.h"
#include "compiler/targets/ascend/value_names.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

bool BodyPrinter::printStructure(Operation* op) {
  std::optional<bool> done =
      llvm::TypeSwitch<Operation*, std::optional<bool>>(op)
          .Case<tile::LaunchOp>([&](auto launch) { return printLaunch(launch); })
          .Case<ScopeOp>([&](auto scope) { return printScope(scope); })
          .Case<tile::ForOp>([&](auto loop) { return printFor(loop); })
          .Case<tile::WhileOp>([&](auto loop) { return printWhile(loop); })
          .Case<scf::IfOp>([&](auto branch) { return printIf(branch); })
          .Case<tile::BreakOp>([&](auto) {
            text.line("break;");
            return true;
          })
          .Case<tile::ContinueOp>([&](auto) {
            text.line("continue;");
            return true;
          })
          .Default([](auto) { return std::nullopt; });
  failed |= done == false;
  return done.value_or(false);
}

/// What the kernel calls the number of the vector core.
static StringRef vectorIdName(tile::LaunchOp launch) {
  StringRef name;
  launch.walk([&](VectorIdOp id) {
    name = nameOf(id.getLoc());
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name.empty() ? "vid" : name;
}

bool BodyPrinter::printLaunch(tile::LaunchOp launch) {
  const size_t rank = launch.getGrid().size();
  const auto nameOr = [&](Value value, StringRef otherwise) {
    const StringRef name = nameOf(value.getLoc());
    return name.empty() ? text.ownName(otherwise) : text.freshName(name);
  };
  const std::string block =
      rank == 1 ? nameOr(launch.getBlockIds()[0], "cid") : text.ownName("block");
  std::string number = "GetBlockIdx()";
  if (!kind.hasCube && kind.vectorCores() == 2)
    number += " / 2";
  else if (kind.isMixed() && kind.vectorCores() == 2)
    number += " / GetTaskRation()";
  text.line("const int64_t " + block + " = " + number + ";");
  blockName = block;
  if (kind.usesVectorId) {
    vectorName = text.freshName(vectorIdName(launch));
    text.line("const int64_t " + vectorName + " = " +
              (kind.hasCube ? "GetSubBlockIdx();" : "GetBlockIdx() % 2;"));
  }
  if (rank == 1)
    text.bindName(launch.getBlockIds()[0], block);
  static const char* const names[] = {"bx", "by", "bz"};
  std::string rest = block;
  for (size_t dim = 0; rank > 1 && dim < rank; ++dim) {
    const std::string name = nameOr(launch.getBlockIds()[dim], names[dim]);
    const std::string extent =
        text.expression(launch.getGrid()[dim]).within(Expression::kProduct + 1);
    text.line("const int64_t " + name + " = " + rest + (dim + 1 < rank ? " % " + extent : "") +
              ";");
    rest += " / " + extent;
    text.bindName(launch.getBlockIds()[dim], name);
  }
  return printBlock(*launch.getBodyBlock());
}

bool BodyPrinter::printScope(ScopeOp scope) {
  if (!kind.isMixed())
    return printBlock(scope.getBody().front());
  text.open(scope.getAgent() == Agent::Cube ? "if ASCEND_IS_AIC {" : "if ASCEND_IS_AIV {");
  const bool done = printBlock(scope.getBody().front());
  text.close();
  return done;
}

bool BodyPrinter::printFor(tile::ForOp loop) {
  static const char* const names[] = {"i", "j", "k"};
  text.beginNames();
  std::string name;
  if (auto word = loop->getAttrOfType<StringAttr>(tile::kNameAttr))
    name = text.freshName(word.getValue());
  else if (const StringRef own = nameOf(loop.getInductionVar().getLoc()); !own.empty())
    name = text.ownName(own);
  else
    name = text.freshName(names[loopDepth % 3]);
  const Expression step = text.expression(loop.getStep());
  text.openBegun("for (int64_t " + name + " = " + text.text(loop.getLower()) + "; " + name + " < " +
                 text.expression(loop.getUpper()).within(Expression::kRelation + 1) + "; " +
                 (step.text == "1" ? "++" + name : name + " += " + step.text) + ") {");
  text.bindName(loop.getInductionVar(), name);
  ++loopDepth;
  const bool done = printBlock(*loop.getBodyBlock());
  --loopDepth;
  text.close();
  return done;
}

bool BodyPrinter::printWhile(tile::WhileOp loop) {
  text.open("while (true) {");
  if (text.isForHost())
    text.line("TW_TURN();");
  for (Operation& op : loop.getCondition().front()) {
    if (auto condition = dyn_cast<tile::ConditionOp>(op)) {
      if (getConstantIntValue(condition.getCondition()).value_or(0) != 0)
        break; // `while True`
      text.line("if (!(" + text.text(condition.getCondition()) + "))");
      text.line("  break;");
    } else if (!print(&op)) {
      return false;
    }
  }
  const bool done = printBlock(loop.getBody().front());
  text.close();
  return done;
}

bool BodyPrinter::printBranch(Region& region, const std::vector<std::string>& results) {
  for (Operation& op : region.front()) {
    auto yield = dyn_cast<scf::YieldOp>(op);
    if (!yield) {
      if (!print(&op))
        return false;
      continue;
    }
    for (auto [name, value] : llvm::zip(results, yield.getResults()))
      text.line(name + " = " + text.text(value) + ";");
  }
  return true;
}

bool BodyPrinter::printIf(scf::IfOp branch) {
  std::vector<std::string> results;
  for (Value result : branch.getResults()) {
    const StringRef name = nameOf(result.getLoc());
    results.push_back(name.empty() ? text.ownName(nameByUse(result)) : text.freshName(name));
    text.line(cppType(result.getType()) + " " + results.back() + ";");
    text.bindName(result, results.back());
  }
  text.open("if (" + text.text(branch.getCondition()) + ") {");
  if (!printBranch(branch.getThenRegion(), results))
    return false;
  text.close();
  if (branch.getElseRegion().empty())
    return true;
  text.openElse();
  if (!printBranch(branch.getElseRegion(), results))
    return false;
  text.close();
  return true;
}

/// `PRINTF("block %ld: %5.2f\n", int64_t(cid), float(v));`
void BodyPrinter::printFormatted(PrintfOp print) {
  std::string format, values;
  size_t number = 0;
  for (const tile::FormatPart& part : tile::splitFormat(print.getFormat())) {
    format += inFormat(part.words);
    if (part.conversion == 0)
      break;
    Value value = print.getValues()[number++];
    const bool isLong = !part.isFloat() && part.conversion != 'c';
    format += part.flags + (isLong ? "l" : "") + part.conversion;
    std::string argument = text.text(value);
    if (part.isUnsigned() && isa<IntegerType>(value.getType()) && !value.getType().isInteger(1))
      argument = "u" + cppType(value.getType()) + "(" + argument + ")";
    const char* type = part.isFloat()           ? "float"
                       : part.isUnsigned()      ? "uint64_t"
                       : part.conversion == 'c' ? "int32_t"
                                                : "int64_t";
    values += std::string(", ") + type + "(" + argument + ")";
  }
  text.line("PRINTF(\"" + format + "\"" + values + ");");
}

void BodyPrinter::printRequirement(npu::RequireOp require) {
  SmallVector<StringRef> words;
  require.getSentence().split(words, "{}");
  std::string sentence = inFormat(words.front()), numbers;
  for (auto [number, behind] : llvm::zip(require.getNumbers(), ArrayRef(words).drop_front())) {
    sentence += "%ld" + inFormat(behind);
    numbers += ", int64_t(" + text.text(number) + ")";
  }
  // The host tells the sentence alone.
  text.line(std::string(text.isForHost() ? "TW_REQUIRE(" : "ascendc_assert(") +
            text.text(require.getCondition()) + ", \"" + sentence + "\"" + numbers + ");");
}

bool BodyPrinter::printBuffers(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::AllocOp>([&](auto alloc) { return printAlloc(alloc); })
      .Case<tile::ViewOp>([&](auto view) {
        printView(view);
        return true;
      })
      .Case<tile::DimOp>([&](auto dim) {
        printDim(dim);
        return true;
      })
      .Case<tile::LoadOp>([&](tile::LoadOp load) {
        if (!load.getBuffer().getType().isPerThread())
          return false;
        declare(load.getValue(), {element(load.getBuffer(), load.getIndices())});
        return true;
      })
      .Case<tile::StoreOp>([&](tile::StoreOp store) {
        if (!store.getBuffer().getType().isPerThread())
          return false;
        text.line(element(store.getBuffer(), store.getIndices()) + " = " +
                  text.text(store.getValue()) + ";");
        return true;
      })
      .Case<tile::PrintOp>([&](tile::PrintOp print) {
        if (print.getValue() && isa<BufferType>(print.getValue().getType()))
          return false;
        const Type type = print.getValue() ? print.getValue().getType() : Type();
        const bool isFloat = type && isa<FloatType>(type);
        std::string arguments = "\"" + inFormat(print.getMessage());
        if (type)
          arguments += std::string(" ") + (isFloat ? "%f" : "%ld");
        arguments += "\\n\"";
        if (type)
          arguments += std::string(", ") + (isFloat ? "float(" : "int64_t(") +
                       text.text(print.getValue()) + ")";
        text.line("PRINTF(" + arguments + ");");
        return true;
      })
      .Case<PrintfOp>([&](PrintfOp print) {
        printFormatted(print);
        return true;
      })
      .Case<tile::AssertOp>([&](tile::AssertOp check) {
        text.line("ascendc_assert(" + text.text(check.getCondition()) + ", \"" +
                  inFormat(check.getMessage()) + "\");");
        return true;
      })
      .Case<npu::RequireOp>([&](npu::RequireOp require) {
        printRequirement(require);
        return true;
      })
      .Case<npu::CheckPartOp>([&](npu::CheckPartOp check) {
        printCheck(check);
        return true;
      })
      .Default([](auto) { return false; });
}

static const char* positionOf(MemorySpace space) {
  switch (space) {
  case MemorySpace::L1:
    return "A1";
  case MemorySpace::L0A:
    return "A2";
  case MemorySpace::L0B:
    return "B2";
  case MemorySpace::L0C:
    return "CO1";
  case MemorySpace::UB:
    return "VECCALC";
  default:
    return nullptr;
  }
}

/// Bytes from the start of the launch's workspace.
std::string BodyPrinter::workspaceOffset(tile::AllocOp alloc) const {
  auto kernel = alloc->getParentOfType<func::FuncOp>();
  const auto bytes = [&](const char* name) {
    auto number = kernel->getAttrOfType<IntegerAttr>(name);
    return number ? number.getInt() : 0;
  };
  const auto address = int64_t(alloc.getAddress().value_or(0));
  if (!alloc->hasAttr(kPerBlockAttr))
    return std::to_string(address);
  return blockName + " * " + std::to_string(bytes(kBlockWorkspaceBytesAttr)) + " + " +
         std::to_string(bytes(kWorkspaceBytesAttr) + address);
}

bool BodyPrinter::printAlloc(tile::AllocOp alloc) {
  const BufferType type = alloc.getType();
  const std::string name = text.freshName(alloc.getSymName().value_or("buffer"));
  if (StringRef(name).starts_with((alloc.getSymName().value_or("") + "_").str()))
    alloc.setSymName(name); // numbered, as something else has its name
  const std::string element = cppType(type.getElementType());
  text.bindName(alloc, name);
  if (type.isPerThread()) {
    const bool isVariable = type.getRank() == 0;
    text.line(element + " " + name +
              (isVariable ? "{};" : "[" + std::to_string(type.getNumElements()) + "];"));
    return true;
  }
  if (type.isGlobal()) {
    globals[alloc] = denseLayout(name, type, {});
    text.line("GlobalTensor<" + element + "> " + name + ";");
    text.line(name + ".SetGlobalBuffer((__gm__ " + element + "*)(" + workspaceName + " + " +
              workspaceOffset(alloc) + "));");
    nameGlobal(globals[alloc], alloc.getSymName().value_or(""), type);
    return true;
  }
  const char* position = positionOf(type.getSpace());
  if (!position || !alloc.getAddress())
    return false;
  const int64_t elements = npu::storageBytes(type) * 8 / int64_t(type.getElementBits());
  const auto address = int64_t(*alloc.getAddress());
  std::string number;
  if (text.isForHost() && alloc.getSymName()) {
    const bool liesInRows = type.getSpace() == MemorySpace::UB;
    auto versions = alloc->getAttrOfType<IntegerAttr>(kVersionsAttr);
    const bool isOne = !versions || type.getRank() < 2 || type.getShape()[0] != versions.getInt();
    const BufferType named = isOne ? type
                                   : BufferType::get(type.getShape().drop_front(),
                                                     type.getElementType(), type.getSpace());
    const int64_t pitch = named.getRank() == 1 ? 1 : npu::rowPitch(named);
    number = " TW_TENSOR(" +
             std::to_string(nameTensor(*alloc.getSymName(), named, address, liesInRows ? pitch : 0,
                                       isOne ? 1 : versions.getInt())) +
             ")";
  }
  text.line("auto " + name + " = localTensor<" + element + ">(TPosition::" + position + ", " +
            std::to_string(address) + ", " + std::to_string(elements) + number + ");");
  return true;
}

void BodyPrinter::printView(tile::ViewOp view) {
  const BufferType from = view.getSource().getType(), to = view.getType();
  const std::string type = cppType(to.getElementType());
  const bool isSameType = from.getElementType() == to.getElementType();
  auto layout = globals.find(view.getSource());
  const std::string source =
      layout == globals.end() ? text.text(view.getSource()) : layout->second.name;
  std::string name = source;
  if (!isSameType) {
    name = text.ownName("view");
    if (to.isGlobal()) {
      text.line("GlobalTensor<" + type + "> " + name + ";");
      text.line(name + ".SetGlobalBuffer((__gm__ " + type + "*)" + source + ".GetPhyAddr());");
    } else {
      text.line("auto " + name + " = " + source + ".ReinterpretCast<" + type + ">();");
    }
  }
  if (to.isGlobal())
    globals[view] = denseLayout(name, to, view.getDims());
  text.bindName(view, name);
}

void BodyPrinter::printDim(tile::DimOp dim) {
  const BufferType type = dim.getBuffer().getType();
  const auto number = size_t(dim.getDim());
  if (!type.isDynamicDim(int64_t(number)))
    text.bind(dim, {std::to_string(type.getShape()[number])});
  else
    text.bind(dim, globals.find(dim.getBuffer())->second.shape[number]);
}

std::string BodyPrinter::element(Value buffer, ValueRange indices) {
  const auto type = cast<BufferType>(buffer.getType());
  if (type.getRank() == 0)
    return text.text(buffer);
  std::string sum;
  int64_t stride = type.getNumElements();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    stride /= type.getShape()[dim];
    sum += (sum.empty() ? "" : " + ") +
           text.expression(index).within(stride == 1 ? Expression::kSum : Expression::kProduct) +
           (stride == 1 ? "" : " * " + std::to_string(stride));
  }
  return text.text(buffer) + "[" + sum + "]";
}

} // namespace tilewright::ascend
