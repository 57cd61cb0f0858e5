// SPDX-License-Identifier: Apache-2.0
// Reads of what nothing has written by instructions that compute each element apart. They are errors where the elements
// get used, else warnings, where no choice has left any of them out.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_UNWRITTEN_READS_H
#define TILEWRIGHT_SIMULATOR_SYNC_UNWRITTEN_READS_H

#include "simulator/sync/report.h"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::ascend {

class UnwrittenReads {
public:
  /// Adds a read, or counts it again, and gives its number for MovedFrom::origin; 0 if it must be told at once.
  uint16_t add(const std::string& key, ReportItem item);
  /// A choice has left out elements that come of the read.
  void drop(uint16_t origin);
  /// Some of its elements are those of `other` from now on.
  void join(uint16_t origin, uint16_t other);
  /// The read is a finding, as `user` uses what comes of it.
  void tell(uint16_t origin, const Site& user, Report& report);
  /// A store of what comes of the read is let through: a warning at the end that names it.
  void letThrough(uint16_t origin, const Site& store);
  /// At the end of a core: what nobody has used is a warning, where no choice has left it out.
  void tellRest(Report& report);

private:
  struct Read {
    std::string key;
    ReportItem item;
    uint64_t again = 0; ///< how often after the first time
    bool isDropped = false;
    bool isUsed = false;
    std::set<uint16_t> joined;
    std::optional<ReportNote> letThrough;
    std::optional<size_t> finding; ///< in the report, once it is there
  };
  /// Whether the condition holds for the read, or for one whose elements are its own, too.
  template <class Condition> bool anyOf(const Read& read, Condition condition) const;

  std::vector<Read> reads;
  std::unordered_map<std::string, uint16_t> numbers; ///< by key
};

} // namespace tilewright::ascend

#endif
