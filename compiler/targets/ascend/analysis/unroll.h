// SPDX-License-Identifier: Apache-2.0
/// A program with each iteration written out: then nothing stands for several iterations at once, and
/// `check` errs no more. Of long loops, the first and the last iteration are.
#pragma once

#include "compiler/targets/ascend/analysis/slice.h"

#include <map>
#include <optional>

namespace tilewright::ascend::model {

struct Unrolled {
  Program program;
  /// By node of `program`: what it is an iteration of.
  std::vector<const Node*> origins;
  /// By node of `program`: of a statement, in which turns of the loops around its origin, of those that are written out.
  std::vector<std::map<const Node*, int64_t>> turns;
  /// Nothing is left of any loop.
  bool isComplete = true;
  /// Loops of which not all iterations are written out, somewhere.
  std::set<const Node*> cut;
};

/// How branches go of which the iteration tells nothing, by the number of what they ask.
using Answers = std::map<unsigned, bool>;

/// More takes longer than the rest of a compilation.
constexpr size_t kMostUnrolled = 400;

/// As much as `most` statements, syncs and branches allow; nothing if they allow none. Of runs in which
/// values are what `values` says; of a slice of the program, if there is one.
std::optional<Unrolled> unroll(const Program& program, size_t most, const Values& values = {},
                               const Answers& answers = {}, const Slice* slice = nullptr);

/// Without any loop: of those that are too long, or of unknown length, only the first iterations. Of runs in which
/// values are what `values` says, and no loop of unknown length has more turns than `mostUnknown`.
std::optional<Unrolled> unrollFirst(const Program& program, size_t most,
                                    const Slice* slice = nullptr, const Values& values = {},
                                    int64_t mostUnknown = kEndless);

/// The same with the first `longest` iterations of longer loops.
std::optional<Unrolled> unrollFirstOf(const Program& program, size_t most, int64_t longest,
                                      const Slice* slice, const Values& values,
                                      int64_t mostUnknown);

} // namespace tilewright::ascend::model
