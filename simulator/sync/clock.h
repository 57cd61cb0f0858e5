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

/// The same for all agents of a launch. Immutable once shared: changes only at cross-core waits.
struct RemoteClock {
  std::vector<Clock> agents;
};
using RemoteClockRef = std::shared_ptr<const RemoteClock>;

/// The join of two; either may be null (knows nothing).
inline RemoteClockRef joined(const RemoteClockRef& a, const RemoteClockRef& b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  auto result = std::make_shared<RemoteClock>(*a);
  if (result->agents.size() < b->agents.size())
    result->agents.resize(b->agents.size());
  for (size_t i = 0; i < b->agents.size(); ++i)
    result->agents[i].join(b->agents[i]);
  return result;
}

} // namespace tilewright::ascend

#endif
