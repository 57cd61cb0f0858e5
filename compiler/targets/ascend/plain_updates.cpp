// SPDX-License-Identifier: Apache-2.0
/// PlainUpdates: an atomic update of a tile on chip is a plain one, because one core alone touches it and runs
/// the iterations of a nest in its own order.
///
///     tile.parallel (%i, %j) in [16, 24] {            tile.parallel (%i, %j) in [16, 24] {
///       %v = tile.load %a[%i, %j]                ->     tile.store tile.load %a[%i, %j], %updates[%i, %j]
///       tile.atomic add %q[%j], %v                    }
///     }                                               tile.reduce sum %updates dim 0 into %q
///
/// Updates of a nest that all iterations along one dim add to one element are a reduction; others are a load, an
/// operation and a store.
///
/// With `waits`, the two are ordered by a barrier, as in ExpandGemms.
/// It stands before tiles are placed and shared between vector cores, which know reductions and nests.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::AtomicKind;
using tile::BufferRegion;
using tile::BufferType;

std::optional<tile::ReduceKind> reductionOf(AtomicKind kind) {
  switch (kind) {
  case AtomicKind::Add:
    return tile::ReduceKind::Sum;
  case AtomicKind::Max:
    return tile::ReduceKind::Max;
  case AtomicKind::Min:
    return tile::ReduceKind::Min;
  default:
    return std::nullopt;
  }
}

/// The dim of a nest of two along which all iterations update one element: the index is the other one.
std::optional<size_t> sharedDim(tile::AtomicOp update) {
  auto nest = dyn_cast<tile::ParallelOp>(update->getParentOp());
  if (!nest || nest.getInductionVars().size() != 2 || update.getIndices().size() != 1 ||
      (update.getPrevious() && !update.getPrevious().use_empty()))
    return std::nullopt;
  for (OpFoldResult extent : nest.getMixedExtents())
    if (getConstantIntValue(extent).value_or(0) < 1)
      return std::nullopt;
  for (size_t dim = 0; dim < 2; ++dim)
    if (update.getIndices()[0] == nest.getInductionVars()[1 - dim])
      return dim;
  return std::nullopt;
}

/// Whether nothing else in a nest touches what an update writes.
bool isAlone(tile::AtomicOp update) {
  Operation* nest = update->getParentOp();
  return llvm::count_if(npu::usersOf(npu::storageOf(update.getBuffer())),
                        [&](Operation* user) { return nest->isAncestor(user); }) == 1;
}

void makeReduction(tile::AtomicOp update, tile::ReduceKind kind, size_t dim, bool waits) {
  auto nest = cast<tile::ParallelOp>(update->getParentOp());
  ImplicitLocOpBuilder builder(update.getLoc(), nest);
  const BufferType type = update.getBuffer().getType();
  SmallVector<int64_t> shape;
  for (OpFoldResult extent : nest.getMixedExtents())
    shape.push_back(*getConstantIntValue(extent));
  Value tile = tile::AllocOp::create(
      builder, BufferType::get(shape, type.getElementType(), tile::MemorySpace::UB),
      builder.getStringAttr("updates"), IntegerAttr());
  builder.setInsertionPointAfter(nest);
  if (waits) // for a part of one statement
    PipeBarrierOp::create(builder, Pipe::All);
  BufferRegion target = BufferRegion::whole(update.getBuffer());
  target.extents[0] = builder.getIndexAttr(shape[1 - dim]);
  tile::ReduceOp::create(builder, kind, BufferRegion::whole(tile), target, int64_t(dim),
                         /*clear=*/false);
  builder.setInsertionPoint(update);
  tile::StoreOp::create(builder, update.getValue(), tile, nest.getInductionVars(),
                        /*in_bounds=*/true);
  update.erase();
}

Value combined(ImplicitLocOpBuilder& builder, AtomicKind kind, BufferType type, Value held,
               Value value) {
  const bool isFloat = isa<FloatType>(type.getElementType());
  const bool isUnsigned = type.getElementType().isUnsignedInteger();
  switch (kind) {
  case AtomicKind::Add:
    return isFloat ? arith::AddFOp::create(builder, held, value).getResult()
                   : arith::AddIOp::create(builder, held, value).getResult();
  case AtomicKind::Max:
    return isFloat      ? arith::MaxNumFOp::create(builder, held, value).getResult()
           : isUnsigned ? arith::MaxUIOp::create(builder, held, value).getResult()
                        : arith::MaxSIOp::create(builder, held, value).getResult();
  case AtomicKind::Min:
    return isFloat      ? arith::MinNumFOp::create(builder, held, value).getResult()
           : isUnsigned ? arith::MinUIOp::create(builder, held, value).getResult()
                        : arith::MinSIOp::create(builder, held, value).getResult();
  case AtomicKind::Or:
    return arith::OrIOp::create(builder, held, value);
  case AtomicKind::And:
    return arith::AndIOp::create(builder, held, value);
  case AtomicKind::Xor:
    return arith::XOrIOp::create(builder, held, value);
  default:
    return value;
  }
}

void makePlain(tile::AtomicOp update) {
  ImplicitLocOpBuilder builder(update.getLoc(), update);
  const BufferType type = update.getBuffer().getType();
  const AtomicKind kind = update.getKind();
  Value held;
  const bool isRead = update.getPrevious() && !update.getPrevious().use_empty();
  if (kind != AtomicKind::Store || isRead)
    held = tile::LoadOp::create(builder, type.getScalarType(), update.getBuffer(),
                                update.getIndices(), update.getInBounds());
  if (kind != AtomicKind::Load)
    tile::StoreOp::create(builder, combined(builder, kind, type, held, update.getValue()),
                          update.getBuffer(), update.getIndices(), update.getInBounds());
  if (isRead)
    update.getPrevious().replaceAllUsesWith(held);
  update.erase();
}

class PlainUpdates : public KernelPass<PlainUpdates> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-plain-updates";
  static constexpr llvm::StringLiteral kDescription =
      "atomic updates of tiles on chip become plain ones";

  explicit PlainUpdates(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::AtomicOp> updates;
    getOperation().walk([&](tile::AtomicOp update) {
      if (!update.getBuffer().getType().isGlobal())
        updates.push_back(update);
    });
    for (tile::AtomicOp update : updates) {
      const std::optional<size_t> dim = sharedDim(update);
      const std::optional<tile::ReduceKind> kind = reductionOf(update.getKind());
      if (dim && kind && isAlone(update))
        makeReduction(update, *kind, *dim, waits);
      else
        makePlain(update);
    }
  }

private:
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createPlainUpdates(bool waits) {
  return std::make_unique<PlainUpdates>(waits);
}

} // namespace tilewright::ascend
