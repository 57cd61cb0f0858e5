// SPDX-License-Identifier: Apache-2.0
/// Which variables of a kernel the analyses follow, and what branches and loops ask of them.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/analysis/program.h"
#include "compiler/targets/ascend/index_terms.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include <optional>

namespace tilewright::ascend {

std::optional<model::Comparison> comparisonOf(mlir::arith::CmpIPredicate predicate);

/// Numbers to which only constants are assigned (structure_exits.cpp makes such) or added, and that are only read; and those
/// that say which part of a tile is meant, and come to few numbers.
class ModelVariables {
public:
  ModelVariables(model::Program& program, IndexTerms& indices)
      : program(program), indices(indices) {}

  /// Cores of two kinds have a copy each, which their own branches may change.
  bool haveCopies = false;

  /// The number that the program has for one; nothing if it isn't followed.
  std::optional<unsigned> of(mlir::Value buffer);
  /// Of a branch on a variable that was read right before: nothing between them assigns to it. Only one is asked.
  bool ask(mlir::scf::IfOp branch, mlir::Value condition, model::Node& node);
  /// What a `while` asks of variables; before anything else, which so is not done where the loop is over, or late.
  void askBeforeTurns(tile::WhileOp loop, model::Node& node);
  /// A number that is computed from a variable that says which part of a tile is meant, where `at` touches that; nothing if
  /// something may have been assigned to it since it was read, or if it isn't followed.
  std::optional<IndexSum> partAt(mlir::Value number, mlir::Operation* at);
  void setAssigned(tile::StoreOp store, model::Node& node);
  /// Where nothing reads such a variable any more, it means nothing.
  void forgetParts();
  /// Variables that are read only in a loop mean nothing behind it.
  void addForgotten(mlir::Operation* loop, model::Node& node) const;

private:
  std::optional<model::TurnCondition> askedBy(mlir::Value condition);
  bool askAllOf(mlir::Block& block, mlir::Value condition, bool isLate, model::Node& node);
  std::optional<unsigned> add(mlir::Value buffer);
  bool areSourcesFollowed(mlir::Value buffer);
  bool askBehind(mlir::Value condition, bool isLate, model::Node& node);

  model::Program& program;
  IndexTerms& indices;
  llvm::DenseMap<mlir::Value, std::optional<unsigned>> numbers;
  mlir::Region* asking = nullptr; ///< the condition of the `while` that is being asked
};

} // namespace tilewright::ascend
