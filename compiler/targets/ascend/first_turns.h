// SPDX-License-Identifier: Apache-2.0
/// What a core does in the first turns of a kernel's loops, as far as it is known before the kernel runs.
#pragma once

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::ascend {

struct Core {
  int64_t block = 0;
  Agent agent = Agent::Vector;
  int64_t vid = 0;

  auto operator<=>(const Core& other) const = default;
};

/// Bytes side by side, from the first to behind the last.
struct Bytes {
  int64_t begin = 0, end = 0;

  bool meets(const Bytes& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// Which way branches go that ask for what isn't known and is the same on both vector cores, but for those that leave a
/// loop, which are never taken.
enum class Branches { None, Outermost, All };

/// Which of the runs that a kernel may have.
struct RunChoice {
  int64_t turns = 1; ///< of each loop, at most
  /// Which of these branches are taken; loops whose length isn't known make two turns then, and copies have a row at
  /// least. Else all of that is left out.
  std::optional<Branches> branches = std::nullopt;
};

/// Runs a kernel's first turns on one core.
class FirstTurns {
public:
  /// `isOurs`: this kind of core does what stands outside of scopes and doesn't say whose it is.
  FirstTurns(const Core& core, bool isOurs, RunChoice choice = {})
      : core(core), isOurs(isOurs), choice(choice) {}
  virtual ~FirstTurns() = default;

  void run(tile::LaunchOp launch, mlir::ArrayRef<int64_t> ids);

protected:
  /// Of those that this core runs.
  virtual void visit(npu::Instruction op) = 0;
  /// Any other operation; of what has regions, what is left out.
  virtual void pass(mlir::Operation*, bool /*isOurs*/) {}
  /// Whether there is anything to see in it.
  virtual bool isOfUse(mlir::Operation*) const {
    return true;
  }
  /// Behind a loop of which not all turns have run.
  virtual void cutShort(mlir::Operation* /*loop*/) {}

  /// What is touched of a tensor, each row by itself; nothing where it isn't known, or may be less.
  llvm::SmallVector<Bytes> bytesOf(npu::Instruction op, const npu::Access& access);
  std::optional<int64_t> numberOf(mlir::Value value);
  void stop() {
    way = Way::Over;
  }

  Core core;
  /// Branches around, of which it isn't known that they are taken.
  llvm::SmallVector<mlir::Value> asked;

private:
  enum class Way { On, Continue, Break, Over };

  void run(mlir::Block& block, bool isOurs);
  void runOne(mlir::Operation& op, bool isOurs);
  void runBranch(mlir::scf::IfOp branch, bool isOurs);
  bool isChosen(mlir::scf::IfOp branch) const;
  void runLoop(tile::ForOp loop, bool isOurs);
  void runWhile(tile::WhileOp loop, bool isOurs);
  void leaveOut(mlir::Operation* op, bool isOurs);
  llvm::SmallVector<Bytes> rowsOf(const tile::BufferRegion& region, int64_t bytes);
  std::optional<int64_t> numberOf(mlir::OpFoldResult number);
  std::optional<int64_t> lengthOf(mlir::OpFoldResult extent);

  bool isOurs;
  RunChoice choice;
  Way way = Way::On;
  llvm::DenseMap<mlir::Value, int64_t> known;     ///< numbers, by loops and loads
  llvm::DenseMap<mlir::Value, int64_t> variables; ///< what they hold
};

} // namespace tilewright::ascend
