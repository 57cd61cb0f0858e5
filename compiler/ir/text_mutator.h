// SPDX-License-Identifier: Apache-2.0
/// Makes wrong and nearly right IR texts out of the .mlir tests, for tests that nothing crashes.
#pragma once

#include "compiler/ir/parse_kernel.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tilewright::ir {

/// The .mlir tests under compiler/, each part of a split file on its own: one wrong part hides the others.
inline std::vector<std::string> ownTexts() {
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
  return texts;
}

/// These, and those that are right again in generic form: it reaches what the custom parsers never let through,
/// such as wrong segments, arrays and regions.
inline std::vector<std::string> kernelTexts(mlir::MLIRContext& context) {
  std::vector<std::string> texts = ownTexts();
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

  /// Edits of whole lines, words and names: more of these texts verify, and reach the passes.
  std::string nextByWords() {
    std::string text = texts[below(texts.size())];
    for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits)
      editWords(text);
    return text;
  }

private:
  struct Span {
    size_t begin, length;
  };

  static std::vector<Span> linesOf(const std::string& text) {
    std::vector<Span> lines;
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
      end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      if (text.find_first_not_of(" \n", begin) < end && text.compare(begin, 2, "//") != 0)
        lines.push_back({begin, end - begin});
    }
    return lines;
  }

  /// What starts with `first` and goes on with letters, digits and these signs.
  static std::vector<Span> wordsOf(const std::string& text, std::string_view first,
                                   std::string_view more = "") {
    std::vector<Span> words;
    auto isPart = [&](char c) { return std::isalnum(c) || more.find(c) != std::string_view::npos; };
    for (size_t at = 0; (at = text.find_first_of(first, at)) != std::string::npos;) {
      size_t end = at + 1;
      while (end < text.size() && isPart(text[end]))
        ++end;
      if (end - at > 1 || more.empty())
        words.push_back({at, end - at});
      at = end;
    }
    return words;
  }

  /// One of `words` becomes another of them.
  void replaceOne(std::string& text, const std::vector<std::string_view>& words) {
    std::vector<Span> found;
    for (std::string_view word : words)
      for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
        const size_t end = at + word.size();
        const bool isWhole = (at == 0 || !std::isalpha(text[at - 1]) || text[at - 1] == 'x') &&
                             (end == text.size() || !std::isalnum(text[end]));
        if (isWhole)
          found.push_back({at, word.size()});
      }
    if (found.empty())
      return;
    const Span one = found[below(found.size())];
    text.replace(one.begin, one.length, words[below(words.size())]);
  }

  void editWords(std::string& text) {
    static const std::vector<std::string_view> elements = {
        "f32", "f16", "bf16", "f64",      "si8", "ui8",  "si32", "ui32",
        "i1",  "si4", "i32",  "f8E4M3FN", "i64", "si16", "index"};
    static const std::vector<std::string_view> spaces = {
        "global", "shared", "fragment", "local", "var", "L1", "L0A", "L0B", "L0C", "UB"};
    static constexpr std::array<std::string_view, 10> numbers = {
        "0", "1", "-1", "2", "16", "17", "64", "128", "4294967296", "9223372036854775807"};
    const std::vector<Span> lines = linesOf(text);
    if (lines.empty())
      return;
    const Span line = lines[below(lines.size())], other = lines[below(lines.size())];
    const std::string copy = text.substr(other.begin, other.length);
    switch (below(8)) {
    case 0:
      text.erase(line.begin, line.length);
      break;
    case 1:
      text.insert(line.begin, copy);
      break;
    case 2: // a line goes to another place
      if (other.begin > line.begin) {
        text.erase(other.begin, other.length);
        text.insert(line.begin, copy);
      }
      break;
    case 3:
      replaceOne(text, elements);
      break;
    case 4:
      replaceOne(text, spaces);
      break;
    case 5: // a value becomes another
      if (const auto names = wordsOf(text, "%", "_"); !names.empty()) {
        const Span to = names[below(names.size())], from = names[below(names.size())];
        const std::string name = text.substr(from.begin, from.length);
        text.replace(to.begin, to.length, name);
      }
      break;
    default:
      if (const auto found = wordsOf(text, "0123456789"); !found.empty()) {
        const Span one = found[below(found.size())];
        const size_t digits = text.find_first_not_of("0123456789", one.begin) - one.begin;
        text.replace(one.begin, std::min(digits, one.length), numbers[below(numbers.size())]);
      }
    }
  }

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
