// SPDX-License-Identifier: Apache-2.0
/// Each pass that tilewright-opt knows, on its own: in a pipeline it only ever sees what the passes before it leave.
#include "compiler/ir/text_mutator.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/cpu/passes.h"

#include <chrono>
#include <gtest/gtest.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Pass/PassRegistry.h>

namespace tilewright {
namespace {

class PassesAlone : public testing::Test {
protected:
  PassesAlone() {
    ir::registerDialects(registry);
    registerPasses();
    cpu::registerPasses(registry);
    ascend::registerPasses(registry);
  }

  /// MLIR lists its passes in a text for people only: "  --name   -   what it does", options deeper.
  static std::vector<std::string> passNames() {
    testing::internal::CaptureStdout();
    mlir::printRegisteredPasses();
    llvm::outs().flush();
    std::istringstream lines(testing::internal::GetCapturedStdout());
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      const size_t start = line.find("--");
      const std::string name = start == 2 ? line.substr(4, line.find(' ', 4) - 4) : "";
      if (mlir::PassInfo::lookup(name))
        names.push_back(name);
    }
    return names;
  }

  /// A pass either does its work or tells why not, and what it leaves verifies. The context is new: it has the dialects
  /// of the text, and the pass brings those of the ops that it makes.
  void run(const std::string& name, const std::string& text) {
    std::ofstream(testing::TempDir() + "pass_alone_last.mlir") << "// --" << name << "\n" << text;
    std::string messages;
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.getDiagEngine().registerHandler(
        [&](mlir::Diagnostic& diagnostic) { messages += diagnostic.str() + "\n"; });
    mlir::OwningOpRef<mlir::ModuleOp> module = ir::parseKernel(text, context);
    if (!module)
      return;
    ++runs;
    mlir::PassManager manager(&context);
    ASSERT_TRUE(succeeded(mlir::PassInfo::lookup(name)->addToPipeline(
        manager, "", [](const llvm::Twine&) { return mlir::failure(); })));
    messages.clear();
    const bool done = succeeded(manager.run(*module));
    EXPECT_TRUE(done || !messages.empty()) << name << " fails without a word on\n" << text;
    EXPECT_TRUE(!done || succeeded(mlir::verify(*module))) << name << ": " << messages << text;
  }

  mlir::DialectRegistry registry;
  size_t runs = 0;
};

TEST_F(PassesAlone, TakeEachKernel) {
  const std::vector<std::string> names = passNames();
  EXPECT_GT(names.size(), size_t(50));
  for (const auto& entry :
       std::filesystem::directory_iterator(TILEWRIGHT_COMPILER_FOLDER "/ir/kernels")) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    for (const std::string& name : names)
      run(name, text.str());
  }
  EXPECT_GE(runs, 6 * names.size());
}

} // namespace
} // namespace tilewright
