// SPDX-License-Identifier: Apache-2.0
/// Fetches what the next block will copy on chip while this one computes.
///
///   tile.copy %X[%b, 0] [1, 4096] to %x
///   tile.parallel (%j) in [4096] { ... }
/// becomes
///   tile.copy %X[%b, 0] [1, 4096] to %x
///   %next = llvm.getelementptr %X[(%b + 1) * 4096]
///   scf.for %strip = 0 to 64 {
///     scf.for %line = 0 to 4 { llvm.intr.prefetch %next + (%strip * 4 + %line) * 64 }
///     tile.parallel (%j) in [64] { ... of %strip * 64 + %j } }
///
/// A thread runs block after block, x fastest. A block that reads its tile, computes and writes leaves the memory
/// idle while it computes, and waits for it then. Only copies of consecutive memory at the launch's top level
/// count; the element-wise nests there ask for the lines, each for a share by its work. Those that do less than half of
/// what the costliest does ask for none: they wait for memory themselves. A tensor that the second-level cache holds
/// anyway is left alone.
///
/// On x86 one line of each page that the next block writes is asked for, too: not for its contents, but so that the page's
/// address is known when the stores come. A core finds it only then, and in a virtual machine that takes as long as 400
/// instructions, which the stores behind it wait for. It is asked for to the first-level cache: what is only wanted in the
/// second one doesn't enter the first table of addresses.
///
/// It stands before the copies are loops, and after what is known
/// to be in bounds is marked.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
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

/// Tensors smaller than this stay in the second-level cache; a block's tile may not take most of it.
constexpr int64_t leastTensorBytes = 1 << 20, mostTileBytes = 128 << 10;
/// Elements between two requests: enough for some vectors, and few, so that the memory is asked evenly.
constexpr int64_t stripElements = 64;
/// Of memory whose address is found at once.
constexpr int64_t pageBytes = 4096;

