// SPDX-License-Identifier: Apache-2.0
/// Reads a row where it lies in memory, and not a copy of it on chip.
///
///   tile.copy %X[%b, 0] [1, 4096] : bf16, global to %x : !tile.buffer<1x4096xf32, fragment>
///   tile.reduce max %x dim 1 into %largest
///   tile.parallel (%i, %j) in [1, 4096] { %v = tile.load %x[%i, %j] ... tile.store %e, %x[%i, %j] }
/// becomes, on x86-64
///   tile.copy ... {cpu.in_place}        // only says what is read, so that FetchNextBlock fetches the next one
///   tile.parallel (%i, %j) in [1, 4096] { %w = tile.load %X[%b, %j] ... tile.store %w, %row[%i, %j] }
///   tile.reduce max %row dim 1 into %largest      // FuseReductions makes one loop of both, and stores nothing
///   tile.parallel (%i, %j) in [1, 4096] {
///     %w = tile.load %X[%b, %j]    %v = arith.extf %w ... tile.store %e, %x[%i, %j] }
///
/// After the first pass the row is in the first-level cache, half as large as its copy; and widening takes one
/// operation (vector_nest.h), as loading does. A row of float32 is read in place where its copy would only be read: norms
/// gain a tenth, softmax, which fills it anew, lost as much.
///
/// Only while it is known that the tensor still holds what was copied: not after a nest that writes to any tensor, for
/// that may be the same one; inside of such a nest where it writes as it reads, element by element.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// A copy of a row, and who reads it.
class Row {
public:
  explicit Row(tile::CopyOp copy)
      : copy(copy), source(copy.getSourceRegion()), target(copy.getTargetRegion()) {}

  /// Whether the tensor can be read instead of the copy by all who read it.
  bool fits() {
    if (!isRow())
      return false;
    bool isWritten = false;
    for (Operation* op = copy->getNextNode(); op; op = op->getNextNode()) {
      if (usesCopy(op)) {
        if (isWritten || !take(op))
          return false;
        if (isOverwritten)
          break;
      }
      isWritten |= mayWriteTensors(op);
    }
    if (isOverwritten && source.type().getElementType().isF32())
      return false;
    return !loads.empty() || !reductions.empty();
  }

  void readInPlace() {
    for (tile::LoadOp load : loads) {
      ImplicitLocOpBuilder builder(load.getLoc(), load);
      load.getResult().replaceAllUsesWith(element(builder, load.getIndices().back()));
      load.erase();
    }
    for (tile::ReduceOp reduce : reductions)
      bringForReduction(reduce);
    copy->setAttr(kInPlaceAttr, UnitAttr::get(copy.getContext()));
  }

private:
  /// A whole row of bfloat16 or float32 becomes all of a fragment in float32.
  bool isRow() {
    if (copy.getTranspose() || copy.getRelu() || !isDenseTensor(source.buffer) ||
        !(source.type().getElementType().isBF16() || source.type().getElementType().isF32()) ||
        !target.type().getElementType().isF32() || !target.isWhole() || target.type().isGlobal() ||
        target.type().isPerThread() ||
        !isa_and_nonnull<tile::AllocOp>(target.buffer.getDefiningOp()) ||
        llvm::any_of(target.buffer.getUsers(), llvm::IsaPred<tile::ViewOp>)) // it shows the copy
      return false;
    for (int64_t dim = 0; dim < source.type().getRank(); ++dim)
      if (!copy.isSourceInBounds(dim))
        return false;
    const int64_t columns = source.staticExtents().back();
    auto isOne = [](int64_t extent) { return extent == 1; };
    return !ShapedType::isDynamic(columns) && columns == target.type().getShape().back() &&
           llvm::all_of(ArrayRef(source.staticExtents()).drop_back(), isOne) &&
           llvm::all_of(target.type().getShape().drop_back(), isOne);
  }

