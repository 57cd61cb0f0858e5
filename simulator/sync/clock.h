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
/// 65,535 blocks that only talks to its own block keeps that block's clocks. Copies share parts until
/// they differ: where each block waits for the one before, each knows of all before it. Immutable
/// once shared: changes only at cross-core waits.
class RemoteClock {
public:
  /// Null if nothing is known of that agent.
  const Clock* of(uint32_t agent) const {
    if (agent < first || agent >= last)
      return nullptr;
    const Part& part = parts[agent / perPart - first / perPart];
    return part.clocks ? &(*part.clocks)[agent % perPart] : nullptr;
  }
  /// Of the agents from `begin` to `end` something may be known, of others nothing.
  uint32_t begin() const {
    return first;
  }
  uint32_t end() const {
    return last;
  }
  void join(uint32_t agent, const Clock& clock) {
    cover(agent, agent + 1);
    own(parts[agent / perPart - first / perPart])[agent % perPart].join(clock);
  }
  void join(const RemoteClock& other) {
    if (other.first == other.last)
      return;
    cover(other.first, other.last);
    size_t at = other.first / perPart - first / perPart;
    for (const Part& theirs : other.parts) {
      Part& mine = parts[at++];
      if (!theirs.clocks || mine.clocks == theirs.clocks)
        continue;
      if (!mine.clocks) {
        mine = theirs;
        continue;
      }
      auto& clocks = own(mine);
      for (uint32_t i = 0; i < perPart; ++i)
        clocks[i].join((*theirs.clocks)[i]);
    }
  }

private:
  static constexpr uint32_t perPart = 64;
  using Clocks = std::array<Clock, perPart>;
  struct Part {
    Part() = default;
    Part(const Part& other) : clocks(other.clocks) {}
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): the next write copies it, no more
    Part& operator=(const Part& other) {
      clocks = other.clocks;
      isOwn = false;
      return *this;
    }
    Part(Part&&) = default;
    Part& operator=(Part&&) = default;
    ~Part() = default;

    std::shared_ptr<Clocks> clocks; ///< null: nothing is known
    bool isOwn = false;             ///< nobody else has it yet
  };

  static Clocks& own(Part& part) {
    if (!part.isOwn)
      part.clocks =
          part.clocks ? std::make_shared<Clocks>(*part.clocks) : std::make_shared<Clocks>();
    part.isOwn = true;
    return *part.clocks;
  }
  void cover(uint32_t from, uint32_t to) {
    if (first == last) {
      first = from;
      last = from;
    }
    if (from < first) {
      parts.insert(parts.begin(), first / perPart - from / perPart, Part{});
      first = from;
    }
    last = to > last ? to : last;
    parts.resize((last - 1) / perPart - first / perPart + 1);
  }

  uint32_t first = 0, last = 0;
  std::vector<Part> parts;
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
