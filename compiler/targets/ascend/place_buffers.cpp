// SPDX-License-Identifier: Apache-2.0
/// PlaceBuffers: decides by use in which memory a `shared` or `fragment` tile lies.
///
///   %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>     // a gemm reads it
///   %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>    // a gemm adds to it
///   %x = tile.alloc "x" : !tile.buffer<64x64xf32, shared>            // an element-wise nest reads it
/// becomes
///   %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, L1>
///   %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, L0C>
///   %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
///
/// A tile that gemms and vector instructions use lies in both kinds of memory, and a copy leads
/// from one to the other (nothing leads into L0C: joined_products.h); also one that the kernel has put in L0C, if elements of it are used. So does one
/// that gemms read as other rows (T.reshape): what lies in fractals is no other matrix. The pass
/// stands first but for FoldClears: which routes copies take is known only then.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/bit_sequences.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/joined_products.h"
#include "compiler/targets/ascend/l1_columns.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/product_copies.h"
#include "compiler/targets/ascend/remade_values.h"
#include "compiler/targets/ascend/tile_addresses.h"
#include "compiler/targets/ascend/twin_copies.h"
#include "compiler/targets/ascend/zero_products.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// What uses a tile, in text order. Other uses than gemms' of a view are counted as the tile's.
struct Uses {
  /// Loads of it to L0 are among the gemms.
  SmallVector<Operation*> gemms, others;
  /// Those that name a view of it.
  SmallVector<tile::GemmOp> gemmsOfViews;
  bool isOperand = false, isResult = false;
  /// A copy writes it, or reads it for a tensor or another tile but those in L0.
  bool isTarget = false, isSource = false;
  /// Something but copies touches it on a vector core.
  bool isVector = false;
  /// An atomic add of tiles reads it: from UB or L0C.
  bool isAdded = false;
  bool meetsL0 = false;
  /// Vector cores bring it to global memory.
  SmallVector<Operation*> moved;
};

bool isDecided(MemorySpace space) {
  return space != MemorySpace::Shared && space != MemorySpace::Fragment;
}

/// Whether both are seen as the same matrices of rows, so that they lie in the same way in fractals.
bool haveSameFractals(BufferType a, BufferType b, MemorySpace space) {
  const auto rows = [](BufferType type) {
    return type.getRank() < 2 ? 1 : type.getShape()[size_t(type.getRank()) - 2];
  };
  const auto rowBits = [](BufferType type) {
    return (type.getRank() == 0 ? 1 : type.getShape().back()) * int64_t(type.getElementBits());
  };
  return rows(a) == rows(b) && rowBits(a) == rowBits(b) &&
         (space == MemorySpace::L1 || a.getElementType() == b.getElementType());
}

bool isOfCube(MemorySpace space) {
  return space == MemorySpace::L1 || space == MemorySpace::L0A || space == MemorySpace::L0B ||
         space == MemorySpace::L0C;
}

bool isResult(Value tile) {
  return llvm::any_of(npu::usersOf(tile), [&](Operation* user) {
    auto gemm = dyn_cast<tile::GemmOp>(user);
    return gemm && npu::storageOf(gemm.getC()) == tile;
  });
}

