// SPDX-License-Identifier: Apache-2.0
/// Index values as sums that the analyses understand: a constant, loop numbers times constants, loop
/// numbers modulo constants, and values that never change.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/targets/ascend/analysis/program.h"
#include "compiler/targets/ascend/turn_tables.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Value.h>

#include <functional>
#include <map>
#include <optional>

namespace tilewright::ascend {

struct IndexSum {
  int64_t constant = 0;
  std::vector<model::Term> terms; ///< `bytes` counts in units of the index

  IndexSum& operator+=(const IndexSum& other);
  IndexSum& operator*=(int64_t factor);
  /// Whether nothing is left once equal terms are taken together.
  bool isZero() const;
  /// Equal terms taken together.
  void simplify();
};

class IndexTerms {
public:
  IndexTerms() = default;
  /// With the bounds of a kernel's arguments.
  explicit IndexTerms(mlir::func::FuncOp kernel);
  /// Says which node of the program is the loop that counts `induction`: it goes from `lower` in
  /// steps of `step`.
  void addLoop(mlir::Value induction, unsigned node, std::optional<IndexSum> lower,
               std::optional<int64_t> step);
  /// The same of a loop that counts nothing.
  void addOpenLoop(mlir::Operation* loop, unsigned node) {
    openLoops[loop] = node;
  }
  /// From here on its turns say nothing.
  void removeOpenLoop(mlir::Operation* loop) {
    openLoops.erase(loop);
  }
  /// The same of what makes no more than one turn, and is no loop there.
  void addOnce(mlir::Value induction, std::optional<IndexSum> lower) {
    onces[induction] = std::move(lower);
  }
  /// Nothing if the value depends on a loop in any other way.
  std::optional<IndexSum> of(mlir::Value value);
  /// As `of`, of where `op` touches memory: what depends on a loop in another way (`vid * k`), but has known ends, is
  /// any number between them, another one each time. In a branch that says it vid is 0, or 1.
  std::optional<IndexSum> offsetAt(mlir::Operation* op, mlir::Value value);
  /// What `offsetAt` takes a number for that nothing else tells: what a variable holds there.
  std::function<std::optional<IndexSum>(mlir::Value, mlir::Operation*)> ofVariable;
  /// As `of`, of the end of a loop from `lower`: `n - 1` counts as a number that never wraps round, where
  /// `takenFromEnd` knows it: the pass WideEnds sees to that.
  std::optional<IndexSum> ofEnd(mlir::Value lower, mlir::Value upper);
  /// Of the end of a loop that is a number of 32 bits less a small one, and might wrap round: both. With the few numbers
  /// of which it would the loop had some 2^31 turns. Only where nothing but the loop and what is in it asks for it.
  struct EndWithout {
    mlir::Value number;
    int64_t less = 0;
  };
  std::optional<EndWithout> takenFromEnd(mlir::Value lower, mlir::Value upper);
  /// From here on branches stand in a loop from `lower` to `upper`, so that there is a number between; up to
  /// `leaveLoop`.
  void enterLoop(mlir::Value lower, mlir::Value upper);
  void leaveLoop() {
    entered.pop_back();
  }
  /// As `of`, of what a branch asks: with `for k in range(n)` around it, `n - 1` is no number that wrapped round.
  std::optional<IndexSum> inBranch(mlir::Value value);
  /// The same whenever an agent comes by.
  bool isUnchanging(mlir::Value value);
  /// Whether the turns of the loops around it say what is read of a variable.
  bool isTurning(tile::LoadOp load);
  /// Calls `visit` with each value that never changes and the number that terms have for it.
  template <typename Visit> void forEachValue(Visit visit) const {
    for (const auto& [value, number] : symbols)
      visit(value, number);
  }
  /// What values that never change can be, by the numbers that terms have for them, where it is known.
  model::Values valueRanges() const;
  /// How a sum compares with 0.
  static model::Condition condition(model::Comparison kind, const IndexSum& sum);
  /// The same of a sum in which `counter` counts a loop's iterations, by how many of them are still to come. `length` is
  /// how far the loop's end lies from its first number. Nothing if the end has no part in the sum.
  std::optional<model::Condition> conditionOnEnd(model::Comparison kind, IndexSum sum,
                                                 const model::Term& counter, IndexSum length,
                                                 int64_t step) const;
  /// Whether a sum is surely above 0; of dims of tensors, that none is 0 can be taken for granted.
  bool isAboveZero(const IndexSum& sum, bool isIfNotEmpty);

private:
  struct Loop {
    unsigned node = 0;
    std::optional<IndexSum> lower;
    std::optional<int64_t> step;
  };
  mlir::Value withoutCasts(mlir::Value value);
  bool mayWrap(mlir::Value value);
  bool fitsInBranch(mlir::Operation* op);
  IndexRange rangeInBranch(mlir::Value value);
  std::optional<IndexSum> compute(mlir::Value value);
  std::optional<IndexSum> unwrappedAt(mlir::Operation* op, mlir::Value value);
  /// A constant, and how often each loop's number and each value that never changes are added to it.
  struct Parts {
    int64_t constant = 0;
    std::map<unsigned, int64_t> loops = {}, values = {};
    bool isOfLoops = true; ///< only, and each is added
  };
  std::optional<Parts> partsOf(const IndexSum& sum, int64_t modulus) const;
  std::optional<IndexSum> congruent(mlir::Value value, int64_t modulus, bool& wrapped);
  std::optional<IndexSum> congruentProduct(mlir::Operation* op, int64_t modulus, bool& wrapped);
  std::optional<IndexSum> turnedBits(mlir::Value value, int64_t bits);
  std::optional<IndexSum> turnedRemainder(mlir::Value value, int64_t bits, int64_t modulus);
  std::optional<IndexSum> signedRemainder(mlir::Operation* op, int64_t modulus);
  std::optional<IndexSum> modulo(mlir::Value value, int64_t modulus, bool isRoundedDown);
  std::optional<IndexSum> quotient(mlir::Operation* op, int64_t divisor);
  bool goesOnEvenly(const TurnTable& table) const;
  std::optional<IndexSum> inTurns(mlir::Value value);
  std::optional<unsigned> nodeOf(mlir::Operation* loop) const;
  std::optional<IndexSum> counted(mlir::Value value);
  std::optional<IndexSum> unchanging(mlir::Value value);
  std::optional<IndexSum> between(mlir::Value value);
  bool isOneNumber(mlir::Operation* op);
  unsigned numberOf(mlir::Value value);
  unsigned numberIn(llvm::DenseMap<mlir::Value, unsigned>& numbers, mlir::Value value,
                    IndexRange range, IndexRange rangeNotEmpty);

