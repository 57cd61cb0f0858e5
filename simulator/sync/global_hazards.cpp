// SPDX-License-Identifier: Apache-2.0
// Accesses are grouped by region (kernels touch the same tiles again and again), overlapping groups
// are paired by a sweep, and within a pair each access needs one binary search per pipe of a core:
// if it comes after the k-th access of a pipe, it comes after all earlier ones of that pipe.
#include "simulator/sync/global_hazards.h"
#include "simulator/launch.h"
#include "simulator/memory/global_memory.h"
#include "simulator/sync/advice.h"
#include "simulator/sync/events.h"
#include "simulator/sync/global_names.h"
#include "simulator/sync/open_groups.h"
#include "simulator/sync/shared_lines.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::ascend {

namespace {

struct Entry {
  const GlobalAccess* access;
  uint32_t core;
};

struct RegionLess {
  bool operator()(const Region& a, const Region& b) const {
    return std::tie(a.begin, a.length, a.inner, a.innerStride, a.outer, a.outerStride) <
           std::tie(b.begin, b.length, b.inner, b.innerStride, b.outer, b.outerStride);
  }
};

Region regionOf(Interval bytes) {
  Region region;
  region.begin = bytes.begin;
  region.length = bytes.end - bytes.begin;
  return region;
}

/// Whether two accesses to one place need an order.
bool areAtOdds(AccessKind a, AccessKind b) {
  return a != b || a == AccessKind::Write;
}

class Search {
public:
  Search(const std::vector<const CoreHazards*>& cores, bool relaxed, Report& report,
         const std::atomic<bool>& isOver)
      : cores(cores), relaxed(relaxed), report(report), isOver(isOver), pairs(cores) {}

  void run();

private:
  void collect();
  void meet(size_t a, size_t b);
  void compare(AccessGroup& a, AccessGroup& b);
  void comparePair(const Stream& s, const Stream& t, const AccessGroup& a, const AccessGroup& b);
  bool over() const {
    return isOver.load(std::memory_order_relaxed);
  }
  void compareStreams(const Stream& a, const Stream& b);
  bool happensBefore(const GlobalAccess& a, uint32_t coreA, const GlobalAccess& b,
                     uint32_t coreB) const;
  /// Accesses that are ordered, but one of them is to the data cache of a scalar unit.
  void compareCached(const Stream& scalar, const Stream& other, const Region& ofScalar,
                     const Region& ofOther);
  bool isCleaned(const GlobalAccess& write, uint32_t core, const GlobalAccess& before,
                 uint32_t coreBefore) const;
  void stale(const GlobalAccess& read, uint32_t core, const GlobalAccess& write,
             uint32_t writingCore, const Region& region);
  void notCleaned(const GlobalAccess& write, uint32_t core, const GlobalAccess& next,
                  uint32_t nextCore, const Region& region);
  /// Reads and atomic stores of bytes that nothing has written.
  void findUnwritten();
  void findUnwrittenReads(const AccessGroup& group);
  /// The first bytes that were unwritten before the launch and are not among `written`; empty: none.
  static Interval firstMissing(const AccessGroup& group, std::vector<Interval>& written);
  /// True if the line has been told of: then it only counts.
  bool countUnwritten(const GlobalAccess& access, uint32_t core);
  void unwritten(const GlobalAccess& access, uint32_t core, Interval first);
  /// Cores whose scalar units write different bytes of one cache line.
  void findSharedLines();
  void compareLine(uint64_t line, const std::vector<Entry>& writes);
  void race(const GlobalAccess& a, const Stream& sa, const GlobalAccess& b, const Stream& sb);

