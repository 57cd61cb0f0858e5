// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/source_text.h"

#include "compiler/ir/place_of.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ErrorHandling.h>

namespace tilewright::ascend {

using namespace mlir;

/// Names that emitted text must not use for its own: keywords, and what our header and the
/// vendor's put into scope.
static const char* const kReserved[] = {
    "alignas",     "auto",       "bool",     "break",   "case",       "char",       "class",
    "const",       "continue",   "default",  "delete",  "do",         "double",     "else",
    "enum",        "extern",     "false",    "float",   "for",        "goto",       "half",
    "if",          "inline",     "int",      "long",    "new",        "operator",   "private",
    "public",      "register",   "return",   "short",   "signed",     "sizeof",     "static",
    "struct",      "switch",     "template", "this",    "true",       "typedef",    "typename",
    "union",       "unsigned",   "using",    "void",    "volatile",   "while",      "min",
    "max",         "abs",        "main",     "AscendC", "tilewright", "Add",        "Sub",
    "Mul",         "Div",        "Max",      "Min",     "And",        "Or",         "Exp",
    "Ln",          "Abs",        "Cast",     "Select",  "Compare",    "Mmad",       "Relu",
    "Not",         "Sqrt",       "slots",    "grid",    "stream",     "workspace",  "asm",
    "bitand",      "bitor",      "catch",    "compl",   "concept",    "constexpr",  "decltype",
    "explicit",    "export",     "friend",   "mutable", "namespace",  "noexcept",   "nullptr",
    "protected",   "requires",   "throw",    "try",     "typeid",     "virtual",    "xor",
    "floorDiv",    "ceilDiv",    "larger",   "smaller", "magnitude",  "squareRoot", "roundToEven",
    "roundToZero", "roundDown",  "roundUp",  "toFloat", "fromFloat",  "sameBits",   "infinity",
    "notANumber",  "localTensor"};

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

std::string SourceText::freshName(StringRef wanted) {
  std::string name;
  for (char c : wanted)
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name = "v" + name;
  if (taken.empty())
    for (const char* word : kReserved)
      taken[word] = 1;
  int& uses = taken[name];
  if (uses++ == 0)
    return name;
  std::string numbered;
  do
    numbered = name + "_" + std::to_string(uses++);
  while (taken.contains(numbered));
  taken[numbered] = 1;
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
