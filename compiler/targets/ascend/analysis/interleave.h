// SPDX-License-Identifier: Apache-2.0
/// A program whose agents tell each other by flags of the kernel's own, as one text in an order in which
/// they can run: the k-th wait for a flag goes with its k-th set, wherever both stand in the kernel's text.
///
///   cube:   write W; set 0          cube:   write W; set #0
///   vector: wait 0; read W    ->    vector: wait #0; read W
///
/// So do their meetings: the k-th of one agent is the k-th of the other.
///
/// `check` then says what nothing orders, as of any program.
#pragma once

#include "compiler/targets/ascend/analysis/slice.h"

#include <optional>

namespace tilewright::ascend::model {

struct Interleaved {
  Program program;
  /// By node of `program`: what it is an iteration of.
  std::vector<const Node*> origins;
  /// What an agent waits for in vain, and what nothing waits for; flags of the given program.
  std::vector<Fault> faults;
  /// Loops that run a few iterations only: long ones and those of unknown length.
  std::set<const Node*> cut;
};

/// Of the flags and meetings alone, with no more than `longest` turns of each loop, whether flags fit or not: `slice` is
/// Slice::ofCores. Nothing where such a branch holds some, or at more than `most` of them.
std::optional<Interleaved> interleaveFlags(const Program& program, const Slice& slice, size_t most,
                                           int64_t longest, const Values& values = {},
                                           int64_t mostUnknown = kEndless);

/// Nothing where a branch of which nothing is known holds a flag between agents, where flags don't fit because a loop
/// that has such is cut, or at more than `most` nodes. Of runs as those of `unrollFirst`.
std::optional<Interleaved> interleave(const Program& program, size_t most,
                                      const Values& values = {}, int64_t mostUnknown = kEndless);

} // namespace tilewright::ascend::model
