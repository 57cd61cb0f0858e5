// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/twin_flow.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/clear_conditions.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/remade_values.h"
#include "compiler/targets/ascend/tile_cells.h"

#include <mlir/Dialect/SCF/IR/SCF.h>

#include <array>
#include <utility>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Loops of more turns are not followed turn by turn, nor is any once so many operations have been visited.
constexpr int64_t kMostTurns = 64;
constexpr unsigned kMostVisits = 20000;
/// More ways than these are not kept apart.
constexpr size_t kMostWays = 16;

/// What a cell can be, as a set of bits.
enum Age : uint8_t { Same = 1, TileNewer = 2, TwinNewer = 4, Unwritten = 8 };

/// What is known on a way through the kernel.
struct Way {
  SmallVector<std::pair<Value, bool>>
      truths;                ///< of conditions, in the order in which they were met
  SmallVector<uint8_t> ages; ///< by cell

  std::optional<bool> truthOf(Value condition) const {
    for (const auto& [known, truth] : truths)
      if (known == condition)
        return truth;
    return std::nullopt;
  }
};

class Ways {
public:
  ArrayRef<Way> all() const {
    return ways;
  }
  MutableArrayRef<Way> all() {
    return ways;
  }
  bool empty() const {
    return ways.empty();
  }

  /// Whether anything is new.
  bool add(Way more) {
    if (areJoined)
      more.truths.clear();
    for (Way& way : ways)
      if (way.truths == more.truths)
        return unite(way, more);
    ways.push_back(std::move(more));
    if (ways.size() > kMostWays) {
      areJoined = true;
      forget([](Value) { return true; });
    }
    return true;
  }

  bool add(const Ways& more) {
    bool isNew = false;
    for (const Way& way : more.ways)
      isNew |= add(way);
    return isNew;
  }

  /// Conditions that are not known any more.
  void forget(llvm::function_ref<bool(Value)> isGone) {
    SmallVector<Way> before = std::exchange(ways, {});
    for (Way& way : before) {
      llvm::erase_if(way.truths, [&](const auto& known) { return isGone(known.first); });
      add(std::move(way));
    }
  }

private:
  static bool unite(Way& way, const Way& more) {
    bool isNew = false;
    for (auto [age, other] : llvm::zip(way.ages, more.ages)) {
      isNew |= (age | other) != age;
      age |= other;
    }
    return isNew;
  }

  SmallVector<Way> ways;
  bool areJoined = false; ///< once they have been too many
};

/// The operations that matter, with all that hold them, and the values that these depend on.
struct Relevant {
  llvm::DenseSet<Operation*> ops;
  llvm::DenseSet<Value> values;

  Relevant(func::FuncOp kernel, const TwinUses& uses, const TwinPlan& plan) {
    for (tile::GemmOp gemm : uses.gemms) {
      addWithParents(gemm);
      addValue(gemm.getClear());
      addRegion(gemm.getCRegion());
    }
    for (const TwinUse& use : uses.others) {
      addWithParents(use.op);
      addRegion(use.region);
    }
    for (const TwinCopy& copy : plan.copies) {
      addWithParents(copy.before);
      addRegion(copy.region);
    }
    kernel.walk([&](Operation* op) {
      if (isa<tile::BreakOp, tile::ContinueOp>(op))
        addWithParents(op);
    });
    for (Operation* op : SmallVector<Operation*>(ops.begin(), ops.end()))
      if (isa<scf::IfOp, tile::ForOp>(op))
        for (Value operand : op->getOperands())
          addValue(operand);
  }

private:
  void addWithParents(Operation* op) {
    while (op && ops.insert(op).second)
      op = op->getParentOp();
  }
  void addRegion(const tile::BufferRegion& region) {
    for (const OpFoldResult number :
         llvm::concat<const OpFoldResult>(region.offsets, region.extents))
      addValue(dyn_cast<Value>(number));
  }
  void addValue(Value value) {
    if (!value || !values.insert(value).second)
      return;
    if (Operation* op = value.getDefiningOp())
      for (Value operand : op->getOperands())
        addValue(operand);
  }
};

