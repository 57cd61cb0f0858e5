// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/parse_kernel.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

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
  EXPECT_NE(refuseText("affine_map<(d0) -> (" + repeat("-", 1000) + "d0)>"), std::nullopt);
  EXPECT_NE(refuseText("affine_map<(d0) -> (d0" + repeat(" mod 2", 1000) + ")>"), std::nullopt);
}

TEST_F(ParseKernel, RefusesLongText) {
  EXPECT_FALSE(parseKernel(std::string((size_t(64) << 20) + 1, ' '), context));
  EXPECT_EQ(messages, "the IR has 67108865 bytes but at most 67108864 are read, line 1\n");
}

// Mutations
// -------------------------------------------------------------------------------------------------

std::vector<std::string> kernelTexts() {
  std::vector<std::string> texts;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TILEWRIGHT_COMPILER_FOLDER)) {
    if (entry.path().extension() != ".mlir")
      continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    // Each part of a split file on its own: one wrong part hides the others.
    std::string rest = text.str();
    for (size_t cut; (cut = rest.find("// -----")) != std::string::npos;
         rest = rest.substr(cut + 8))
      texts.push_back(rest.substr(0, cut));
    texts.push_back(rest);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

class Mutator {
public:
  Mutator(uint64_t seed, std::vector<std::string> texts) : random(seed), texts(std::move(texts)) {}

  std::string next() {
    std::string text = texts[below(texts.size())];
    for (size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits)
      edit(text);
    return text;
  }

private:
  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }

  void edit(std::string& text) {
    size_t at = below(text.size());
    size_t length = 1 + below(std::min<size_t>(text.size() - at, 24));
    const std::string& other = texts[below(texts.size())];
    switch (below(6)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(below(text.size()), length));
      break;
    case 2: {
      static constexpr std::string_view letters = "0123456789-?x<>()[]{}%#!:=,\"f i";
      text[at] = letters[below(letters.size())];
      break;
    }
    case 3: { // a number becomes another
      size_t digit = text.find_first_of("0123456789", at);
      static constexpr std::array<std::string_view, 6> numbers = {
          "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "4294967296"};
      if (digit != std::string::npos)
        text.replace(digit, 1, numbers[below(numbers.size())]);
      break;
    }
    case 4: // a piece of another kernel
      if (!other.empty())
        text.insert(at, other.substr(below(other.size()), length));
      break;
    default: { // two lines change places
      size_t first = text.find('\n', at),
             second = first == std::string::npos ? first : text.find('\n', first + 1);
      size_t third = second == std::string::npos ? second : text.find('\n', second + 1);
      if (third != std::string::npos)
        text = text.substr(0, first) + text.substr(second, third - second) +
               text.substr(first, second - first) + text.substr(third);
    }
    }
  }

  std::mt19937_64 random;
  std::vector<std::string> texts;
};

/// Any text gives a module or a message, never a crash. The text at work is in fuzz_last.mlir of
/// the test's folder. Seconds and seed can be set from outside.
TEST_F(ParseKernel, SurvivesMutations) {
  std::vector<std::string> texts = kernelTexts();
  // The generic form reaches what the custom parsers never let through: wrong segments, arrays,
  // regions.
  for (size_t i = 0, count = texts.size(); i < count; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parseKernel(texts[i], context);
    if (!module)
      continue;
    llvm::raw_string_ostream stream(texts.emplace_back());
    module->print(stream, mlir::OpPrintingFlags().printGenericOpForm());
  }
  const char* seconds = std::getenv("TILEWRIGHT_FUZZ_SECONDS");
  const char* seed = std::getenv("TILEWRIGHT_FUZZ_SEED");
  Mutator mutator(seed ? std::strtoull(seed, nullptr, 10) : 20250713, std::move(texts));
  auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 5);
  size_t count = 0, good = 0;
  // The first texts are the same on every machine; time only ends the test early.
  for (; count < (seconds ? SIZE_MAX : 3000) && std::chrono::steady_clock::now() < end; ++count) {
    std::string text = mutator.next();
    std::ofstream("fuzz_last.mlir") << text;
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
    EXPECT_TRUE(parseKernel(printed, context)) << messages << printed;
  }
  EXPECT_GT(good, count / 50) << "mutations are too wild to test what comes after the parser";
  EXPECT_LT(good, count);
}

} // namespace
} // namespace tilewright::ir
