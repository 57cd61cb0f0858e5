// SPDX-License-Identifier: Apache-2.0
#include "tokens.h"

#include <cctype>

namespace tilewright::ascendc {

namespace {

bool nameStart(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool isOfUtf8 = byte > 127; // beyond ASCII, only names have letters
  return std::isalpha(byte) || c == '_' || c == '$' || isOfUtf8;
}
bool nameChar(char c) {
  return nameStart(c) || std::isdigit(static_cast<unsigned char>(c));
}

class Scanner {
public:
  explicit Scanner(std::string_view s) : s(s) {}

  void run() {
    while (at < s.size())
      step();
  }
  std::vector<Token> tokens;
  std::vector<std::string_view> definitions;

private:
  bool starts(std::string_view text) const {
    return s.substr(at, text.size()) == text;
  }
  void skipLine() { // with continuations
    while (at < s.size() && s[at] != '\n') {
      if (starts("/*")) {
        skipComment();
        continue;
      }
      at += s[at] == '\\' && at + 1 < s.size() ? 2 : 1;
    }
  }
  void directive() {
    size_t word = s.find_first_not_of(" \t", at + 1);
    bool isDefinition = word != std::string_view::npos && s.substr(word, 7) == "define ";
    skipLine();
    if (isDefinition)
      definitions.push_back(s.substr(word + 7, at - word - 7));
  }
  void skipComment() {
    size_t end = s.find("*/", at + 2);
    at = end == std::string_view::npos ? s.size() : end + 2;
  }
  void skipQuoted(char quote) {
    for (++at; at < s.size() && s[at] != quote && s[at] != '\n'; ++at)
      if (s[at] == '\\')
        ++at;
    at = at < s.size() ? at + 1 : s.size();
  }
  void skipRaw() { // at the quote behind R
    size_t open = s.find('(', at);
    if (open == std::string_view::npos) {
      at = s.size();
      return;
    }
    std::string close = ")" + std::string(s.substr(at + 1, open - at - 1)) + "\"";
    size_t end = s.find(close, open);
    at = end == std::string_view::npos ? s.size() : end + close.size();
  }
  void add(size_t length, bool isName = false) {
    tokens.push_back({at, at + length, s.substr(at, length), isName});
    noteBracket(s[at], length);
    at += length;
    lineHasToken = true;
  }
  /// `>>>` ends a launch only where one is open; else each closes template arguments.
  void noteBracket(char c, size_t length) {
    constexpr size_t chevron = 3;
    if (length == chevron && c == '<')
      launches.push_back(depth);
    if (length == chevron && c == '>')
      launches.pop_back();
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    while (!launches.empty() && launches.back() > depth)
      launches.pop_back();
  }
  void step() {
    char c = s[at];
    if (c == '\n') {
      lineHasToken = false;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (starts("\\\n")) {
      at += 2;
    } else if (c == '#' && !lineHasToken) {
      directive();
    } else if (starts("//")) {
      skipLine();
    } else if (starts("/*")) {
      skipComment();
    } else if (c == '"' || c == '\'') {
      lineHasToken = true;
      skipQuoted(c);
    } else if (nameStart(c)) {
      size_t end = at;
      while (end < s.size() && nameChar(s[end]))
        ++end;
      std::string_view name = s.substr(at, end - at);
      if (end < s.size() && s[end] == '"' && name.ends_with('R') && name.size() <= 3) {
        at = end;
        skipRaw();
      } else {
        add(name.size(), true);
      }
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t end = at;
      while (end < s.size() && (nameChar(s[end]) || s[end] == '.' || s[end] == '\''))
        ++end;
      add(end - at);
    } else if (starts("<<<") || (starts(">>>") && !launches.empty() && launches.back() == depth)) {
      add(3);
    } else if (starts("::")) {
      add(2);
    } else {
      add(1);
    }
  }

  std::string_view s;
  size_t at = 0;
  bool lineHasToken = false;
  int depth = 0;             ///< of brackets
  std::vector<int> launches; ///< that are open: the depth of each
};

/// True if `tokens[i]` and the next are one operator.
bool areJoined(const std::vector<Token>& tokens, size_t i, std::string_view first,
               std::string_view second) {
  return i + 1 < tokens.size() && tokens[i].text == first && tokens[i + 1].text == second &&
         tokens[i].end == tokens[i + 1].begin;
}

/// The bracket that `tokens[i]` may be of template arguments: +1, -1, or 0 if it is none. Brackets of shifts,
/// comparisons and arrows are none.
int angleAt(const std::vector<Token>& tokens, size_t i) {
  std::string_view t = tokens[i].text;
  if ((t != "<" && t != ">") || areJoined(tokens, i, t, "="))
    return 0;
  if (t == ">")
    return i > 0 && areJoined(tokens, i - 1, "-", ">") ? 0 : -1;
  bool isShift = areJoined(tokens, i, "<", "<") || (i > 0 && areJoined(tokens, i - 1, "<", "<"));
  // Only names have template arguments.
  bool isBehindName = i > 0 && tokens[i - 1].isName && tokens[i - 1].text != "true" &&
                      tokens[i - 1].text != "false" && tokens[i - 1].text != "nullptr";
  return isBehindName && !isShift ? 1 : 0;
}

} // namespace

std::vector<Token> tokensOf(std::string_view source) {
  Scanner scanner(source);
  scanner.run();
  return std::move(scanner.tokens);
}

size_t behindMatch(const std::vector<Token>& tokens, size_t open, std::string_view left,
                   std::string_view right) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].text == left)
      ++depth;
    else if (tokens[i].text == right && --depth == 0)
      return i + 1;
  }
  return tokens.size();
}

