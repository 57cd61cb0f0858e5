// SPDX-License-Identifier: Apache-2.0
/// The statements of a kernel: launch, loops, branches, buffers and variables.
#pragma once

#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/print_instructions.h"

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::ascend {

class BodyPrinter {
public:
  /// `workspace`: the name of the pointer to what the launch's blocks share; the host's functions have none.
  BodyPrinter(SourceText& text, const LaunchKind& kind, std::string workspace = "")
      : text(text), kind(kind), workspaceName(std::move(workspace)) {}

  /// Declares the GlobalTensor of an argument.
  void bindTensor(mlir::Value value, const tile::KernelArgument& argument,
                  llvm::ArrayRef<tile::KernelArgument> all, mlir::func::FuncOp kernel,
                  const std::string& address);

  /// False after an error was reported.
  bool printBlock(mlir::Block& block);
  /// What the kernel calls its tensors, as the host takes it (simulator/launch.h); empty where the text is for people.
  const std::string& tensorNames() const {
    return names;
  }
  /// The scalar code before the launch, and `grid[i] = ...`.
  bool printGrid(mlir::Block& block);

private:
  bool print(mlir::Operation* op);
  bool printValue(mlir::Operation* op);
  bool divides(mlir::Operation* op) const;
  bool printStructure(mlir::Operation* op);
  bool printBuffers(mlir::Operation* op);

  bool printLaunch(tile::LaunchOp launch);
  bool printScope(ScopeOp scope);
  bool printFor(tile::ForOp loop);
  bool printWhile(tile::WhileOp loop);
  bool printIf(mlir::scf::IfOp branch);
  bool printBranch(mlir::Region& region, const std::vector<std::string>& results);
  void printFormatted(PrintfOp print);
  void printRequirement(npu::RequireOp require);
  void printCheck(npu::CheckPartOp check);
  bool printAlloc(tile::AllocOp alloc);
  std::string workspaceOffset(tile::AllocOp alloc) const;
  void printView(tile::ViewOp view);
  void printDim(tile::DimOp dim);
  /// `x[i * 4 + j]` of an array or variable.
  std::string element(mlir::Value buffer, mlir::ValueRange indices);

  /// The number of a tensor among the names for the host, from 1 on; 0 if its name is no word. `pitch` is 0 where elements don't lie in rows.
  unsigned nameTensor(llvm::StringRef name, tile::BufferType type, int64_t address, int64_t pitch,
                      int64_t versions = 1);
  void nameGlobal(const GlobalLayout& layout, llvm::StringRef name, tile::BufferType type);
  void declare(mlir::Value value, const Expression& expression);
  GlobalLayout denseLayout(const std::string& name, tile::BufferType type,
                           mlir::ValueRange dims) const;

  SourceText& text;
  const LaunchKind& kind;
  GlobalLayouts globals;
  std::string workspaceName;
  std::string blockName;  ///< of the block's number
  std::string vectorName; ///< of the vector core's
  std::string names;
  unsigned named = 0;
  int loopDepth = 0;
  llvm::DenseSet<mlir::Value> dividing; ///< whose text may divide by 0
  bool failed = false;                  // an error was reported further in
};

} // namespace tilewright::ascend
