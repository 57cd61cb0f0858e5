// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/nest_branches.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// What a branch leaves in an element: of a store in it, which says where, or of several.
struct BranchStore {
  mutable tile::StoreOp store;
  Value value;
};
using BranchStores = SmallVector<BranchStore>;

template <class Access> bool isSamePlace(Value buffer, ValueRange indices, Access access) {
  return buffer == access.getBuffer() &&
         llvm::all_of(llvm::zip(indices, access.getIndices()), [](const auto& pair) {
           return isSameNumber(std::get<0>(pair), std::get<1>(pair));
         });
}

/// Whether `op` writes all of a buffer in UB, whose rows it may leave padded.
bool writesAll(Operation* op, Value storage) {
  auto instruction = dyn_cast<npu::Instruction>(op);
  if (!instruction)
    return false;
  SmallVector<npu::Access> accesses;
  instruction.getAccesses(accesses);
  const auto type = cast<tile::BufferType>(storage.getType());
  const int64_t columns = type.getRank() == 0 ? 1 : type.getShape().back();
  const int64_t lines = columns == 0 ? 0 : type.getNumElements() / columns;
  const int64_t bits = ((lines - 1) * npu::rowPitch(type) + columns) * type.getElementBits();
  return llvm::any_of(accesses, [&](const npu::Access& access) {
    return access.isWrite && npu::storageOf(access.buffer) == storage && access.offset &&
           getConstantIntValue(access.offset) == 0 && access.bytes != ShapedType::kDynamic &&
           access.bytes * 8 >= bits;
  });
}

class BranchRemover {
public:
  explicit BranchRemover(tile::ParallelOp nest)
      : nest(nest), ranges(rangesIn(&nest.getBody())),
        always(nest.getBodyBlock()->getOps<tile::LoadOp>()) {}

  bool run() {
    SmallVector<scf::IfOp> branches(nest.getBodyBlock()->getOps<scf::IfOp>());
    for (scf::IfOp branch : branches) {
      outermost = branch;
      const std::optional<BranchStores> lefts = dissolve(branch);
      if (!lefts)
        return false;
      ImplicitLocOpBuilder builder(branch.getLoc(), branch);
      for (const BranchStore& left : *lefts) {
        left.store->moveBefore(branch);
        left.store.getValueMutable().assign(left.value);
      }
      branch.erase();
    }
    return true;
  }

private:
  /// What stands in the branches goes before the outermost one, but for their stores.
  std::optional<BranchStores> dissolve(scf::IfOp branch) {
    BranchStores yes, no;
    if (!clear(branch.getThenRegion(), yes) || !clear(branch.getElseRegion(), no))
      return std::nullopt;
    for (Value result : branch.getResults()) {
      const unsigned number = cast<OpResult>(result).getResultNumber();
      result.replaceAllUsesWith(choice(branch.getLoc(), branch.getCondition(),
                                       branch.thenYield().getOperand(number),
                                       branch.elseYield().getOperand(number)));
    }
    return chosen(branch.getCondition(), yes, no);
  }

  bool clear(Region& region, BranchStores& lefts) {
    SmallVector<Operation*> ops;
    for (Block& block : region)
      for (Operation& op : block.without_terminator())
        ops.push_back(&op);
    known.push_back(&lefts);
    bool isDone = true;
    for (Operation* op : ops)
      isDone = isDone && moveOut(op, lefts);
    known.pop_back();
    return isDone;
  }

