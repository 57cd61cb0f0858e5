// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/access_groups.h"

#include <algorithm>

namespace tilewright::ascend {

namespace {
bool knowsOf(const Stream& stream, uint32_t core) {
  const RemoteClock* known = stream.knowledge();
  return known && core >= known->begin() && core < known->end();
}

/// The streams of cores from `begin` to `end`.
std::pair<uint32_t, uint32_t> ofCores(const AccessGroup& group, uint32_t begin, uint32_t end) {
  auto firstFrom = [&](uint32_t core) {
    auto at = std::partition_point(group.streams.begin(), group.streams.end(),
                                   [&](const Stream& s) { return s.core < core; });
    return static_cast<uint32_t>(at - group.streams.begin());
  };
  return {firstFrom(begin), firstFrom(end)};
}
} // namespace

void StreamPairs::indexOf(AccessGroup& group) const {
  if (group.index)
    return;
  group.index = std::make_unique<StreamIndex>();
  StreamIndex& index = *group.index;
  for (uint32_t i = 0; i < group.streams.size(); ++i) {
    const Stream& stream = group.streams[i];
    auto lineOf = [&](const GlobalAccess& access) {
      Place place = cores[stream.core]->site(access.site).place;
      return AccessLine{stream.kind, place.file, place.line};
    };
    index.byFirstLine[lineOf(*stream.accesses.front())].push_back(i);
    uint32_t lastSite = ~0u;
    for (const GlobalAccess* access : stream.accesses) {
      if (access->site == lastSite)
        continue;
      lastSite = access->site;
      auto& ofLine = index.byLine[lineOf(*access)];
      if (ofLine.empty() || ofLine.back() != i)
        ofLine.push_back(i);
    }
    if (const RemoteClock* known = stream.knowledge())
      index.knowing.push_back({known->begin(), known->end(), i, 0});
  }
  std::sort(index.knowing.begin(), index.knowing.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.stream) < std::tie(b.begin, b.stream);
  });
  uint32_t furthest = 0;
  for (StreamIndex::Knowing& k : index.knowing)
    k.furthest = furthest = std::max(furthest, k.end);
}

void StreamPairs::chooseAll(const AccessGroup& a, const AccessGroup& b) {
  for (uint32_t i = 0; i < a.streams.size(); ++i)
    for (uint32_t j = &a == &b ? i : 0; j < b.streams.size(); ++j)
      chosen.emplace_back(i, j);
}

template <class Use>
void StreamPairs::visitRelated(const Stream& stream, const AccessGroup& large, Use use) {
  auto useCores = [&](uint32_t begin, uint32_t end) {
    auto [first, last] = ofCores(large, begin, end);
    for (uint32_t i = first; i < last; ++i)
      use(i);
  };
  useCores(stream.core, stream.core + 1);
  if (const RemoteClock* known = stream.knowledge())
    useCores(known->begin(), known->end());
  const auto& knowing = large.index->knowing;
  auto behind = std::partition_point(knowing.begin(), knowing.end(),
                                     [&](const auto& k) { return k.begin <= stream.core; });
  for (auto k = behind; k != knowing.begin() && (k - 1)->furthest > stream.core; --k)
    if ((k - 1)->end > stream.core)
      use((k - 1)->stream);
}

void StreamPairs::chooseRelated(const AccessGroup& a, const AccessGroup& b, uint32_t i) {
  const bool isAFewer = a.streams.size() < b.streams.size();
  const AccessGroup &few = isAFewer ? a : b, &many = isAFewer ? b : a;
  visitRelated(few.streams[i], many, [&](uint32_t k) {
    if (&a != &b)
      chosen.push_back(isAFewer ? StreamPair{i, k} : StreamPair{k, i});
    else if (i <= k)
      chosen.emplace_back(i, k);
  });
}

void StreamPairs::chooseUnordered(const AccessGroup& a, const std::vector<uint32_t>& of,
                                  const AccessGroup& b, const std::vector<uint32_t>& others) {
  for (uint32_t i : of) {
    const Stream& s = a.streams[i];
    auto j = &a == &b ? std::lower_bound(others.begin(), others.end(), i) : others.begin();
    for (; j != others.end(); ++j) {
      const Stream& t = b.streams[*j];
      if (s.core == t.core || knowsOf(s, t.core) || knowsOf(t, s.core))
        continue;
      chosen.emplace_back(i, *j);
      return;
    }
  }
}

void StreamPairs::sortChosen() {
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
}

} // namespace tilewright::ascend