int64_t elementCount(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

/// Whether so many bytes of a tensor are worth being asked for.
bool isWorthIt(const tile::BufferType& type, int64_t bytes) {
  const ArrayRef<int64_t> shape = type.getShape();
  const bool isSmall = llvm::none_of(shape, ShapedType::isDynamic) &&
                       elementCount(shape) * (type.getElementBits() / 8) < leastTensorBytes;
  return !isSmall && bytes <= mostTileBytes;
}

/// The bytes of a region that lies in one piece of a large tensor; 0 if it isn't so.
int64_t bytesInOnePiece(const BufferRegion& region) {
  const SmallVector<int64_t> extents = region.staticExtents();
  const ArrayRef<int64_t> shape = region.type().getShape();
  if (!isDenseTensor(region.buffer) || region.type().getElementBits() < 8 ||
      llvm::any_of(extents, ShapedType::isDynamic))
    return 0;
  size_t dim = 0;
  while (dim + 1 < extents.size() && extents[dim] == 1)
    ++dim;
  for (++dim; dim < extents.size(); ++dim)
    if (extents[dim] != shape[dim])
      return 0;
  const int64_t elementBytes = region.type().getElementBits() / 8;
  const int64_t bytes = elementCount(extents) * elementBytes;
  return isWorthIt(region.type(), bytes) ? bytes : 0;
}

/// A nest that can be cut into `count` strips of `length` turns of dim `dim`, or a loop over strips.
struct Strips {
  tile::ParallelOp nest;
  scf::ForOp loop;
  size_t dim = 0;
  int64_t count = 0, length = 0;
  int64_t cost = 0;
};

std::optional<Strips> stripsOf(tile::ParallelOp nest) {
  const ArrayRef<int64_t> extents = nest.getStaticExtents();
  if (llvm::any_of(extents, ShapedType::isDynamic))
    return std::nullopt;
  Strips strips{nest, {}};
  while (strips.dim + 1 < extents.size() && extents[strips.dim] == 1)
    ++strips.dim;
  const int64_t extent = extents[strips.dim],
                inner = elementCount(extents.drop_front(strips.dim + 1));
  strips.length =
      std::max<int64_t>(1, llvm::divideCeil(stripElements, std::max<int64_t>(inner, 1)));
  if (extent % strips.length != 0 || extent / strips.length < 2)
    return std::nullopt;
  strips.count = extent / strips.length;
  nest.walk([&](Operation* op) { strips.cost += operationCost(op); });
  strips.cost *= elementCount(extents);
  return strips;
}

/// A tile that will be read soon: where it begins, and its bytes.
struct Tile {
  Value address;
  int64_t bytes;
};

/// Where the next block's tile begins, computed at the builder's place; null if that can't be foreseen.
Value nextAddress(ImplicitLocOpBuilder& builder, tile::LaunchOp launch,
                  const BufferRegion& region) {
  IndexMath math(builder);
  NextTurn turn(builder, launch, launch.getBlockIds().front(), math.constant(1));
  SmallVector<Value> place;
  bool moves = false;
  for (OpFoldResult offset : region.offsets) {
    Value now = math.value(offset), next = turn.of(now);
    if (!next)
      return {};
    moves |= next != now;
    place.push_back(next);
  }
  return moves ? addressOf(builder, region.buffer, place, LLVM::GEPNoWrapFlags::none) : Value();
}

/// Asks for `lines` lines from number `first` on, and for as many more with each strip.
void askForLines(ImplicitLocOpBuilder& builder, Value address, Value strip, int64_t first,
                 int64_t lines) {
  IndexMath math(builder);
  Value start = math.add(math.mul(strip, math.constant(lines)), math.constant(first));
  const Range range{math.constant(0), math.constant(lines)};
  buildNest(builder, range, [&](ImplicitLocOpBuilder& inner, ValueRange line) {
    IndexMath innerMath(inner);
    Value number = innerMath.add(start, line[0]);
    prefetch(inner, address, innerMath.mul(number, innerMath.constant(kLineBytes)));
  });
}

/// The loops that FuseReductions leaves.
std::optional<Strips> stripsOf(scf::ForOp loop) {
  auto cost = loop->getAttrOfType<IntegerAttr>(kStripCostAttr);
  if (!cost)
    return std::nullopt;
  Strips strips{{}, loop};
  strips.count = *getConstantIntValue(loop.getUpperBound());
  strips.cost = cost.getInt();
  return strips;
}

/// Asks for what a strip's share is of what lies between the fractions `begin` and `end` (of 1000) of the tiles.
void askForShare(ImplicitLocOpBuilder& inner, Value strip, int64_t count, ArrayRef<Tile> tiles,
                 int64_t begin, int64_t end) {
  for (const Tile& tile : tiles) {
    const int64_t lines = llvm::divideCeil(tile.bytes, kLineBytes);
    const int64_t first = lines * begin / 1000, last = lines * end / 1000;
    askForLines(inner, tile.address, strip, first, int64_t(llvm::divideCeil(last - first, count)));
  }
}

/// Leaves the nests that compute much, and what they cost together.
int64_t keepTheCostly(SmallVector<Strips>& nests) {
  int64_t most = 0, sum = 0;
  for (const Strips& strips : nests)
    most = std::max(most, strips.cost);
  llvm::erase_if(nests, [&](const Strips& strips) { return 2 * strips.cost < most; });
  for (const Strips& strips : nests)
    sum += strips.cost;
  return sum;
}

/// Cuts a nest into strips, each of which asks for its share first.
void cutIntoStrips(const Strips& strips, ArrayRef<Tile> tiles, int64_t begin, int64_t end) {
  if (scf::ForOp loop = strips.loop) {
    auto builder = ImplicitLocOpBuilder::atBlockBegin(loop.getLoc(), loop.getBody());
    return askForShare(builder, loop.getInductionVar(), strips.count, tiles, begin, end);
  }
  tile::ParallelOp nest = strips.nest;
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  IndexMath math(builder);
  const Range range{math.constant(0), math.constant(strips.count)};
  buildNest(builder, range, [&](ImplicitLocOpBuilder& inner, ValueRange strip) {
    askForShare(inner, strip[0], strips.count, tiles, begin, end);
    SmallVector<OpFoldResult> extents = nest.getMixedExtents();
    extents[strips.dim] = inner.getIndexAttr(strips.length);
    auto part = tile::ParallelOp::create(inner, extents);
    inner.setInsertionPointToStart(part.getBodyBlock());
    IndexMath innerMath(inner);
    IRMapping mapping;
    mapping.map(nest.getInductionVars(), part.getInductionVars());
    Value start = innerMath.mul(strip[0], innerMath.constant(strips.length));
    mapping.map(nest.getInductionVars()[strips.dim],
                innerMath.add(start, part.getInductionVars()[strips.dim]));
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      inner.clone(op, mapping);
  });
  nest.erase();
}

/// Where a nest of the next block begins to write.
class NextStores {
public:
  NextStores(tile::LaunchOp launch, tile::ParallelOp nest)
      : nest(nest), builder(nest.getLoc(), nest),
        turn(builder, launch, launch.getBlockIds().front(), IndexMath(builder).constant(1)) {
    for (Value variable : nest.getInductionVars())
      first.map(variable, IndexMath(builder).constant(0));
  }

  /// Asks for a line of each page of the tensors that the nest fills, but for those `asked` for already.
  void ask(llvm::DenseSet<Value>& asked) {
    if (llvm::any_of(nest.getStaticExtents(), ShapedType::isDynamic))
      return;
    for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>()) {
      Value buffer = store.getBuffer();
      const auto type = cast<tile::BufferType>(buffer.getType());
      const int64_t bytes = elementCount(nest.getStaticExtents()) * type.getElementBits() / 8;
      if (!isDenseTensor(buffer) || type.getElementBits() < 8 || !isWorthIt(type, bytes) ||
          !asked.insert(buffer).second)
        continue;
      if (Value start = startOf(store))
        for (int64_t page = 0; page < bytes; page += pageBytes)
          prefetch(builder, start, IndexMath(builder).constant(page), CacheLevel::First);
    }
  }

private:
  /// Null if it can't be foreseen.
  Value startOf(tile::StoreOp store) {
    SmallVector<Value> place;
    for (Value index : store.getIndices()) {
      place.push_back(valueOf(index));
      if (!place.back())
        return {};
    }
    return addressOf(builder, store.getBuffer(), place, LLVM::GEPNoWrapFlags::none);
  }

  /// A value in the first turn.
  Value valueOf(Value value) {
    if (Value mapped = first.lookupOrNull(value))
      return mapped;
    Operation* op = value.getDefiningOp();
    if (!op || !nest->isProperAncestor(op))
      return turn.of(value);
    if (!isPure(op) || op->getNumRegions() || op->getNumResults() != 1)
      return {};
    for (Value operand : op->getOperands()) {
      Value mapped = valueOf(operand);
      if (!mapped)
        return {};
      first.map(operand, mapped);
    }
    builder.clone(*op, first);
    return first.lookup(value);
  }

  tile::ParallelOp nest;
  ImplicitLocOpBuilder builder;
  NextTurn turn;
  IRMapping first;
};

