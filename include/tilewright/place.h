// SPDX-License-Identifier: Apache-2.0
/// Places in the user's source, and diagnostics that point at them.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace tilewright {

/// A range on one line: lines count from 1, columns count bytes (UTF-8) from 1; `endColumn` is one
/// past the last character, or 0.
struct Place {
  std::string file;
  int32_t line = 0;
  int32_t column = 0;
  int32_t endColumn = 0;

  static Place from(const std::source_location& location) {
    return {location.file_name(), int32_t(location.line()), int32_t(location.column()), 0};
  }
  bool isKnown() const {
    return line > 0;
  }
  bool operator==(const Place&) const = default;
};

struct Note {
  Place place;
  std::string message;
};

/// What kind of fault a message names (see docs/errors.md).
enum class Severity { Error, Unsupported, Internal, Warning, Remark };

/// One message: one lower-case sentence, in the language's terms, with the values that disagree.
struct Diagnostic {
  Severity severity = Severity::Error;
  Place place;
  std::string message;
  std::vector<Note> notes;
};

/// "error", "unsupported", "internal error", "warning" or "remark".
const char* severityName(Severity severity);

/// `file:line:column`, as far as known.
std::string render(const Place& place);

/// `file:line:column: error: message`, the source line with a caret where the file can be read, and
/// notes.
std::string render(const Diagnostic& diagnostic, bool color = false);

} // namespace tilewright