class TwinFlow {
public:
  TwinFlow(func::FuncOp kernel, const TwinUses& uses, const TwinPlan& plan)
      : kernel(kernel), uses(uses), relevant(kernel, uses, plan),
        cells(cast<tile::BufferType>(uses.tile.getType()).getShape()) {
    for (tile::GemmOp gemm : uses.gemms)
      gemms.insert(gemm);
    for (const TwinUse& use : uses.others)
      usesOf[use.op].push_back(&use);
    for (const TwinCopy& copy : plan.copies) {
      if (copy.gemm)
        copied.insert(copy.gemm);
      else if (copy.ifRuns)
        copiesBehind[copy.ifRuns].push_back(&copy);
      else
        copiesBefore[copy.before].push_back(&copy);
    }
    clears = &plan.clears;
  }

  TwinVerdict run() {
    for (;;) {
      isCut = isLong = false;
      visits = 0;
      verdict = {};
      ranges = IndexRanges();
      ways = breaks = nexts = {};
      ways.add(Way{{}, SmallVector<uint8_t>(cells.count(), Unwritten)});
      walk(kernel.getBody());
      if (isLong && turnByTurn)
        turnByTurn = false;
      else if (!isCut)
        return verdict;
    }
  }

private:
  /// Cells are cut while a kernel is followed, which begins anew then.
  bool mustRestart() {
    isLong |= turnByTurn && visits > kMostVisits;
    return isCut || isLong;
  }

  void walk(Region& region) {
    ranges.enter(region);
    for (Block& block : region)
      for (Operation& op : block)
        if (relevant.ops.contains(&op) && !ways.empty() && !mustRestart())
          visit(&op);
    ranges.leave();
  }

  void visit(Operation* op) {
    ++visits;
    if (auto found = copiesBefore.find(op); found != copiesBefore.end())
      for (const TwinCopy* copy : found->second)
        visitCopy(*copy);
    if (gemms.contains(op))
      visitGemm(cast<tile::GemmOp>(op));
    else if (isa<tile::BreakOp>(op))
      breaks.add(std::exchange(ways, {}));
    else if (isa<tile::ContinueOp>(op))
      nexts.add(std::exchange(ways, {}));
    else if (auto loop = dyn_cast<tile::ForOp>(op))
      visitLoop(loop);
    else if (auto repeat = dyn_cast<tile::WhileOp>(op))
      visitWhile(repeat);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visitBranch(branch);
    else
      for (Region& region : op->getRegions())
        walk(region);
    if (auto found = usesOf.find(op); found != usesOf.end())
      visitUses(found->second);
  }

  // What happens to the tile
  // ----------------------------------------------------------------------------------------------

  TileBoxes boxesOf(const tile::BufferRegion& region) {
    TileBoxes boxes = ascend::boxesOf(region, ranges);
    isCut |= cells.cut(boxes.most);
    isCut |= cells.cut(boxes.least);
    return boxes;
  }

  /// What is surely in the box has this age only; what may be, this one, too.
  void setAge(const TileBoxes& boxes, Age age) {
    for (Way& way : ways.all()) {
      cells.forEachMeeting(boxes.most, [&](size_t cell) { way.ages[cell] |= age; });
      cells.forEachWithin(boxes.least, [&](size_t cell) { way.ages[cell] = age; });
    }
  }

  bool mayBe(const TileBoxes& boxes, unsigned ages) {
    bool isFound = false;
    for (const Way& way : ways.all())
      cells.forEachMeeting(boxes.most,
                           [&](size_t cell) { isFound |= (way.ages[cell] & ages) != 0; });
    return isFound;
  }

  /// Whether there are such cells in what an access may touch but doesn't touch for sure.
  bool mayLeave(const TileBoxes& boxes, unsigned ages) {
    llvm::DenseSet<size_t> touched;
    cells.forEachWithin(boxes.least, [&](size_t cell) { touched.insert(cell); });
    bool isFound = false;
    for (const Way& way : ways.all())
      cells.forEachMeeting(boxes.most, [&](size_t cell) {
        isFound |= (way.ages[cell] & ages) != 0 && !touched.contains(cell);
      });
    return isFound;
  }

  void visitCopy(const TwinCopy& copy) {
    const TileBoxes boxes = boxesOf(copy.region);
    if (isCut)
      return;
    verdict.isRight &= !mayBe(boxes, TwinNewer | Unwritten);
    setAge(boxes, Same);
  }

