// SPDX-License-Identifier: Apache-2.0
/// `tilewright-opt`: runs passes on IR text, as mlir-opt does, with our dialects and passes only.
#include "compiler/ir/parse_kernel.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/cpu/passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// `--help` is about our options: the hundreds that LLVM's libraries bring still work, and
/// `--help-hidden` lists them.
static void hideLibraryOptions() {
  for (auto& [name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "help-hidden" && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char** argv) {
  llvm::InitLLVM init(argc, argv);
  hideLibraryOptions();
  mlir::DialectRegistry registry;
  tilewright::ir::registerDialects(registry);
  tilewright::registerPasses();
  tilewright::cpu::registerPasses(registry);
  tilewright::ascend::registerPasses(registry);
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "tilewright-opt: tile IR passes\n", registry);

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> result =
      text ? mlir::openOutputFile(output, &message) : nullptr;
  if (text && result)
    if (std::optional<std::string> reason = tilewright::ir::refuseText(text->getBuffer()))
      message = *reason;
  if (!message.empty()) {
    llvm::errs() << input << ": error: " << message << "\n";
    return 1;
  }
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (failed(mlir::MlirOptMain(result->os(), std::move(text), registry, config)))
    return 1;
  result->keep();
  return 0;
}
