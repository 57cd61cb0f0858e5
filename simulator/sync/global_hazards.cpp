// SPDX-License-Identifier: Apache-2.0
// Accesses are grouped by region (kernels touch the same tiles again and again), overlapping groups
// are paired by a sweep, and within a pair each access needs one binary search per pipe of a core:
// if it comes after the k-th access of a pipe, it comes after all earlier ones of that pipe.
#include "simulator/sync/global_hazards.h"
#include "simulator/memory/global_memory.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::ascend {

namespace {

struct Entry {
  const GlobalAccess* access;
  uint32_t core;
};

/// Accesses of one pipe of one core to one region, in order.
struct Stream {
  uint32_t core;
  Pipe pipe;
  AccessKind kind;
  std::vector<const GlobalAccess*> accesses;
};

struct Group {
  Region region;
  Interval hull;
  bool hasWrite = false;
  std::vector<Stream> streams;
};

struct RegionLess {
  bool operator()(const Region& a, const Region& b) const {
    return std::tie(a.begin, a.length, a.inner, a.innerStride, a.outer, a.outerStride) <
           std::tie(b.begin, b.length, b.inner, b.innerStride, b.outer, b.outerStride);
  }
};

class Search {
public:
  Search(const std::vector<const CoreHazards*>& cores, bool relaxed, Report& report)
      : cores(cores), relaxed(relaxed), report(report) {}

  void run();

private:
  void collect();
  void compare(const Group& a, const Group& b);
  void compareStreams(const Stream& a, const Stream& b, const Group& ga, const Group& gb);
  bool happensBefore(const GlobalAccess& a, uint32_t coreA, const GlobalAccess& b,
                     uint32_t coreB) const;
  void race(const GlobalAccess& a, const Stream& sa, const GlobalAccess& b, const Stream& sb,
            const Region& region);

  const std::vector<const CoreHazards*>& cores;
  bool relaxed;
  Report& report;
  std::map<Region, size_t, RegionLess> index;
  std::vector<Group> groups;
  std::set<std::tuple<const char*, uint32_t, const char*, uint32_t, bool>> known;
};

void Search::collect() {
  for (uint32_t c = 0; c < cores.size(); ++c)
    for (const GlobalAccess& a : cores[c]->globalLog) {
      auto [it, isNew] = index.try_emplace(a.region, groups.size());
      if (isNew) {
        groups.emplace_back();
        groups.back().region = a.region;
        groups.back().hull = a.region.hull();
      }
      Group& g = groups[it->second];
      g.hasWrite = g.hasWrite || a.kind != AccessKind::Read;
      Stream* stream = nullptr;
      for (auto s = g.streams.rbegin(); s != g.streams.rend() && s->core == c; ++s)
        if (s->pipe == a.pipe && s->kind == a.kind)
          stream = &*s;
      if (!stream) {
        g.streams.push_back({c, a.pipe, a.kind, {}});
        stream = &g.streams.back();
      }
      stream->accesses.push_back(&a);
    }
}

bool Search::happensBefore(const GlobalAccess& a, uint32_t coreA, const GlobalAccess& b,
                           uint32_t coreB) const {
  if (coreA == coreB && b.clock[a.pipe] >= a.epoch)
    return true;
  return b.remote && coreA < b.remote->agents.size() && b.remote->agents[coreA][a.pipe] >= a.epoch;
}

void Search::run() {
  collect();
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(groups[a].hull.begin, a) < std::tie(groups[b].hull.begin, b);
  });
  // Written groups reach far only if they are strided: keep the open ones.
  std::vector<size_t> openWrites, openReads;
  for (size_t i : order) {
    const Group& g = groups[i];
    auto closed = [&](size_t o) { return groups[o].hull.end <= g.hull.begin; };
    std::erase_if(openWrites, closed);
    for (size_t o : openWrites)
      if (groups[o].region.overlaps(g.region))
        compare(groups[o], g);
    if (g.hasWrite) {
      std::erase_if(openReads, closed);
      for (size_t o : openReads)
        if (groups[o].region.overlaps(g.region))
          compare(groups[o], g);
      compare(g, g);
    }
    (g.hasWrite ? openWrites : openReads).push_back(i);
  }
}

void Search::compare(const Group& a, const Group& b) {
  for (size_t i = 0; i < a.streams.size(); ++i)
    for (size_t j = &a == &b ? i : 0; j < b.streams.size(); ++j) {
      const Stream &s = a.streams[i], &t = b.streams[j];
      bool bothRead = s.kind == AccessKind::Read && t.kind == AccessKind::Read;
      bool bothAtomic = s.kind == AccessKind::Atomic && t.kind == AccessKind::Atomic;
      if (!bothRead && !bothAtomic)
        compareStreams(s, t, a, b);
    }
}