  void visitGemm(tile::GemmOp gemm) {
    const TileBoxes boxes = boxesOf(withKnownExtents(gemm.getCRegion()));
    if (isCut)
      return;
    const std::optional<bool> clears =
        gemm.getClear() ? truthOf(gemm.getClear(), gemm) : std::optional(false);
    if (!gemm.getClearAccum() && clears != true && !verdict.conflict)
      findConflict(gemm, boxes, clears);
    setAge(boxes, copied.contains(gemm) ? Same : TileNewer);
  }

  void findConflict(tile::GemmOp gemm, const TileBoxes& boxes, std::optional<bool> clears) {
    for (const Way& way : ways.all()) {
      if (!clears && way.truthOf(gemm.getClear()) == true)
        continue;
      cells.forEachMeeting(boxes.most, [&](size_t cell) {
        if ((way.ages[cell] & TwinNewer) != 0 && !verdict.conflict)
          verdict.conflict = gemm;
      });
    }
  }

  void visitUses(ArrayRef<const TwinUse*> parts) {
    for (const TwinUse* use : parts) {
      const TileBoxes boxes = boxesOf(use->region);
      if (isCut)
        return;
      if (clears->contains(use->op)) {
        setAge(boxes, Same);
        continue;
      }
      if (use->overwrites) {
        verdict.isRight &= !mayLeave(boxes, TileNewer);
        setAge(boxes, TwinNewer);
        continue;
      }
      verdict.isRight &= !mayBe(boxes, TileNewer);
      if (use->isReader)
        continue;
      cells.forEachMeeting(boxes.most, [&](size_t cell) {
        for (Way& way : ways.all())
          way.ages[cell] |= TwinNewer;
      });
    }
  }

  // Ways
  // ----------------------------------------------------------------------------------------------

  /// Where it is so on all ways.
  std::optional<bool> truthOf(Value condition, Operation* place) {
    if (const std::optional<bool> truth = ranges.truthOf(condition))
      return truth;
    if (firstTurns.empty())
      return std::nullopt;
    FirstTurn turn(place);
    for (tile::ForOp loop : llvm::reverse(firstTurns))
      turn.add(loop);
    return turn.holds(condition) ? std::optional(true) : std::nullopt;
  }

  void visitBranch(scf::IfOp branch) {
    const Value condition = branch.getCondition();
    const std::optional<bool> truth = truthOf(condition, branch);
    const bool isKept = isWorthKeeping(branch);
    std::array<Ways, 2> sides;
    for (const Way& way : ways.all())
      for (const bool side : {false, true}) {
        if (truth.value_or(way.truthOf(condition).value_or(side)) != side)
          continue;
        Way taken = way;
        if (isKept && !truth && !way.truthOf(condition))
          taken.truths.emplace_back(condition, side);
        sides[side ? 1 : 0].add(std::move(taken));
      }
    ways = std::move(sides[1]);
    walk(branch.getThenRegion());
    std::swap(ways, sides[0]);
    walk(branch.getElseRegion());
    ways.add(sides[0]);
  }

  /// Where the condition is asked more than once and stays the same.
  static bool isWorthKeeping(scf::IfOp branch) {
    Operation* around = branch->getParentOp();
    while (around && !isa<tile::ForOp, tile::WhileOp>(around))
      around = around->getParentOp();
    return (around && isFixedIn(branch.getCondition(), around)) ||
           !branch.getCondition().hasOneUse();
  }

  // Loops
  // ----------------------------------------------------------------------------------------------

  /// One turn from what `ways` is, to what it is then.
  void walkTurn(Operation* loop, Region& body) {
    ways.forget([&](Value condition) { return !isFixedIn(condition, loop); });
    const Ways around = std::exchange(nexts, {});
    walk(body);
    ways.add(nexts);
    nexts = around;
  }

