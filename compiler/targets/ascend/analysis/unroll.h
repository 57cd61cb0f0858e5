// SPDX-License-Identifier: Apache-2.0
/// A program with each iteration written out: then nothing stands for several iterations at once, and
/// `check` errs no more. Of long loops, the first and the last iteration are.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

#include <optional>

namespace tilewright::ascend::model {

struct Unrolled {
  Program program;
  /// By node of `program`: what it is an iteration of.
  std::vector<const Node*> origins;
  /// Nothing is left of any loop.
  bool isComplete = true;
};

/// More takes longer than the rest of a compilation.
constexpr size_t kMostUnrolled = 400;

/// As much as `most` statements, syncs and branches allow; nothing if they allow none.
std::optional<Unrolled> unroll(const Program& program, size_t most);

/// Without any loop: of those that are too long, or of unknown length, only the first iterations.
std::optional<Unrolled> unrollFirst(const Program& program, size_t most);

/// As `check`, but hazards and faults that no iteration has are left out, where unrolling can tell. Where flags
/// don't match, branches that ask the same go the same way.
Verdict checkIterations(const Program& program, const Conflicts& conflicts);

} // namespace tilewright::ascend::model
