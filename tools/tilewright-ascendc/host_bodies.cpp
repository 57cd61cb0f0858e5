// SPDX-License-Identifier: Apache-2.0
#include "host_bodies.h"

#include <algorithm>
#include <array>
#include <string>

namespace tilewright::ascendc {

namespace {

using Range = std::pair<size_t, size_t>; ///< of tokens

bool hasAny(const std::vector<Token>& tokens, Range range, auto predicate) {
  return std::any_of(tokens.begin() + static_cast<long>(range.first),
                     tokens.begin() + static_cast<long>(range.second), predicate);
}

/// `namespace a::b` and `extern "C"`, before a bracket.
bool isScopeHead(const std::vector<Token>& tokens, Range head) {
  bool isExtern = head.second - head.first == 1 && tokens[head.first].text == "extern";
  return isExtern || hasAny(tokens, head, [](const Token& t) { return t.text == "namespace"; });
}

/// A head whose function may get another body without that anybody sees it.
bool isPlainFunctionHead(const std::vector<Token>& tokens, Range head) {
  constexpr std::array<std::string_view, 17> others = {
      "=",          "template",  "class",     "struct",   "union",    "enum",
      "auto",       "constexpr", "consteval", "decltype", "operator", "__global__",
      "__aicore__", ":",         "requires",  "using",    "-"};
  return head.first < head.second && tokens[head.second - 1].text == ")" &&
         !hasAny(
             tokens, head,
             [&](const Token& t) {
               return std::find(others.begin(), others.end(), t.text) != others.end();
             });
}

/// The name of the function that a head declares, or of a macro that makes one; empty if there is none.
std::string_view nameOf(const std::vector<Token>& tokens, Range head) {
  for (size_t i = head.first; i + 1 < head.second; ++i)
    if (tokens[i].isName && tokens[i + 1].text == "(")
      return tokens[i].text;
  return {};
}
bool isMainOrTest(std::string_view name) {
  constexpr std::array<std::string_view, 5> names = {"main", "TEST", "TEST_F", "TEST_P",
                                                     "TYPED_TEST"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool hasDirective(std::string_view text) {
  for (size_t line = text.find('\n'); line != std::string_view::npos;
       line = text.find('\n', line + 1)) {
    size_t first = text.find_first_not_of(" \t", line + 1);
    if (first != std::string_view::npos && text[first] == '#')
      return true;
  }
  return false;
}

} // namespace

void addNames(std::string_view source, Names& names) {
  auto add = [&](std::string_view text) {
    for (const Token& token : tokensOf(text))
      if (token.isName)
        names.emplace(token.text);
  };
  add(source);
  for (std::string_view definition : definitionsOf(source))
    add(definition);
}

namespace {

struct Candidate {
  std::string_view name;
  Range body; ///< with its brackets
  bool isHosts;
};

/// Functions whose bodies could be left out.
std::vector<Candidate> candidatesOf(std::string_view source, const std::vector<Token>& tokens) {
  std::vector<Candidate> found;
  size_t headBegin = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == ";" || tokens[i].text == "}")
      headBegin = i + 1;
    if (tokens[i].text != "{")
      continue;
    Range head = {headBegin, i};
    headBegin = i + 1;
    if (isScopeHead(tokens, head))
      continue;
    size_t end = behindMatch(tokens, i, "{", "}");
    std::string_view text = source.substr(tokens[i].begin, tokens[end - 1].end - tokens[i].begin);
    if (isPlainFunctionHead(tokens, head) && !hasDirective(text)) {
      std::string_view name = nameOf(tokens, head);
      bool launches = hasAny(tokens, {i, end}, [](const Token& t) { return t.text == "<<<"; });
      found.push_back({name, {i, end}, launches || isMainOrTest(name)});
    }
    i = end - 1;
    headBegin = end;
  }
  return found;
}

/// Drops those that something that stays names, until nothing changes.
void keepNamed(std::string_view source, const std::vector<Token>& tokens, const Names& elsewhere,
               std::vector<Candidate>& candidates) {
  Names named = elsewhere;
  for (std::string_view definition : definitionsOf(source))
    addNames(definition, named);
  auto addRange = [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i)
      if (tokens[i].isName)
        named.emplace(tokens[i].text);
  };
  // A function's own head doesn't count.
  size_t at = 0;
  for (const Candidate& c : candidates) {
    size_t head = c.body.first;
    while (head > at && tokens[head].text != c.name)
      --head;
    addRange(at, head);
    addRange(head + 1, c.body.first);
    at = c.body.second;
  }
  addRange(at, tokens.size());
  for (bool changes = true; changes;) {
    changes = false;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (!candidates[i].isHosts && named.count(candidates[i].name)) {
        addRange(candidates[i].body.first, candidates[i].body.second);
        candidates.erase(candidates.begin() + static_cast<long>(i--));
        changes = true;
      }
  }
}

} // namespace

std::vector<Stretch> hostBodies(std::string_view source, const std::vector<Token>& tokens,
                                const Names* elsewhere) {
  auto numberOf = [&](std::string_view text) {
    return std::count_if(tokens.begin(), tokens.end(),
                         [&](const Token& t) { return t.text == text; });
  };
  if (numberOf("{") != numberOf("}"))
    return {}; // only the preprocessor can tell which belong together
  std::vector<Candidate> candidates = candidatesOf(source, tokens);
  if (elsewhere)
    keepNamed(source, tokens, *elsewhere, candidates);
  std::vector<Stretch> bodies;
  for (const Candidate& c : candidates)
    if (c.isHosts || elsewhere)
      bodies.push_back({tokens[c.body.first].begin, tokens[c.body.second - 1].end});
  return bodies;
}

} // namespace tilewright::ascendc
