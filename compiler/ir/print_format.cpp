// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/print_format.h"

namespace tilewright::tile {

std::vector<FormatPart> splitFormat(llvm::StringRef format) {
  std::vector<FormatPart> parts(1);
  while (!format.empty()) {
    const auto [words, rest] = format.split('%');
    parts.back().words += words;
    const bool isEnd = words.size() == format.size();
    if (isEnd)
      break;
    format = rest;
    if (format.consume_front("%")) {
      parts.back().words += '%';
      continue;
    }
    const llvm::StringRef flags = format.take_while(
        [](char letter) { return llvm::StringRef("-+ #.0123456789").contains(letter); });
    parts.back().flags = "%" + flags.str();
    format = format.drop_front(flags.size());
    parts.back().conversion = format.empty() ? 'd' : format.front();
    format = format.drop_front(format.empty() ? 0 : 1);
    parts.emplace_back();
  }
  return parts;
}

} // namespace tilewright::tile
