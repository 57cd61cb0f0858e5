// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/print_kernel.h"

#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/print_body.h"
#include "compiler/targets/ascend/print_scalars.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Macros that a source of the user's defines.
SmallVector<StringRef> macrosOf(StringRef source) {
  SmallVector<StringRef> names;
  for (StringRef line : llvm::split(source, '\n')) {
    line = line.ltrim();
    if (!line.consume_front("#"))
      continue;
    line = line.ltrim();
    if (line.consume_front("define"))
      names.push_back(line.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }));
  }
  return names;
}

class KernelPrinter {
public:
  KernelPrinter(func::FuncOp kernel, LineStyle style)
      : kernel(kernel), style(style), arguments(tile::kernelArguments(kernel)),
        kind(launchKindOf(kernel)), name(kernel.getName().str()) {}

  std::string functions() {
    std::string text;
    for (auto part : {&KernelPrinter::deviceFunction, &KernelPrinter::gridFunction,
                      &KernelPrinter::workspaceFunction, &KernelPrinter::launchFunction}) {
      std::optional<std::string> function = (this->*part)();
      if (!function)
        return "";
      if (!function->empty())
        text += "\n" + *function;
    }
    return text;
  }

  std::string head() {
    const Place place = placeOf(kernel.getLoc());
    const std::string origin = place.isKnown() && style == LineStyle::Comments
                                   ? ", " + place.file + ":" + std::to_string(place.line)
                                   : "";
    return "// Made by Tilewright: the kernel " + name + origin +
           ".\n#include \"kernel_operator.h\"\n#include \"tilewright_ascend.h\"\n\nusing namespace "
           "AscendC;\nusing namespace "
           "tilewright;\n" +
           ownSources();
  }

private:
  /// What T.import_source gave.
  std::string ownSources() {
    auto sources = kernel->getAttrOfType<ArrayAttr>(kSourcesAttr);
    std::string text;
    if (!sources)
      return text;
    for (auto [number, source] : llvm::enumerate(sources.getAsRange<StringAttr>())) {
      text += "\n";
      if (style == LineStyle::Directives)
        text += "#line 1 \"" + nameOfSource(number) + "\"\n";
      text += source.getValue().trim('\n').str() + "\n";
    }
    return text;
  }

  /// What the device function's own names may not hide: itself, which the toolchain's launch calls beside its
  /// parameters, and what the user's sources define.
  void reserveNames(SourceText& text) {
    text.reserve(name + "_kernel");
    kernel.walk([&](npu::CallOp call) {
      text.reserve(call.getCallee().split(':').first.split('<').first);
    });
    if (auto sources = kernel->getAttrOfType<ArrayAttr>(kSourcesAttr))
      for (auto source : sources.getAsRange<StringAttr>())
        for (StringRef macro : macrosOf(source.getValue()))
          text.reserve(macro);
  }

  /// What the kernel calls its tensors, numbers, buffers and loops: the text's own names are others.
  void keepNames(SourceText& text) {
    for (const tile::KernelArgument& argument : arguments)
      text.keep(argument.name);
    kernel.walk([&](Operation* op) {
      if (auto alloc = dyn_cast<tile::AllocOp>(op))
        text.keep(alloc.getSymName().value_or(""));
      if (auto loop = dyn_cast<tile::ForOp>(op))
        if (auto name = loop->getAttrOfType<StringAttr>(tile::kNameAttr))
          text.keep(name.getValue());
      if (auto launch = dyn_cast<tile::LaunchOp>(op))
        for (Value block : launch.getBlockIds())
          text.keep(nameOf(block.getLoc()));
      if (op->getNumResults() != 0)
        text.keep(nameOf(op->getLoc()));
    });
  }

  /// The device function's parameters; what is passed by value is bound to the name that it gets.
  std::string parameters(SourceText& text) {
    std::string written;
    for (const tile::KernelArgument& argument : arguments) {
      if (argument.kind == tile::KernelArgument::Tensor) {
        addresses.push_back(text.ownName(argument.name + "_gm"));
        written += "GM_ADDR " + addresses.back() + ", ";
        continue;
      }
      const Value value = kernel.getArgument(argument.number);
      text.bindName(value, text.freshName(argument.name));
      written += cppType(value.getType()) + " " + text.text(value) + ", ";
    }
    workspace = text.ownName("workspace");
    return written + "GM_ADDR " + workspace;
  }

  std::optional<std::string> deviceFunction() {
    SourceText text(style);
    reserveNames(text);
    keepNames(text);
    text.beginNames();
    text.openBegun("extern \"C\" __global__ __aicore__ void " + name + "_kernel(" +
                   parameters(text) + ") {");
    text.line("KERNEL_TASK_TYPE_DEFAULT(" + std::string(kind.taskType()) + ");");
    BodyPrinter body(text, kind, workspace);
    const auto* address = addresses.begin();
    for (const tile::KernelArgument& argument : arguments)
      if (argument.kind == tile::KernelArgument::Tensor)
        body.bindTensor(kernel.getArgument(argument.number), argument, arguments, kernel,
                        *address++);
    if (!body.printBlock(kernel.getBody().front()))
      return std::nullopt;
    text.close();
    tensorNames = body.tensorNames();
    return text.take();
  }

