// SPDX-License-Identifier: Apache-2.0
/// Splits runs by what values that never change are (arguments, a block's number): so two loops up to the same
/// argument make as many iterations, and two branches on it go together. In each case `check` takes the iterations
/// of a slice of the program as `unroll` writes them out. Each run is one of a case, so what holds in all of them holds.
#pragma once

#include "compiler/targets/ascend/analysis/unroll.h"

#include <functional>
#include <memory>

namespace tilewright::ascend::model {

/// More cases are not asked for.
constexpr unsigned kMostCasesAsked = 200;

class Cases {
public:
  explicit Cases(const Program& program);
  /// Nothing depends on values.
  bool isEmpty() const {
    return symbols.empty();
  }
  struct Case {
    Unrolled unrolled;
    Conflicts conflicts;
    Values values; ///< of those that the slice asks for
    explicit Case(Unrolled from) : unrolled(std::move(from)), conflicts(unrolled.program) {}
  };
  /// A few single cases of the whole program in which all iterations are written out.
  std::vector<std::unique_ptr<Case>> examples() const;
  /// A few runs, from such as have the least numbers on: in the k-th each value is in the k-th of its cases.
  std::vector<Values> leastOnes() const;
  /// Whether something is so in all runs, asked of as large parts of them as it is so of, down to single cases.
  /// False also where that is too much to ask.
  using IsSo = std::function<bool(Case& part, bool isSingle)>;
  bool always(const Slice& slice, const IsSo& isSo);
  /// Where `always` could not ask: of a single case that is too large, or of all of them, which are too many.
  const Finding& limit() const {
    return limitOfLast;
  }

private:
  /// A value, and from where to where its cases go.
  struct Symbol {
    unsigned number = 0;
    std::vector<int64_t> begins; ///< of each case; it ends before the next one's
    int64_t end = kEndless;      ///< of all
  };
  /// By symbol: from the first of its cases to behind the last.
  using Part = std::vector<std::pair<unsigned, unsigned>>;

  void addPoints(const Program& program);
  void addPoint(unsigned symbol, int64_t at);
  std::unique_ptr<Case> at(const Part& part) const;
  Values valuesOf(const Part& part) const;
  void noteAsked();
  std::pair<size_t, unsigned> widestOf(const Part& part) const;
  bool always(const Part& part, const IsSo& isSo);

  const Program& program;
  std::map<unsigned, std::set<int64_t>> points;
  std::vector<Symbol> symbols;
  const Slice* slice = nullptr;
  std::set<unsigned> asked; ///< values for which the slice asks
  std::set<unsigned> near;  ///< those for which loops and branches around what is asked about do
  Finding limitOfLast;
  unsigned left = 0; ///< that may be asked
};

} // namespace tilewright::ascend::model
