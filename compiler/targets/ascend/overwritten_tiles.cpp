// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/overwritten_tiles.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Stretch of a memory.
struct Stretch {
  int64_t begin = 0, end = 0;
};

Stretch bytesOf(tile::AllocOp alloc) {
  const auto begin = int64_t(*alloc.getAddress());
  return {begin, begin + npu::storageBytes(alloc.getType())};
}

std::string wordsOf(Stretch bytes) {
  return "bytes " + std::to_string(bytes.begin) + " to " + std::to_string(bytes.end - 1);
}

/// What the bytes that two tiles share hold, block by block, along the kernel's text. Of a loop two turns are followed,
/// or as many as it has; what only one branch does may not have been done.
class SharedBytes {
public:
  SharedBytes(tile::AllocOp first, tile::AllocOp second, Stretch shared)
      : tiles{first, second}, shared(shared),
        held(size_t(shared.end - shared.begin + npu::kBlockBytes - 1) / npu::kBlockBytes) {}

  void follow(Block& block) {
    for (Operation& op : block)
      follow(&op);
  }

  void report() const {
    if (!lost || isOneNamedTwice || !isRead[0] || !isRead[1])
      return;
    const Loss& loss = *lost;
    tile::AllocOp tile = tiles[loss.tile], other = tiles[1 - loss.tile];
    InFlightDiagnostic warning = loss.read->emitWarning();
    warning << "this reads " << quotedBuffer(tile) << ", but " << quotedBuffer(other)
            << " has been written over " << wordsOf(loss.bytes) << " of "
            << stringifyMemorySpace(tile.getType().getSpace())
            << " since, which T.annotate_address gives to both: give one of them another address, "
               "or, where one tile is meant, name it by T.view or a slice";
    warning.attachNote(loss.write->getLoc()) << "that is here";
    for (tile::AllocOp each : {tile, other})
      warning.attachNote(each.getLoc())
          << quotedBuffer(each) << " takes " << wordsOf(bytesOf(each));
  }

private:
  /// Of a block and a tile: who has overwritten what the tile has written there.
  struct Part {
    bool isWritten = false;
    Operation* overwrittenBy = nullptr;
  };
  using Held = std::array<Part, 2>;
  struct Loss {
    unsigned tile = 0;
    Operation* read = nullptr;
    Operation* write = nullptr;
    Stretch bytes;
  };

