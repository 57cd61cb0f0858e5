// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/passes.h"

#include "compiler/ir/text_mutator.h"
#include "compiler/passes/pass_session.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <chrono>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

/// Whatever verifies goes through the passes and still verifies. The text at work is in
/// fuzz_passes_last.mlir of GoogleTest's folder for temporary files.
TEST(Passes, SurviveMutations) {
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.disableMultithreading();
  std::string messages;
  context.getDiagEngine().registerHandler(
      [&](mlir::Diagnostic& diagnostic) { messages += diagnostic.str() + "\n"; });
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(createMarkInBounds());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());

  const char* seconds = std::getenv("TILEWRIGHT_FUZZ_SECONDS");
  const char* seed = std::getenv("TILEWRIGHT_FUZZ_SEED");
  ir::Mutator mutator(seed ? std::strtoull(seed, nullptr, 10) : 20250714, ir::kernelTexts(context));
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(seconds ? std::strtol(seconds, nullptr, 10) : 5);
  size_t good = 0;
  for (size_t count = 0;
       count < (seconds ? SIZE_MAX : 3000) && std::chrono::steady_clock::now() < end; ++count) {
    std::string text = mutator.next();
    std::ofstream(testing::TempDir() + "fuzz_passes_last.mlir") << text;
    mlir::OwningOpRef<mlir::ModuleOp> module = ir::parseKernel(text, context);
    if (!module)
      continue;
    ++good;
    messages.clear();
    EXPECT_TRUE(succeeded(manager.run(*module))) << messages << text;
    EXPECT_TRUE(succeeded(mlir::verify(*module))) << messages << text;
  }
  EXPECT_GT(good, size_t(10));
}

/// Makes what no verifier takes: two returns.
struct BreakKernel : mlir::PassWrapper<BreakKernel, mlir::OperationPass<mlir::func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakKernel)

  llvm::StringRef getArgument() const override {
    return "test-break-kernel";
  }

  void runOnOperation() override {
    mlir::Block& body = getOperation().getBody().front();
    mlir::OpBuilder(body.getTerminator()).clone(*body.getTerminator());
  }
};

bool breaksKernel(PassSession& session) {
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic&) {});
  mlir::OwningOpRef<mlir::ModuleOp> module = ir::parseKernel("func.func @k() { return }", context);
  return runPass(*module, std::make_unique<BreakKernel>(), "test-", session);
}

TEST(Passes, AreVerifiedWhereTestsAsk) {
  PassSession silent, verified;
  unsetenv(kVerifyVariable);
  EXPECT_TRUE(breaksKernel(silent));
  setenv(kVerifyVariable, "1", 1);
  EXPECT_FALSE(breaksKernel(verified));
  EXPECT_EQ(verified.failedPass, "break-kernel");
  unsetenv(kVerifyVariable);
}

} // namespace
} // namespace tilewright
