// SPDX-License-Identifier: Apache-2.0
// Vector clocks: what a pipe knows to be complete on every pipe of its core and of other cores.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_CLOCK_H
#define TILEWRIGHT_SIMULATOR_SYNC_CLOCK_H

#include "simulator/isa/instruction.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::ascend {

/// For each pipe of one core, the number of the last record known to be complete. One lane more
/// than pipes, so that a join is one vector instruction; it counts reads of GM by the scalar unit,
/// which are complete before anything else is issued.
struct Clock {
  std::array<uint32_t, 8> known{};
  static constexpr unsigned scalarReads = 7;

  uint32_t& operator[](Pipe p) {
    return known[static_cast<unsigned>(p)];
  }
  uint32_t operator[](Pipe p) const {
    return known[static_cast<unsigned>(p)];
  }
  void join(const Clock& other) {
    for (unsigned i = 0; i < 8; ++i)
      known[i] = known[i] > other.known[i] ? known[i] : other.known[i];
  }
  bool operator==(const Clock& other) const = default;
};

/// The same for agents of a launch, from the first of which anything is known to the last: a core of
/// 65,535 blocks that only talks to its own block keeps that block's clocks. Immutable once shared:
/// changes only at cross-core waits.
class RemoteClock {
public:
  /// Null if nothing is known of that agent.
  const Clock* of(uint32_t agent) const {
    return agent >= first && agent < end() ? &clocks[agent - first] : nullptr;
  }
  /// Of the agents from `begin` to `end` something may be known, of others nothing.
  uint32_t begin() const {
    return first;
  }
  uint32_t end() const {
    return first + static_cast<uint32_t>(clocks.size());
  }
  void join(uint32_t agent, const Clock& clock) {
    cover(agent, agent + 1);
    clocks[agent - first].join(clock);
  }
  void join(const RemoteClock& other) {
    if (other.clocks.empty())
      return;
    cover(other.begin(), other.end());
    for (uint32_t i = 0; i < other.clocks.size(); ++i)
      clocks[other.first - first + i].join(other.clocks[i]);
  }

private:
  void cover(uint32_t from, uint32_t to) {
    if (clocks.empty())
      first = from;
    if (from < first) {
      clocks.insert(clocks.begin(), first - from, Clock{});
      first = from;
    }
    if (to > end())
      clocks.resize(to - first);
  }

  uint32_t first = 0;
  std::vector<Clock> clocks;
};
using RemoteClockRef = std::shared_ptr<const RemoteClock>;

/// The join of two; either may be null (knows nothing).
inline RemoteClockRef joined(const RemoteClockRef& a, const RemoteClockRef& b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  auto result = std::make_shared<RemoteClock>(*a);
  result->join(*b);
  return result;
}

} // namespace tilewright::ascend

#endif