  const std::vector<const CoreHazards*>& cores;
  bool relaxed;
  Report& report;
  const std::atomic<bool>& isOver;
  StreamPairs pairs;
  std::map<Region, size_t, RegionLess> index;
  std::vector<AccessGroup> groups;
  std::set<std::tuple<const char*, uint32_t, const char*, uint32_t, bool>> known;
  /// Whether a race of two lines on different cores hasn't been told yet.
  struct Wanted {
    const Search& search;
    bool operator()(const AccessLine& x, const AccessLine& y) const {
      auto [kindX, fileX, lineX] = x;
      auto [kindY, fileY, lineY] = y;
      return areAtOdds(kindX, kindY) && !search.known.count({fileX, lineX, fileY, lineY, false});
    }
  } wanted{*this};
  std::map<std::pair<const char*, uint32_t>, size_t> knownUnwritten; ///< lines, to the findings
};

void Search::collect() {
  for (uint32_t c = 0; c < cores.size() && !over(); ++c)
    for (const GlobalAccess& a : cores[c]->globalLog) {
      auto [it, isNew] = index.try_emplace(a.region, groups.size());
      if (isNew) {
        groups.emplace_back();
        groups.back().region = a.region;
        groups.back().hull = a.region.hull();
      }
      AccessGroup& g = groups[it->second];
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
  auto knows = [&](const Clock& clock) {
    return a.scalarRead ? clock.known[Clock::scalarReads] >= a.scalarRead
                        : clock[a.pipe] >= a.epoch;
  };
  if (coreA == coreB && knows(b.clock))
    return true;
  const Clock* clock = b.remote ? b.remote->of(coreA) : nullptr;
  return clock && knows(*clock);
}

void Search::run() {
  collect();
  bool mayBeUnwritten = anythingUnwritten();
  if (mayBeUnwritten)
    for (AccessGroup& g : groups)
      if (std::any_of(g.streams.begin(), g.streams.end(),
                      [](const Stream& s) { return s.kind != AccessKind::Write; }))
        g.unwritten = unwrittenIn(g.region);
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(groups[a].hull.begin, a) < std::tie(groups[b].hull.begin, b);
  });
  AccessProfiles profiles(cores);
  OpenGroups openWrites(groups, profiles), openReads(groups, profiles);
  for (size_t i : order) {
    if (over())
      return;
    auto meetThis = [&](size_t o) { meet(o, i); };
    openWrites.visit(i, wanted, meetThis);
    if (groups[i].hasWrite) {
      openReads.visit(i, wanted, meetThis);
      compare(groups[i], groups[i]);
      if (!groups[i].unwritten.empty())
        groups[i].writers.push_back(i);
    }
    (groups[i].hasWrite ? openWrites : openReads).add(i);
  }
  findSharedLines();
  findCopiesInOthersLines(cores, report, isOver);
  if (!relaxed) // the vendor's compiler orders the scalar unit and the DMA
    for (const CoreHazards* core : cores)
      findLinesWrittenBack(*core, report, isOver);
  if (mayBeUnwritten)
    findUnwritten();
}

void Search::meet(size_t a, size_t b) {
  if (over() || !groups[a].region.overlaps(groups[b].region))
    return;
  compare(groups[a], groups[b]);
  if (!groups[a].unwritten.empty())
    groups[a].writers.push_back(b);
  if (!groups[b].unwritten.empty())
    groups[b].writers.push_back(a);
}

void Search::findUnwritten() {
  for (const AccessGroup& g : groups)
    if (!g.unwritten.empty())
      findUnwrittenReads(g);
  std::vector<Interval> parts;
  for (const AccessGroup& g : groups) {
    if (!g.hasWrite)
      continue;
    parts.clear();
    g.region.intervals(parts);
    for (Interval part : parts)
      markWritten(reinterpret_cast<const void*>(part.begin), part.end - part.begin);
  }
}

