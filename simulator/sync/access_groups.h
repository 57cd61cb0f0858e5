// SPDX-License-Identifier: Apache-2.0
// Accesses to GM of a launch by the bytes that they touch, and which of them are worth comparing: all
// pairs of 65,535 blocks that touch one place would take minutes, and tell the same about most.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_ACCESS_GROUPS_H
#define TILEWRIGHT_SIMULATOR_SYNC_ACCESS_GROUPS_H

#include "simulator/sync/core_hazards.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace tilewright::ascend {

/// Accesses of one pipe of one core to one region, in order.
struct Stream {
  uint32_t core;
  Pipe pipe;
  AccessKind kind;
  std::vector<const GlobalAccess*> accesses;

  /// What its core may know of others at its last access, which is all that it ever knew before.
  const RemoteClock* knowledge() const {
    return accesses.back()->remote;
  }
};

/// A line of the kernel that accesses GM in one way.
using AccessLine = std::tuple<AccessKind, const char*, uint32_t>;

/// The streams of a group by what a report would name, and by who may know of whom.
struct StreamIndex {
  std::map<AccessLine, std::vector<uint32_t>> byFirstLine; ///< of the stream's first access
  std::map<AccessLine, std::vector<uint32_t>> byLine;      ///< of any of its accesses
  struct Knowing {
    uint32_t begin, end; ///< of these cores
    uint32_t stream;
    uint32_t furthest; ///< end of this one and all before it
  };
  std::vector<Knowing> knowing; ///< by begin
};

/// Accesses to the same bytes.
struct AccessGroup {
  Region region;
  Interval hull;
  bool hasWrite = false;
  std::vector<Stream> streams;     ///< by core
  std::vector<Interval> unwritten; ///< bytes that nothing had written before the launch
  std::vector<size_t> writers;     ///< groups that write some of them
  std::unique_ptr<StreamIndex> index;
};

/// Numbers of a stream of one group and one of another.
using StreamPair = std::pair<uint32_t, uint32_t>;

class StreamPairs {
public:
  explicit StreamPairs(const std::vector<const CoreHazards*>& cores) : cores(cores) {}
  /// Calls `compare` for the pairs to compare, in order: those of one core, those where one core may know of the other,
  /// and of all others, which nothing orders, the first that has a line with a line for which `isWanted` says so. Ends
  /// once `compare` returns false.
  template <class IsWanted, class Compare>
  void visit(AccessGroup& a, AccessGroup& b, const IsWanted& isWanted, const Compare& compare) {
    constexpr size_t few = 64, mostAtOnce = size_t{1} << 20;
    chosen.clear();
    auto compareChosen = [&] {
      sortChosen();
      bool goesOn = std::all_of(chosen.begin(), chosen.end(), compare);
      chosen.clear();
      return goesOn;
    };
    if (a.streams.size() * b.streams.size() <= few) {
      chooseAll(a, b);
      compareChosen();
      return;
    }
    indexOf(a);
    indexOf(b);
    for (const auto& [first, ofFirst] : a.index->byFirstLine)
      for (const auto& [line, ofLine] : b.index->byLine)
        if (isWanted(first, line))
          chooseUnordered(a, ofFirst, b, ofLine);
    const uint32_t numRows = static_cast<uint32_t>(std::min(a.streams.size(), b.streams.size()));
    for (uint32_t i = 0; i < numRows; ++i) {
      chooseRelated(a, b, i);
      if (chosen.size() > mostAtOnce && !compareChosen())
        return;
    }
    compareChosen();
  }

private:
  void indexOf(AccessGroup& group) const;
  void chooseAll(const AccessGroup& a, const AccessGroup& b);
  /// With stream `i` of the group that has fewer.
  void chooseRelated(const AccessGroup& a, const AccessGroup& b, uint32_t i);
  /// Streams of `large` whose cores may know of that of `stream`, or the other way round, or are the same.
  template <class Use> void visitRelated(const Stream& stream, const AccessGroup& large, Use use);
  void chooseUnordered(const AccessGroup& a, const std::vector<uint32_t>& of, const AccessGroup& b,
                       const std::vector<uint32_t>& others);
  void sortChosen();

  const std::vector<const CoreHazards*>& cores;
  std::vector<StreamPair> chosen;
};

} // namespace tilewright::ascend

#endif
