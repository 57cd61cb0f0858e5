// SPDX-License-Identifier: Apache-2.0
/// PlanMemory: gives every buffer on chip its address.
///
///   %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
///   %y = tile.alloc "y" : !tile.buffer<64x64xf32, UB>
/// becomes
///   %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
///   %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
///
/// with a number behind its name where another one has that name, and workspaces theirs in the memory that a launch
/// gets: {ascend.workspace_bytes = ...} on the kernel says how much that is. Buffers lie one behind the other, around those that the user has placed. Where that doesn't fit
/// and planning is on, buffers that are never needed at once share bytes. What still doesn't fit is
/// an error that lists who takes how much. It stands behind everything that allocates and before
/// the flags, because shared bytes make hazards.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/analysis/pack_buffers.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/overwritten_tiles.h"
#include "compiler/targets/ascend/passes.h"

#include <llvm/ADT/StringSet.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::Buffer;
using model::Packing;
using tile::MemorySpace;

int64_t alignmentOf(MemorySpace space) {
  constexpr int64_t fractal = 512;
  return space == MemorySpace::UB || space == MemorySpace::L1 ? npu::kBlockBytes : fractal;
}

/// Whether the compiler has added a buffer, and only vector instructions use it: these keep their order, so
/// that nothing is missing where such buffers share bytes.
bool isTemporary(tile::AllocOp alloc) {
  if (!alloc->hasAttr(kTemporaryAttr))
    return false;
  return llvm::all_of(npu::usersOf(alloc), [](Operation* user) {
    auto instruction = dyn_cast<npu::Instruction>(user);
    return instruction && instruction.getPipe() == Pipe::V;
  });
}

/// Of the last 8 KiB of UB, in which Select works, those that a kernel may use otherwise.
constexpr int64_t kSelectBytes = 8192 - keptBytes;