  void follow(Operation* op) {
    if (isLoop(op))
      return followLoop(op);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      std::vector<Held> other = held;
      follow(*branch.thenBlock());
      std::swap(other, held);
      if (Block* block = branch.elseBlock())
        follow(*block);
      return mergeWith(other);
    }
    for (Region& region : op->getRegions())
      for (Block& block : region)
        follow(block);
    if (auto instruction = dyn_cast<npu::Instruction>(op))
      followAccesses(instruction);
    else
      followElements(op);
  }

  void followLoop(Operation* op) {
    int64_t turns = 2;
    if (auto loop = dyn_cast<tile::ForOp>(op))
      if (std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
          upper = getConstantIntValue(loop.getUpper()), step = getConstantIntValue(loop.getStep());
          lower && upper && step && *step > 0)
        turns = *upper <= *lower ? 0 : *upper - *lower <= *step ? 1 : turns;
    bool isLeft = false;
    for (int64_t turn = 0; turn < turns; ++turn)
      for (Region& region : op->getRegions())
        for (Block& block : region) {
          follow(block);
          isLeft |= llvm::any_of(block, [](Operation& inner) { return hasExit(&inner); });
          if (isLeft)
            forget();
        }
  }

  /// What may not have been done is not known to have overwritten anything.
  void mergeWith(ArrayRef<Held> other) {
    for (auto [mine, its] : llvm::zip_equal(held, other))
      for (unsigned tile : {0, 1}) {
        mine[tile].isWritten &= its[tile].isWritten;
        if (!its[tile].overwrittenBy)
          mine[tile].overwrittenBy = nullptr;
      }
  }

  void forget() {
    for (Held& block : held)
      for (Part& part : block)
        part.overwrittenBy = nullptr;
  }

  std::optional<unsigned> numberOf(Value buffer) const {
    const Value storage = npu::storageOf(buffer);
    for (unsigned number : {0, 1})
      if (tile::AllocOp tile = tiles[number]; tile.getResult() == storage)
        return number;
    return {};
  }

  void followAccesses(npu::Instruction op) {
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    for (const bool isWrite : {false, true})
      for (const npu::Access& access : accesses)
        if (std::optional<unsigned> tile = numberOf(access.buffer);
            tile && access.isWrite == isWrite)
          follow(op, access, *tile);
  }

  void follow(npu::Instruction op, const npu::Access& access, unsigned tile) {
    const std::optional<SmallVector<size_t>> blocks = blocksOf(access);
    if (access.isWrite) {
      forgetOf(tile);
      if (blocks)
        write(op, tile, *blocks);
      return;
    }
    auto mmad = dyn_cast<npu::MmadOp>(op.getOperation());
    const bool isSum = mmad && access.buffer == mmad.getC();
    isRead[tile] |= !isSum;
    if (!isSum || matchPattern(mmad.getInit(), m_Zero())) // else only in some turns
      read(op, tile, blocks);
  }

  /// Elements, of which nobody knows the place, and what may do anything.
  void followElements(Operation* op) {
    for (unsigned tile : {0, 1}) {
      if (!npu::usesStorage(op, tiles[tile].getResult()))
        continue;
      if (!isa<tile::StoreOp>(op)) {
        isRead[tile] = true;
        read(op, tile, std::nullopt);
      }
      if (!isa<tile::LoadOp>(op))
        forgetOf(tile);
    }
  }

  /// Of what is touched for sure, those that both tiles have; nothing if that isn't known.
  std::optional<SmallVector<size_t>> blocksOf(const npu::Access& access) const {
    const std::optional<int64_t> offset =
        access.offset ? getConstantIntValue(access.offset) : std::nullopt;
    if (!offset || access.piece)
      return {};
    const tile::AllocOp alloc = tiles[*numberOf(access.buffer)];
    const int64_t begin =
        bytesOf(alloc).begin + *offset * int64_t(access.type().getElementBits()) / 8;
    npu::Access::Rows rows{1, 1, 0};
    if (!access.isAtMost && access.rows)
      rows = *access.rows;
    else if (!access.isAtMost && !ShapedType::isDynamic(access.bytes))
      rows.bytes = access.bytes;
    SmallVector<size_t> blocks;
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t first = std::max(begin + row * rows.pitch, shared.begin),
                    end = std::min(begin + row * rows.pitch + rows.bytes, shared.end);
      for (int64_t byte = first; byte < end;) {
        const int64_t block = (byte - shared.begin) / npu::kBlockBytes;
        blocks.push_back(size_t(block));
        byte = shared.begin + (block + 1) * npu::kBlockBytes;
      }
    }
    return blocks;
  }

  /// What is written somewhere in a tile may be all that is read of it.
  void forgetOf(unsigned tile) {
    for (Held& block : held)
      block[tile].overwrittenBy = nullptr;
  }

  void write(Operation* op, unsigned tile, ArrayRef<size_t> blocks) {
    for (const size_t number : blocks) {
      held[number][tile].isWritten = true;
      if (Part& other = held[number][1 - tile]; other.isWritten)
        other.overwrittenBy = op;
    }
  }

  void read(Operation* op, unsigned tile, const std::optional<SmallVector<size_t>>& blocks) {
    const auto isOfOther = [&](const Held& block) {
      return !block[tile].isWritten && block[1 - tile].isWritten;
    };
    if (!blocks) {
      isOneNamedTwice |= llvm::any_of(held, isOfOther);
      return;
    }
    std::optional<Loss> loss;
    for (const size_t number : *blocks) {
      isOneNamedTwice |= isOfOther(held[number]);
      Operation* write = held[number][tile].overwrittenBy;
      const int64_t begin = shared.begin + int64_t(number) * npu::kBlockBytes;
      const int64_t end = std::min(begin + npu::kBlockBytes, shared.end);
      if (write && !loss)
        loss = Loss{tile, op, write, {begin, end}};
      else if (write && loss->write == write && loss->bytes.end == begin)
        loss->bytes.end = end;
    }
    if (loss && !lost)
      lost = loss;
  }

  std::array<tile::AllocOp, 2> tiles;
  Stretch shared;
  std::vector<Held> held; ///< by block
  std::array<bool, 2> isRead{};
  /// Whether one tile is read for what the other one has written.
  bool isOneNamedTwice = false;
  std::optional<Loss> lost; ///< the first one
};

} // namespace

void warnOfOverwrittenTiles(func::FuncOp kernel) {
  SmallVector<tile::AllocOp> placed;
  kernel.walk([&](tile::AllocOp alloc) {
    if (alloc.getAddress() && alloc.getType().getSpace() != tile::MemorySpace::Global)
      placed.push_back(alloc);
  });
  for (auto [number, first] : llvm::enumerate(placed))
    for (tile::AllocOp second : ArrayRef(placed).drop_front(number + 1)) {
      const Stretch a = bytesOf(first), b = bytesOf(second);
      const Stretch shared{std::max(a.begin, b.begin), std::min(a.end, b.end)};
      if (first.getType().getSpace() != second.getType().getSpace() || shared.begin >= shared.end)
        continue;
      SharedBytes bytes(first, second, shared);
      bytes.follow(kernel.getBody().front());
      bytes.report();
    }
}

} // namespace tilewright::ascend