  /// Whether an extent of the grid may be none, as it divides by 0.
  bool mayLackExtents() {
    return kernel
        .walk([](Operation* op) {
          const bool isOfGrid = !op->getParentOfType<tile::LaunchOp>();
          return isOfGrid && mayDivideByZero(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// What the host must compute: the extents of the grid. Where one divides by 0, the first is the least number, which
  /// the runtime tells the user.
  std::optional<std::string> gridFunction() {
    SourceText text(LineStyle::Directives);
    for (const char* own : {"slots", "grid"})
      text.reserve(own);
    text.open("extern \"C\" void " + name + "_grid(const uint64_t* slots, int64_t* grid) {");
    for (const tile::KernelArgument& argument : arguments) {
      if (argument.kind == tile::KernelArgument::Tensor)
        continue;
      const Value value = kernel.getArgument(argument.number);
      const std::string type = cppType(value.getType());
      text.bindName(value, text.freshName(argument.name));
      text.line((llvm::Twine("[[maybe_unused]] const ") + type + " " + text.text(value) +
                 " = slotValue<" + type + ">(slots[" + llvm::Twine(argument.slot) + "]);")
                    .str());
    }
    const bool isChecked = mayLackExtents();
    if (isChecked) {
      text.setZeroFlag(text.freshName("dividesByZero"));
      text.line("bool " + text.zeroFlag() + " = false;");
    }
    BodyPrinter body(text, kind);
    if (!body.printGrid(kernel.getBody().front()))
      return std::nullopt;
    if (isChecked)
      text.line("if (" + text.zeroFlag() + ") grid[0] = INT64_MIN;");
    text.close();
    return withoutPlaces(text.take());
  }

  /// The host's functions stand for no line of the kernel.
  static std::string withoutPlaces(const std::string& text) {
    std::string kept;
    for (StringRef line : llvm::split(text, '\n'))
      if (!line.starts_with("#line") && !line.empty())
        kept += line.str() + "\n";
    return kept;
  }

  /// Bytes of global memory for so many blocks, where the kernel alone doesn't say how many.
  std::optional<std::string> workspaceFunction() {
    auto ofBlock = kernel->getAttrOfType<IntegerAttr>(kBlockWorkspaceBytesAttr);
    auto ofLaunch = kernel->getAttrOfType<IntegerAttr>(kWorkspaceBytesAttr);
    if (!ofBlock)
      return "";
    return "extern \"C\" int64_t " + name + "_workspace(const int64_t* grid) {\n  return " +
           std::to_string(ofLaunch ? ofLaunch.getInt() : 0) + " + grid[0] * grid[1] * grid[2] * " +
           std::to_string(ofBlock.getInt()) + ";\n}\n";
  }

  std::optional<std::string> launchFunction() {
    std::string values;
    for (const tile::KernelArgument& argument : arguments) {
      const std::string slot = "slots[" + std::to_string(argument.slot) + "]";
      const std::string type = cppType(kernel.getArgument(argument.number).getType());
      const bool isTensor = argument.kind == tile::KernelArgument::Tensor;
      values.append(isTensor ? "tensorAddress" : "slotValue<" + type + ">");
      values.append("(" + slot + "), ");
    }
    const std::string names =
        tensorNames.empty() ? "" : "  TW_TENSOR_NAMES(\"" + tensorNames + "\");\n";
    return "extern \"C\" void " + name +
           "_launch(const uint64_t* slots, void* space, uint32_t cores, void* stream) {\n" + names +
           "  " + name + "_kernel<<<cores, nullptr, stream>>>(" + values + "(GM_ADDR)space);\n}\n";
  }

  func::FuncOp kernel;
  LineStyle style;
  SmallVector<tile::KernelArgument> arguments;
  LaunchKind kind;
  std::string name;
  SmallVector<std::string> addresses; ///< names of the device function's pointers to tensors
  std::string workspace;              ///< its pointer to what the launch's blocks share
  std::string tensorNames;            ///< of the device function
};

} // namespace

std::string nameOfSource(size_t number) {
  return number == 0 ? "T.import_source" : "T.import_source (" + std::to_string(number + 1) + ")";
}

std::string printHead(func::FuncOp kernel, LineStyle style) {
  return KernelPrinter(kernel, style).head();
}

std::string printFunctions(func::FuncOp kernel, LineStyle style) {
  return KernelPrinter(kernel, style).functions();
}

std::string printKernel(func::FuncOp kernel, LineStyle style) {
  const std::string functions = printFunctions(kernel, style);
  return functions.empty() ? functions : printHead(kernel, style) + functions;
}

} // namespace tilewright::ascend
