// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/unwritten_reads.h"

#include <limits>

namespace tilewright::ascend {

uint16_t UnwrittenReads::add(const std::string& key, ReportItem item) {
  if (auto known = numbers.find(key); known != numbers.end()) {
    ++reads[known->second - 1u].again;
    return known->second;
  }
  if (reads.size() == std::numeric_limits<uint16_t>::max())
    return 0;
  reads.push_back({});
  reads.back().key = key;
  reads.back().item = std::move(item);
  const auto number = static_cast<uint16_t>(reads.size());
  numbers.emplace(key, number);
  return number;
}

void UnwrittenReads::drop(uint16_t origin) {
  reads[origin - 1u].isDropped = true;
}

void UnwrittenReads::join(uint16_t origin, uint16_t other) {
  reads[origin - 1u].joined.insert(other);
}

template <class Condition> bool UnwrittenReads::anyOf(const Read& read, Condition condition) const {
  std::vector<const Read*> open = {&read};
  std::set<const Read*> seen = {&read};
  while (!open.empty()) {
    const Read& one = *open.back();
    open.pop_back();
    if (condition(one))
      return true;
    for (uint16_t other : one.joined)
      if (const Read* next = &reads[other - 1u]; seen.insert(next).second)
        open.push_back(next);
  }
  return false;
}

namespace {
ReportNote noteOfUse(const Site& user) {
  return {user.place, std::string(user.what) + " uses what comes of it here"};
}
} // namespace

void UnwrittenReads::letThrough(uint16_t origin, const Site& store) {
  Read& read = reads[origin - 1u];
  if (!read.letThrough)
    read.letThrough = noteOfUse(store);
}

void UnwrittenReads::tell(uint16_t origin, const Site& user, Report& report) {
  Read& read = reads[origin - 1u];
  if (read.finding)
    return;
  read.item.notes.push_back(noteOfUse(user));
  read.finding = report.add(read.key, read.item);
  read.isUsed = true;
}

void UnwrittenReads::tellRest(Report& report) {
  for (Read& read : reads) {
    auto isUsed = [](const Read& one) { return one.finding && one.isUsed; };
    auto isDropped = [](const Read& one) { return one.isDropped; };
    if (!read.finding && (read.letThrough || !anyOf(read, isDropped))) {
      if (!anyOf(read, isUsed)) {
        auto isStored = [](const Read& one) { return one.letThrough.has_value(); };
        read.item.isError = false;
        if (read.letThrough)
          read.item.notes.push_back(*read.letThrough);
        else if (!anyOf(read, isStored))
          read.item.notes.push_back({{}, "nothing uses what comes of it"});
      }
      read.finding = report.add(read.key, read.item);
    }
    for (; read.finding && read.again; --read.again)
      report.countAgain(*read.finding);
  }
}

} // namespace tilewright::ascend