  /// Values that never change are numbered from here, behind all nodes.
  static constexpr unsigned firstSymbol = 1U << 24;

  IndexRanges ranges, rangesNotEmpty{/*leastDim=*/1};
  TurnTables tables;
  llvm::DenseMap<mlir::Value, Loop> loops;
  llvm::DenseMap<mlir::Value, std::optional<IndexSum>> onces;
  llvm::DenseMap<mlir::Operation*, unsigned> openLoops;
  llvm::DenseMap<mlir::Value, unsigned> symbols;
  llvm::DenseMap<mlir::Value, unsigned> signs;  ///< of remainders: 1 of those below 0
  std::vector<IndexRange> symbolRanges;         ///< by number
  std::vector<IndexRange> symbolRangesNotEmpty; ///< with no dim that is 0
  llvm::DenseMap<mlir::Value, bool> unchangingValues;
  std::vector<std::pair<mlir::Value, int64_t>>
      entered;                                ///< ends of loops, and the least that they are there
  llvm::DenseMap<mlir::Value, IndexSum> ends; ///< of loops, such as don't wrap round
  bool isInBranch = false, isOffset = false;
  mlir::Operation* toucher = nullptr;       ///< whose offset is asked for
  bool isOfVectorsAlone = false;            ///< the kernel
  llvm::DenseSet<mlir::Value> neverWritten; ///< tensors
};

} // namespace tilewright::ascend