Interval Search::firstMissing(const AccessGroup& group, std::vector<Interval>& written) {
  std::sort(written.begin(), written.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (Interval missing : group.unwritten) {
    for (const Interval& w : written)
      if (w.begin <= missing.begin && w.end > missing.begin)
        missing.begin = w.end;
    for (const Interval& w : written) // the first that cuts into what is left
      if (w.begin > missing.begin && w.begin < missing.end)
        missing.end = w.begin;
    if (missing.begin < missing.end)
      return missing;
  }
  return {0, 0};
}

void Search::findUnwrittenReads(const AccessGroup& group) {
  struct Writer {
    const Region* region;
    std::vector<const Stream*> streams;
  };
  std::vector<Writer> writers;
  std::vector<Interval> byAnybody;
  for (size_t i : group.writers) {
    Writer writer{&groups[i].region, {}};
    for (const Stream& w : groups[i].streams)
      if (w.kind == AccessKind::Write)
        writer.streams.push_back(&w);
    if (writer.streams.empty())
      continue;
    writer.region->intervals(byAnybody);
    writers.push_back(std::move(writer));
  }
  const Interval missedByAll = firstMissing(group, byAnybody);
  std::vector<Interval> written;
  for (const Stream& s : group.streams) {
    if (s.kind == AccessKind::Write)
      continue;
    if (over())
      return;
    const GlobalAccess& y = *s.accesses.front();
    // What is not ordered is reported as such; a write that comes later doesn't help.
    auto isLater = [&](const Stream* w) {
      const GlobalAccess& x = *w->accesses.front();
      if (w->core == s.core && w->pipe == s.pipe)
        return x.epoch > y.epoch;
      return happensBefore(y, s.core, x, w->core);
    };
    auto helps = [&](const Writer& writer) {
      return !std::all_of(writer.streams.begin(), writer.streams.end(), isLater);
    };
    if (missedByAll.begin < missedByAll.end && countUnwritten(y, s.core))
      continue; // which bytes a core misses, is only told of the first
    Interval missing = missedByAll;
    if (!std::all_of(writers.begin(), writers.end(), helps)) {
      written.clear();
      for (const Writer& writer : writers)
        if (helps(writer))
          writer.region->intervals(written);
      missing = firstMissing(group, written);
    }
    if (missing.begin < missing.end)
      unwritten(y, s.core, missing);
  }
}

void Search::unwritten(const GlobalAccess& access, uint32_t core, Interval first) {
  const CoreHazards& mine = *cores[core];
  const Site& at = mine.site(access.site);
  Region region;
  region.begin = first.begin;
  region.length = first.end - first.begin;
  ReportItem item;
  item.place = at.place;
  item.sentence = std::string(at.what) +
                  (access.kind == AccessKind::Read ? " reads " : " adds atomically to ") +
                  globalBytes(mine, access, region) + ", which nothing has written (" + mine.core +
                  ") [ErrorRead2]";
  item.notes.push_back({{}, Advice(at.place).fillBefore()});
  knownUnwritten[{at.place.file, at.place.line}] = report.add(
      "gm uninit " + std::string(at.place.file) + std::to_string(at.place.line), std::move(item));
}

bool Search::countUnwritten(const GlobalAccess& access, uint32_t core) {
  const Place place = cores[core]->site(access.site).place;
  auto found = knownUnwritten.find({place.file, place.line});
  if (found == knownUnwritten.end())
    return false;
  report.countAgain(found->second);
  return true;
}

void Search::compareCached(const Stream& scalar, const Stream& other, const Region& ofScalar,
                           const Region& ofOther) {
  Region known; // of many findings, the same
  auto common = [&]() -> const Region& {
    if (known.empty())
      known = regionOf(overlapOf(ofScalar, ofOther).first);
    return known;
  };
  // What comes before y is the front of a stream: its last access is the one to look at.
  auto lastBefore = [&](const Stream& stream, const GlobalAccess& y, uint32_t core) {
    auto end = std::partition_point(
        stream.accesses.begin(), stream.accesses.end(),
        [&](const GlobalAccess* x) { return happensBefore(*x, stream.core, y, core); });
    return end == stream.accesses.begin() ? nullptr : *(end - 1);
  };
  if (scalar.kind == AccessKind::Read && other.kind != AccessKind::Read)
    for (const GlobalAccess* y : scalar.accesses) {
      if (y->fill == GlobalAccess::noFill)
        continue;
      const GlobalAccess& fill = cores[scalar.core]->globalLog[y->fill];
      const GlobalAccess* x = &fill == y ? nullptr : lastBefore(other, *y, scalar.core);
      if (x && !happensBefore(*x, other.core, fill, scalar.core))
        stale(*y, scalar.core, *x, other.core, common());
    }
  if (scalar.kind == AccessKind::Read)
    return;
  for (const GlobalAccess* y : other.accesses) {
    const GlobalAccess* x = lastBefore(scalar, *y, other.core);
    if (x && x->fill != GlobalAccess::noFill && !isCleaned(*x, scalar.core, *y, other.core))
      notCleaned(*x, scalar.core, *y, other.core, common());
  }
}

bool Search::isCleaned(const GlobalAccess& write, uint32_t core, const GlobalAccess& before,
                       uint32_t coreBefore) const {
  uint32_t known = core == coreBefore ? before.clock[Pipe::S] : 0;
  if (const Clock* clock = before.remote ? before.remote->of(core) : nullptr)
    known = std::max(known, (*clock)[Pipe::S]);
  const auto& cleans = cores[core]->cleans;
  auto at = std::partition_point(cleans.begin(), cleans.end(),
                                 [&](const CacheClean& c) { return c.epoch < write.epoch; });
  uint64_t line = cacheLineOf(write.region.begin);
  for (; at != cleans.end() && at->epoch <= known; ++at)
    if (at->line == 0 || at->line == line)
      return true;
  return false;
}

void Search::stale(const GlobalAccess& read, uint32_t core, const GlobalAccess& write,
                   uint32_t writingCore, const Region& region) {
  const CoreHazards &mine = *cores[core], &theirs = *cores[writingCore];
  const Site &at = mine.site(read.site), &writer = theirs.site(write.site);
  const Site& filled = mine.site(mine.globalLog[read.fill].site);
  ReportItem item;
  item.place = at.place;
  item.sentence = std::string(at.what) + " reads " + globalBytes(mine, read, region) +
                  " from the scalar unit's data cache, which is older than a write by " +
                  writer.what + " on " + pipeNames[static_cast<unsigned>(write.pipe)] + " (" +
                  theirs.core + ") (" + mine.core + ") [ErrorSync2]";
  item.notes.push_back({writer.place, "the write is here"});
  item.notes.push_back({filled.place, "the cache holds the 64-byte line since here"});
  item.notes.push_back({{}, "add DataCacheCleanAndInvalid of this tensor before the read"});
  report.add("stale " + std::string(at.place.file) + std::to_string(at.place.line) +
                 writer.place.file + std::to_string(writer.place.line),
             std::move(item));
}

void Search::notCleaned(const GlobalAccess& write, uint32_t core, const GlobalAccess& next,
                        uint32_t nextCore, const Region& region) {
  const CoreHazards &mine = *cores[core], &theirs = *cores[nextCore];
  const Site &at = theirs.site(next.site), &writer = mine.site(write.site);
  ReportItem item;
  item.place = at.place;
  item.sentence = std::string(at.what) + " on " + pipeNames[static_cast<unsigned>(next.pipe)] +
                  (next.kind == AccessKind::Read ? " reads " : " writes ") +
                  globalBytes(theirs, next, region) + " (" + theirs.core + "), but what " +
                  writer.what + " wrote there may still be in the data cache of the scalar unit (" +
                  mine.core + ") [" +
                  (next.kind == AccessKind::Read ? "ErrorSync2" : "ErrorSync1") + "]";
  item.notes.push_back({writer.place, "the write is here; add DataCacheCleanAndInvalid after it"});
  report.add("dirty " + std::string(at.place.file) + std::to_string(at.place.line) +
                 writer.place.file + std::to_string(writer.place.line),
             std::move(item));
}

void Search::findSharedLines() {
  std::map<uint64_t, std::vector<Entry>> lines;
  for (uint32_t c = 0; c < cores.size(); ++c)
    for (const GlobalAccess& a : cores[c]->globalLog)
      if (a.pipe == Pipe::S && a.kind == AccessKind::Write && a.fill != GlobalAccess::noFill)
        lines[cacheLineOf(a.region.begin)].push_back({&a, c});
  for (const auto& [line, writes] : lines)
    if (writes.front().core != writes.back().core && !over())
      compareLine(line, writes);
}

void Search::compareLine(uint64_t line, const std::vector<Entry>& writes) {
  constexpr size_t mostCompared = 256;
  size_t count = std::min(writes.size(), mostCompared);
  auto isSafe = [&](const Entry& x, const Entry& y) {
    const GlobalAccess& fill = cores[y.core]->globalLog[y.access->fill];
    return isCleaned(*x.access, x.core, fill, y.core);
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t k = i + 1; k < count; ++k) {
      const Entry &x = writes[i], &y = writes[k];
      if (x.core == y.core || x.access->region.overlaps(y.access->region) || isSafe(x, y) ||
          isSafe(y, x))
        continue;
      const CoreHazards &cx = *cores[x.core], &cy = *cores[y.core];
      const Site &px = cx.site(x.access->site), &py = cy.site(y.access->site);
      GlobalRange range{};
      findGlobalRange(line, range);
      const std::string here = globalElements(cy, *y.access, y.access->region);
      const std::string there = globalElements(cx, *x.access, x.access->region);
      ReportItem item;
      item.isError = false;
      item.place = py.place;
      std::string where = there;
      where.append(" and ").append(here).append(", which lie in one 64-byte cache line");
      if (here.empty() || there.empty())
        where = "different bytes of the 64-byte cache line at GM byte " +
                std::to_string(line - std::min(line, range.begin)) + " of an allocation";
      item.sentence = "the scalar units of " + cx.core + " and " + cy.core + " write " + where +
                      "; the line that is written back last may undo the other";
      item.notes.push_back({px.place, "the other write is here"});
      item.notes.push_back({{}, "let each core write lines of its own, or copy from UB"});
      report.add("line " + std::string(px.place.file) + std::to_string(px.place.line) +
                     py.place.file + std::to_string(py.place.line),
                 std::move(item));
      return;
    }
}

void Search::compare(AccessGroup& a, AccessGroup& b) {
  pairs.visit(a, b, wanted, [&](StreamPair pair) {
    comparePair(a.streams[pair.first], b.streams[pair.second], a, b);
    return !over();
  });
}

void Search::comparePair(const Stream& s, const Stream& t, const AccessGroup& a,
                         const AccessGroup& b) {
  if (areAtOdds(s.kind, t.kind))
    compareStreams(s, t);
  bool bothRead = s.kind == AccessKind::Read && t.kind == AccessKind::Read;
  if (bothRead || (s.core == t.core && (s.pipe == t.pipe || relaxed)))
    return; // the scalar unit sees its own cache
  if (s.pipe == Pipe::S)
    compareCached(s, t, a.region, b.region);
  if (t.pipe == Pipe::S)
    compareCached(t, s, b.region, a.region);
}

void Search::compareStreams(const Stream& a, const Stream& b) {
  bool samePipe = a.core == b.core && a.pipe == b.pipe;
  if (samePipe && (a.pipe == Pipe::S || a.pipe == Pipe::FIX))
    return;
  // In one pipe, a read never follows a write so closely that it overtakes it the other way round.
  if (samePipe && &a == &b && a.kind == AccessKind::Read)
    return;
  if (relaxed && a.core == b.core && (a.pipe == Pipe::S || b.pipe == Pipe::S))
    return;
  for (const GlobalAccess* y : b.accesses) {
    if (over())
      return;
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
      race(*x, a, *y, b);
      break;
    }
  }
}

