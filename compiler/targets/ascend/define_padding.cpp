// SPDX-License-Identifier: Apache-2.0
/// DefinePadding: where a tile's rows end within a block of 32 bytes, something is written behind each
/// row before instructions that go over all of the tile read there.
///
///   %x = tile.alloc "x" : !tile.buffer<4x5xf32, UB>        // rows of 8
///   npu.set_value %v to %x[%i] : ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c29)
/// becomes
///   %x = tile.alloc "x" : !tile.buffer<4x5xf32, UB>
///   npu.duplicate %x[%c0] : ..., %zero : f32 count(%c32)   // rows of more blocks: of each the last
///   npu.set_value %v to %x[%i] : ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c29)
///
/// What lies there means nothing, but must not be left from another buffer's time: it could be a number that
/// traps, and the host reports reads of what was never written. Tiles that all writers fill, with what pads
/// their rows, or one before all readers, stay as they are. Of others only the last block of each row is
/// written, so that elements that the kernel forgets are still reported. Bytes are written as 16-bit numbers,
/// those of 64 bits as 32-bit ones, through a view. Where flags are the kernel's own, barriers stand around
/// that: no flag of the kernel orders it. It stands before the planning of memory, so that lives
/// begin there, and before the flags.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/mark_statements.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipelined_loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Dominance.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// Of the number of repeats of an instruction, and of the blocks from one to the next.
constexpr int64_t kMostSteps = 255;

/// How a tile's rows lie in UB, in bytes. Rows that lie side by side are one.
struct Layout {
  int64_t row, pitch, end, storage; ///< `end`: of the last element

  explicit Layout(BufferType type) : storage(npu::storageBytes(type)) {
    const int64_t size = int64_t(type.getElementBits()) / 8, columns = type.getShape().back();
    const bool isDense = npu::rowPitch(type) == columns;
    row = (isDense ? type.getNumElements() : columns) * size;
    pitch = isDense ? storage : npu::rowPitch(type) * size;
    end = storage - pitch + row;
  }
};

bool hasPadding(BufferType type) {
  return type.getSpace() == MemorySpace::UB && type.getRank() > 0 && type.getElementBits() >= 8 &&
         type.getNumElements() > 0 && Layout(type).end < npu::storageBytes(type);
}

/// How far the padding of a tile is read.
enum class Reads { Nothing, BetweenRows, BehindLast };

/// Where rows begin and end is known of what begins with a row, as all does that takes more than one.
Reads paddingReadBy(Operation* op, const npu::Access& access, const Layout& layout) {
  if (isa<npu::StoreUbOp>(op)) // counts bytes
    return Reads::Nothing;
  if (ShapedType::isDynamic(access.bytes) || isa<npu::CallOp>(op))
    return layout.row < layout.pitch && layout.end > layout.row ? Reads::BetweenRows
                                                                : Reads::Nothing;
  const int64_t taken = access.rows ? access.rows->bytes : access.bytes;
  if (taken <= layout.row)
    return Reads::Nothing;
  const int64_t ofLast = (access.bytes - 1) % layout.pitch + 1;
  return ofLast > layout.row ? Reads::BehindLast : Reads::BetweenRows;
}

bool overwrites(Operation* op, const npu::Access& access, int64_t bytes) {
  return access.isWrite && !access.rows && !op->hasAttr("repeat") &&
         !ShapedType::isDynamic(access.bytes) && access.bytes >= bytes;
}

struct DefinePadding : KernelPass<DefinePadding> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DefinePadding)
  static constexpr llvm::StringLiteral kArgument = "ascend-define-padding";
  static constexpr llvm::StringLiteral kDescription =
      "write behind rows that end within a block, where it is read";

  explicit DefinePadding(bool isOrdered) : isOrdered(isOrdered) {}

  void runOnOperation() override {
    const DominanceInfo dominance(getOperation());
    SmallVector<std::pair<tile::AllocOp, Reads>> allocs;
    getOperation().walk([&](tile::AllocOp alloc) {
      // What takes turns is all written first, in each iteration.
      Reads reads = Reads::Nothing;
      if (hasPadding(alloc.getType()) && !alloc->hasAttr(kVersionsAttr) &&
          isReadUndefined(alloc, dominance, reads))
        allocs.emplace_back(alloc, reads);
    });
    for (auto [alloc, reads] : allocs)
      define(alloc, reads);
  }

