// SPDX-License-Identifier: Apache-2.0
#include "device_attributes.h"
#include "tokens.h"

#include <algorithm>
#include <array>

namespace tilewright::ascendc {

namespace {

template <size_t n> bool isOneOf(std::string_view text, const std::array<std::string_view, n>& of) {
  return std::find(of.begin(), of.end(), text) != of.end();
}

constexpr std::array<std::string_view, 3> places = {"aicore", "host", "aicpu"};

/// What may stand between an operand and the next, or between the captures of a lambda and its body.
constexpr std::array<std::string_view, 12> notInDeclarations = {
    "and",   "and_eq", "bitand", "bitor",   "not_eq",   "or",
    "or_eq", "xor",    "xor_eq", "mutable", "noexcept", "requires"};
constexpr std::array<std::string_view, 9> specifiers = {
    "inline", "static", "constexpr", "extern", "virtual", "friend", "explicit", "void", "auto"};

class Finder {
public:
  Finder(std::string_view source, std::string_view part, bool isDefinition)
      : part(part), source(source), offset(static_cast<size_t>(part.data() - source.data())),
        isDefinition(isDefinition), tokens(tokensOf(part)) {}

  void blankIn(std::string& text) const {
    for (size_t open = isDefinition; open < tokens.size(); ++open) {
      size_t behind = behindList(open);
      if (!behind || !isAttribute(open, behind))
        continue;
      for (size_t at = tokens[open].begin; at < tokens[behind - 1].end; ++at)
        if (char& c = text[offset + at]; c != '\n' && c != '\\')
          c = ' ';
      open = behind - 1;
    }
  }

private:
  bool is(size_t i, std::string_view what) const {
    return i < tokens.size() && tokens[i].text == what;
  }
  /// Behind the bracket that closes a list of places which `open` begins; 0 if none does.
  size_t behindList(size_t open) const {
    if (!is(open, "["))
      return 0;
    for (size_t i = open + 1; i + 1 < tokens.size() && isOneOf(tokens[i].text, places); i += 2) {
      if (is(i + 1, "]"))
        return i + 2;
      if (!is(i + 1, ","))
        break;
    }
    return 0;
  }
  bool isAttribute(size_t open, size_t behind) const {
    const bool isFirst = open == 0 || (isDefinition && open == 1);
    if (!isFirst && is(open - 1, "[") && is(behind, "]"))
      return false; // `[[aicore]]` is C++
    if (behind == tokens.size())
      return isDefinition && (isFirst || isBehindSpecifier(open, behind));
    if (tokens[behind].isName)
      return !isOneOf(tokens[behind].text, notInDeclarations);
    if (is(behind, "::") || is(behind, "~"))
      return true;
    // The argument of a macro.
    return (is(behind, ",") || is(behind, ")")) && open > 0 &&
           (is(open - 1, "(") || is(open - 1, ","));
  }
  bool isOwnParameter(std::string_view name) const {
    if (!is(1, "(") || tokens[0].end != tokens[1].begin)
      return false;
    auto begin = tokens.begin() + 1,
         end = tokens.begin() + static_cast<long>(behindMatch(tokens, 1, "(", ")"));
    return std::any_of(begin, end, [&](const Token& token) { return token.text == name; });
  }
  /// A name that a user's macro for specifiers may have.
  bool looksLikeMacro(std::string_view name) const {
    auto isSmall = [](char c) { return c >= 'a' && c <= 'z'; };
    if (std::none_of(name.begin(), name.end(), isSmall) || isOwnParameter(name))
      return true;
    std::vector<std::string_view> definitions = definitionsOf(source);
    return std::any_of(definitions.begin(), definitions.end(), [&](std::string_view definition) {
      std::vector<Token> defined = tokensOf(definition);
      return !defined.empty() && defined.front().text == name;
    });
  }
  /// At the end of a macro it may as well be a subscript: `#define CURRENT table[host]`, with a blank or without.
  bool isBehindSpecifier(size_t open, size_t behind) const {
    const Token& before = tokens[open - 1];
    const bool isList = behind - open > 3; // a subscript has one name
    if (before.isName)
      return before.text.starts_with("__") || isOneOf(before.text, specifiers) ||
             (before.end < tokens[open].begin && (isList || looksLikeMacro(before.text)));
    if (before.text != ")")
      return before.text == "]" && open > 1 && is(open - 2, "]"); // [[nodiscard]]
    size_t bracket = openBefore(tokens, open, "(", ")");
    // The macro's own parameters, or those of an attribute.
    return bracket == 1 || (bracket > 1 && tokens[bracket - 1].text.starts_with("__"));
  }

  std::string_view part, source;
  size_t offset;
  bool isDefinition;
  std::vector<Token> tokens;
};

} // namespace

std::string withoutDeviceAttributes(std::string_view source) {
  std::string text(source);
  // Nearly all sources have none.
  if (std::none_of(places.begin(), places.end(), [&](std::string_view place) {
        return source.find(place) != std::string_view::npos;
      }))
    return text;
  Finder(source, source, false).blankIn(text);
  for (std::string_view definition : definitionsOf(source))
    Finder(source, definition, true).blankIn(text);
  return text;
}

} // namespace tilewright::ascendc
