// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/source_text.h"

#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/reserved_names.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ErrorHandling.h>

namespace tilewright::ascend {

using namespace mlir;

/// A letter that a string of C++ can't hold as it is, in octal: three digits, so that a digit may
/// follow.
static std::string escaped(char letter) {
  std::string text = "\\000";
  for (int digit = 3; digit > 0; --digit, letter /= 8)
    text[size_t(digit)] = char('0' + letter % 8);
  return text;
}

std::string inFormat(llvm::StringRef words) {
  std::string text;
  char before = 0;
  for (const char letter : words) {
    if (letter == '\0') {
      text += "\\\\0";
    } else if (letter == '\n') {
      text += "\\n";
    } else if ((letter > 0 && letter < ' ') || letter == 127) {
      text += escaped(letter);
    } else {
      const bool isTrigraph = letter == '?' && before == '?';
      if (letter == '"' || letter == '\\' || isTrigraph)
        text += '\\';
      if (letter == '%')
        text += '%';
      text += letter;
    }
    before = letter;
  }
  return text;
}

/// A file's name as a directive takes it, which knows no numeric escapes.
static std::string inDirective(llvm::StringRef file) {
  std::string text = "\"";
  for (const char letter : file) {
    if (letter == '"' || letter == '\\')
      text += '\\';
    text += letter == '\n' ? '?' : letter;
  }
  return text + "\"";
}

static bool isSameLine(const Place& one, const Place& other) {
  return one.line == other.line && one.file == other.file;
}

SourceText::SourceText(LineStyle style) : style(style) {
  for (StringRef name : reservedNames())
    reserve(name);
}

void SourceText::line(const std::string& text) {
  if (style == LineStyle::Directives && !text.empty())
    countAsCurrent();
  write(text);
}

void SourceText::write(const std::string& text) {
  if (!text.empty() && text[0] != '#')
    result.append(size_t(depth) * 2, ' ');
  result += text;
  result += '\n';
  ++counted.line;
}

void SourceText::countAsCurrent() {
  if (!current.isKnown() || isSameLine(current, counted))
    return;
  write("#line " + std::to_string(current.line) + " " + inDirective(current.file));
  counted = current;
}

void SourceText::at(Location location) {
  const Place place = placeOf(location);
  if (!place.isKnown() || isSameLine(place, current))
    return;
  current = place;
  if (style == LineStyle::Comments)
    line("// " + place.file.substr(place.file.find_last_of('/') + 1) + ":" +
         std::to_string(place.line));
}

void SourceText::take(StringRef name, int count) {
  int& uses = taken[name];
  history.emplace_back(name, uses);
  uses = count;
}

void SourceText::endNames() {
  for (; history.size() > scopes.back(); history.pop_back()) {
    const auto& [name, before] = history.back();
    if (before == 0)
      taken.erase(name);
    else
      taken[name] = before;
  }
  scopes.pop_back();
}

/// `wanted` in letters that C++ takes, without what begins names of others.
static std::string writable(StringRef wanted) {
  std::string name;
  for (char c : wanted)
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  // Leading underlines are the compilers'.
  if (name.empty() || name[0] == '_' || llvm::isDigit(name[0]) || beginsAsReserved(name))
    name = "v" + name;
  return name;
}

void SourceText::keep(StringRef name) {
  if (!name.empty())
    kept.insert(writable(name));
}

std::string SourceText::function(StringRef name) const {
  const StringRef word = name.split('<').first;
  return (kept.contains(word) && isPlainFunction(word) ? "tilewright::" : "") + name.str();
}

std::string SourceText::nameLike(StringRef wanted, bool isOwn) {
  std::string name = writable(wanted);
  int uses = taken.lookup(name);
  const bool isOther = isOwn && uses == 0 && kept.contains(name);
  if (uses == 0 && !isOther) {
    take(name, 1);
    return name;
  }
  uses = std::max(uses, 1);
  std::string numbered;
  do
    numbered = name + "_" + std::to_string(uses++);
  while (taken.contains(numbered) || kept.contains(numbered));
  if (!isOther)
    take(name, uses);
  take(numbered, 1);
  return numbered;
}

const Expression& SourceText::expression(Value value) const {
  const Expression* found = find(value);
  if (!found)
    llvm::report_fatal_error("a value is used before it is printed");
  return *found;
}

std::string cppType(Type type) {
  if (type.isIndex())
    return "int64_t";
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return "bfloat16_t";
  if (type.isF32())
    return "float";
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return "";
  if (integer.getWidth() == 1)
    return "bool";
  if (integer.getWidth() == 4)
    return "";
  return (integer.isUnsigned() ? "uint" : "int") + std::to_string(integer.getWidth()) + "_t";
}

} // namespace tilewright::ascend
