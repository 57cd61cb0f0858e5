// SPDX-License-Identifier: Apache-2.0
/// What is known at a point of a program, of all ways to it.
#pragma once

#include "compiler/targets/ascend/analysis/bit_set.h"
#include "compiler/targets/ascend/analysis/program.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {

/// Sets of records. Whatever is known was issued.
class State {
public:
  State() = default;
  State(size_t flags, size_t records) : count(flags), rows(kFirstFlag + flags, records) {}

  std::vector<int> count; ///< by flag: sets without a wait

  BitRow issued() {
    return rows[0];
  }
  BitRow known(Queue queue) {
    return rows[kFirstQueue + queue.index()];
  }
  /// What cross-core flags have told an agent. Like the host, we let it order only accesses to
  /// global memory.
  BitRow remote(Agent agent) {
    return rows[kFirstAgent + static_cast<size_t>(agent)];
  }
  /// What a flag that is set will tell; of others it means nothing.
  BitRow carried(unsigned flag) {
    return rows[kFirstFlag + flag];
  }

  /// All sets of what somebody knows, or will.
  template <typename Visit> void forEachKnowledge(Visit visit) {
    for (size_t row = kFirstQueue; row < kFirstFlag; ++row)
      visit(rows[row]);
    for (size_t flag = 0; flag < count.size(); ++flag)
      if (count[flag] > 0)
        visit(rows[kFirstFlag + flag]);
  }

  bool operator==(const State& other) const {
    if (count != other.count)
      return false;
    for (size_t row = 0; row < kFirstFlag + count.size(); ++row)
      if ((row < kFirstFlag || count[row - kFirstFlag] > 0) &&
          !std::ranges::equal(rows.words(row), other.rows.words(row)))
        return false;
    return true;
  }

  /// Both paths have come here: of what was issued on either, that is known which is known wherever it was
  /// issued. `isSetOnOne` is told of flags that are not set alike.
  template <typename IsSetOnOne> void join(const State& other, IsSetOnOne isSetOnOne) {
    for (size_t row = kFirstQueue; row < kFirstFlag; ++row)
      meet(row, other);
    for (unsigned flag = 0; flag < count.size(); ++flag) {
      if (count[flag] != other.count[flag])
        isSetOnOne(flag);
      count[flag] = std::min(count[flag], other.count[flag]);
      if (count[flag] > 0)
        meet(kFirstFlag + flag, other);
    }
    const BitRow mine = issued();
    const std::span<const uint64_t> others = other.rows.words(0);
    std::ranges::transform(mine.words(), others, issued().words().begin(), std::bit_or());
  }

private:
  static constexpr size_t kFirstQueue = 1, kFirstAgent = kFirstQueue + kQueues,
                          kFirstFlag = kFirstAgent + 2;

  void meet(size_t row, const State& other) {
    const std::span<uint64_t> known = rows[row].words();
    const std::span<const uint64_t> issuedHere = rows.words(0), otherKnown = other.rows.words(row),
                                    issuedThere = other.rows.words(0);
    for (size_t w = 0; w < known.size(); ++w)
      known[w] = (known[w] & otherKnown[w]) | (known[w] & ~issuedThere[w]) |
                 (otherKnown[w] & ~issuedHere[w]);
  }

  BitMatrix rows; ///< issued, known, remote, carried
};

} // namespace tilewright::ascend::model
