// SPDX-License-Identifier: Apache-2.0
/// Stores the last sums of a gemm where a copy behind its loop would bring them.
///
///   tile.for %k = 0 to 4 step 1 pipelined(2) { ... tile.gemm %a, %b into %c }
///   tile.copy %c to %C[%m, %n] [256, 256] : <1024x1024xbf16, global>
/// becomes
///   tile.for %k = 0 to 4 step 1 pipelined(2) { ...
///     builtin.unrealized_conversion_cast %address_of_C, 2048, (%k + 1 >= 4) {cpu.result = bf16}
///     tile.gemm %a, %b into %c }
///
/// The copy would read the accumulators from the second-level cache and wait for the result's lines; as part of the
/// micro-kernels neither costs time. It is done where the copy alone reads the accumulators, all of them, lies inside
/// of its tensor, and follows the loop, whose last operation the gemm is: nothing notices that the result is
/// there a little earlier; and where no loop around all this goes on with the sums. The operands are on chip, so the result's tensor may be one of theirs. Where the loop may
/// have no turn, the copy stays for that case.
#include "compiler/targets/cpu/store_results.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/gemm_tiles.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;

/// A gemm whose accumulators one copy brings away.
struct Finished {
  tile::GemmOp gemm;
  tile::CopyOp copy;
  /// Around the gemm, or the gemm itself: what the copy follows.
  Operation* before = nullptr;
  /// Whether the copy is done, where it stands in a branch behind the gemm.
  Value condition = {};
};

/// The only copy that reads an on-chip buffer, all of it, which else only `gemm` and fills use.
tile::CopyOp soleReader(tile::GemmOp gemm, Value buffer) {
  tile::CopyOp copy;
  for (OpOperand& use : buffer.getUses()) {
    Operation* user = use.getOwner();
    if (user == gemm || isa<tile::FillOp>(user))
      continue;
    auto found = dyn_cast<tile::CopyOp>(user);
    if (!found || copy || found.getSource() != buffer || found.getTarget() == buffer)
      return {};
    copy = found;
  }
  return copy;
}

/// Whether elements become others as they are stored: of one type, or floats to narrower ones.
bool isStorable(Type from, Type to) {
  auto wide = dyn_cast<FloatType>(from), narrow = dyn_cast<FloatType>(to);
  return from == to || (wide && narrow && wide.isF32() && (narrow.isF16() || narrow.isBF16()));
}

/// Whether two regions of a buffer are the same.
bool isSame(const BufferRegion& x, const BufferRegion& y) {
  return x.buffer == y.buffer && isEqualConstantIntOrValueArray(x.offsets, y.offsets) &&
         x.staticExtents() == y.staticExtents();
}

/// Whether a copy brings the sums of a gemm as they are to rows of a dense tensor, all of them inside.
bool bringsRows(tile::CopyOp copy, const BufferRegion& sums) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const SmallVector<int64_t> to = target.staticExtents();
  const size_t rank = to.size();
  if (copy.getRelu() || copy.getTranspose() || copy.getScale() || !isSame(source, sums) ||
      !isDenseTensor(target.buffer) || rank < 2)
    return false;
  for (int64_t dim = 0; dim < int64_t(rank); ++dim)
    if (!copy.isTargetInBounds(dim))
      return false;
  const SmallVector<int64_t> from = source.staticExtents();
  return ArrayRef(to).take_back(2) == ArrayRef(from).take_back(2) &&
         llvm::all_of(ArrayRef(to).drop_back(2), [](int64_t extent) { return extent == 1; }) &&
         isStorable(source.type().getElementType(), target.type().getElementType());
}

/// Whether nothing between two ops of a block has effects on memory.
bool isQuietBetween(Operation* first, Operation* last) {
  if (first->getBlock() != last->getBlock() || !first->isBeforeInBlock(last))
    return false;
  for (Operation* op = first->getNextNode(); op != last; op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return false;
  return true;
}

/// Whether `value` is what a loop's variable is in its last turn, or in its first one.
bool isVariableOf(tile::ForOp loop, Value condition, bool last) {
  auto is = condition ? condition.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!is || is.getPredicate() != arith::CmpIPredicate::eq || is.getLhs() != loop.getInductionVar())
    return false;
  if (!last)
    return isEqualConstantIntOrValue(OpFoldResult(is.getRhs()), OpFoldResult(loop.getLower()));
  auto value = getConstantIntValue(is.getRhs()), upper = getConstantIntValue(loop.getUpper()),
       step = getConstantIntValue(loop.getStep());
  return value && upper && step && *value < *upper && *value + *step >= *upper;
}

