// SPDX-License-Identifier: Apache-2.0
/// Makes one turn of several of a loop that brings two tiles and multiplies them, where the tiles are shallow.
///
///   %A = tile.alloc : <128x32xbf16, shared>     %B = tile.alloc : <32x128xbf16, shared>
///   tile.for %k = 0 to 16 step 1 pipelined(3) {
///     tile.copy %X[%m, %k * 32] [128, 32] to %A      tile.copy %Y[%k * 32, %n] [32, 128] to %B
///     tile.gemm %A, %B into %C }
/// becomes
///   %A = tile.alloc : <128x128xbf16, shared>    %B = tile.alloc : <128x128xbf16, shared>
///   tile.for %k = 0 to 16 step 4 pipelined(3) {
///     tile.copy %X[%m, %k * 32] [128, 128] to %A     tile.copy %Y[%k * 32, %n] [128, 128] to %B
///     tile.gemm %A, %B into %C }
///
/// GPUs want 32 steps of k in a tile, or 64: a warp keeps the sums in its registers all along. Here each gemm loads and
/// stores them, a micro-kernel's worth at a time, and AMX multiplies 32 steps of bfloat16 by one instruction. Tiles become
/// as deep as kBytesDeep of elements as they are multiplied, if the turns of the loop are divided evenly; the same elements are read, and added in the same order.
///
/// Done where the loop holds nothing else than such copies and gemms, whose tiles nobody else uses, each gemm with
/// sums of its own; they may begin anew in the first turn (`clear(%k == 0)`). Gemms of no elements go first. It stands before
/// MarkInBounds, which looks at the deeper copies.
#include "compiler/ir/index_growth.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// What a row of a tile has at most along k after this. More doesn't help: three vectors' columns of B, so deep, are a
/// quarter of a first-level cache of 48 KB.
constexpr int64_t kBytesDeep = 256;

/// A loop of copies and gemms.
class Steps {
public:
  Steps(tile::ForOp loop, const Machine& machine) : loop(loop), machine(machine) {}

  /// Whether some of its turns may be one.
  bool fit() {
    turns = getConstantIntValue(loop.getUpper()).value_or(0);
    if (getConstantIntValue(loop.getLower()) != 0 || getConstantIntValue(loop.getStep()) != 1 ||
        turns < 2)
      return false;
    for (Operation& op : loop.getBodyBlock()->without_terminator()) {
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        copies.push_back(copy);
      else if (auto gemm = dyn_cast<tile::GemmOp>(op))
        gemms.push_back(gemm);
      else if (!isPure(&op))
        return false;
    }
    return !gemms.empty() && llvm::all_of(gemms, [&](tile::GemmOp gemm) { return take(gemm); }) &&
           llvm::all_of(copies, [&](tile::CopyOp copy) { return fits(copy); });
  }

  /// How many turns one becomes.
  int64_t count() const {
    int64_t most = turns;
    for (const auto& [buffer, dim] : depthOf) {
      const auto type = cast<BufferType>(buffer.getType());
      most = std::min(most, kBytesDeep / (type.getShape()[dim] * bytesOf(type.getElementType())));
    }
    while (most > 1 && turns % most)
      --most;
    return std::max<int64_t>(most, 1);
  }

  void join(int64_t count) {
    ImplicitLocOpBuilder builder(loop.getLoc(), loop);
    loop.getStepMutable().assign(arith::ConstantIndexOp::create(builder, count));
    for (auto& [buffer, dim] : depthOf) {
      const auto type = cast<BufferType>(buffer.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] *= count;
      buffer.setType(BufferType::get(shape, type.getElementType(), type.getSpace()));
    }
    for (tile::CopyOp copy : copies)
      deepen(copy, count);
    for (tile::GemmOp gemm : gemms)
      deepen(gemm);
  }

private:
  /// Of an element as it is multiplied.
  int64_t bytesOf(Type element) const {
    const unsigned bits = element.getIntOrFloatBitWidth();
    if (element.isBF16() && (machine.hasBf16Dot || machine.hasBf16Tiles))
      return 2;
    if (isa<IntegerType>(element) && bits == 8 && (machine.hasByteDot || machine.hasByteTiles))
      return 1;
    return std::max<int64_t>(bits / 8, 4);
  }

  /// Takes down what a gemm's tiles are, and which of their dims is k.
  bool take(tile::GemmOp gemm) {
    const BufferRegion c = gemm.getCRegion();
    const bool hasOwn = llvm::all_of(gemms, [&](tile::GemmOp other) {
      return other == gemm || other.getCRegion().buffer != c.buffer;
    });
    if (!hasOwn || c.type().isGlobal() || gemm.getClearAccum() || !clearsFirst(gemm) ||
        !llvm::all_of(c.offsets, [&](OpFoldResult at) {
          return tile::growthWith(at, loop.getInductionVar()) == 0;
        }))
      return false;
    return takeTile(gemm.getARegion(), gemm.getTransposeA() ? 0 : 1) &&
           takeTile(gemm.getBRegion(), gemm.getTransposeB() ? 1 : 0);
  }

