// SPDX-License-Identifier: Apache-2.0
#include "tilewright/place.h"

#include <fstream>
#include <optional>
#include <string_view>

namespace tilewright {
namespace {

constexpr std::string_view kBold = "\033[1m", kRed = "\033[1;31m", kMagenta = "\033[1;35m",
                           kCyan = "\033[1;36m", kGreen = "\033[1;32m", kReset = "\033[0m";

std::string_view colorOf(Severity severity) {
  switch (severity) {
  case Severity::Warning:
    return kMagenta;
  case Severity::Remark:
    return kCyan;
  default:
    return kRed;
  }
}

/// The text of a line of a file, or nothing where it can't be read.
std::optional<std::string> sourceLine(const Place& place) {
  std::ifstream file(place.file);
  std::string line;
  for (int32_t number = 0; number < place.line; ++number)
    if (!std::getline(file, line))
      return std::nullopt;
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  return line;
}

/// Columns of a terminal that the character which starts at `text[i]` takes: two for CJK, fullwidth
/// forms and emoji; none for the following bytes of a character.
int displayWidth(std::string_view text, size_t i) {
  auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  unsigned lead = byte(i);
  if ((lead & 0xC0U) == 0x80U)
    return 0;
  if (lead >= 0xF0U)
    return 2;
  if (lead < 0xE0U)
    return 1;
  unsigned code = ((lead & 0x0FU) << 12) | ((byte(i + 1) & 0x3FU) << 6) | (byte(i + 2) & 0x3FU);
  bool isWide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                (code >= 0xFFE0 && code <= 0xFFE6);
  return isWide ? 2 : 1;
}

/// The line under the source: blanks (tabs kept) up to the column, a caret, and tildes to the end.
std::string caretLine(const std::string& line, const Place& place) {
  std::string caret;
  size_t start = size_t(place.column - 1);
  for (size_t i = 0; i < start && i < line.size(); ++i)
    caret += line[i] == '\t' ? std::string("\t") : std::string(displayWidth(line, i), ' ');
  int width = 0;
  for (size_t i = start; i + 1 < size_t(place.endColumn) && i < line.size(); ++i)
    width += displayWidth(line, i);
  caret += '^';
  caret.append(width > 1 ? width - 1 : 0, '~');
  return caret;
}

void appendSource(std::string& text, const Place& place, bool color) {
  if (!place.isKnown())
    return;
  auto line = sourceLine(place);
  if (!line)
    return;
  text += "    " + *line + "\n";
  if (place.column <= 0 || size_t(place.column) > line->size() + 1)
    return;
  text += "    ";
  text += color ? kGreen : "";
  text += caretLine(*line, place);
  text += color ? kReset : "";
  text += "\n";
}

void appendMessage(std::string& text, const Place& place, std::string_view label,
                   std::string_view labelColor, std::string_view message, bool color) {
  std::string where = render(place);
  if (!where.empty()) {
    text += color ? kBold : "";
    text += where + ": ";
    text += color ? kReset : "";
  }
  text += color ? labelColor : "";
  text += std::string(label) + ": ";
  text += color ? kReset : "";
  text += std::string(message) + "\n";
  appendSource(text, place, color);
}

} // namespace

const char* severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Unsupported:
    return "unsupported";
  case Severity::Internal:
    return "internal error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  }
  return "error";
}

std::string render(const Place& place) {
  if (place.file.empty())
    return "";
  std::string text = place.file;
  if (place.line > 0)
    text += ":" + std::to_string(place.line);
  if (place.line > 0 && place.column > 0)
    text += ":" + std::to_string(place.column);
  return text;
}

std::string render(const Diagnostic& diagnostic, bool color) {
  std::string text;
  appendMessage(text, diagnostic.place, severityName(diagnostic.severity),
                colorOf(diagnostic.severity), diagnostic.message, color);
  for (const Note& note : diagnostic.notes)
    appendMessage(text, note.place, "note", kCyan, note.message, color);
  return text;
}

} // namespace tilewright
