// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/open_groups.h"

#include <algorithm>

namespace tilewright::ascend {

namespace {
struct ByAddress {
  const std::vector<AccessGroup>& groups;
  bool operator()(size_t a, size_t b) const {
    return std::tie(groups[a].hull.begin, a) < std::tie(groups[b].hull.begin, b);
  }
};
} // namespace

uint32_t AccessProfiles::of(const AccessGroup& group) {
  Lines lines;
  for (const Stream& stream : group.streams) {
    bool isFirst = true;
    for (const GlobalAccess* access : stream.accesses) {
      Place place = cores[stream.core]->site(access->site).place;
      AccessLine line{stream.kind, place.file, place.line};
      if (std::exchange(isFirst, false))
        lines.first.insert(line);
      lines.all.insert(line);
    }
  }
  auto [known, isNew] = numbers.try_emplace(std::move(lines), byNumber.size());
  if (isNew)
    byNumber.push_back(&known->first);
  return known->second;
}

bool OpenGroups::isSpecial(const AccessGroup& group) {
  return !group.unwritten.empty() ||
         std::any_of(group.streams.begin(), group.streams.end(),
                     [](const Stream& s) { return s.knowledge() != nullptr; });
}

void OpenGroups::closeIn(std::vector<size_t>& list) const {
  std::erase_if(list, [&](size_t group) { return !isOpen(group); });
}

void OpenGroups::add(size_t group) {
  all.push_back(group);
  if (isSorted)
    sortIn(group);
}

void OpenGroups::prepare(const AccessGroup& group) {
  constexpr size_t few = 64;
  from = group.hull.begin;
  if (!isSorted || all.size() > 2 * leftLast) {
    closeIn(all);
    leftLast = std::max(all.size(), few);
  }
  const bool areMany = all.size() > few;
  if (areMany == isSorted)
    return;
  isSorted = areMany;
  special.clear();
  ofCore.clear();
  ofProfile.clear();
  if (areMany)
    for (size_t o : all)
      sortIn(o);
}

void OpenGroups::sortIn(size_t group) {
  const AccessGroup& g = groups[group];
  if (isSpecial(g)) {
    special.push_back(group);
    return;
  }
  ofProfile[profiles.of(g)].push_back(group);
  for (const Stream& stream : g.streams) {
    auto& list = ofCore[stream.core];
    if (list.empty() || list.back() != group)
      list.push_back(group);
  }
}

bool OpenGroups::isChosen(size_t group) const {
  return std::binary_search(chosen.begin(), chosen.end(), group, ByAddress{groups});
}

void OpenGroups::chooseRelated(const AccessGroup& group) {
  closeIn(special);
  chosen = special;
  for (const Stream& stream : group.streams) {
    auto list = ofCore.find(stream.core);
    if (list == ofCore.end())
      continue;
    closeIn(list->second);
    chosen.insert(chosen.end(), list->second.begin(), list->second.end());
  }
  std::sort(chosen.begin(), chosen.end(), ByAddress{groups});
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
}

} // namespace tilewright::ascend