  void visitLoop(tile::ForOp loop) {
    const Ways around = std::exchange(breaks, {});
    const IndexRange lower = ranges.rangeOf(loop.getLower()),
                     upper = ranges.rangeOf(loop.getUpper());
    const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    const bool isKnown = lower.low == lower.high && upper.low == upper.high && step && *step > 0;
    const bool counts = relevant.values.contains(loop.getInductionVar());
    const Ways none = isKnown || !mayRunNoIteration(loop) ? Ways() : withoutTurn(loop);
    const int64_t turns =
        !isKnown || upper.low <= lower.low ? 0 : (upper.low - lower.low - 1) / *step + 1;
    if (isKnown && counts && turnByTurn && turns <= kMostTurns) {
      for (int64_t turn = 0; turn < turns && !ways.empty() && !mustRestart(); ++turn)
        walkCounted(loop, {lower.low + turn * *step, lower.low + turn * *step});
    } else if (!isKnown || turns > 0) {
      visitManyTurns(loop, lower, isKnown && turns == 1);
    }
    leave(loop, around);
    if (auto found = copiesBehind.find(loop);
        found != copiesBehind.end() && (!isKnown || turns > 0))
      for (const TwinCopy* copy : found->second)
        visitCopy(*copy);
    ways.add(none);
  }

  /// What is then where a loop runs no turn. Nothing reads what a loop of nothing but gemms would have left:
  /// without a turn there is no product.
  Ways withoutTurn(Operation* loop) {
    Ways none;
    const bool isOfGemms = holdsGemms(loop) && !holdsTwinUses(uses, loop);
    for (Way way : ways.all()) {
      for (uint8_t& age : way.ages)
        if (isOfGemms)
          age &= uint8_t(~Unwritten);
      none.add(std::move(way));
    }
    return none;
  }

  void leave(Operation* loop, const Ways& breaksAround) {
    ways.add(breaks);
    ways.forget([&](Value condition) { return !isFixedIn(condition, loop); });
    breaks = breaksAround;
  }

  void walkCounted(tile::ForOp loop, IndexRange number) {
    ranges.enter(loop.getBody());
    ranges.assume(loop.getInductionVar(), number);
    walkTurn(loop, loop.getBody());
    ranges.leave();
  }

  /// The first turn, and then all others as one until nothing is new.
  void visitManyTurns(tile::ForOp loop, IndexRange lower, bool isOne) {
    firstTurns.push_back(loop);
    walkCounted(loop, {lower.low, lower.high});
    firstTurns.pop_back();
    Ways after = ways;
    const bool isLast = lower.low == IndexRange::kLowest || lower.low == IndexRange::kHighest;
    const IndexRange others = {isLast ? lower.low : lower.low + 1, IndexRange::kHighest};
    Ways seen;
    while (!isOne && seen.add(ways) && !mustRestart()) {
      ways = seen;
      walkCounted(loop, others);
      after.add(ways);
    }
    ways = std::move(after);
  }

  bool holdsGemms(Operation* op) {
    return llvm::any_of(uses.gemms, [&](tile::GemmOp gemm) { return op->isAncestor(gemm); });
  }

  void visitWhile(tile::WhileOp loop) {
    const Ways around = std::exchange(breaks, {});
    walk(loop.getCondition());
    Ways after = withoutTurn(loop), seen;
    while (seen.add(ways) && !mustRestart()) {
      ways = seen;
      walkTurn(loop, loop.getBody());
      walk(loop.getCondition());
      after.add(ways);
    }
    ways = std::move(after);
    leave(loop, around);
  }

  func::FuncOp kernel;
  const TwinUses& uses;
  Relevant relevant;
  llvm::DenseSet<Operation*> gemms, copied;
  llvm::DenseMap<Operation*, SmallVector<const TwinUse*>> usesOf;
  llvm::DenseMap<Operation*, SmallVector<const TwinCopy*>> copiesBefore, copiesBehind;
  const llvm::DenseSet<Operation*>* clears = nullptr;

  TileCells cells;
  bool turnByTurn = true;
  bool isCut = false, isLong = false;
  unsigned visits = 0;

  IndexRanges ranges;
  SmallVector<tile::ForOp> firstTurns; ///< from the outermost one on
  Ways ways, breaks, nexts;            ///< here, and where loops around are left or go on
  TwinVerdict verdict;
};

} // namespace

TwinVerdict followTwins(func::FuncOp kernel, const TwinUses& uses, const TwinPlan& plan) {
  return TwinFlow(kernel, uses, plan).run();
}

bool holdsTwinUses(const TwinUses& uses, Operation* op) {
  return llvm::any_of(uses.others, [&](const TwinUse& use) { return op->isAncestor(use.op); });
}

} // namespace tilewright::ascend
