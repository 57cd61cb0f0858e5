// SPDX-License-Identifier: Apache-2.0
/// Where loops are left early.
#pragma once

#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Operation.h>

namespace tilewright::ascend {

bool isLoop(mlir::Operation* op);

/// Whether `op` is an exit of a loop around it (`break`, `continue`), or holds one.
bool hasExit(mlir::Operation* op);

/// Makes branches of all exits of a kernel, as the pass StructureExits does.
void structureExits(mlir::func::FuncOp kernel);

/// What a `while` asks before each turn, in which block, and, where it can be left and its exits are branches, the variable
/// that is `kLeftState` then: of what has been left nothing is asked.
struct WhileQuestion {
  mlir::Value condition;
  mlir::Block* block = nullptr;
  mlir::Value state;
};
WhileQuestion questionOf(tile::WhileOp loop);
inline constexpr int kLeftState = 2;

} // namespace tilewright::ascend