void Search::compareStreams(const Stream& a, const Stream& b, const Group& ga, const Group& gb) {
  bool samePipe = a.core == b.core && a.pipe == b.pipe;
  if (samePipe && (a.pipe == Pipe::S || a.pipe == Pipe::FIX))
    return;
  // In one pipe, a read never follows a write so closely that it overtakes it the other way round.
  if (samePipe && &a == &b && a.kind == AccessKind::Read)
    return;
  if (relaxed && a.core == b.core && (a.pipe == Pipe::S || b.pipe == Pipe::S))
    return;
  const Region& region = ga.region.length <= gb.region.length ? ga.region : gb.region;
  for (const GlobalAccess* y : b.accesses) {
    // The first of a's accesses that y doesn't know: all before it are ordered before y.
    auto first =
        std::partition_point(a.accesses.begin(), a.accesses.end(), [&](const GlobalAccess* x) {
          return happensBefore(*x, a.core, *y, b.core);
        });
    for (; first != a.accesses.end(); ++first) {
      const GlobalAccess* x = *first;
      if (x == y)
        continue;
      if (samePipe) {
        // Order of issue: a write after a read of the same pipe is safe.
        bool xFirst = x->epoch < y->epoch;
        bool firstWrites = (xFirst ? x : y)->kind != AccessKind::Read;
        if (!firstWrites || x->epoch == y->epoch)
          continue;
      }
      if (happensBefore(*y, b.core, *x, a.core))
        break; // and all later ones
      race(*x, a, *y, b, region);
      break;
    }
  }
}

void Search::race(const GlobalAccess& x, const Stream& sx, const GlobalAccess& y, const Stream& sy,
                  const Region& region) {
  const CoreHazards &cx = *cores[sx.core], &cy = *cores[sy.core];
  const Site &px = cx.site(x.site), &py = cy.site(y.site);
  bool sameCore = sx.core == sy.core;
  auto key = std::make_tuple(px.place.file, px.place.line, py.place.file, py.place.line, sameCore);
  if (!known.insert(key).second)
    return;
  auto verb = [](AccessKind kind) {
    return kind == AccessKind::Read ? "read" : kind == AccessKind::Write ? "write" : "atomic store";
  };
  GlobalRange range{};
  findGlobalRange(region.begin, range);
  bool xFirst = sameCore ? x.epoch < y.epoch || x.pipe != y.pipe : true;
  const Site& first = xFirst ? px : py;
  const Site& second = xFirst ? py : px;
  auto p = static_cast<unsigned>(xFirst ? x.pipe : y.pipe);
  auto q = static_cast<unsigned>(xFirst ? y.pipe : x.pipe);
  ReportItem item;
  item.place = second.place;
  Interval hull = region.hull();
  std::string where = "GM bytes " + std::to_string(hull.begin - range.begin) + " to " +
                      std::to_string(hull.end - 1 - range.begin) + " of an allocation of " +
                      std::to_string(range.end - range.begin) + " bytes";
  item.sentence = std::string("nothing orders this ") + verb((xFirst ? y : x).kind) + " of " +
                  where + " by " + second.what + " on " + pipeNames[q] + " (" +
                  (xFirst ? cy : cx).core + ") and a " + verb((xFirst ? x : y).kind) + " by " +
                  first.what + " on " + pipeNames[p] + " (" + (xFirst ? cx : cy).core +
                  ") [ErrorSync1]";
  item.notes.push_back({first.place, "the other access is here"});
  std::string advice;
  if (!sameCore)
    advice =
        "order the cores with CrossCoreSetFlag and CrossCoreWaitFlag or SyncAll, let them touch "
        "different bytes, or use SetAtomicAdd";
  else if (p == q)
    advice = std::string("add PipeBarrier<") + pipeNames[p] + ">() between them";
  else
    advice = std::string("add SetFlag<HardEvent::") + pipeShort[p] + "_" + pipeShort[q] +
             ">(id) and WaitFlag between them";
  item.notes.push_back({{}, advice});
  report.add("gm " + std::string(px.place.file) + std::to_string(px.place.line) + py.place.file +
                 std::to_string(py.place.line) + (sameCore ? "s" : "o"),
             std::move(item));
}

} // namespace

void findGlobalHazards(const std::vector<const CoreHazards*>& cores, bool relaxed, Report& report) {
  Search(cores, relaxed, report).run();
}

} // namespace tilewright::ascend
