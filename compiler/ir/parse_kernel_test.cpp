// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/parse_kernel.h"

#include "compiler/ir/text_mutator.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>

namespace tilewright::ir {
namespace {

std::string repeat(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += piece;
  return text;
}

class ParseKernel : public testing::Test {
protected:
  ParseKernel() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic& diagnostic) { messages += diagnostic.str() + "\n"; });
  }

  mlir::MLIRContext context;
  std::string messages;
};

TEST_F(ParseKernel, ReadsAKernel) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseKernel("func.func @f(%n: index) { tile.launch (%x) in (%n) { } return }", context);
  ASSERT_TRUE(module) << messages;
  EXPECT_FALSE(module->getOps().empty());
}

TEST_F(ParseKernel, SaysWhereTheTextIsWrong) {
  EXPECT_FALSE(parseKernel("\n\n  nonsense", context, "kernel.mlir"));
  EXPECT_NE(messages.find("nonsense"), std::string::npos) << messages;
}

TEST_F(ParseKernel, RefusesDeepNesting) {
  for (const char* bracket : {"(", "[", "{", "<"}) {
    messages.clear();
    EXPECT_FALSE(parseKernel("\n" + repeat(bracket, 1000000), context));
    EXPECT_EQ(messages, "brackets nest deeper than 128, line 2\n");
  }
  EXPECT_EQ(refuseText(repeat("({[<", 32) + repeat(">]})", 32)), std::nullopt);
}

TEST_F(ParseKernel, NestingInStringsCommentsAndArrowsDoesNotCount) {
  EXPECT_EQ(refuseText("\"" + repeat("(", 1000) + "\\\"" + repeat("(", 1000) + "\""), std::nullopt);
  EXPECT_EQ(refuseText("// " + repeat("(", 1000)), std::nullopt);
  // An arrow closes nothing: the brackets around it still count.
  EXPECT_NE(refuseText(repeat("<->", 129)), std::nullopt);
  EXPECT_EQ(refuseText(repeat("<->>", 1000)), std::nullopt);
}

TEST_F(ParseKernel, RefusesLongAffineMaps) {
  std::string map = "affine_map<(d0) -> (d0" + repeat(" + d0", 100000) + ")>";
  EXPECT_FALSE(parseKernel(
      "func.func private @f(!tile.buffer<4xf32, global, layout = " + map + ">)", context));
  EXPECT_EQ(messages, "an affine map has more than 256 operators, line 1\n");
  EXPECT_NE(refuseText("affine_map // why\n <(d0) -> (" + repeat("-", 1000) + "d0)>"),
            std::nullopt);
  EXPECT_NE(refuseText("affine_map<(d0) -> (" + repeat("-", 1000) + "d0)>"), std::nullopt);
  EXPECT_NE(refuseText("affine_map<(d0) -> (d0" + repeat(" mod 2", 1000) + ")>"), std::nullopt);
}

TEST_F(ParseKernel, RefusesArraysOfIndex) {
  EXPECT_FALSE(parseKernel("\nmodule attributes {x = array<index: 1>} {}", context));
  EXPECT_EQ(messages, "an array of index cannot be read, line 2\n");
  EXPECT_NE(refuseText("array < // why\n // not\n  index"), std::nullopt);
  EXPECT_NE(refuseText("array // why\n <index"), std::nullopt);
  EXPECT_EQ(refuseText("array<i64: 1>"), std::nullopt);
}

TEST_F(ParseKernel, RefusesLongText) {
  EXPECT_FALSE(parseKernel(std::string((size_t(64) << 20) + 1, ' '), context));
  EXPECT_EQ(messages, "the IR has 67108865 bytes but at most 67108864 are read, line 1\n");
}

// Mutations
// -------------------------------------------------------------------------------------------------

/// Any text gives a module or a message, never a crash. The text at work is in fuzz_last.mlir of
/// GoogleTest's folder for temporary files. Seconds and seed can be set from outside.
TEST_F(ParseKernel, SurvivesMutations) {
  const char* seconds = std::getenv("TILEWRIGHT_FUZZ_SECONDS");
  const char* seed = std::getenv("TILEWRIGHT_FUZZ_SEED");
  Mutator mutator(seed ? std::strtoull(seed, nullptr, 10) : 20250713, kernelTexts(context));
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(seconds ? std::strtol(seconds, nullptr, 10) : 5);
  size_t count = 0, good = 0;
  // The first texts are the same on every machine; time only ends the test early.
  for (; count < (seconds ? SIZE_MAX : 3000) && std::chrono::steady_clock::now() < end; ++count) {
    std::string text = mutator.next();
    std::ofstream(testing::TempDir() + "fuzz_last.mlir") << text;
    messages.clear();
    mlir::OwningOpRef<mlir::ModuleOp> module = parseKernel(text, context);
    if (!module) {
      EXPECT_FALSE(messages.empty()) << text;
      continue;
    }
    ++good;
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
    EXPECT_TRUE(parseKernel(printed, context)) << messages << text << printed;
  }
  EXPECT_GT(good, count / 50) << "mutations are too wild to test what comes after the parser";
  EXPECT_LT(good, count);
}

} // namespace
} // namespace tilewright::ir
