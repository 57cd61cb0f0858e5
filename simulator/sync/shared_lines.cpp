// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/shared_lines.h"

#include "simulator/sync/advice.h"
#include "simulator/sync/events.h"
#include "simulator/sync/global_names.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::ascend {
namespace {

/// Calls `visit` with what `lines` has, by address, of each line that a region touches.
template <typename Line, typename Visit>
void forEachLineOf(const Region& region, const std::map<uint64_t, Line>& lines, Visit visit) {
  const Interval hull = region.hull();
  for (auto line = lines.lower_bound(cacheLineOf(hull.begin));
       line != lines.end() && line->first < hull.end; ++line) {
    Region bytes;
    bytes.begin = line->first;
    bytes.length = cacheLineBytes;
    if (region.overlaps(bytes))
      visit(line->second);
  }
}

/// What happens to one line in the cache: both in order.
struct Line {
  std::vector<const GlobalAccess*> writes;
  std::vector<uint32_t> cleans; ///< epochs of the scalar unit
};

class LineSearch {
public:
  LineSearch(const CoreHazards& core, Report& report) : core(core), report(report) {
    for (const GlobalAccess& access : core.globalLog)
      if (access.pipe == Pipe::S && access.kind == AccessKind::Write &&
          access.fill != GlobalAccess::noFill)
        lines[cacheLineOf(access.region.begin)].writes.push_back(&access);
    if (lines.empty())
      return;
    for (const CacheClean& clean : core.cleans)
      if (clean.line == 0)
        cleansOfAll.push_back(clean.epoch);
      else if (auto line = lines.find(clean.line); line != lines.end())
        line->second.cleans.push_back(clean.epoch);
  }

  void run(const std::atomic<bool>& isOver) {
    if (lines.empty())
      return;
    for (const GlobalAccess& access : core.globalLog)
      if (access.pipe != Pipe::S && access.kind != AccessKind::Read) {
        if (isOver.load(std::memory_order_relaxed))
          return;
        meet(access);
      }
  }

private:
  void meet(const GlobalAccess& access) {
    forEachLineOf(access.region, lines, [&](const Line& line) {
      const auto& writes = line.writes;
      // A clean of the line is one of all writes before it, and a write that comes before the cache gets the line
      // comes before it does so again.
      auto first =
          std::partition_point(writes.begin(), writes.end(), [&](const GlobalAccess* write) {
            return isCleaned(line.cleans, *write, access) || isCleaned(cleansOfAll, *write, access);
          });
      if (first == writes.end() || isBefore(access, core.globalLog[(*first)->fill]) ||
          access.region.overlaps((*first)->region)) // that is a race, and told as one
        return;
      tell(access, **first);
    });
  }

  /// Whether one of `cleans` comes behind `write`, and before `later`.
  static bool isCleaned(const std::vector<uint32_t>& cleans, const GlobalAccess& write,
                        const GlobalAccess& later) {
    auto clean = std::lower_bound(cleans.begin(), cleans.end(), write.epoch);
    return clean != cleans.end() && *clean <= later.clock[Pipe::S];
  }

  static bool isBefore(const GlobalAccess& access, const GlobalAccess& later) {
    return later.clock[access.pipe] >= access.epoch;
  }

  void tell(const GlobalAccess& access, const GlobalAccess& write) {
    const Site &at = core.site(access.site), &writer = core.site(write.site);
    if (!known.insert({at.place.file, at.place.line, writer.place.file, writer.place.line}).second)
      return;
    ReportItem item;
    item.place = at.place;
    item.sentence = std::string(at.what) + " on " + pipeNames[static_cast<unsigned>(access.pipe)] +
                    " writes " + globalBytes(core, access, access.region) +
                    ", over which the scalar unit's data cache may write back older bytes of a "
                    "64-byte line, as " +
                    writer.what + " wrote " + moreGlobalBytes(core, write, write.region) +
                    " there (" + core.core + ") [ErrorSync1]";
    item.notes.push_back({writer.place, "the write to the line is here"});
    const Advice words(at.place);
    // Both are of one log.
    const bool isBehind = &write < &access;
    const Pipe from = isBehind ? Pipe::S : access.pipe, to = isBehind ? access.pipe : Pipe::S;
    const std::string order =
        isEventOf(core.isCube(), from, to)
            ? words.setFlag(from, to, "id") + " and " + words.waitFlag(from, to, "id")
            : words.barrierOfAll();
    item.notes.push_back(
        {{},
         "add " + order + " between them" + (isBehind ? ", behind DataCacheCleanAndInvalid" : ""),
         words.switchWithinCores()});
    report.add("written back " + std::string(at.place.file) + std::to_string(at.place.line) +
                   writer.place.file + std::to_string(writer.place.line),
               std::move(item));
  }