struct PlaceBuffers : KernelPass<PlaceBuffers> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceBuffers)
  static constexpr llvm::StringLiteral kArgument = "ascend-place-buffers";
  static constexpr llvm::StringLiteral kDescription =
      "decide by use in which memory a shared or fragment tile lies";

  PlaceBuffers(bool waits, bool splits) : waits(waits), splits(splits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    zeroProducts = {};
    if (!waits)
      leadProductsThroughUb(getOperation());
    SmallVector<tile::AllocOp> all, allocs;
    getOperation().walk([](tile::ViewOp view) {
      if (view.use_empty() && isResult(npu::storageOf(view)))
        view.erase();
    });
    nameAsSequences(getOperation());
    getOperation().walk([&](tile::AllocOp alloc) { all.push_back(alloc); });
    for (tile::AllocOp alloc : all) {
      takeShapeOfViews(alloc);
      if (!isDecided(alloc.getType().getSpace()) || isReadByElement(alloc) ||
          isOperandOfVectors(alloc))
        allocs.push_back(alloc);
    }
    for (tile::AllocOp alloc : allocs)
      if (failed(place(alloc)))
        signalPassFailure();
    getOperation().walk([&](tile::ViewOp view) {
      if (failed(checkRows(view)))
        signalPassFailure();
    });
    getOperation().walk(warnOfColumns);
  }

  /// A tile in L0C that a gemm computes and whose elements are used, or that is seen as other rows: only
  /// vector cores can.
  bool isReadByElement(tile::AllocOp alloc) {
    return alloc.getType().getSpace() == MemorySpace::L0C && isResult(alloc) &&
           (!viewsKeepFractals(alloc, MemorySpace::L0C) ||
            llvm::any_of(npu::usersOf(alloc), [&](Operation* user) {
              return isa<tile::LoadOp, tile::StoreOp>(user) || isMovedByVectors(user);
            }));
  }

  /// Whether a gemm, maybe by way of L0, takes a tile as an operand.
  static bool isRead(Operation* op) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    return isa<tile::GemmOp>(op) || (copy && isL0(copy.getTarget()));
  }

  /// An operand that the kernel has put in L1, with which something is done that only vector cores can.
  bool isOperandOfVectors(tile::AllocOp alloc) const {
    const SmallVector<Operation*> users = npu::usersOf(alloc);
    return alloc.getType().getSpace() == MemorySpace::L1 && !waits && splits &&
           llvm::any_of(users, isRead) &&
           llvm::any_of(users, [&](Operation* op) { return isDoneInUb(op, alloc); }) &&
           llvm::none_of(users, [](Operation* op) { return op->getParentOfType<ScopeOp>(); });
  }

  /// Whether vector cores must bring a gemm's tile to global memory.
  static bool isMovedByVectors(Operation* op) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    auto add = dyn_cast<tile::AtomicTileOp>(op);
    const bool moves =
        copy ? copy.getTarget().getType().isGlobal() : add && add.getTarget().getType().isGlobal();
    return moves && mustBeOfVectors(op);
  }

  /// A tile that is only seen as a sequence of elements is one: a mask of (rows, columns / 8) bytes.
  void takeShapeOfViews(tile::AllocOp alloc) {
    Type seen;
    SmallVector<tile::CopyOp> copies;
    for (Operation* user : alloc->getUsers()) {
      if (auto copy = dyn_cast<tile::CopyOp>(user); copy && copiesWhole(copy, alloc)) {
        copies.push_back(copy);
        continue;
      }
      auto view = dyn_cast<tile::ViewOp>(user);
      if (!view || (seen && view.getType() != seen))
        return;
      seen = view.getType();
    }
    const auto type = cast_or_null<BufferType>(seen);
    if (!type || type.getRank() != 1 || !type.hasStaticShape() ||
        type.getElementType() != alloc.getType().getElementType())
      return;
    if (!copies.empty() && npu::rowPitch(alloc.getType()) == alloc.getType().getShape().back())
      return; // a sequence as it lies
    for (tile::CopyOp copy : copies)
      copyByRows(copy, alloc, type);
    alloc.getResult().setType(type);
    for (Operation* user : llvm::make_early_inc_range(alloc->getUsers()))
      if (user->getResult(0).getType() == type) {
        user->getResult(0).replaceAllUsesWith(alloc.getResult());
        user->erase();
      }
  }

  /// Whether a copy is one between all rows of a tile and global memory.
  static bool copiesWhole(tile::CopyOp copy, tile::AllocOp alloc) {
    const bool isTarget = copy.getTarget() == alloc.getResult();
    const BufferRegion tile = isTarget ? copy.getTargetRegion() : copy.getSourceRegion(),
                       other = isTarget ? copy.getSourceRegion() : copy.getTargetRegion();
    const ArrayRef<int64_t> shape = tile.type().getShape();
    return other.type().isGlobal() && shape.size() == 2 && !copy.getTranspose() &&
           llvm::equal(tile.staticExtents(), shape);
  }

  /// The DMA moves rows that begin at a block of 32 bytes, so they come through a tile of such rows, and go
  /// on in units of up to 4 bytes.
  void copyByRows(tile::CopyOp copy, tile::AllocOp alloc, BufferType sequence) {
    const BufferType type = inSpace(alloc.getType(), MemorySpace::UB);
    ImplicitLocOpBuilder builder(alloc.getLoc(), alloc);
    auto rows = tile::AllocOp::create(
        builder, type, builder.getStringAttr(alloc.getSymName().value_or("tile").str() + "_rows"),
        IntegerAttr());
    const bool isLoad = copy.getTarget() == alloc.getResult();
    copy->replaceUsesOfWith(alloc.getResult(), rows.getResult());
    const int64_t height = type.getShape()[0];
    const int64_t rowBytes = type.getShape()[1] * int64_t(type.getElementBits()) / 8;
    // Rows of one element would lie side by side.
    int64_t unit = 4;
    while (unit > 1 && (rowBytes % unit != 0 || rowBytes == unit))
      unit /= 2;
    const int64_t width = rowBytes / unit;
    const Type element = IntegerType::get(&getContext(), unsigned(unit) * 8, IntegerType::Signed);
    builder.setLoc(copy.getLoc());
    builder.setInsertionPoint(copy);
    if (isLoad)
      builder.setInsertionPointAfter(copy);
    orderAll(builder);
    Value apart = tile::ViewOp::create(
        builder, BufferType::get({height, width}, element, MemorySpace::UB), rows, ValueRange());
    Value dense = tile::ViewOp::create(
        builder, BufferType::get({height * width}, element, sequence.getSpace()), alloc,
        ValueRange());
    auto nest = tile::ParallelOp::create(
        builder, ArrayRef<OpFoldResult>{builder.getIndexAttr(height), builder.getIndexAttr(width)});
    orderAll(builder);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    Value row = nest.getInductionVars()[0], column = nest.getInductionVars()[1];
    Value start =
        arith::MulIOp::create(builder, row, arith::ConstantIndexOp::create(builder, width));
    Value number = arith::AddIOp::create(builder, start, column);
    const SmallVector<Value> inRows = {row, column}, inSequence = {number};
    Value moved = tile::LoadOp::create(builder, cast<BufferType>(dense.getType()).getScalarType(),
                                       isLoad ? apart : dense, isLoad ? inRows : inSequence,
                                       /*in_bounds=*/true);
    tile::StoreOp::create(builder, moved, isLoad ? dense : apart, isLoad ? inSequence : inRows,
                          /*in_bounds=*/true);
  }

  /// Without automatic flags, the parts of a copy wait for each other.
  void orderAll(ImplicitLocOpBuilder& builder) {
    if (waits)
      PipeBarrierOp::create(builder, Pipe::All);
  }

  static void warnOfColumns(tile::CopyOp copy) {
    const BufferRegion target = copy.getTargetRegion();
    if (target.type().getSpace() != MemorySpace::L1)
      return;
    if (const int64_t more = columnsOverwritten(copy))
      copy.emitWarning() << "this copy of " << target.staticExtents().back()
                         << " columns writes 0 to the next " << more
                         << " of its tile in L1, too, whose columns come in groups of "
                         << npu::blockElements(target.type())
                         << "; copy whole groups, or copy to a tile of T.alloc_ub and that to L1";
  }

  /// Where rows in UB are padded, a view must keep them; in fractals any.
  static LogicalResult checkRows(tile::ViewOp view) {
    const BufferType from = view.getSource().getType(), to = view.getType();
    if (isOfCube(from.getSpace()) && !haveSameFractals(from, to, from.getSpace()))
      return view.emitError() << "unsupported on ascend: a tile in "
                              << stringifyMemorySpace(from.getSpace())
                              << " lies there in fractals, of which a view as other rows or "
                                 "elements would take the wrong ones; copy it to a second tile of "
                                 "that shape in UB or global memory";
    if (from.getSpace() != MemorySpace::UB || from.getRank() == 0 || to.getRank() == 0)
      return success();
    const auto isDense = [](BufferType type) {
      return npu::rowPitch(type) == type.getShape().back();
    };
    const auto rowBits = [](BufferType type) {
      return type.getShape().back() * int64_t(type.getElementBits());
    };
    if ((isDense(from) && isDense(to)) || rowBits(from) == rowBits(to))
      return success();
    const int64_t rowBefore = from.getShape().back(), rowAfter = to.getShape().back();
    if (isDense(from))
      return view.emitError() << "unsupported on ascend: a tile with rows of " << rowBefore
                              << " elements cannot be seen as rows of " << rowAfter
                              << ", which are padded to " << npu::rowPitch(to) << " in UB";
    return view.emitError() << "unsupported on ascend: rows of " << rowBefore
                            << " elements are padded to " << npu::rowPitch(from)
                            << " in UB, so a tile of them cannot be seen as rows of " << rowAfter;
  }

  LogicalResult place(tile::AllocOp alloc) {
    Uses uses = usesOf(alloc);
    if (uses.isResult && !uses.isVector && llvm::all_of(uses.moved, canBothBeMoved)) {
      llvm::for_each(uses.moved, moveBoth);
      uses = usesOf(alloc);
    }
    uses.isVector |= !uses.moved.empty();
    if (uses.gemms.empty() && uses.gemmsOfViews.empty()) {
      move(alloc,
           uses.meetsL0 && !uses.isVector && !uses.isAdded ? MemorySpace::L1 : MemorySpace::UB);
      return success();
    }
    if (uses.isOperand && uses.isResult)
      return alloc.emitError("unsupported on ascend: a tile that one gemm reads and another adds "
                             "to; copy it to a second tile");
    const MemorySpace space = uses.isResult ? MemorySpace::L0C : MemorySpace::L1;
    const bool isWrittenByCopy = uses.isResult && uses.isTarget;
    // Nothing leads from L1 to another tile, or to a tensor.
    const bool isReadOperand = uses.isOperand && (uses.isAdded || uses.isSource);
    if (!uses.isVector && !isWrittenByCopy && !isReadOperand && viewsKeepFractals(alloc, space)) {
      move(alloc, space);
      return success();
    }
    return uses.isResult ? placeResultTwice(alloc) : placeOperandTwice(alloc, uses);
  }

  Uses usesOf(tile::AllocOp alloc) {
    Uses uses;
    llvm::SmallPtrSet<Operation*, 16> users(alloc->user_begin(), alloc->user_end());
    users.insert_range(npu::usersOf(alloc));
    getOperation().walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (users.contains(op))
        addUse(uses, op, alloc);
    });
    uses.isVector |= !waits && uses.isOperand && llvm::any_of(users, [&](Operation* op) {
      return isDoneInUb(op, alloc.getResult());
    });
    return uses;
  }

  static void addUse(Uses& uses, Operation* op, Value tile) {
    const auto isOfTile = [&](Value buffer) { return npu::storageOf(buffer) == tile; };
    const bool isDirect = llvm::is_contained(op->getOperands(), tile);
    if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
      if (isDirect)
        uses.gemms.push_back(op);
      for (Value buffer : {gemm.getA(), gemm.getB(), gemm.getC()})
        if (buffer != tile && isOfTile(buffer) && !llvm::is_contained(uses.gemmsOfViews, gemm))
          uses.gemmsOfViews.push_back(gemm);
      uses.isResult |= isOfTile(gemm.getC());
      uses.isOperand |= isOfTile(gemm.getA()) || isOfTile(gemm.getB());
      return;
    }
    if (auto load = dyn_cast<tile::CopyOp>(op);
        load && load.getSource() == tile && isL0(load.getTarget())) {
      uses.gemms.push_back(op);
      uses.isOperand = true;
      return;
    }
    if (isDirect)
      uses.others.push_back(op);
    if (isa<tile::ViewOp>(op))
      return;
    if (isMovedByVectors(op))
      uses.moved.push_back(op);
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      uses.meetsL0 |= isL0(copy.getSource()) || isL0(copy.getTarget());
      uses.isTarget |= isOfTile(copy.getTarget());
      // Rows by numbers that only vector cores know: they bring them, and all of the tile from there.
      uses.isVector |= isOfTile(copy.getTarget()) && copy.getSource().getType().isGlobal() &&
                       !op->getParentOfType<ScopeOp>() && npu::asksVectorTiles(op);
      uses.isSource |= isOfTile(copy.getSource()) && !isL0(copy.getTarget());
    } else if (auto add = dyn_cast<tile::AtomicTileOp>(op); add && isOfTile(add.getSource())) {
      uses.isAdded = true;
    } else {
      uses.isVector = true;
    }
  }

  bool viewsKeepFractals(tile::AllocOp alloc, MemorySpace space) {
    bool keep = true;
    getOperation().walk([&](tile::ViewOp view) {
      keep &= npu::storageOf(view) != alloc.getResult() ||
              haveSameFractals(alloc.getType(), view.getType(), space);
    });
    return keep;
  }

  static BufferType inSpace(BufferType type, MemorySpace space) {
    return BufferType::get(type.getShape(), type.getElementType(), space, type.getStrided(),
                           type.getLayout());
  }

  /// Also what views it.
  static void move(tile::AllocOp alloc, MemorySpace space) {
    SmallVector<Value> values = {alloc.getResult()};
    while (!values.empty()) {
      Value value = values.pop_back_val();
      value.setType(inSpace(cast<BufferType>(value.getType()), space));
      for (Operation* user : value.getUsers())
        if (auto view = dyn_cast<tile::ViewOp>(user))
          values.push_back(view.getResult());
    }
  }

  /// A second tile of the same shape on the vector cores, for all uses but the gemms.
  tile::AllocOp addTwin(tile::AllocOp alloc, MemorySpace space, const Uses& uses) {
    OpBuilder builder(alloc);
    builder.setInsertionPointAfter(alloc);
    auto twin = tile::AllocOp::create(
        builder, alloc.getLoc(), inSpace(alloc.getType(), MemorySpace::UB),
        builder.getStringAttr(alloc.getSymName().value_or("tile").str() + "_ub"), IntegerAttr());
    for (Operation* user : uses.others)
      user->replaceUsesOfWith(alloc.getResult(), twin.getResult());
    move(twin, MemorySpace::UB);
    move(alloc, space);
    return twin;
  }

  LogicalResult join(tile::AllocOp alloc, tile::GemmOp gemm) {
    return ProductJoiner(zeroProducts, waits).join(getOperation(), alloc, gemm);
  }

  /// Vector instructions use what gemms have computed, of which copies stand before them. What a gemm may
  /// have to add to what they have written, they add; what it writes to a view, they copy.
  LogicalResult placeResultTwice(tile::AllocOp alloc) {
    Uses uses;
    SmallVector<Operation*> clears;
    std::optional<TwinPlan> plan;
    while (!plan) {
      uses = usesOf(alloc);
      if (!uses.gemmsOfViews.empty()) {
        if (failed(join(alloc, uses.gemmsOfViews.front())))
          return failure();
        continue;
      }
      if (uses.gemms.empty())
        break;
      clears.clear();
      for (Operation* other : uses.others)
        if (auto fill = dyn_cast<tile::FillOp>(other);
            fill && ZeroProducts::canClear(fill) && !npu::asksVid(fill))
          clears.push_back(fill);
      tile::GemmOp conflict;
      plan = planTwin(getOperation(), twinUsesOf(getOperation(), alloc, uses.others), clears,
                      conflict);
      if (!plan && failed(join(alloc, conflict)))
        return failure();
    }
    if (failed(checkCoreParts(alloc, /*isOperand=*/false)))
      return failure();
    if (!plan) {
      move(alloc, MemorySpace::UB);
      return success();
    }
    const Type multiplied =
        cast<tile::GemmOp>(uses.gemms.front()).getA().getType().getElementType();
    const tile::AllocOp twin = addTwin(alloc, MemorySpace::L0C, uses);
    for (Operation* clear : clears)
      if (plan->clears.contains(clear))
        zeroProducts.clear(cast<tile::FillOp>(clear), alloc, multiplied);
    for (const TwinCopy& copy : plan->copies)
      copyPart(copy.region, twin, copy.ifRuns ? branchBehind(copy.ifRuns) : copy.before);
    return success();
  }

  /// Where something runs if the loop has run a turn.
  static Operation* branchBehind(tile::ForOp loop) {
    OpBuilder builder(loop->getNextNode());
    Value runs = arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::slt,
                                       loop.getLower(), loop.getUpper());
    auto branch = scf::IfOp::create(builder, loop.getLoc(), runs, /*withElseRegion=*/false);
    return branch.thenYield();
  }

  /// What computes the region's numbers in a loop that the copy stands behind is made anew there.
  void copyPart(const BufferRegion& part, tile::AllocOp to, Operation* before) {
    ImplicitLocOpBuilder builder(before->getLoc(), before);
    const BufferRegion from = RemadeValues(before).of(part);
    BufferRegion target = from;
    target.buffer = to;
    tile::CopyOp::create(builder, from, target);
    orderAll(builder); // it is a part of none of the kernel's statements
  }

  /// Whether a part of a tile in L1 can be copied without the rest: it consists of whole fractals.
  static bool isOfFractals(const BufferRegion& part) {
    const BufferType type = inSpace(part.type(), MemorySpace::L1);
    const SmallVector<int64_t> offsets = part.staticOffsets(), extents = part.staticExtents();
    if (extents.size() < 2 || llvm::is_contained(extents, ShapedType::kDynamic))
      return false;
    const auto isOf = [&](size_t dim, int64_t side) {
      return extents[dim] == type.getShape()[dim] ||
             (offsets[dim] != ShapedType::kDynamic && offsets[dim] % side == 0 &&
              extents[dim] % side == 0);
    };
    return isOf(extents.size() - 2, kFractalSide) &&
           isOf(extents.size() - 1, std::max(kFractalSide, npu::blockElements(type)));
  }

  /// Whether something between a copy and a gemm behind it, or in what holds the gemm, may write a tile.
  static bool mayChangeBetween(tile::CopyOp copy, Operation* gemm, Value tile) {
    Operation* end = copy->getBlock()->findAncestorOpInBlock(*gemm);
    if (!end || !copy->isBeforeInBlock(end))
      return true;
    const Value storage = npu::storageOf(tile);
    const auto writes = [&](Operation* op) {
      for (Value operand : op->getOperands()) {
        if (!isa<BufferType>(operand.getType()) || npu::storageOf(operand) != storage)
          continue;
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        SmallVector<MemoryEffects::EffectInstance> found;
        if (effects)
          effects.getEffectsOnValue(operand, found);
        if (!effects || isa<npu::Instruction>(op) || llvm::any_of(found, [](const auto& effect) {
              return isa<MemoryEffects::Write>(effect.getEffect());
            }))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    };
    Operation* last = end == gemm ? end : end->getNextNode();
    for (Operation* op = copy->getNextNode(); op != last; op = op->getNextNode())
      if (op->walk(writes).wasInterrupted())
        return true;
    return false;
  }

  /// Whether an earlier gemm has had a part brought to its place, which is the same still.
  static bool isThere(ArrayRef<tile::CopyOp> sent, const BufferRegion& part, Operation* gemm) {
    return llvm::any_of(sent, [&](tile::CopyOp copy) {
      const BufferRegion known = copy.getSourceRegion();
      return (known.isWhole() || isSameRegion(known, part)) &&
             !mayChangeBetween(copy, gemm, part.buffer);
    });
  }

  /// Copies what the gemm reads of `named` to the same place of `to`: nothing may have written the rest. `sent`: what
  /// has been copied there, for gemms before it.
  void copyRead(Operation* gemm, Value named, Value from, Value to,
                SmallVectorImpl<tile::CopyOp>& sent) const {
    SmallVector<BufferRegion> read, parts;
    if (auto load = dyn_cast<tile::CopyOp>(gemm))
      read = {load.getSourceRegion()};
    else
      read = {cast<tile::GemmOp>(gemm).getARegion(), cast<tile::GemmOp>(gemm).getBRegion()};
    for (const BufferRegion& region : read) {
      const BufferRegion part = withKnownExtents(region);
      if (part.buffer == named)
        parts.push_back(isOfFractals(part) ? part : BufferRegion::whole(named));
    }
    if (parts.size() == 2 && isSameRegion(parts[0], parts[1]))
      parts.pop_back();
    OpBuilder builder(gemm);
    for (BufferRegion part : parts) {
      part.buffer = from;
      if (!waits && isThere(sent, part, gemm))
        continue;
      BufferRegion target = part;
      target.buffer = to;
      auto copy = tile::CopyOp::create(builder, gemm->getLoc(), part, target);
      // Both vector cores of a block have what gemms read, of which there is one.
      if (mayHaveTwoVectors(gemm->getParentOfType<tile::LaunchOp>()) &&
          !gemm->getParentOfType<ScopeOp>())
        copy->setAttr(kOnceAttr, builder.getUnitAttr());
      sent.push_back(copy);
    }
  }

  /// Vector instructions make what gemms read: a copy stands before each gemm.
  LogicalResult placeOperandTwice(tile::AllocOp alloc, const Uses& uses) {
    if (failed(checkCoreParts(alloc, /*isOperand=*/true)))
      return failure();
    if (uses.gemms.empty()) {
      move(alloc, MemorySpace::UB);
      placeViews(alloc, uses.gemmsOfViews);
      return success();
    }
    tile::AllocOp twin = addTwin(alloc, MemorySpace::L1, uses);
    SmallVector<tile::CopyOp> sent;
    for (Operation* gemm : uses.gemms)
      copyRead(gemm, alloc, twin, alloc, sent);
    placeViews(twin, uses.gemmsOfViews);
    return success();
  }

  /// The same for views of a tile in UB: each has a tile of its shape in L1.
  void placeViews(tile::AllocOp alloc, ArrayRef<tile::GemmOp> gemms) const {
    OpBuilder builder(alloc);
    builder.setInsertionPointAfter(alloc);
    llvm::DenseMap<Value, Value> tiles;
    llvm::DenseMap<Value, SmallVector<tile::CopyOp>> sent; ///< by tile
    for (tile::GemmOp gemm : gemms)
      for (Value view : {gemm.getA(), gemm.getB()}) {
        if (npu::storageOf(view) != alloc.getResult())
          continue; // the other operand's, or done already
        Value& tile = tiles[view];
        if (!tile)
          tile = tile::AllocOp::create(
              builder, alloc.getLoc(), inSpace(cast<BufferType>(view.getType()), MemorySpace::L1),
              builder.getStringAttr(alloc.getSymName().value_or("tile").str() + "_l1"),
              IntegerAttr());
        copyRead(gemm, view, view, tile, sent[tile]);
        gemm->replaceUsesOfWith(view, tile);
      }
  }

  ZeroProducts zeroProducts;
  bool waits; ///< whether what becomes several operations orders them
  bool splits;
};

} // namespace

std::unique_ptr<Pass> createPlaceBuffers(bool waits, bool splits) {
  return std::make_unique<PlaceBuffers>(waits, splits);
}

} // namespace tilewright::ascend
