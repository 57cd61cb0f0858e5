// SPDX-License-Identifier: Apache-2.0
/// Brings tiles straight to where they are wanted, past the buffers that GPUs need between.
///
///   tile.copy %A[%b, 0] [1, 4096] to %s : <1x4096xbf16, shared>
///   tile.copy %s to %p : <1x4096xf32, fragment>
///   ...
///   tile.parallel (%i, %j) in [1, 4096] { ... tile.store %v, %p[%i, %j] }
///   tile.copy %p to %s
///   tile.copy %s to %B[%b, 0] [1, 4096]
/// becomes
///   tile.copy %A[%b, 0] [1, 4096] to %p : <1x4096xf32, fragment>
///   ...
///   tile.parallel (%i, %j) in [1, 4096] { ... %w = arith.truncf %v    tile.store %w, %B[%b + %i, %j] }
///
/// A GPU's threads reach memory well only through shared memory, and compute in fragments: kernels copy what they read twice
/// and what they write twice. Here all of it is memory. Two steps:
///
/// - A stage, a buffer that nothing but copies of all of it touches, is skipped: who copies from it copies from where its
///   contents came from, as long as that still holds them. Rounding once must be as good as rounding twice: one of both
///   copies keeps the type.
/// - A nest whose result only a copy behind it brings to a tensor writes to that tensor itself. The nest may read tensors
///   that surely lie apart from it: arguments of another size, for a call gives the same memory or memory apart.
///
/// What is learnt so by others: StoreResults sees a gemm's sums go to their tensor, ReadInPlace a row come from its own.
/// It stands behind what marks accesses in bounds.
#include "compiler/ir/address_attribute.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <optional>
#include <utility>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

bool isTensor(Value buffer) {
  return cast<BufferType>(buffer.getType()).isGlobal();
}

/// A buffer on chip that all threads share, and that nothing has another view or the address of.
bool isPlainTile(Value buffer) {
  return isa_and_nonnull<tile::AllocOp>(buffer.getDefiningOp()) && !isTensor(buffer) &&
         !cast<BufferType>(buffer.getType()).isPerThread() &&
         llvm::none_of(buffer.getUsers(), llvm::IsaPred<tile::ViewOp, tile::AddressOp>);
}

/// A tensor that a call gives, as it gives it: nothing on chip is seen in it.
bool isArgument(Value buffer) {
  return isa<BlockArgument>(buffer) && isTensor(buffer);
}

/// The bits of an argument whose elements lie side by side; nothing of others, where a call says how many, and where
/// the kernel says that it may overlap others in part.
std::optional<int64_t> bitsOf(Value tensor) {
  const auto type = cast<BufferType>(tensor.getType());
  if (!isArgument(tensor) || type.getStrided() || !type.hasStaticShape())
    return std::nullopt;
  auto argument = cast<BlockArgument>(tensor);
  auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!kernel || kernel.getArgAttr(argument.getArgNumber(), tile::kOverlapsAttr))
    return std::nullopt;
  return type.getNumElements() * type.getElementBits();
}

/// Whether a copy brings elements as they are, all of them from inside.
bool isPlainCopy(tile::CopyOp copy) {
  if (copy.getRelu() || copy.getTranspose() || copy.getScale() || copy.getPad() ||
      !copy.getEnds().empty())
    return false;
  for (int64_t dim = 0; dim < copy.getSourceRegion().type().getRank(); ++dim)
    if (!copy.isSourceInBounds(dim))
      return false;
  return true;
}

/// Whether all that an op may do to memory is to be seen in its operands.
bool isKnown(Operation& op) {
  if (auto nest = dyn_cast<tile::ParallelOp>(op))
    return llvm::all_of(nest.getBodyBlock()->without_terminator(), [](Operation& inner) {
      return isa<tile::LoadOp, tile::StoreOp>(inner) || (isPure(&inner) && !inner.getNumRegions());
    });
  return isa<tile::CopyOp, tile::FillOp, tile::ReduceOp, tile::AllocOp>(op) ||
         (isPure(&op) && !op.getNumRegions());
}

