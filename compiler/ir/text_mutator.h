// SPDX-License-Identifier: Apache-2.0
/// Makes wrong and nearly right IR texts out of the .mlir tests, for tests that nothing crashes.
#pragma once

#include "compiler/ir/parse_kernel.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tilewright::ir {

/// The .mlir tests under compiler/, each part of a split file on its own (one wrong part hides the others),
/// and those that are right again in generic form: it reaches what the custom parsers never let through,
/// such as wrong segments, arrays and regions.
inline std::vector<std::string> kernelTexts(mlir::MLIRContext& context) {
  std::vector<std::string> texts;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TILEWRIGHT_COMPILER_FOLDER)) {
    if (entry.path().extension() != ".mlir")
      continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    std::string rest = text.str();
    for (size_t cut; (cut = rest.find("// -----")) != std::string::npos;
         rest = rest.substr(cut + 8))
      texts.push_back(rest.substr(0, cut));
    texts.push_back(rest);
  }
  std::sort(texts.begin(), texts.end());
  for (size_t i = 0, count = texts.size(); i < count; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parseKernel(texts[i], context);
    if (!module)
      continue;
    llvm::raw_string_ostream stream(texts.emplace_back());
    module->print(stream, mlir::OpPrintingFlags().printGenericOpForm());
  }
  return texts;
}

/// The same texts for the same seed.
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

} // namespace tilewright::ir
