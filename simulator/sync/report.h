// SPDX-License-Identifier: Apache-2.0
// Findings of one agent, each once, in the order in which they were made.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_REPORT_H
#define TILEWRIGHT_SIMULATOR_SYNC_REPORT_H

#include "simulator/isa/instruction.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::ascend {

/// A call in the kernel: its line and the name of the instruction.
struct Site {
  Place place;
  const char* what = "";
};

struct ReportNote {
  Place place; ///< no file: the note has no place
  std::string text;
  std::string once = {}; ///< told behind that with the first of a launch's findings that has it
};

struct ReportItem {
  Place place;
  std::string sentence;
  std::vector<ReportNote> notes;
  bool isError = true;
  uint64_t occurrences = 1;
};

/// `file:line: error: sentence`, the source line, and the notes.
std::string render(const ReportItem& item);

class Report {
public:
  /// Adds a finding; one with the same place, sentence kind (`key`) and second place only counts.
  /// Returns its index.
  size_t add(const std::string& key, ReportItem item);
  void countAgain(size_t index) {
    ++items[index].occurrences;
  }
  const std::vector<ReportItem>& all() const {
    return items;
  }
  bool hasErrors() const;
  /// Adds the findings of `other` that are not yet known.
  void merge(const Report& other);

private:
  std::unordered_map<std::string, size_t> keys; ///< to the index
  std::vector<ReportItem> items;
};

} // namespace tilewright::ascend

#endif