  const CoreHazards& core;
  Report& report;
  std::map<uint64_t, Line> lines; ///< by address
  std::vector<uint32_t> cleansOfAll;
  std::set<std::tuple<const char*, uint32_t, const char*, uint32_t>> known;
};

/// Of all cores: what their scalar units write to a line, and what others' DMA writes there.
class OthersLines {
public:
  OthersLines(const std::vector<const CoreHazards*>& cores, Report& report)
      : cores(cores), report(report) {
    for (uint32_t core = 0; core < cores.size(); ++core)
      for (const GlobalAccess& access : cores[core]->globalLog)
        if (access.pipe == Pipe::S && access.kind == AccessKind::Write &&
            access.fill != GlobalAccess::noFill)
          addWrite(lines[cacheLineOf(access.region.begin)], core, access);
  }

  void run(const std::atomic<bool>& isOver) {
    if (lines.empty())
      return;
    for (uint32_t core = 0; core < cores.size(); ++core)
      for (const GlobalAccess& access : cores[core]->globalLog) {
        if (isOver.load(std::memory_order_relaxed))
          return;
        if (access.pipe != Pipe::S && access.kind != AccessKind::Read)
          meet(access, core);
      }
  }

private:
  struct Writes {
    uint32_t core = 0;
    std::vector<const GlobalAccess*> all; ///< in order
  };
  using Line = std::vector<Writes>;

  static void addWrite(Line& line, uint32_t core, const GlobalAccess& access) {
    constexpr size_t mostCores = 16; // as many as words of a line
    if (line.empty() || line.back().core != core) {
      if (line.size() == mostCores)
        return;
      line.push_back({core, {}});
    }
    line.back().all.push_back(&access);
  }

  void meet(const GlobalAccess& access, uint32_t core) {
    forEachLineOf(access.region, lines, [&](const Line& line) {
      for (const Writes& writes : line)
        if (writes.core != core)
          compare(access, core, writes);
    });
  }

  void compare(const GlobalAccess& access, uint32_t core, const Writes& writes) {
    const CoreHazards& writer = *cores[writes.core];
    // A clean of the line is one of all writes before it.
    const auto first =
        std::partition_point(writes.all.begin(), writes.all.end(), [&](const GlobalAccess* write) {
          return isCleaned(*write, writes.core, access);
        });
    if (first == writes.all.end() || access.region.overlaps((*first)->region))
      return; // the same bytes are a race, and told as one
    const GlobalAccess& fill = writer.globalLog[(*first)->fill];
    const Clock* before = fill.remote ? fill.remote->of(core) : nullptr;
    if (before && (*before)[access.pipe] >= access.epoch)
      return;
    tell(access, core, **first, writes.core);
  }

  bool isCleaned(const GlobalAccess& write, uint32_t core, const GlobalAccess& later) const {
    const Clock* known = later.remote ? later.remote->of(core) : nullptr;
    if (!known)
      return false;
    const std::vector<CacheClean>& cleans = cores[core]->cleans;
    auto clean = std::partition_point(cleans.begin(), cleans.end(), [&](const CacheClean& each) {
      return each.epoch < write.epoch;
    });
    const uint64_t line = cacheLineOf(write.region.begin);
    for (; clean != cleans.end() && clean->epoch <= (*known)[Pipe::S]; ++clean)
      if (clean->line == 0 || clean->line == line)
        return true;
    return false;
  }

  void tell(const GlobalAccess& access, uint32_t core, const GlobalAccess& write,
            uint32_t writingCore) {
    const CoreHazards &mine = *cores[core], &theirs = *cores[writingCore];
    const Site &at = mine.site(access.site), &writer = theirs.site(write.site);
    if (!known.insert({at.place.file, at.place.line, writer.place.file, writer.place.line}).second)
      return;
    ReportItem item;
    item.isError = false;
    item.place = at.place;
    item.sentence = std::string(at.what) + " on " + pipeNames[static_cast<unsigned>(access.pipe)] +
                    " writes " + globalBytes(mine, access, access.region) + " (" + mine.core +
                    "), over which the scalar unit's data cache of " + theirs.core +
                    " may write back older bytes of a 64-byte line, as " + writer.what + " wrote " +
                    moreGlobalBytes(theirs, write, write.region) + " there";
    item.notes.push_back({writer.place, "the write to the line is here"});
    item.notes.push_back({{}, "let each core write lines of its own, or copy from UB"});
    report.add("written back by another " + std::string(at.place.file) +
                   std::to_string(at.place.line) + writer.place.file +
                   std::to_string(writer.place.line),
               std::move(item));
  }

  const std::vector<const CoreHazards*>& cores;
  Report& report;
  std::map<uint64_t, Line> lines; ///< by address
  std::set<std::tuple<const char*, uint32_t, const char*, uint32_t>> known;
};

} // namespace

void findCopiesInOthersLines(const std::vector<const CoreHazards*>& cores, Report& report,
                             const std::atomic<bool>& isOver) {
  OthersLines(cores, report).run(isOver);
}

void findLinesWrittenBack(const CoreHazards& core, Report& report,
                          const std::atomic<bool>& isOver) {
  LineSearch(core, report).run(isOver);
}

} // namespace tilewright::ascend
