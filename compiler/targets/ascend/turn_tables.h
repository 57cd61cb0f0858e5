// SPDX-License-Identifier: Apache-2.0
/// What an integer is in each turn of the loops around it, where that comes again after a few turns: `i // 2 % 2`,
/// `(i + 1) % 3 * 2`, `i ^ 1`, a choice by `i % 2`, and a variable that each turn counts up or toggles
/// (turning_variables.h).
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/IR/Value.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::ascend {

/// With the numbers of turns, from 0, of `loops` added up: `values` of the sum's remainder, and `drift` more each time
/// round. A loop may stand there several times. Without loops: a constant.
struct TurnTable {
  std::vector<mlir::Operation*> loops;
  std::vector<int64_t> values;
  int64_t drift = 0;

  int64_t period() const {
    return static_cast<int64_t>(values.size());
  }
  int64_t at(int64_t turn) const {
    return values[static_cast<size_t>(turn % period())] + drift * (turn / period());
  }
  bool isConstant() const {
    return loops.empty();
  }
};

/// More turns than this aren't told apart.
constexpr int64_t kMostInTable = 12;

/// How many turns a loop with constant ends makes, also a `while` that counts up to there and asks for nothing else.
std::optional<int64_t> turnsOf(mlir::Operation* loop);

/// The least number of turns after which a table comes again, and no loop where it is one number.
TurnTable shortened(TurnTable table);

/// The same of all turns of one short loop, if it drifts.
std::optional<TurnTable> withoutDrift(TurnTable table);

class TurnTables {
public:
  /// With `hasVariables` off, of no variables but those that a loop counts up by a constant.
  explicit TurnTables(bool hasVariables = true) : hasVariables(hasVariables) {}

  std::optional<TurnTable> of(mlir::Value value);

private:
  std::optional<TurnTable> compute(mlir::Value value);
  std::optional<TurnTable> ofTurns(mlir::BlockArgument induction);
  std::optional<TurnTable> ofVariable(tile::LoadOp load);
  std::optional<TurnTable> result(mlir::Operation* op, llvm::ArrayRef<TurnTable> operands);
  std::optional<TurnTable> sumOfLoops(mlir::Operation* op, llvm::ArrayRef<TurnTable> operands);
  std::optional<int64_t> turnsToRepeat(mlir::Operation* op, llvm::ArrayRef<TurnTable> operands,
                                       int64_t common);
  bool mayWrap(mlir::Value value);

  bool hasVariables;
  IndexRanges ranges;
  llvm::DenseMap<mlir::Value, std::optional<TurnTable>> known;
};

} // namespace tilewright::ascend