namespace {
/// Flags of the core that don't wait for this pipe, if none does.
void noteOtherPipes(const CoreHazards& core, Pipe pipe, ReportItem& item) {
  const auto& sets = core.crossSets;
  if (std::any_of(sets.begin(), sets.end(), [&](const auto& set) { return set.pipe == pipe; }))
    return;
  constexpr size_t mostShown = 3;
  for (size_t k = 0; k < std::min(mostShown, sets.size()); ++k)
    item.notes.push_back({core.site(sets[k].site).place,
                          core.core + " sets cross-core flag " + std::to_string(sets[k].flag) +
                              " on " + pipeNames[static_cast<unsigned>(sets[k].pipe)] +
                              ", which doesn't wait for " +
                              pipeNames[static_cast<unsigned>(pipe)]});
}
} // namespace

namespace {
/// What orders two statements of two cores.
std::string orderOf(unsigned p, unsigned q, const Site& first, const Site& second,
                    const CoreHazards& cx, const CoreHazards& cy) {
  const Advice words(second.place);
  auto flag = [&](unsigned pipe, const Site& before, const Site& behind) {
    const unsigned mode = cx.isCube() == cy.isCube() ? 0 : 2;
    return words.setCrossFlag(mode, static_cast<Pipe>(pipe), "id") + " behind line " +
           std::to_string(before.place.line) + " and " + words.waitCrossFlag("id") +
           " before line " + std::to_string(behind.place.line);
  };
  const std::string one = flag(p, first, second), other = flag(q, second, first);
  return std::string("order the cores with ") + words.crossFlags() + " (" + one +
         (one == other ? "" : "; or " + other) + ") or " + words.syncAll() +
         ", let them touch different bytes";
}
} // namespace

