// SPDX-License-Identifier: Apache-2.0
// The tokens of a C++ source, as far as finding kernels and launches needs them.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_TOKENS_H
#define TILEWRIGHT_TOOLS_ASCENDC_TOKENS_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ascendc {

/// A stretch of the source. Comments, strings and preprocessor lines are no tokens, but `<<<` and
/// `>>>` and `::` are one each.
struct Token {
  size_t begin, end;
  std::string_view text;
  bool isName;
};

/// From `begin` to before `end`.
struct Stretch {
  size_t begin, end;
};

std::vector<Token> tokensOf(std::string_view source);

/// The index behind the bracket that matches the one at `open`; the number of tokens if none does.
size_t behindMatch(const std::vector<Token>& tokens, size_t open, std::string_view left,
                   std::string_view right);

/// The same for the `<` of template arguments at `open`: what stands in brackets there, shifts and comparisons don't
/// count.
size_t behindAngles(const std::vector<Token>& tokens, size_t open);

/// The index of the bracket that the one before `end` closes; 0 if none is.
size_t openBefore(const std::vector<Token>& tokens, size_t end, std::string_view left,
                  std::string_view right);
/// The same for the `>` of template arguments.
size_t angleBefore(const std::vector<Token>& tokens, size_t end);
/// The `<` of template arguments that stands open before `end` in its statement; the number of tokens if none does.
size_t openAngleBefore(const std::vector<Token>& tokens, size_t end);

/// True for `extern "C"` before the function that begins at `head`, or around it.
bool isExternC(const std::vector<Token>& tokens, size_t head);

/// What stands behind `#define` and the macro's name, with continued lines: parts of `source`.
std::vector<std::string_view> definitionsOf(std::string_view source);

} // namespace tilewright::ascendc

#endif
