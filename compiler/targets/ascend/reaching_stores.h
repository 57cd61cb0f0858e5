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

} // namespace tilewright::ascend
