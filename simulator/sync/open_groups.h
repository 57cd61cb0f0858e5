// SPDX-License-Identifier: Apache-2.0
// While groups of accesses are gone through by address: those that may reach as far as the next one. Where many lie over
// each other, only those are met that can tell something new.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_OPEN_GROUPS_H
#define TILEWRIGHT_SIMULATOR_SYNC_OPEN_GROUPS_H

#include "simulator/sync/access_groups.h"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright::ascend {

/// What a report could name of a group: the same for many groups.
class AccessProfiles {
public:
  explicit AccessProfiles(const std::vector<const CoreHazards*>& cores) : cores(cores) {}
  struct Lines {
    std::set<AccessLine> first; ///< of its streams
    std::set<AccessLine> all;
    bool operator<(const Lines& other) const {
      return std::tie(first, all) < std::tie(other.first, other.all);
    }
  };
  uint32_t of(const AccessGroup& group);
  const Lines& lines(uint32_t profile) const {
    return *byNumber[profile];
  }

private:
  const std::vector<const CoreHazards*>& cores;
  std::map<Lines, uint32_t> numbers;
  std::vector<const Lines*> byNumber;
};

class OpenGroups {
public:
  OpenGroups(const std::vector<AccessGroup>& groups, AccessProfiles& profiles)
      : groups(groups), profiles(profiles) {}
  void add(size_t group);
  /// Calls `meet` for the open groups that may tell something new with this one, the next by address. `isWanted` says
  /// whether two lines of different cores would.
  template <class IsWanted, class Meet>
  void visit(size_t group, const IsWanted& isWanted, const Meet& meet) {
    prepare(groups[group]);
    if (!isSorted || isSpecial(groups[group])) {
      for (size_t o : all)
        if (isOpen(o))
          meet(o);
      return;
    }
    chooseRelated(groups[group]);
    for (size_t o : chosen)
      meet(o);
    const uint32_t profile = profiles.of(groups[group]);
    for (auto& [other, list] : ofProfile) {
      if (isTold(other, profile, isWanted))
        continue;
      closeIn(list);
      for (size_t o : list) {
        if (isChosen(o))
          continue;
        meet(o);
        if (isTold(other, profile, isWanted))
          break;
      }
    }
  }

private:
  /// Somebody may know of another core in it, or it reads what nobody had written: it is always met.
  static bool isSpecial(const AccessGroup& group);
  bool isOpen(size_t group) const {
    return groups[group].hull.end > from;
  }
  void closeIn(std::vector<size_t>& list) const;
  /// Those behind `group` are gone through now.
  void prepare(const AccessGroup& group);
  void sortIn(size_t group);
  /// Those that are special or have a core of `group`.
  void chooseRelated(const AccessGroup& group);
  bool isChosen(size_t group) const;
  template <class IsWanted> bool isTold(uint32_t a, uint32_t b, const IsWanted& isWanted) {
    if (told.count({a, b}))
      return true;
    for (const AccessLine& x : profiles.lines(a).first)
      for (const AccessLine& y : profiles.lines(b).all)
        if (isWanted(x, y))
          return false;
    told.insert({a, b});
    return true;
  }

  const std::vector<AccessGroup>& groups;
  AccessProfiles& profiles;
  uint64_t from = 0;
  std::vector<size_t> all;
  size_t leftLast = 0; ///< of all, when the closed ones were taken out
  // Only while there are many:
  bool isSorted = false;
  std::vector<size_t> special;
  std::unordered_map<uint32_t, std::vector<size_t>> ofCore;
  std::map<uint32_t, std::vector<size_t>> ofProfile;
  std::vector<size_t> chosen;
  std::set<std::pair<uint32_t, uint32_t>> told;
};

} // namespace tilewright::ascend

#endif