/// The copy in a branch behind the gemm that is taken in the last turn of a loop around both, in whose first turn the
/// sums count as 0. Each turn of a loop between has sums of its own.
std::optional<Finished> finishedInLastTurn(tile::GemmOp gemm, tile::CopyOp copy) {
  auto branch = dyn_cast<scf::IfOp>(copy->getParentOp());
  if (!branch || copy->getBlock() != branch.thenBlock() || !isQuietBetween(gemm, branch) ||
      !llvm::all_of(branch.thenBlock()->without_terminator(),
                    [&](Operation& op) { return &op == copy || isMemoryEffectFree(&op); }))
    return std::nullopt;
  const BufferRegion c = gemm.getCRegion();
  for (auto loop = dyn_cast<tile::ForOp>(gemm->getParentOp()); loop;
       loop = dyn_cast<tile::ForOp>(loop->getParentOp())) {
    if (isVariableOf(loop, branch.getCondition(), /*last=*/true)) {
      const bool beginsAnew =
          gemm.getClearAccum() || isVariableOf(loop, gemm.getClear(), /*last=*/false);
      return beginsAnew ? std::optional(Finished{gemm, copy, gemm, branch.getCondition()})
                        : std::nullopt;
    }
    const bool hasOwn = llvm::any_of(c.offsets, [&](OpFoldResult offset) {
      return dyn_cast<Value>(offset) == loop.getInductionVar();
    });
    if (!hasOwn)
      return std::nullopt;
  }
  return std::nullopt;
}

/// Whether the sums are of no use behind the copy: no loop around it goes on with them.
bool beginsAnew(const Finished& what) {
  tile::GemmOp gemm = what.gemm;
  const BufferRegion c = gemm.getCRegion();
  if (c.buffer.getDefiningOp()->getBlock() == what.before->getBlock())
    return true;
  for (OpOperand& use : c.buffer.getUses()) {
    auto fill = dyn_cast<tile::FillOp>(use.getOwner());
    if (fill && fill->getBlock() == what.before->getBlock() && fill->isBeforeInBlock(what.before) &&
        fill.getTargetRegion().isWhole())
      return true;
  }
  if (gemm.getClearAccum())
    return true;
  auto loop = dyn_cast<tile::ForOp>(what.before);
  return loop && isVariableOf(loop, gemm.getClear(), /*last=*/false);
}

std::optional<Finished> finished(tile::GemmOp gemm) {
  const BufferRegion c = gemm.getCRegion();
  if (!c.buffer.getDefiningOp<tile::AllocOp>() || c.type().isGlobal() ||
      gemm.getBRegion().type().isGlobal())
    return std::nullopt;
  tile::CopyOp copy = soleReader(gemm, c.buffer);
  if (!copy || !bringsRows(copy, c))
    return std::nullopt;
  if (isa<scf::IfOp>(copy->getParentOp()) && !copy->getParentOp()->isAncestor(gemm))
    return finishedInLastTurn(gemm, copy);
  if (!c.isWhole())
    return std::nullopt;
  Finished result{gemm, copy, gemm};
  if (copy->getBlock() != gemm->getBlock()) {
    auto loop = dyn_cast<tile::ForOp>(gemm->getParentOp());
    if (!loop || !isQuietBetween(gemm, loop.getBodyBlock()->getTerminator()) ||
        loop.walk([](Operation* op) {
              return isa<tile::BreakOp, tile::ContinueOp>(op) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
            })
            .wasInterrupted())
      return std::nullopt;
    result.before = loop;
  }
  return isQuietBetween(result.before, copy) && beginsAnew(result) ? std::optional(result)
                                                                   : std::nullopt;
}

class Delivery {
public:
  explicit Delivery(Finished finished)
      : what(finished), builder(finished.copy.getLoc(), finished.before), math(builder) {}

  void deliver() {
    const BufferRegion target = what.copy.getTargetRegion();
    SmallVector<Value> place;
    for (OpFoldResult offset : target.offsets)
      place.push_back(early(math.value(offset)));
    Value address = addressOf(builder, early(target.buffer), place);
    Value bytes = math.mul(math.dim(target.buffer, target.type().getRank() - 1),
                           math.constant(target.type().getElementBits() / 8));
    if (what.gemm.getARegion().type().isGlobal())
      apart = areApart(what.gemm.getA(), early(target.buffer));
    keepForOtherCases();
    builder.setInsertionPoint(what.gemm);
    SmallVector<Value> values = {address, bytes, mayStore()};
    if (what.gemm->hasAttr(kTilesAttr) &&
        target.type().getElementType() != what.gemm.getCRegion().type().getElementType())
      values.push_back(makeStage());
    auto note = UnrealizedConversionCastOp::create(builder, ValueRange(values).getTypes(), values);
    note->setAttr(kResultAttr, TypeAttr::get(target.type().getScalarType()));
  }

private:
  tile::ForOp loop() const {
    return dyn_cast<tile::ForOp>(what.before);
  }