private:
  struct Use {
    Operation* op;
    npu::Access access;
  };

  /// Whether something reads padding that may not be written by then; how much of it, in `reads`.
  static bool isReadUndefined(tile::AllocOp alloc, const DominanceInfo& dominance, Reads& reads) {
    SmallVector<Use> uses;
    const Layout layout(alloc.getType());
    collectUses(alloc, uses);
    SmallVector<Operation*> readers;
    for (const Use& use : uses) {
      const Reads padding =
          use.access.isWrite ? Reads::Nothing : paddingReadBy(use.op, use.access, layout);
      if (padding != Reads::Nothing)
        readers.push_back(use.op);
      reads = std::max(reads, padding);
    }
    if (readers.empty())
      return false;
    const int64_t needed = reads == Reads::BehindLast ? layout.storage : layout.end;
    const auto pads = [&](const Use& use) {
      auto load = dyn_cast<npu::LoadUbOp>(use.op);
      return !use.access.isWrite || (load && load.getPad()) ||
             overwrites(use.op, use.access, needed);
    };
    const auto comesFirst = [&](const Use& use) {
      return overwrites(use.op, use.access, needed) &&
             llvm::all_of(readers, [&](Operation* reader) {
               return dominance.properlyDominates(use.op, reader);
             });
    };
    return !llvm::all_of(uses, pads) && llvm::none_of(uses, comesFirst);
  }

  static void collectUses(Value buffer, SmallVector<Use>& uses) {
    for (Operation* user : npu::usersOf(buffer)) {
      SmallVector<npu::Access> accesses;
      if (auto instruction = dyn_cast<npu::Instruction>(user))
        instruction.getAccesses(accesses);
      for (const npu::Access& access : accesses)
        if (npu::storageOf(access.buffer) == buffer)
          uses.push_back({user, access});
    }
  }

  /// Whether nothing has been done before in a kernel's text.
  static bool isAtStart(tile::AllocOp alloc) {
    return isa<tile::LaunchOp>(alloc->getParentOp()) &&
           llvm::all_of(llvm::make_range(alloc->getBlock()->begin(), alloc->getIterator()),
                        [](Operation& op) { return isa<tile::AllocOp>(op) || isPure(&op); });
  }

  /// Of a buffer of the kernel's own, which orders its own instructions only.
  void orderFill(tile::AllocOp alloc, ImplicitLocOpBuilder& builder) const {
    if (!alloc->getParentOfType<ScopeOp>()) {
      auto scope = ScopeOp::create(builder, Agent::Vector);
      builder.setInsertionPointToStart(&scope.getBody().emplaceBlock());
    }
    if (!isAtStart(alloc))
      PipeBarrierOp::create(builder, Pipe::All);
    auto after = PipeBarrierOp::create(builder, Pipe::All);
    builder.setInsertionPoint(after);
  }

  /// Of each row its last block, by one instruction where that can step so far; else all of the tile.
  void define(tile::AllocOp alloc, Reads reads) const {
    const BufferType type = alloc.getType();
    const Layout layout(type);
    ImplicitLocOpBuilder builder(alloc.getLoc(), alloc->getContext());
    builder.setInsertionPointAfter(alloc);
    Value buffer = alloc;
    Type element = type.getElementType();
    if (const unsigned bits = type.getElementBits(); bits == 8 || bits == 64) {
      element = builder.getIntegerType(bits == 8 ? 16 : 32, /*isSigned=*/true);
      const int64_t size = bits == 8 ? 2 : 4;
      const auto filled = BufferType::get({layout.storage / size}, element, MemorySpace::UB);
      buffer = tile::ViewOp::create(builder, filled, alloc, ValueRange());
    }
    if (isOrdered && !statementOf(alloc))
      orderFill(alloc, builder);
    const unsigned bits = cast<BufferType>(buffer.getType()).getElementBits();
    const int64_t size = int64_t(bits) / 8, lanes = npu::kBlockBytes / size;
    const TypedAttr zero = isa<FloatType>(element)
                               ? TypedAttr(builder.getFloatAttr(element, 0.0))
                               : TypedAttr(builder.getIntegerAttr(builder.getIntegerType(bits), 0));
    const Value value = arith::ConstantOp::create(builder, zero);
    const auto fill = [&](int64_t first, int64_t count, npu::RepeatAttr repeat) {
      const Value begin = arith::ConstantIndexOp::create(builder, first / size);
      const Value number = repeat ? Value() : arith::ConstantIndexOp::create(builder, count / size);
      npu::DuplicateOp::create(builder, buffer, begin, value, number, repeat);
    };
    const int64_t rows = layout.storage / layout.pitch, blocks = layout.pitch / npu::kBlockBytes;
    if (reads == Reads::BehindLast && rows == 1)
      fill(layout.storage - npu::kBlockBytes, npu::kBlockBytes, {});
    else if (blocks > 1 && blocks <= kMostSteps && rows <= kMostSteps)
      fill(layout.pitch - npu::kBlockBytes, 0,
           npu::RepeatAttr::get(builder.getContext(), lanes, rows, {1}, {blocks}));
    else
      fill(0, layout.storage, {});
  }

  bool isOrdered;
};

} // namespace

std::unique_ptr<Pass> createDefinePadding(bool isOrdered) {
  return std::make_unique<DefinePadding>(isOrdered);
}

} // namespace tilewright::ascend