void Search::race(const GlobalAccess& x, const Stream& sx, const GlobalAccess& y,
                  const Stream& sy) {
  const CoreHazards &cx = *cores[sx.core], &cy = *cores[sy.core];
  const Site &px = cx.site(x.site), &py = cy.site(y.site);
  bool sameCore = sx.core == sy.core;
  auto key = std::make_tuple(px.place.file, px.place.line, py.place.file, py.place.line, sameCore);
  if (!known.insert(key).second)
    return;
  auto verb = [](AccessKind kind) {
    return kind == AccessKind::Read ? "read" : kind == AccessKind::Write ? "write" : "atomic store";
  };
  bool xFirst = sameCore ? x.epoch < y.epoch || x.pipe != y.pipe : true;
  const Site& first = xFirst ? px : py;
  const Site& second = xFirst ? py : px;
  auto p = static_cast<unsigned>(xFirst ? x.pipe : y.pipe);
  auto q = static_cast<unsigned>(xFirst ? y.pipe : x.pipe);
  ReportItem item;
  item.place = second.place;
  const Region &region = (xFirst ? y : x).region, &otherRegion = (xFirst ? x : y).region;
  const bool haveSame = region == otherRegion;
  const GlobalAccess &mine = xFirst ? y : x, &theirs = xFirst ? x : y;
  const CoreHazards &myCore = xFirst ? cy : cx, &theirCore = xFirst ? cx : cy;
  const bool haveSameName = nameTheSame(myCore, mine, theirCore, theirs);
  const AccessKind other = theirs.kind;
  const std::string there = haveSameName && haveSame ? ""
                            : haveSameName
                                ? " of " + moreGlobalBytes(theirCore, theirs, otherRegion)
                                : " of " + globalBytes(theirCore, theirs, otherRegion);
  item.sentence = std::string("nothing orders this ") + verb(mine.kind) + " of " +
                  globalBytes(myCore, mine, region) + " by " + second.what + " on " + pipeNames[q] +
                  " (" + myCore.core + ") and " + (other == AccessKind::Atomic ? "an " : "a ") +
                  verb(other) + there + " by " + first.what + " on " + pipeNames[p] + " (" +
                  theirCore.core + ") [ErrorSync1]";
  item.notes.push_back({first.place, "the other access is here"});
  if (!haveSame) {
    const Overlap overlap = overlapOf(region, otherRegion);
    item.notes.push_back({{},
                          "both touch " + moreGlobalBytes(myCore, mine, regionOf(overlap.first)) +
                              (overlap.more ? ", and more behind them" : "")});
  }
  const Advice words(second.place);
  std::string advice, once;
  if (!sameCore) {
    noteOtherPipes(cx, x.pipe, item);
    noteOtherPipes(cy, y.pipe, item);
    const bool isOneStore = mine.kind == AccessKind::Write && other == AccessKind::Write &&
                            px.place.line == py.place.line &&
                            std::string_view(px.place.file) == py.place.file &&
                            cx.isCube() == cy.isCube();
    advice = (isOneStore ? std::string(words.oneStore(cx.isCube()))
                         : orderOf(p, q, first, second, cx, cy)) +
             ", or use " + words.atomicAdd();
    if (cx.isCube() != cy.isCube())
      once = words.switchBetweenCores();
  } else if (p == q)
    advice = "add " + words.barrier(static_cast<Pipe>(p)) + " between them";
  else if (!isEventOf(cx.isCube(), static_cast<Pipe>(p), static_cast<Pipe>(q)))
    advice = "add " + words.barrierOfAll() + " between them";
  else
    advice = "add " + words.setFlag(static_cast<Pipe>(p), static_cast<Pipe>(q), "id") + " and " +
             words.waitFlag(static_cast<Pipe>(p), static_cast<Pipe>(q), "id") + " between them";
  if (sameCore)
    once = words.switchWithinCores();
  item.notes.push_back({{}, advice, once});
  report.add("gm " + std::string(px.place.file) + std::to_string(px.place.line) + py.place.file +
                 std::to_string(py.place.line) + (sameCore ? "s" : "o"),
             std::move(item));
}

} // namespace

void findGlobalHazards(const std::vector<const CoreHazards*>& cores, bool relaxed, Report& report,
                       const std::atomic<bool>& isOver) {
  Search(cores, relaxed, report, isOver).run();
}

} // namespace tilewright::ascend