struct PlanMemory : KernelPass<PlanMemory> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemory)
  static constexpr llvm::StringLiteral kArgument = "ascend-plan-memory";
  static constexpr llvm::StringLiteral kDescription = "give every buffer on chip its address";

  PlanMemory(const chips::AscendChip& chip, bool share) : chip(chip) {
    mayShare = share;
  }
  PlanMemory(const PlanMemory& other) : KernelPass(other), chip(other.chip) {}

  void runOnOperation() override {
    warnOfOverwrittenTiles(getOperation()); // while addresses are the user's only
    const SmallVector<BufferLife> lives = findBufferLives(getOperation());
    for (const MemorySpace space : kMemoriesOnChip)
      plan(space, lives);
    planWorkspaces();
    nameApart();
  }

  /// Buffers with one name get numbers, by which messages and reports tell them apart as the text of the kernel does.
  void nameApart() {
    llvm::StringSet<> taken;
    SmallVector<tile::AllocOp> again;
    func::FuncOp kernel = getOperation();
    for (unsigned number = 0; number < kernel.getNumArguments(); ++number)
      for (StringRef kind : {tile::kNameAttr, tile::kSymbolAttr})
        if (auto name = kernel.getArgAttrOfType<StringAttr>(number, kind))
          taken.insert(name.getValue());
    kernel.walk([&](tile::AllocOp alloc) {
      const bool isOnChip = llvm::is_contained(kMemoriesOnChip, alloc.getType().getSpace());
      if (alloc.getSymName() && !taken.insert(*alloc.getSymName()).second && isOnChip)
        again.push_back(alloc);
    });
    for (tile::AllocOp alloc : again)
      for (unsigned number = 1;; ++number) {
        const std::string name = (*alloc.getSymName() + "_" + Twine(number)).str();
        if (!taken.insert(name).second)
          continue;
        alloc.setSymName(name);
        break;
      }
  }

  void planWorkspaces() {
    Builder builder(&getContext());
    // Behind what several launches share, whose places are known.
    auto shared = getOperation()->getAttrOfType<IntegerAttr>(kWorkspaceBytesAttr);
    int64_t ofLaunch = shared ? shared.getInt() : 0, ofBlock = 0;
    getOperation().walk([&](tile::AllocOp alloc) {
      const tile::BufferType type = alloc.getType();
      if (type.getSpace() != MemorySpace::Global || alloc.getAddress())
        return;
      int64_t& end = alloc->hasAttr(kPerBlockAttr) ? ofBlock : ofLaunch;
      alloc.setAddressAttr(builder.getI64IntegerAttr(end));
      end += workspaceBytesOf(type);
    });
    if (ofLaunch > 0)
      getOperation()->setAttr(kWorkspaceBytesAttr, builder.getI64IntegerAttr(ofLaunch));
    if (ofBlock > 0)
      getOperation()->setAttr(kBlockWorkspaceBytesAttr, builder.getI64IntegerAttr(ofBlock));
  }

  void plan(MemorySpace space, ArrayRef<BufferLife> lives) {
    std::vector<Buffer> buffers;
    SmallVector<tile::AllocOp> allocs;
    for (const BufferLife& life : lives) {
      tile::AllocOp alloc = life.alloc;
      if (alloc.getType().getSpace() != space)
        continue;
      Buffer buffer{alloc.getSymName().value_or("").str(), npu::storageBytes(alloc.getType()),
                    life.first, life.last, std::nullopt};
      if (!life.firstUser)
        buffer.first = buffer.last = 0;
      buffer.isTemporary = isTemporary(alloc);
      if (std::optional<uint64_t> address = alloc.getAddress())
        buffer.pinned = static_cast<int64_t>(*address);
      buffers.push_back(std::move(buffer));
      allocs.push_back(alloc);
    }
    const int64_t capacity = capacityOf(chip, space), size = sizeOf(chip, space);
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].pinned && *buffers[i].pinned + buffers[i].bytes > size) {
        allocs[i].emitError() << nameOf(buffers[i]) << " takes " << buffers[i].bytes << " bytes of "
                              << stringifyMemorySpace(space) << " from the address "
                              << *buffers[i].pinned << " on, but it has " << roomIn(chip, space);
        return signalPassFailure();
      }
    // Before what Select works in, if there is room.
    const int64_t free = capacity - (space == MemorySpace::UB && hasSelect() ? kSelectBytes : 0);
    Packing packing = pack(buffers, alignmentOf(space), free, mayShare);
    if (packing.end > free)
      packing = pack(buffers, alignmentOf(space), capacity, mayShare);
    if (packing.end > capacity)
      packing = pack(buffers, alignmentOf(space), size, mayShare);
    if (packing.end > size)
      return refuse(space, buffers, allocs, packing);
    if (packing.end > capacity)
      warnOfKept(space, buffers, allocs, packing);
    Builder builder(&getContext());
    for (size_t i = 0; i < buffers.size(); ++i)
      allocs[i].setAddressAttr(builder.getI64IntegerAttr(packing.addresses[i]));
  }

  bool hasSelect() {
    return getOperation()
        ->walk([](Operation* op) {
          return isa<npu::SelectOp, npu::SelectScalarOp>(op) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static StringRef nameOf(const Buffer& buffer) {
    return buffer.name.empty() ? StringRef("a buffer") : StringRef(buffer.name);
  }

  /// A chip runs what reaches there, as long as nothing of the system works.
  void warnOfKept(MemorySpace space, const std::vector<Buffer>& buffers,
                  ArrayRef<tile::AllocOp> allocs, const Packing& packing) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (packing.addresses[i] + buffers[i].bytes > capacityOf(chip, space))
        allocs[i]->emitWarning() << nameOf(buffers[i]) << " reaches into the last " << keptBytes
                                 << " of the " << sizeOf(chip, space) << " bytes of "
                                 << stringifyMemorySpace(space)
                                 << ", which the system keeps: functions of the vendor may write "
                                    "there";
  }

  void refuse(MemorySpace space, const std::vector<Buffer>& buffers, ArrayRef<tile::AllocOp> allocs,
              const Packing& packing) {
    signalPassFailure();
    // All of them if none share, else those that are needed at once.
    std::vector<Buffer> all = buffers;
    if (!mayShare)
      for (Buffer& buffer : all)
        if (!buffer.isTemporary)
          buffer.first = 0, buffer.last = INT64_MAX;
    const std::vector<size_t> live = liveAtPeak(all);
    InFlightDiagnostic error = allocs[live.front()]->emitError();
    error << "the buffers in " << stringifyMemorySpace(space) << " need " << packing.end
          << " bytes, but it has " << roomIn(chip, space);
    for (const size_t index : live) {
      mlir::Diagnostic& note =
          error.attachNote(allocs[index]->getLoc())
          << (allocs[index]->hasAttr(kTemporaryAttr) ? StringRef("a temporary of this expression")
                                                     : nameOf(all[index]))
          << " takes " << all[index].bytes << " bytes";
      if (all[index].pinned)
        note << " from the address " << *all[index].pinned << " on";
    }
    // Told where it helps.
    mlir::Location place = allocs[live.front()]->getLoc();
    if (!mayShare && endOfShares(space, buffers, 1, true) <= capacityOf(chip, space))
      error.attachNote(place)
          << "with TL_ASCEND_MEMORY_PLANNING, buffers that are never needed at once share bytes";
    else
      adviseSmaller(space, buffers, error.attachNote(place));
  }

  /// Behind the last byte, if each buffer took one of so many equal parts.
  int64_t endOfShares(MemorySpace space, std::vector<Buffer> buffers, int64_t parts,
                      bool sharing) const {
    for (Buffer& buffer : buffers)
      buffer.bytes = int64_t(llvm::divideCeil(uint64_t(buffer.bytes), uint64_t(parts)));
    return pack(buffers, alignmentOf(space), capacityOf(chip, space), sharing).end;
  }

  /// By how much tiles must shrink, and what else makes them smaller.
  void adviseSmaller(MemorySpace space, const std::vector<Buffer>& buffers,
                     mlir::Diagnostic& note) {
    const std::pair<int64_t, const char*> sizes[] = {
        {2, "half"}, {4, "a quarter"}, {8, "an eighth"}, {16, "a sixteenth"}};
    for (const auto& [parts, words] : sizes) {
      if (endOfShares(space, buffers, parts, mayShare) > capacityOf(chip, space))
        continue;
      note << "they fit with " << words << " of the rows or columns in each tile";
      if (space == MemorySpace::UB && mayShareOutRows())
        note << "; threads=2 in T.Kernel gives each of the two vector cores half of the rows";
      return;
    }
    note << "make the tiles smaller: fewer rows or columns at a time";
  }

  /// Whether a kernel for an NPU leaves all of its vector work to one core.
  bool mayShareOutRows() {
    bool isOfOne = false;
    getOperation().walk([&](tile::LaunchOp launch) {
      isOfOne |= launch.getNpu() && launch.getThreadCount() == 1 && !launch->hasAttr(kOfGpuAttr);
    });
    getOperation().walk([&](VectorIdOp) { isOfOne = false; });
    return isOfOne;
  }

  chips::AscendChip chip;
  Option<bool> mayShare{*this, "share",
                        llvm::cl::desc("let buffers share bytes where they don't fit otherwise"),
                        llvm::cl::init(true)};
};

} // namespace

std::unique_ptr<Pass> createPlanMemory(const chips::AscendChip& chip, bool mayShare) {
  return std::make_unique<PlanMemory>(chip, mayShare);
}

} // namespace tilewright::ascend
