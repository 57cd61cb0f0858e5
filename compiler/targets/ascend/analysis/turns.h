// SPDX-License-Identifier: Apache-2.0
/// How branches go that ask for the number of an iteration, also in a loop whose length isn't known.
///
/// In such a loop a branch asks how many iterations came before (`if i >= 2`) or are still to come (`if i < n - 1`).
/// There are numbers a and b so that the answer is one and the same in all iterations with at least a before and b
/// behind them. Every run is then one of these: fewer than a + b iterations, each of which has its answers; or the first
/// a, any number of alike ones, and the last b. A walk that takes all of these has taken every run (walk.h).
/// An answer that is the same in no such middle, or is not known, is left open: both ways are walked, as ever.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

#include <optional>
#include <vector>

namespace tilewright::ascend::model {

/// What is known of an iteration: how many came before it, how many are still to come, and the first number modulo the
/// loop's period.
struct Turn {
  int64_t least = 0, most = kEndless;
  int64_t leastLeft = 0, mostLeft = kEndless;
  int64_t phase = 0, period = 1;
  bool operator==(const Turn&) const = default;
};

class Turns {
public:
  explicit Turns(const Program& program);

  /// How many iterations of a loop of unknown length are to be taken one by one, at both ends.
  struct Ends {
    int64_t first = 0, last = 0;
  };
  Ends endsOf(const Node* loop) const {
    return ends[loop->id];
  }
  const Turn& of(const Node* loop) const {
    return turns[loop->id];
  }
  void set(const Node* loop, Turn turn) {
    turns[loop->id] = turn;
  }
  /// Whether the conditions of a branch hold in the iterations that have been set, if that is known.
  std::optional<bool> isTaken(const Node& branch) const;

private:
  std::optional<bool> isTrue(const Condition& condition) const;
  void addEnds(const Node& branch);
  bool isDeep(const Node* loop) const;

  Values values;           ///< of the program
  std::vector<Turn> turns; ///< by loop
  std::vector<Ends> ends;  ///< by loop
};

} // namespace tilewright::ascend::model
