// SPDX-License-Identifier: Apache-2.0
/// What is known at a point of a program, of all ways to it.
#pragma once

#include "compiler/targets/ascend/analysis/bit_set.h"
#include "compiler/targets/ascend/analysis/program.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {

/// The rows of a state: only of queues on which something runs or waits. Of any other nothing is known that the scalar
/// unit of its agent doesn't know.
class Layout {
public:
  explicit Layout(const Program& program) {
    bool isUsed[kQueues] = {}, hasRemote = false;
    const auto note = [&](const Sync& sync) {
      isUsed[sync.queue.index()] = true;
      if (sync.flag != kNone) {
        isUsed[program.flags[sync.flag].to.index()] = true;
        hasRemote = hasRemote || program.flags[sync.flag].isCross;
      }
      hasRemote = hasRemote || sync.kind == SyncKind::SyncAll;
    };
    for (const Agent agent : {Agent::Cube, Agent::Vector})
      isUsed[Queue{agent, Pipe::S}.index()] = true;
    for (const Node& node : program.nodes) {
      if (node.kind == NodeKind::Statement)
        isUsed[node.queue.index()] = true;
      if (node.kind == NodeKind::Sync)
        note(node.sync);
      std::ranges::for_each(node.before, note);
      std::ranges::for_each(node.after, note);
    }
    for (unsigned queue = 0; queue < kQueues; ++queue)
      if (isUsed[queue]) {
        rowOf[queue] = firstFlag++;
        queues.push_back(Queue::at(queue));
      }
    // Where nothing tells the other agent anything, one row without any record stands for both.
    remoteOf = {firstFlag, firstFlag + (hasRemote ? 1 : 0)};
    firstFlag = remoteOf.back() + 1;
  }

  bool operator==(const Layout&) const = default;

  std::vector<Queue> queues; ///< those that have a row
  std::array<size_t, kQueues> rowOf{};
  std::array<size_t, 2> remoteOf{};
  size_t firstFlag = kFirstQueue;
  static constexpr size_t kFirstQueue = 1;
};

/// Sets of records. Whatever is known was issued.
class State {
public:
  State() = default;
  State(const Layout& layout, size_t flags, size_t variables, size_t records)
      : count(flags), values(variables, kNoValue), layout(&layout),
        rows(layout.firstFlag + flags, records) {}

  State(State&&) = default;
  State& operator=(State&&) = default;
  ~State() = default;
  State(const State& other) {
    *this = other;
  }
  /// What flags that aren't set carry means nothing.
  State& operator=(const State& other) {
    if (this == &other)
      return *this;
    count = other.count;
    values = other.values;
    layout = other.layout;
    const size_t queues = layout ? layout->firstFlag : 0;
    rows.copy(other.rows, [&](size_t row) { return row < queues || count[row - queues] > 0; });
    return *this;
  }

  /// Of the same rows in another walk, of a program that may have more flags now.
  void moveTo(const Layout& other, size_t flags) {
    layout = &other;
    if (flags > count.size())
      rows.addRows(flags - count.size());
    count.resize(flags);
  }

  std::vector<int> count;  ///< by flag: sets without a wait
  std::vector<int> values; ///< by variable

  BitRow issued() {
    return rows[0];
  }
  BitRow known(Queue queue) {
    return rows[layout->rowOf[queue.index()]];
  }
  /// What cross-core flags have told an agent. Like the host, we let it order only accesses to
  /// global memory.
  BitRow remote(Agent agent) {
    return rows[layout->remoteOf[static_cast<size_t>(agent)]];
  }
  /// What a flag that is set will tell; of others it means nothing.
  BitRow carried(unsigned flag) {
    return rows[layout->firstFlag + flag];
  }

  /// All sets of what somebody knows, or will.
  template <typename Visit> void forEachKnowledge(Visit visit) {
    for (size_t row = Layout::kFirstQueue; row < layout->firstFlag; ++row)
      visit(rows[row]);
    for (size_t flag = 0; flag < count.size(); ++flag)
      if (count[flag] > 0)
        visit(rows[layout->firstFlag + flag]);
  }

  bool operator==(const State& other) const {
    return count == other.count && isAs(other, {});
  }
  /// The same, but for some flags.
  bool isAs(const State& other, const std::vector<bool>& leftOut) const {
    const auto isLeftOut = [&](size_t flag) { return !leftOut.empty() && leftOut[flag]; };
    if (count.size() != other.count.size() || values != other.values)
      return false;
    for (size_t flag = 0; flag < count.size(); ++flag)
      if (count[flag] != other.count[flag] && !isLeftOut(flag))
        return false;
    for (size_t row = 0; row < layout->firstFlag + count.size(); ++row) {
      const size_t flag = row - layout->firstFlag;
      if ((row < layout->firstFlag || (count[flag] > 0 && !isLeftOut(flag))) &&
          !std::ranges::equal(rows.words(row), other.rows.words(row)))
        return false;
    }
    return true;
  }

  /// Both paths have come here: of what was issued on either, that is known which is known wherever it was
  /// issued. `isSetOnOne` is told of flags that are not set alike.
  template <typename IsSetOnOne> void join(const State& other, IsSetOnOne isSetOnOne) {
    for (size_t row = Layout::kFirstQueue; row < layout->firstFlag; ++row)
      meet(row, other);
    for (unsigned flag = 0; flag < count.size(); ++flag) {
      if (count[flag] != other.count[flag])
        isSetOnOne(flag);
      count[flag] = std::min(count[flag], other.count[flag]);
      if (count[flag] > 0)
        meet(layout->firstFlag + flag, other);
    }
    const BitRow mine = issued();
    const std::span<const uint64_t> others = other.rows.words(0);
    std::ranges::transform(mine.words(), others, issued().words().begin(), std::bit_or());
  }

private:
  void meet(size_t row, const State& other) {
    const std::span<uint64_t> known = rows[row].words();
    const std::span<const uint64_t> issuedHere = rows.words(0), otherKnown = other.rows.words(row),
                                    issuedThere = other.rows.words(0);
    for (size_t w = 0; w < known.size(); ++w)
      known[w] = (known[w] & otherKnown[w]) | (known[w] & ~issuedThere[w]) |
                 (otherKnown[w] & ~issuedHere[w]);
  }

  const Layout* layout = nullptr;
  BitMatrix rows; ///< issued, known, remote, carried
};

/// One for each that the variables can be, in their order.
using States = std::vector<State>;

} // namespace tilewright::ascend::model
