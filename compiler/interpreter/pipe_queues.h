// SPDX-License-Identifier: Apache-2.0
/// The flags between the pipes of one Ascend core.
#pragma once

#include "compiler/ir/ascend_ops.h"

#include <array>
#include <compare>
#include <deque>
#include <map>

namespace tilewright::interpreter {

/// Sets and waits in the order in which each pipe meets them: a set is queued on the pipe that it
/// comes from, a wait on the pipe that it holds up. So a wait may stand before its set in the text,
/// unless the set is stuck behind it.
class PipeQueues {
public:
  void set(mlir::Operation* op, ascend::Pipe from, ascend::Pipe to, int64_t event) {
    queues[size_t(from)].push_back({op, true, {from, to, event}});
    settle();
  }
  void wait(mlir::Operation* op, ascend::Pipe from, ascend::Pipe to, int64_t event) {
    queues[size_t(to)].push_back({op, false, {from, to, event}});
    settle();
  }
  struct Flag {
    ascend::Pipe from, to;
    int64_t event;
    auto operator<=>(const Flag&) const = default;
  };
  /// A set or a wait.
  struct Entry {
    mlir::Operation* op;
    bool isSet;
    Flag flag;
  };
  /// A wait that still holds up its pipe, or null.
  const Entry* stuckWait() const {
    for (const auto& queue : queues)
      if (!queue.empty())
        return &queue.front();
    return nullptr;
  }
  /// A set of the flag that stands in its pipe behind what is stuck, or null.
  mlir::Operation* lateSetOf(const Flag& flag) const {
    for (const Entry& entry : queues[size_t(flag.from)])
      if (entry.isSet && entry.flag == flag)
        return entry.op;
    return nullptr;
  }

private:
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& queue : queues)
        while (!queue.empty() && pass(queue.front())) {
          queue.pop_front();
          changed = true;
        }
    }
  }
  bool pass(const Entry& entry) {
    int64_t& count = counts[entry.flag];
    if (!entry.isSet && count == 0)
      return false;
    count += entry.isSet ? 1 : -1;
    return true;
  }

  std::array<std::deque<Entry>, 8> queues;
  std::map<Flag, int64_t> counts;
};

} // namespace tilewright::interpreter
