// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/separate_launches.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/passes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>

namespace tilewright::ascend {

using namespace mlir;

/// Gives what lies in global memory outside of launches its place in the workspace of all.
static void placeShared(func::FuncOp kernel) {
  Builder builder(kernel.getContext());
  int64_t end = 0;
  for (auto alloc : kernel.getOps<tile::AllocOp>()) {
    if (!alloc.getType().isGlobal())
      continue;
    alloc.setAddressAttr(builder.getI64IntegerAttr(end));
    end += workspaceBytesOf(alloc.getType());
  }
  if (end > 0)
    kernel->setAttr(kWorkspaceBytesAttr, builder.getI64IntegerAttr(end));
}

SmallVector<OwningOpRef<ModuleOp>> separateLaunches(ModuleOp module) {
  SmallVector<OwningOpRef<ModuleOp>> parts;
  parts.emplace_back(module.clone());
  const auto kernelOf = [](ModuleOp part) { return *part.getOps<func::FuncOp>().begin(); };
  func::FuncOp kernel = kernelOf(*parts.front());
  const auto number = size_t(llvm::range_size(kernel.getOps<tile::LaunchOp>()));
  if (number < 2)
    return parts;
  placeShared(kernel);
  const std::string name = kernel.getName().str();
  for (size_t part = 1; part < number; ++part)
    parts.emplace_back(parts.front()->clone());
  for (auto [part, copy] : llvm::enumerate(parts)) {
    func::FuncOp own = kernelOf(*copy);
    own.setName(name + "_" + std::to_string(part));
    for (auto [launch, op] : llvm::enumerate(llvm::to_vector(own.getOps<tile::LaunchOp>())))
      if (launch != part)
        op.erase();
  }
  return parts;
}

std::string hostOfLaunches(StringRef name, ArrayRef<LaunchNeeds> launches) {
  const std::string kernel = name.str();
  std::string cores, bytes, starts;
  for (auto [number, needs] : llvm::enumerate(launches)) {
    const std::string part = kernel + "_" + std::to_string(number);
    const std::string product =
        std::string("part[0] * part[1] * part[2]") + (needs.coresPerBlock == 2 ? " * 2" : "");
    constexpr llvm::StringLiteral runs = "part[0] > 0 && part[1] > 0 && part[2] > 0";
    cores += llvm::formatv("  {0}_grid(slots, part);\n  none = none || part[0] == INT64_MIN;\n"
                           "  if ({1} && {2} > most)\n    most = {2};\n",
                           part, runs, product);
    const std::string own =
        needs.hasBlockWorkspace ? part + "_workspace(grid)" : std::to_string(needs.workspaceBytes);
    bytes += llvm::formatv("  bytes = {0};\n  most = most < bytes ? bytes : most;\n", own);
    starts += llvm::formatv("  {0}_grid(slots, part);\n  if ({1})\n"
                            "    {0}_launch(slots, space, uint32_t({2}), stream);\n",
                            part, runs, product);
  }
  std::string text = "\nextern \"C\" void " + kernel +
                     "_grid(const uint64_t* slots, int64_t* grid) {\n"
                     "  int64_t part[3], most = 0;\n  bool none = false;\n" +
                     cores +
                     "  grid[0] = none ? INT64_MIN : most;\n  grid[1] = 1;\n  grid[2] = 1;\n}\n";
  if (llvm::any_of(launches, [](const LaunchNeeds& each) { return each.hasBlockWorkspace; }))
    text += "\nextern \"C\" int64_t " + kernel +
            "_workspace(const int64_t* grid) {\n  int64_t bytes, most = 0;\n" + bytes +
            "  return most;\n}\n";
  return text + "\nextern \"C\" void " + kernel +
         "_launch(const uint64_t* slots, void* space, uint32_t, void* stream) {\n"
         "  int64_t part[3];\n" +
         starts + "}\n";
}

} // namespace tilewright::ascend