  /// Whether it clears in no turn, or in the first one.
  bool clearsFirst(tile::GemmOp gemm) {
    if (!gemm.getClear())
      return true;
    auto is = gemm.getClear().getDefiningOp<arith::CmpIOp>();
    return is && is.getPredicate() == arith::CmpIPredicate::eq &&
           is.getLhs() == loop.getInductionVar() && getConstantIntValue(is.getRhs()) == 0;
  }

  bool takeTile(const BufferRegion& region, int64_t dim) {
    if (!region.isWhole() || region.type().getRank() != 2 || region.type().isGlobal() ||
        region.type().getLayout() || !isa_and_nonnull<tile::AllocOp>(region.buffer.getDefiningOp()))
      return false;
    const bool isOurs = llvm::all_of(region.buffer.getUsers(), [&](Operation* user) {
      auto gemm = dyn_cast<tile::GemmOp>(user);
      const bool isSum = gemm && gemm.getCRegion().buffer == region.buffer;
      return !isSum && (llvm::is_contained(copies, user) || llvm::is_contained(gemms, user));
    });
    return isOurs && depthOf.insert({region.buffer, dim}).first->second == dim;
  }

  /// The dims of a region that have an extent other than 1, if the others have none that grows.
  SmallVector<unsigned> wideDims(const BufferRegion& region) const {
    SmallVector<unsigned> dims;
    for (auto [number, extent] : llvm::enumerate(region.staticExtents()))
      if (extent != 1)
        dims.push_back(unsigned(number));
    return dims;
  }

  /// Whether a copy brings the next tile, deep as this one, in each turn, once before all who read it.
  bool fits(tile::CopyOp copy) {
    const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
    auto tile = depthOf.find(target.buffer);
    // A tensor that is made of an address may be another one in each turn.
    Operation* made = source.buffer.getDefiningOp();
    if (tile == depthOf.end() || !target.isWhole() || !source.type().isGlobal() || copy.getRelu() ||
        copy.getTranspose() || copy.getScale() || !copy.getEnds().empty() ||
        (made && loop->isProperAncestor(made)) ||
        (copy.getPad() && tile::growthWith(copy.getPad(), loop.getInductionVar()) != 0))
      return false;
    for (Operation* user : target.buffer.getUsers())
      if (user != copy && !(isa<tile::GemmOp>(user) && copy->isBeforeInBlock(user)))
        return false;
    const SmallVector<unsigned> dims = wideDims(source);
    const SmallVector<int64_t> extents = source.staticExtents();
    if (dims.size() != 2 || extents[dims[0]] != target.type().getShape()[0] ||
        extents[dims[1]] != target.type().getShape()[1])
      return false;
    const unsigned along = dims[tile->second];
    return llvm::all_of(llvm::seq<unsigned>(0, extents.size()), [&](unsigned dim) {
      return tile::growthWith(source.offsets[dim], loop.getInductionVar()) ==
             (dim == along ? extents[dim] : 0);
    });
  }

  void deepen(tile::CopyOp copy, int64_t count) const {
    BufferRegion source = copy.getSourceRegion();
    Value buffer = copy.getTargetRegion().buffer;
    const unsigned along = wideDims(source)[depthOf.lookup(buffer)];
    OpBuilder builder(copy);
    source.extents[along] = builder.getIndexAttr(source.staticExtents()[along] * count);
    auto deep = tile::CopyOp::create(builder, copy.getLoc(), source, BufferRegion::whole(buffer));
    deep.getPadMutable().assign(copy.getPad() ? ValueRange(copy.getPad()) : ValueRange());
    deep->setDiscardableAttrs(copy->getDiscardableAttrDictionary());
    copy.erase();
  }

  static void deepen(tile::GemmOp gemm) {
    OpBuilder builder(gemm);
    auto deep = tile::GemmOp::create(
        builder, gemm.getLoc(), BufferRegion::whole(gemm.getARegion().buffer),
        BufferRegion::whole(gemm.getBRegion().buffer), gemm.getCRegion(), gemm.getTransposeA(),
        gemm.getTransposeB(), gemm.getClear(), /*clearAccum=*/false, gemm.getPolicy());
    deep->setDiscardableAttrs(gemm->getDiscardableAttrDictionary());
    gemm.erase();
  }

  tile::ForOp loop;
  const Machine& machine;
  int64_t turns = 0;
  SmallVector<tile::CopyOp> copies;
  SmallVector<tile::GemmOp> gemms;
  /// Of each tile, which of its dims is k.
  llvm::MapVector<Value, int64_t> depthOf;
};

class DeepenGemms : public MachinePass<DeepenGemms> {
public:
  using MachinePass::MachinePass;
  static constexpr llvm::StringLiteral kArgument = "cpu-deepen-gemms";
  static constexpr llvm::StringLiteral kDescription =
      "make one turn of several of a loop that multiplies shallow tiles";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    dropEmptyGemms(getOperation());
    SmallVector<tile::ForOp> loops;
    getOperation().walk([&](tile::ForOp loop) { loops.push_back(loop); });
    for (tile::ForOp loop : loops) {
      Steps steps(loop, machine);
      const int64_t count = steps.fit() ? steps.count() : 1;
      if (count > 1)
        steps.join(count);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createDeepenGemms(const Machine& machine) {
  return std::make_unique<DeepenGemms>(machine);
}

} // namespace tilewright::cpu
