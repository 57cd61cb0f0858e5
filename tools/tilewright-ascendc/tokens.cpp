// SPDX-License-Identifier: Apache-2.0
#include "tokens.h"

#include <cctype>

namespace tilewright::ascendc {

namespace {

bool nameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$';
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
    at += length;
    lineHasToken = true;
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
    } else if (starts("<<<") || starts(">>>")) {
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
};

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

std::vector<std::string_view> definitionsOf(std::string_view source) {
  Scanner scanner(source);
  scanner.run();
  return std::move(scanner.definitions);
}

} // namespace tilewright::ascendc
