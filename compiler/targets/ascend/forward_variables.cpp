// SPDX-License-Identifier: Apache-2.0
/// ForwardVariables: a read of a variable is the number that was assigned last, where one assignment alone leads there; and
/// what is read for nothing isn't read.
///
///   %debug = tile.alloc "debug" : !tile.buffer<si32, var>
///   tile.store %c0, %debug[]
///   tile.for ... {
///     %d = tile.load %debug[]                      // used: %c0
///     %on = arith.cmpi sgt, %d, %c0 : i32          // so this branch is never taken
///     scf.if %on { ... }
///   }
///   %y = npu.get_value %x[%c0]                     // goes, if nothing asks for %last
///   tile.store %y, %last[]
///
/// That is so of variables of which each read has one such number, which gets the variable's name, and of constants.
/// A number that comes from a variable that stays, as what a loop counts up, stays with it: who follows variables finds it there.
/// It stands before DropIdleWork, which decides branches and so needs their numbers, and before the flags, which
/// would order what isn't there.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/needed_work.h"
#include "compiler/targets/ascend/passes.h"

#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

bool isPlainVariable(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && alloc.getType().getSpace() == tile::MemorySpace::Var &&
         alloc.getType().getRank() == 0 && !alloc->hasAttr(kExitStateAttr) &&
         llvm::all_of(alloc->getUsers(),
                      [](Operation* user) { return isa<tile::LoadOp, tile::StoreOp>(user); });
}

/// What is assigned to a variable, if one operation does that or has it inside; null if none does.
class Assignments {
public:
  explicit Assignments(Value variable) {
    for (Operation* user : variable.getUsers())
      if (isa<tile::StoreOp>(user))
        for (Operation* op = user; op; op = op->getParentOp())
          all.insert(op);
  }

  /// The only one that leads to `read`; null if there are several ways, or none is known.
  tile::StoreOp reaching(Operation* read) const {
    for (Operation* place = read; !isa<tile::LaunchOp>(place); place = place->getParentOp()) {
      for (Operation* before = place->getPrevNode(); before; before = before->getPrevNode())
        if (all.contains(before))
          return dyn_cast<tile::StoreOp>(before);
      Operation* around = place->getParentOp();
      if (!isa<scf::IfOp, ScopeOp>(around) && all.contains(around) && !isa<tile::LaunchOp>(around))
        return {}; // of a turn before
    }
    return {};
  }

private:
  llvm::SmallPtrSet<Operation*, 16> all;
};

/// Whether another variable, or an array of such, has a part in a number: who reads that later may find another one.
bool comesFromOther(Value value, Value variable) {
  SmallVector<Value> open{value};
  llvm::SmallPtrSet<Operation*, 16> seen;
  while (!open.empty()) {
    Operation* op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    constexpr unsigned most = 64;
    if (op->getNumRegions() > 0 || seen.size() > most)
      return true;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (load.getBuffer() != variable)
        return true;
      continue;
    }
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

struct ForwardVariables : KernelPass<ForwardVariables> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForwardVariables)
  static constexpr llvm::StringLiteral kArgument = "ascend-forward-variables";
  static constexpr llvm::StringLiteral kDescription =
      "take what was assigned to a variable for it, and leave out reads for nothing";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>()) {
      const bool asksVid = asksVidIn(launch);
      forward(launch);
      dropReads(launch);
      // What nobody comes to may have been all that asks which vector core it is. Both do the rest all the same.
      if (asksVid)
        launch->setAttr(kAsksVidAttr, UnitAttr::get(launch.getContext()));
    }
  }

  static bool asksVidIn(tile::LaunchOp launch) {
    bool hasVariable = false, asksVid = false;
    launch.walk([&](Operation* op) {
      hasVariable |= isa<tile::AllocOp>(op) && isPlainVariable(op->getResult(0));
      asksVid |= isa<VectorIdOp>(op) && !op->use_empty();
    });
    return hasVariable && asksVid;
  }

  static void forward(tile::LaunchOp launch) {
    SmallVector<tile::LoadOp> loads;
    launch.walk<WalkOrder::PreOrder>([&](tile::LoadOp load) {
      if (isPlainVariable(load.getBuffer()))
        loads.push_back(load);
    });
    llvm::MapVector<Value, SmallVector<std::pair<tile::LoadOp, tile::StoreOp>>> assigned;
    llvm::DenseMap<Value, Assignments> known;
    for (tile::LoadOp load : loads) {
      const Value variable = load.getBuffer();
      const Assignments& assignments = known.try_emplace(variable, variable).first->second;
      tile::StoreOp store = assignments.reaching(load);
      const bool isKnown = store && store.getValue().getType() == load.getType();
      assigned[variable].emplace_back(load, isKnown ? store : tile::StoreOp());
    }
    for (auto& [variable, reads] : assigned)
      forward(variable.getDefiningOp<tile::AllocOp>(), reads);
  }

  /// All that is read of a variable, which goes then, and its numbers get its name; else only constants: the text has the
  /// kernel's variables.
  static void forward(tile::AllocOp variable,
                      ArrayRef<std::pair<tile::LoadOp, tile::StoreOp>> reads) {
    const bool isWhole = llvm::all_of(reads, [](auto read) {
      return read.second && !comesFromOther(read.second.getValue(), read.first.getBuffer());
    });
    for (auto [load, store] : reads) {
      const Value number = store ? store.getValue() : Value();
      const bool isConstant = number && getConstantIntValue(number);
      if (!isWhole && !isConstant)
        continue;
      if (Operation* op = number.getDefiningOp(); op && !isConstant && nameOf(op->getLoc()).empty())
        op->setLoc(named(variable.getSymName().value_or(""), op->getLoc()));
      load.replaceAllUsesWith(number);
      load.erase();
    }
  }

  /// With the variables for which nobody asks.
  static void dropReads(tile::LaunchOp launch) {
    SmallVector<Operation*> kept;
    launch.walk([&](Operation* op) {
      const bool isTile = isa<tile::AllocOp>(op) && !isPlainVariable(op->getResult(0));
      if (isTile || (op->getNumRegions() > 0 && !isa<scf::IfOp, tile::LaunchOp>(op)))
        kept.push_back(op);
    });
    dropNeedlessWork(launch, kept);
  }
};

} // namespace

std::unique_ptr<Pass> createForwardVariables() {
  return std::make_unique<ForwardVariables>();
}

} // namespace tilewright::ascend
