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
    const Interval hull = access.region.hull();
    for (auto line = lines.lower_bound(cacheLineOf(hull.begin));
         line != lines.end() && line->first < hull.end; ++line) {
      Region bytes;
      bytes.begin = line->first;
      bytes.length = cacheLineBytes;
      if (!access.region.overlaps(bytes))
        continue;
      const auto& writes = line->second.writes;
      // A clean of the line is one of all writes before it, and a write that comes before the cache gets the line
      // comes before it does so again.
      auto first =
          std::partition_point(writes.begin(), writes.end(), [&](const GlobalAccess* write) {
            return isCleaned(line->second.cleans, *write, access) ||
                   isCleaned(cleansOfAll, *write, access);
          });
      if (first == writes.end() || isBefore(access, core.globalLog[(*first)->fill]) ||
          access.region.overlaps((*first)->region)) // that is a race, and told as one
        continue;
      tell(access, **first);
    }
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

} // namespace

void findLinesWrittenBack(const CoreHazards& core, Report& report,
                          const std::atomic<bool>& isOver) {
  LineSearch(core, report).run(isOver);
}

} // namespace tilewright::ascend
