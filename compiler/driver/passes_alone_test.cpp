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

/// Many texts through all passes in one context, each parsed once.
class PassesOnTexts : public PassesAlone {
protected:
  PassesOnTexts() : context(registry, mlir::MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic& diagnostic) { messages += diagnostic.str() + "\n"; });
    for (const std::string& name : passNames()) {
      auto manager = std::make_unique<mlir::PassManager>(&context);
      EXPECT_TRUE(succeeded(mlir::PassInfo::lookup(name)->addToPipeline(
          *manager, "", [](const llvm::Twine&) { return mlir::failure(); })));
      passes.emplace_back(name, std::move(manager));
    }
  }

  /// Whether the text verifies, and so went through the passes.
  bool runAll(const std::string& text) {
    mlir::OwningOpRef<mlir::ModuleOp> module = ir::parseKernel(text, context);
    if (!module)
      return false;
    // One file, written over: what a crash leaves begins with the pass that it was in.
    last.seekp(0);
    last << std::string(kHead, ' ') << "\n" << text << "\n// the end\n" << std::flush;
    for (auto& [name, manager] : passes) {
      last.seekp(0);
      last << ("// --" + name + std::string(kHead - 5 - name.size(), ' ')) << std::flush;
      mlir::OwningOpRef<mlir::ModuleOp> own = module->clone();
      messages.clear();
      const bool done = succeeded(manager->run(*own));
      EXPECT_TRUE(done || !messages.empty()) << name << " fails without a word on\n" << text;
      EXPECT_TRUE(!done || succeeded(mlir::verify(*own))) << name << ": " << messages << text;
    }
    return true;
  }

  static constexpr size_t kHead = 60;
  mlir::MLIRContext context;
  std::string messages;
  std::ofstream last{testing::TempDir() + "passes_on_texts_last.mlir"};
  std::vector<std::pair<std::string, std::unique_ptr<mlir::PassManager>>> passes;
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

/// The tests of all passes are input of each: a pass meets what another's test is about.
TEST_F(PassesOnTexts, TakeEachTest) {
  size_t good = 0;
  for (const std::string& text : ir::ownTexts())
    good += runAll(text);
  EXPECT_GT(good, size_t(300));
}

/// The pass and the text at work are in passes_on_texts_last.mlir of GoogleTest's folder for temporary files, up to
/// "the end".
TEST_F(PassesOnTexts, SurviveMutations) {
  const char* seconds = std::getenv("TILEWRIGHT_FUZZ_SECONDS");
  const char* seed = std::getenv("TILEWRIGHT_FUZZ_SEED");
  ir::Mutator mutator(seed ? std::strtoull(seed, nullptr, 10) : 20261123, ir::ownTexts());
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds ? std::strtol(seconds, nullptr, 10) : 8);
  size_t good = 0;
  for (size_t count = 0;
       count < (seconds ? SIZE_MAX : 1200) && std::chrono::steady_clock::now() < end; ++count)
    good += runAll(mutator.nextByWords());
  EXPECT_GT(good, size_t(10));
}

} // namespace
} // namespace tilewright