  /// `value`, of which pure operations between the loop and the copy may be parts, before the loop.
  Value early(Value value) {
    Operation* op = value.getDefiningOp();
    Operation* outer = op ? what.before->getBlock()->findAncestorOpInBlock(*op) : nullptr;
    if (!outer || outer->isBeforeInBlock(what.before))
      return value;
    if (Value known = moved.lookupOrNull(value))
      return known;
    for (Value operand : op->getOperands())
      moved.map(operand, early(operand));
    builder.clone(*op, moved);
    return moved.lookup(value);
  }

  /// The first byte of a dense tensor, and the one behind its last, as numbers.
  std::pair<Value, Value> bytesOf(Value tensor) {
    const auto type = cast<tile::BufferType>(tensor.getType());
    Value size = math.constant(type.getElementBits() / 8);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      size = math.mul(size, math.dim(tensor, dim));
    const SmallVector<Value> start(type.getRank(), math.constant(0));
    Value first =
        LLVM::PtrToIntOp::create(builder, builder.getI64Type(), addressOf(builder, tensor, start));
    first = arith::IndexCastOp::create(builder, builder.getIndexType(), first);
    return {first, math.add(first, size)};
  }

  /// A place for the sums of one micro-kernel.
  Value makeStage() {
    auto type = tile::BufferType::get({kTilesOfSums, kTileRows, kTileColumns}, builder.getF32Type(),
                                      tile::MemorySpace::Shared);
    return tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
  }

  Value areApart(Value x, Value y) {
    auto [firstX, endX] = bytesOf(x);
    auto [firstY, endY] = bytesOf(y);
    return arith::OrIOp::create(builder, math.atMost(endX, firstY), math.atMost(endY, firstX));
  }

  /// The copy goes, or stays for what the micro-kernels don't store.
  void keepForOtherCases() {
    tile::CopyOp copy = what.copy;
    Value done = apart;
    builder.setInsertionPoint(copy);
    if (loop() && !hasTurn()) {
      Value one = math.constant(1);
      done = math.both(done, math.atMost(math.add(loop().getLower(), one), loop().getUpper()));
    }
    if (!done) {
      copy.erase();
      return;
    }
    Value isNeeded = arith::XOrIOp::create(
        builder, done, arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
    auto branch = scf::IfOp::create(builder, isNeeded);
    copy->moveBefore(branch.thenBlock()->getTerminator());
  }

  bool hasTurn() {
    auto lower = getConstantIntValue(loop().getLower()),
         upper = getConstantIntValue(loop().getUpper());
    return lower && upper && *lower < *upper;
  }

  /// Of the turn that the builder stands in.
  Value isLast() {
    if (what.condition)
      return early(what.condition);
    if (!loop())
      return arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    Value next = math.add(loop().getInductionVar(), loop().getStep());
    auto upper = getConstantIntValue(loop().getUpper()),
         lower = getConstantIntValue(loop().getLower()),
         step = getConstantIntValue(loop().getStep());
    if (upper && lower && step && *lower + *step >= *upper)
      return arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    return math.atMost(loop().getUpper(), next);
  }

  Value mayStore() {
    Value last = isLast();
    return apart ? math.both(apart, last) : last;
  }

  Finished what;
  /// Whether the result's tensor is another than a's, where that isn't known.
  Value apart;
  ImplicitLocOpBuilder builder;
  IndexMath math;
  IRMapping moved;
};

struct StoreResults : KernelPass<StoreResults> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StoreResults)
  static constexpr llvm::StringLiteral kArgument = "cpu-store-results";
  static constexpr llvm::StringLiteral kDescription =
      "store the last sums of a gemm where a copy would bring them";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<Finished> found;
    getOperation().walk([&](tile::GemmOp gemm) {
      if (std::optional<Finished> what = finished(gemm))
        found.push_back(*what);
    });
    for (const Finished& what : found)
      Delivery(what).deliver();
  }
};

} // namespace

ResultPlace takeResultPlace(tile::GemmOp gemm) {
  Operation* note = gemm->getPrevNode();
  auto element = note ? note->getAttrOfType<TypeAttr>(kResultAttr) : TypeAttr();
  if (!element)
    return {};
  ResultPlace place{note->getOperand(0), note->getOperand(1), note->getOperand(2),
                    element.getValue()};
  if (note->getNumOperands() > 3)
    place.stage = note->getOperand(3);
  note->erase();
  return place;
}

std::unique_ptr<Pass> createStoreResults() {
  return std::make_unique<StoreResults>();
}

} // namespace tilewright::cpu