size_t behindAngles(const std::vector<Token>& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    std::string_view t = tokens[i].text;
    if (t == "(" || t == "[" || t == "{")
      i = behindMatch(tokens, i, t, t == "(" ? ")" : t == "[" ? "]" : "}") - 1;
    else if (int angle = angleAt(tokens, i); angle && (depth += angle) == 0)
      return i + 1;
  }
  return tokens.size();
}

size_t openBefore(const std::vector<Token>& tokens, size_t end, std::string_view left,
                  std::string_view right) {
  int depth = 0;
  for (size_t i = end; i > 0; --i) {
    if (tokens[i - 1].text == right)
      ++depth;
    else if (tokens[i - 1].text == left && --depth == 0)
      return i - 1;
  }
  return 0;
}

size_t angleBefore(const std::vector<Token>& tokens, size_t end) {
  int depth = 0;
  for (size_t i = end; i > 0; --i) {
    std::string_view t = tokens[i - 1].text;
    if (t == ")" || t == "]" || t == "}")
      i = openBefore(tokens, i, t == ")" ? "(" : t == "]" ? "[" : "{", t) + 1;
    else if (int angle = angleAt(tokens, i - 1); angle && (depth -= angle) == 0)
      return i - 1;
  }
  return 0;
}

size_t openAngleBefore(const std::vector<Token>& tokens, size_t end) {
  for (size_t i = end; i > 0; --i) {
    std::string_view t = tokens[i - 1].text;
    if (t == ";" || t == "{" || t == "}" || t == "(" || t == "[")
      break;
    if (t == ")" || t == "]")
      i = openBefore(tokens, i, t == ")" ? "(" : "[", t) + 1;
    else if (int angle = angleAt(tokens, i - 1); angle > 0)
      return i - 1;
    else if (angle < 0)
      i = angleBefore(tokens, i) + 1;
  }
  return tokens.size();
}

bool isExternC(const std::vector<Token>& tokens, size_t head) {
  auto is = [&](size_t i, std::string_view text) { return tokens[i].text == text; };
  if (head > 0 && is(head - 1, "extern"))
    return true;
  int depth = 0;
  for (size_t i = head; i > 1; --i) {
    depth += is(i - 1, "}") - is(i - 1, "{");
    if (depth < 0)
      return is(i - 2, "extern"); // the string between is no token
  }
  return false;
}

std::vector<std::string_view> definitionsOf(std::string_view source) {
  Scanner scanner(source);
  scanner.run();
  return std::move(scanner.definitions);
}

} // namespace tilewright::ascendc
