// SPDX-License-Identifier: Apache-2.0
/// Which assignments to a variable a read of it may find.
#pragma once

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"

#include <llvm/ADT/SetVector.h>

#include <map>

namespace tilewright::ascend {

/// As one kind of core sees it: each has a variable of its own, and what stands in a scope of the other kind it doesn't do.
class ReachingStores {
public:
  using Stores = llvm::SmallSetVector<mlir::Operation*, 4>;

  /// `ofBoth`: stores in scopes that both kinds do all the same.
  ReachingStores(tile::LaunchOp launch, Agent cores, const llvm::DenseSet<mlir::Operation*>& ofBoth)
      : launch(launch), cores(cores), ofBoth(ofBoth) {}

  /// What has written to a variable, or an array of such, when `read` asks for it; of an exit and around loops, too.
  const Stores& storesTo(mlir::Operation* read, mlir::Value storage);

private:
  struct Exits {
    Stores ends, turns; ///< by `break`, by `continue`
  };
  struct Walk;

  tile::LaunchOp launch;
  Agent cores;
  const llvm::DenseSet<mlir::Operation*>& ofBoth;
  std::map<void*, llvm::DenseMap<mlir::Operation*, Stores>> known; ///< of each variable, by reads
};

/// All on which depends whether, where and with which numbers an operation runs.
class VariableOrigins {
public:
  explicit VariableOrigins(llvm::ArrayRef<ReachingStores*> views) : views(views) {}

  /// Calls `visit` with each assignment to a variable that has a part in it.
  void follow(mlir::Operation* root, llvm::function_ref<void(mlir::Operation*)> visit);

private:
  void add(mlir::Operation* op);
  void followNumbers(mlir::Operation* op, llvm::function_ref<void(mlir::Operation*)> visit);
  void followWay(mlir::Operation* op);

  llvm::SmallVector<ReachingStores*, 2> views;
  llvm::DenseSet<mlir::Operation*> seen;
  llvm::SmallVector<mlir::Operation*> open;
};

/// Whether a scope changes a variable.
bool storesInScopes(tile::LaunchOp launch);

/// Where each kind of core may go its own way outside of scopes, as its own variables say.
class OwnWays {
public:
  explicit OwnWays(tile::LaunchOp launch);
  bool decide(mlir::Operation* branch);

private:
  bool areThere;
  llvm::DenseSet<mlir::Operation*> none;
  ReachingStores ofCube, ofVectors;
};

} // namespace tilewright::ascend
