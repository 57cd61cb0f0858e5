// SPDX-License-Identifier: Apache-2.0
/// Which kind of core has a single element of global memory read or written, in a kernel that has work
/// for both and leaves the split to the compiler.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// The result of a branch that this use gives it; nothing if it is another use.
mlir::Value resultOfBranch(mlir::OpOperand& use);

/// Whether a branch or loop asks for what only the vector cores have: elements of UB, and their number.
bool asksVectorCores(mlir::Operation* branch);
/// Whether it asks for an element of a tensor that the cube core alone reads, because what stands in it is its own.
bool asksCubeCore(mlir::Operation* branch);
/// The element of UB that the innermost branch or loop around an operation that asks for one does; null if none asks.
npu::GetValueOp elementAskedAround(mlir::Operation* op);
/// The error that `user` needs the number `read` on the cores of a kind that can't read it.
void refuseElement(mlir::Operation* read, Agent agent, mlir::Operation* user);
/// Whether something in an operation changes a variable as only the vector cores can, whatever it is before.
bool changeOnVectorCores(mlir::Operation* op, mlir::Value variable);
/// Whether only the vector cores can know the numbers of an operation, or the way to it.
bool isKnownToVectorsAlone(mlir::Operation* op);
/// Whether what an operation prints or asserts, or the way to it, asks for elements that only the vector cores read;
/// their number, which is 0 on the cube core, is none. It is theirs alone then.
bool isPrintOfVectors(mlir::Operation* op);
/// Whether a variable may hold something else on the vector cores than on the cube core.
bool differsOnVectorCores(mlir::Value variable);

/// Whether a variable decides only about what the cores of one kind do, each for itself.
bool isOfOneAlone(mlir::Value variable, Agent agent);
/// Which core runs an instruction, if that is said.
std::optional<Agent> agentOf(npu::Instruction op);

class ScalarAgents {
public:
  /// `splits`: what stands outside of scopes is made two programs.
  ScalarAgents(mlir::func::FuncOp kernel, bool splits);

  /// Who writes: the vector cores if they alone know the number, the place, or whether it is written at all;
  /// else the one core of a block that is there once. Nothing where a scope says it.
  std::optional<Agent> ofStore(tile::StoreOp store) const;

  /// Who needs the number, or alone comes by; nothing if both do or a scope says it.
  std::optional<Agent> ofLoad(tile::LoadOp load) const;

  /// The cores that run an operation of which `agent` was said.
  llvm::SmallVector<Agent, 2> running(mlir::Operation* op, std::optional<Agent> agent) const;

private:
  bool isLeftToUs(mlir::Operation* op) const;

  bool hasCube = false, hasVector = false, hasTwoVectors = false;
  bool splits;
  llvm::DenseSet<mlir::Value> ofCube; ///< tensors that the cube core's instructions touch
};

} // namespace tilewright::ascend