/// Of an op that is known: whether it writes to `buffer`, or to any tensor if that is one.
bool mayWrite(Operation& op, Value buffer) {
  auto isHit = [&](Value written) {
    return written == buffer || (isTensor(buffer) && (isTensor(written) || !isPlainTile(written)));
  };
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return isHit(copy.getTarget());
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return isHit(fill.getTarget());
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return isHit(reduce.getTargetRegion().buffer);
  if (auto nest = dyn_cast<tile::ParallelOp>(op))
    return llvm::any_of(nest.getBodyBlock()->getOps<tile::StoreOp>(),
                        [&](tile::StoreOp store) { return isHit(store.getBuffer()); });
  return false;
}

/// A buffer that nothing but copies of all of it touches, in one block, the first of which fills it.
class Stage {
public:
  explicit Stage(tile::AllocOp alloc) : buffer(alloc.getResult()) {}

  bool fits() {
    if (!isPlainTile(buffer) || buffer.use_empty())
      return false;
    for (Operation* user : buffer.getUsers()) {
      auto copy = dyn_cast<tile::CopyOp>(user);
      if (!copy || copy->getBlock() != (*buffer.user_begin())->getBlock())
        return false;
      const bool isFilled = copy.getTarget() == buffer, isRead = copy.getSource() == buffer;
      if (isFilled == isRead ||
          !(isFilled ? copy.getTargetRegion() : copy.getSourceRegion()).isWhole())
        return false;
      copies.push_back(copy);
    }
    llvm::sort(copies, [](tile::CopyOp x, tile::CopyOp y) { return x->isBeforeInBlock(y); });
    return copies.front().getTarget() == buffer;
  }

  /// Skips it where that can be done: between a copy that fills it and the next one.
  void skip() {
    for (size_t at = 0; at < copies.size();) {
      tile::CopyOp filling = copies[at++];
      const size_t first = at;
      while (at < copies.size() && copies[at].getSource() == buffer)
        ++at;
      const ArrayRef<tile::CopyOp> readers = ArrayRef(copies).slice(first, at - first);
      if (!isPlainCopy(filling) ||
          !llvm::all_of(readers, [&](tile::CopyOp reader) { return canReadFrom(filling, reader); }))
        continue;
      for (tile::CopyOp reader : readers)
        readFrom(filling, reader);
      filling.erase();
    }
    if (buffer.use_empty())
      buffer.getDefiningOp()->erase();
  }

private:
  bool canReadFrom(tile::CopyOp filling, tile::CopyOp reader) const {
    const BufferRegion from = filling.getSourceRegion(), to = reader.getTargetRegion();
    const Type type = cast<BufferType>(buffer.getType()).getElementType();
    if (!isPlainCopy(reader) || from.buffer == to.buffer ||
        !(isPlainTile(from.buffer) || (isArgument(from.buffer) && !isTensor(to.buffer))) ||
        (from.type().getElementType() != type && to.type().getElementType() != type))
      return false;
    for (Operation* op = filling->getNextNode(); op != reader; op = op->getNextNode())
      if (!isKnown(*op) || mayWrite(*op, from.buffer))
        return false;
    return true;
  }

  static void readFrom(tile::CopyOp filling, tile::CopyOp reader) {
    OpBuilder builder(reader);
    auto copy = tile::CopyOp::create(builder, reader.getLoc(), filling.getSourceRegion(),
                                     reader.getTargetRegion());
    copy.setSourceInBoundsAttr(filling.getSourceInBoundsAttr());
    copy.setTargetInBoundsAttr(reader.getTargetInBoundsAttr());
    copy->setDiscardableAttrs(reader->getDiscardableAttrDictionary());
    reader.erase();
  }

  Value buffer;
  SmallVector<tile::CopyOp> copies;
};

/// A nest, and the copy behind it that brings its result to a tensor.
class Result {
public:
  explicit Result(tile::CopyOp copy)
      : copy(copy), source(copy.getSourceRegion()), target(copy.getTargetRegion()) {}

  bool fits() {
    if (!isPlainTile(source.buffer) || !isArgument(target.buffer) || !source.isWhole() ||
        !isPlainCopy(copy) || !isInside() || !findNest())
      return false;
    for (Operation* user : source.buffer.getUsers()) {
      Operation* outer = copy->getBlock()->findAncestorOpInBlock(*user);
      if (!outer || copy->isBeforeInBlock(outer) || (nest->isBeforeInBlock(outer) && user != copy))
        return false;
    }
    return findStore() && readsApart();
  }