  bool moveOut(Operation* op, BranchStores& lefts) {
    if (auto inner = dyn_cast<scf::IfOp>(op)) {
      const std::optional<BranchStores> made = dissolve(inner);
      return made &&
             llvm::all_of(*made, [&](const BranchStore& left) { return leave(left, lefts); });
    }
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return isInside(store.getBuffer(), store.getIndices()) &&
             leave({store, store.getValue()}, lefts);
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? !isInside(load.getBuffer(), load.getIndices()) : !isPure(op))
      return false;
    if (load) {
      const BranchStore* left = find(load.getBuffer(), load.getIndices());
      if (left) {
        load.getValue().replaceAllUsesWith(left->value);
        return true;
      }
      if (isLeftIn(load.getBuffer()) || !isWritten(load.getBuffer(), load.getIndices()))
        return false;
    }
    op->moveBefore(outermost);
    return true;
  }

  /// The last store counts. Of different elements of one buffer, two may be the same.
  bool leave(const BranchStore& left, BranchStores& lefts) {
    for (BranchStore& other : lefts)
      if (isSamePlace(left.store.getBuffer(), left.store.getIndices(), other.store)) {
        other.value = left.value;
        return true;
      }
    if (isLeftIn(left.store.getBuffer()) && !find(left.store.getBuffer(), left.store.getIndices()))
      return false;
    lefts.push_back(left);
    return true;
  }

  std::optional<BranchStores> chosen(Value condition, const BranchStores& yes,
                                     const BranchStores& no) {
    BranchStores made;
    for (const BranchStores* side : {&yes, &no})
      for (const BranchStore& left : *side) {
        const auto isIt = [&](const BranchStore& other) {
          return isSamePlace(left.store.getBuffer(), left.store.getIndices(), other.store);
        };
        if (llvm::any_of(made, isIt))
          continue;
        const auto* first = llvm::find_if(yes, isIt);
        const auto* second = llvm::find_if(no, isIt);
        const Value ifYes = first != yes.end() ? first->value : before(left.store);
        const Value ifNo = second != no.end() ? second->value : before(left.store);
        if (!ifYes || !ifNo)
          return std::nullopt;
        made.push_back({left.store, choice(left.store.getLoc(), condition, ifYes, ifNo)});
      }
    return made;
  }

  /// The vector unit takes a number on the right side of a choice.
  Value choice(Location place, Value condition, Value yes, Value no) {
    ImplicitLocOpBuilder builder(place, outermost);
    auto compared = condition.getDefiningOp<arith::CmpIOp>();
    if (compared && isNumber(yes) && !isNumber(no)) {
      condition = arith::CmpIOp::create(builder, arith::invertPredicate(compared.getPredicate()),
                                        compared.getLhs(), compared.getRhs());
      std::swap(yes, no);
    }
    return arith::SelectOp::create(builder, condition, yes, no);
  }
  bool isNumber(Value value) {
    return !nest.getBody().isAncestor(value.getParentRegion()) || matchPattern(value, m_Constant());
  }

  /// What an element of UB holds before a branch. Where nothing is there yet, a choice that takes it leaves it so.
  Value before(tile::StoreOp store) {
    if (const BranchStore* left = find(store.getBuffer(), store.getIndices()))
      return left->value;
    if (isLeftIn(store.getBuffer()))
      return {};
    ImplicitLocOpBuilder builder(store.getLoc(), outermost);
    // Its indices may be computed in the branch: they have been moved by now.
    return tile::LoadOp::create(builder, store.getBuffer(), store.getIndices());
  }

  const BranchStore* find(Value buffer, ValueRange indices) {
    for (const BranchStores* lefts : llvm::reverse(known))
      for (const BranchStore& left : *lefts)
        if (isSamePlace(buffer, indices, left.store))
          return &left;
    return nullptr;
  }
  bool isLeftIn(Value buffer) {
    return llvm::any_of(known, [&](const BranchStores* lefts) {
      return llvm::any_of(*lefts, [&](const BranchStore& left) {
        return npu::storageOf(left.store.getBuffer()) == npu::storageOf(buffer);
      });
    });
  }

  /// Whether an element of UB is there in all iterations, and not only where the branch is taken.
  bool isInside(Value buffer, ValueRange indices) {
    const auto type = cast<tile::BufferType>(buffer.getType());
    if (type.getSpace() != tile::MemorySpace::UB)
      return false;
    return llvm::all_of(llvm::zip(indices, type.getShape()), [&](const auto& dim) {
      const auto [index, extent] = dim;
      return !ShapedType::isDynamic(extent) && ranges.rangeOf(index).isWithin(0, extent - 1);
    });
  }

  /// Whether something is there also where the branch is not taken: the nest reads or writes it anyway, or all of the
  /// buffer has been written before.
  bool isWritten(Value buffer, ValueRange indices) {
    for (tile::LoadOp load : always)
      if (load->isBeforeInBlock(outermost) && isSamePlace(buffer, indices, load))
        return true;
    for (tile::StoreOp store : nest.getBodyBlock()->getOps<tile::StoreOp>())
      if (store->isBeforeInBlock(outermost) && isSamePlace(buffer, indices, store))
        return true;
    Value storage = npu::storageOf(buffer);
    for (Operation* place = nest; !isa<tile::LaunchOp>(place); place = place->getParentOp())
      for (Operation* op = place->getPrevNode(); op; op = op->getPrevNode())
        if (writesAll(op, storage))
          return true;
    return false;
  }

  tile::ParallelOp nest;
  IndexRanges ranges;
  SmallVector<tile::LoadOp> always; ///< loads outside of branches
  scf::IfOp outermost;
  SmallVector<const BranchStores*> known; ///< of the branches around, from the outermost inwards
};

} // namespace

bool hasBranches(tile::ParallelOp nest) {
  return !nest.getBodyBlock()->getOps<scf::IfOp>().empty();
}

bool makeChoices(tile::ParallelOp nest) {
  return BranchRemover(nest).run();
}

} // namespace tilewright::ascend