  bool usesCopy(Operation* op) const {
    return op
        ->walk([&](Operation* inner) {
          return llvm::is_contained(inner->getOperands(), target.buffer) ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static bool mayWriteTensors(Operation* op) {
    auto isTensor = [](Value buffer) { return cast<BufferType>(buffer.getType()).isGlobal(); };
    if (auto other = dyn_cast<tile::CopyOp>(op))
      return isTensor(other.getTarget());
    if (auto fill = dyn_cast<tile::FillOp>(op))
      return isTensor(fill.getTarget());
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return isTensor(reduce.getTargetRegion().buffer);
    if (auto nest = dyn_cast<tile::ParallelOp>(op))
      return llvm::any_of(*nest.getBodyBlock(), [&](Operation& inner) {
        if (auto store = dyn_cast<tile::StoreOp>(inner))
          return isTensor(store.getBuffer());
        return !isa<tile::LoadOp>(inner) && !inner.hasTrait<OpTrait::IsTerminator>() &&
               !isPure(&inner);
      });
    return !isPure(op) && !isa<tile::AllocOp>(op);
  }

  bool take(Operation* op) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      const BufferRegion read = reduce.getSourceRegion();
      if (read.buffer != target.buffer || !read.isWhole() ||
          reduce.getTargetRegion().buffer == target.buffer ||
          int64_t(reduce.getDim()) + 1 != target.type().getRank())
        return false;
      reductions.push_back(reduce);
      return true;
    }
    auto nest = dyn_cast<tile::ParallelOp>(op);
    return nest && nest.getStaticExtents() == target.type().getShape() && takeNest(nest);
  }

  /// A nest that goes over all of the copy, element by element.
  bool takeNest(tile::ParallelOp nest) {
    bool hasWritten = false; // to a tensor: what is loaded behind that may be the new element
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      if (op.getNumRegions())
        return false;
      if (auto store = dyn_cast<tile::StoreOp>(op)) {
        const bool isOfCopy = store.getBuffer() == target.buffer;
        if (isOfCopy ? store.getIndices() != nest.getInductionVars()
                     : !writesAsItReads(store, nest))
          return false;
        isOverwritten |= isOfCopy;
        hasWritten |= cast<BufferType>(store.getBuffer().getType()).isGlobal();
      } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
        if (load.getBuffer() != target.buffer)
          continue;
        if (isOverwritten || hasWritten || load.getIndices() != nest.getInductionVars())
          return false;
        loads.push_back(load);
      } else if (llvm::is_contained(op.getOperands(), target.buffer)) {
        return false;
      }
    }
    return true;
  }

  /// Of a store elsewhere: if that is the tensor that is read, then each element after it was read.
  bool writesAsItReads(tile::StoreOp store, tile::ParallelOp nest) const {
    const auto type = cast<BufferType>(store.getBuffer().getType());
    return !type.isGlobal() || (type.getShape() == source.type().getShape() &&
                                store.getIndices().back() == nest.getInductionVars().back());
  }

  /// Element `column` of the row, in float32.
  Value element(ImplicitLocOpBuilder& builder, Value column) const {
    IndexMath math(builder);
    SmallVector<Value> place;
    for (OpFoldResult offset : source.offsets)
      place.push_back(math.value(offset));
    place.back() = math.add(place.back(), column);
    Value value = loadElement(builder, source.buffer, place);
    if (value.getType().isF32())
      return value;
    return arith::ExtFOp::create(builder, builder.getF32Type(), value);
  }

  void bringForReduction(tile::ReduceOp reduce) const {
    ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
    Value buffer = builder.clone(*target.buffer.getDefiningOp())->getResult(0);
    SmallVector<OpFoldResult> extents;
    for (int64_t extent : target.type().getShape())
      extents.push_back(builder.getIndexAttr(extent));
    {
      OpBuilder::InsertionGuard guard(builder);
      auto nest = tile::ParallelOp::create(builder, extents);
      builder.setInsertionPointToStart(nest.getBodyBlock());
      Value value = element(builder, nest.getInductionVars().back());
      storeElement(builder, value, buffer, nest.getInductionVars());
    }
    for (OpOperand& operand : reduce->getOpOperands())
      if (operand.get() == target.buffer)
        operand.set(buffer);
  }

  tile::CopyOp copy;
  BufferRegion source, target;
  SmallVector<tile::LoadOp> loads;
  SmallVector<tile::ReduceOp> reductions;
  /// Whether a nest that was taken fills the fragment anew.
  bool isOverwritten = false;
};

struct ReadInPlace : MachinePass<ReadInPlace> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReadInPlace)
  using MachinePass::MachinePass;
  static constexpr llvm::StringLiteral kArgument = "cpu-read-in-place";
  static constexpr llvm::StringLiteral kDescription =
      "read rows where they lie, and not copies of them on chip";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    if (!machine.isX86 || machine.vectorBits < 256)
      return;
    for (auto launch : getOperation().getOps<tile::LaunchOp>())
      for (auto copy : llvm::to_vector(launch.getBodyBlock()->getOps<tile::CopyOp>())) {
        Row row(copy);
        if (row.fits())
          row.readInPlace();
      }
  }
};

} // namespace

std::unique_ptr<Pass> createReadInPlace(const Machine& machine) {
  return std::make_unique<ReadInPlace>(machine);
}

} // namespace tilewright::cpu