/// Asks for what the next block will read, and for the pages that it will write if `asksForPages`.
void fetchNextBlock(tile::LaunchOp launch, bool asksForPages) {
  SmallVector<tile::CopyOp> copies;
  SmallVector<Strips> nests;
  for (Operation& op : *launch.getBodyBlock()) {
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && bytesInOnePiece(copy.getSourceRegion())) {
      copies.push_back(copy);
      nests.clear(); // only what follows all copies knows all addresses
    } else if (auto nest = dyn_cast<tile::ParallelOp>(op)) {
      if (std::optional<Strips> strips = stripsOf(nest))
        nests.push_back(*strips);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (std::optional<Strips> strips = stripsOf(loop))
        nests.push_back(*strips);
    }
  }
  if (copies.empty() || nests.empty())
    return;
  ImplicitLocOpBuilder builder(copies.back().getLoc(), copies.back());
  SmallVector<Tile> tiles;
  for (tile::CopyOp copy : copies)
    if (Value address = nextAddress(builder, launch, copy.getSourceRegion()))
      tiles.push_back({address, bytesInOnePiece(copy.getSourceRegion())});
  if (tiles.empty())
    return;
  if (asksForPages) {
    llvm::DenseSet<Value> asked;
    for (auto nest : launch.getBodyBlock()->getOps<tile::ParallelOp>())
      NextStores(launch, nest).ask(asked);
  }
  const int64_t cost = keepTheCostly(nests);
  int64_t done = 0;
  for (const Strips& strips : nests) {
    const int64_t before = done;
    done += strips.cost;
    cutIntoStrips(strips, tiles, 1000 * before / cost, 1000 * done / cost);
  }
}

/// Takes away the copies that only say what is read.
void dropNotes(tile::LaunchOp launch) {
  for (auto copy : llvm::make_early_inc_range(launch.getBodyBlock()->getOps<tile::CopyOp>())) {
    if (!copy->hasAttr(kInPlaceAttr))
      continue;
    Value target = copy.getTarget();
    copy.erase();
    if (target.use_empty())
      target.getDefiningOp()->erase();
  }
}

struct FetchNextBlock : MachinePass<FetchNextBlock> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FetchNextBlock)
  using MachinePass::MachinePass;
  static constexpr llvm::StringLiteral kArgument = "cpu-fetch-next-block";
  static constexpr llvm::StringLiteral kDescription =
      "fetch what the next block will copy on chip while this one computes";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::LaunchOp> launches(getOperation().getOps<tile::LaunchOp>());
    for (tile::LaunchOp launch : launches) {
      fetchNextBlock(launch, machine.isX86);
      dropNotes(launch);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createFetchNextBlock(const Machine& machine) {
  return std::make_unique<FetchNextBlock>(machine);
}

} // namespace tilewright::cpu