  void writeThere() {
    for (Operation* op = nest->getNextNode(); op != copy;) // what the place is made of
      std::exchange(op, op->getNextNode())->moveBefore(nest);
    ImplicitLocOpBuilder builder(store.getLoc(), store);
    Value value = convertElement(builder, store.getValue(), source.type().getElementType(),
                                 target.type().getElementType());
    storeElement(builder, value, target.buffer, place(builder));
    store.erase();
    copy.erase();
  }

private:
  /// Whether all of the target lies in its tensor, with extents that are known.
  bool isInside() {
    for (int64_t dim = 0; dim < target.type().getRank(); ++dim)
      if (!copy.isTargetInBounds(dim))
        return false;
    return llvm::none_of(target.staticExtents(), ShapedType::isDynamic);
  }

  /// The nest before the copy, with nothing between that does anything.
  bool findNest() {
    Operation* op = copy->getPrevNode();
    while (op && !isa<tile::ParallelOp>(op) && (isPure(op) || isa<tile::AllocOp>(op)))
      op = op->getPrevNode();
    nest = dyn_cast_or_null<tile::ParallelOp>(op);
    return nest && isKnown(*op) && nest.getStaticExtents() == source.type().getShape();
  }

  /// The only store to the result, behind all loads of it, and none to another tensor.
  bool findStore() {
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      if (auto load = dyn_cast<tile::LoadOp>(op);
          load && load.getBuffer() == source.buffer && store)
        return false;
      auto other = dyn_cast<tile::StoreOp>(op);
      if (!other)
        continue;
      if (isTensor(other.getBuffer()))
        return false;
      if (other.getBuffer() != source.buffer)
        continue;
      if (store || other.getIndices() != nest.getInductionVars())
        return false;
      store = other;
    }
    return store != nullptr;
  }

  /// Whether nothing that the nest reads can be the target's, by whatever name.
  bool readsApart() {
    const std::optional<int64_t> written = bitsOf(target.buffer);
    return llvm::all_of(nest.getBodyBlock()->getOps<tile::LoadOp>(), [&](tile::LoadOp load) {
      if (isPlainTile(load.getBuffer()))
        return true;
      const std::optional<int64_t> read = bitsOf(load.getBuffer());
      return read && written && *read != *written;
    });
  }

  /// Where the nest's element goes: its variables are the extents that aren't 1, in order.
  SmallVector<Value> place(ImplicitLocOpBuilder& builder) {
    IndexMath math(builder);
    SmallVector<Value> variables;
    for (auto [extent, variable] : llvm::zip(nest.getStaticExtents(), nest.getInductionVars()))
      if (extent != 1)
        variables.push_back(variable);
    SmallVector<Value> indices;
    size_t next = 0;
    for (auto [extent, offset] : llvm::zip(target.staticExtents(), target.offsets)) {
      Value index = math.value(offset);
      indices.push_back(extent == 1 ? index : math.add(index, variables[next++]));
    }
    return indices;
  }

  tile::CopyOp copy;
  BufferRegion source, target;
  tile::ParallelOp nest;
  tile::StoreOp store;
};

struct SkipStages : KernelPass<SkipStages> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SkipStages)
  static constexpr llvm::StringLiteral kArgument = "cpu-skip-stages";
  static constexpr llvm::StringLiteral kDescription =
      "bring tiles straight to where they are wanted, past buffers between";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::AllocOp> allocs;
    getOperation().walk([&](tile::AllocOp alloc) { allocs.push_back(alloc); });
    for (tile::AllocOp alloc : allocs)
      if (Stage stage(alloc); stage.fits())
        stage.skip();
    for (auto launch : getOperation().getOps<tile::LaunchOp>())
      for (auto copy : llvm::to_vector(launch.getBodyBlock()->getOps<tile::CopyOp>()))
        if (Result result(copy); result.fits())
          result.writeThere();
  }
};

} // namespace

std::unique_ptr<Pass> createSkipStages() {
  return std::make_unique<SkipStages>();
}

} // namespace tilewright::cpu
