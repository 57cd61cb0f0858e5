// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_resources.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/memory_picture.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/place_words.h"

#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::ascend {

using namespace mlir;
using tile::MemorySpace;

namespace {

/// "line 5", "lines 5 to 7", "helpers.py:3 to line 7"; "unused".
std::string linesText(const BufferLife& life) {
  if (!life.firstUser)
    return "unused";
  const std::string first = placeWords(life.firstUser), last = placeWords(life.lastUser);
  if (first == last || first.empty() || last.empty())
    return first.empty() ? last : first;
  const StringRef line = "line ";
  if (!StringRef(first).starts_with(line) || !StringRef(last).starts_with(line))
    return first + " to " + last;
  const auto numberOf = [](Operation* op) { return placeOf(op->getLoc()).line; };
  const auto [low, high] = std::minmax({numberOf(life.firstUser), numberOf(life.lastUser)});
  return "lines " + std::to_string(low) + " to " + std::to_string(high);
}

/// The memories that the kernel uses, and the buffers in each by their addresses.
std::vector<MemoryRows> memoriesOf(func::FuncOp kernel, const chips::AscendChip& chip) {
  const SmallVector<BufferLife> lives = findBufferLives(kernel);
  std::vector<MemoryRows> memories;
  for (const MemorySpace space : kMemoriesOnChip) {
    MemoryRows memory{stringifyMemorySpace(space).str(), capacityOf(chip, space), {}};
    for (const BufferLife& life : lives) {
      tile::AllocOp alloc = life.alloc;
      if (alloc.getType().getSpace() == space && alloc.getAddress())
        memory.rows.push_back(
            {alloc.getSymName().value_or("buffer").str(), static_cast<int64_t>(*alloc.getAddress()),
             npu::storageBytes(alloc.getType()), life.first, life.last, life.firstUser != nullptr,
             linesText(life) + (alloc->hasAttr(kTemporaryAttr) ? ", temporary" : "")});
    }
    if (memory.used() > memory.capacity)
      memory.capacity = sizeOf(chip, space); // with what the system keeps
    llvm::sort(memory.rows, [](const BufferRow& a, const BufferRow& b) {
      return std::pair(a.address, a.first) < std::pair(b.address, b.first);
    });
    if (!memory.rows.empty())
      memories.push_back(std::move(memory));
  }
  return memories;
}

std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

} // namespace

std::string memoryMapText(func::FuncOp kernel, const chips::AscendChip& chip) {
  std::string text;
  for (const MemoryRows& memory : memoriesOf(kernel, chip)) {
    text += memory.name + ": " + std::to_string(memory.used()) + " of " +
            std::to_string(memory.capacity) + " bytes\n";
    for (const BufferRow& row : memory.rows)
      text += "  " + padded(std::to_string(row.address), 6) + " + " +
              padded(std::to_string(row.bytes), 6) + "  " + row.name +
              (row.lines.empty() ? "" : "  " + row.lines) + "\n";
  }
  return text;
}

std::string memoryMapSvg(ArrayRef<std::pair<func::FuncOp, std::string>> launches,
                         const chips::AscendChip& chip) {
  std::vector<MemoryRows> all;
  for (const auto& [kernel, words] : launches)
    for (MemoryRows& memory : memoriesOf(kernel, chip)) {
      memory.name = words + memory.name;
      all.push_back(std::move(memory));
    }
  return memoryPicture(all);
}

std::string launchWords(func::FuncOp kernel, size_t number, size_t count) {
  const std::string place = placeWords(*kernel.getOps<tile::LaunchOp>().begin());
  return "launch " + std::to_string(number + 1) + " of " + std::to_string(count) +
         (place.empty() ? "" : " (" + place + ")");
}

namespace {

std::string counted(int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Flags and barriers that neither stand in the kernel as it was written nor say why they are there: an
/// operation of several instructions, such as a gemm, orders these by itself.
std::string waitsOfParts(func::FuncOp kernel, func::FuncOp written) {
  DenseSet<Location> own;
  written.walk([&](Operation* op) {
    if (isa<PipeBarrierOp, SetFlagOp, tile::SyncOp>(op))
      own.insert(op->getLoc());
  });
  struct Counts {
    std::string place;
    int64_t flags = 0, barriers = 0;
  };
  std::map<std::pair<std::string, int32_t>, Counts> byPlace;
  kernel.walk([&](Operation* op) {
    if (!isa<PipeBarrierOp, SetFlagOp>(op) || op->hasAttr(kWhyAttr) || own.contains(op->getLoc()))
      return;
    const Place place = placeOf(op->getLoc());
    const bool isOfKernel = place.file == fileOf(kernel); // those first
    Counts& counts = byPlace[{isOfKernel ? "" : place.file, place.line}];
    counts.place = placeWords(op);
    ++(isa<SetFlagOp>(op) ? counts.flags : counts.barriers);
  });
  std::string text;
  for (const auto& [place, counts] : byPlace) {
    text += counts.place.empty() ? "" : counts.place + ": ";
    text += counts.flags ? counted(counts.flags, "flag") : "";
    text += counts.flags && counts.barriers ? " and " : "";
    text += counts.barriers ? counted(counts.barriers, "barrier") : "";
    text += ", between parts of the operation there\n";
  }
  return text;
}

std::string upper(StringRef name) {
  return name.upper();
}

/// What an event's number may be: one that is known, or some in turn; an empty range if that can't be told.
std::pair<int64_t, int64_t> eventsOf(Value event) {
  int64_t first = 0;
  if (auto sum = event.getDefiningOp<arith::AddIOp>())
    if (const std::optional<int64_t> added = getConstantIntValue(sum.getRhs())) {
      first = *added;
      event = sum.getLhs();
    }
  if (const std::optional<int64_t> number = getConstantIntValue(event))
    return {first + *number, first + *number + 1};
  if (auto turn = event.getDefiningOp<arith::RemSIOp>())
    if (const std::optional<int64_t> slots = getConstantIntValue(turn.getRhs()))
      return {first, first + *slots};
  return {0, 0};
}

/// What the compiler has put in for one reason, at all of its places.
struct Inserted {
  std::string what, by, why; ///< "flag MTE2_V", " on the cube core"
  int64_t firstEvent = 0, endEvent = 0;

  void add(std::pair<int64_t, int64_t> events) {
    const bool isFirst = firstEvent == endEvent;
    firstEvent = isFirst ? events.first : std::min(firstEvent, events.first);
    endEvent = std::max(endEvent, events.second);
  }
  std::string text(const char* id) const {
    const std::string first = std::to_string(firstEvent), last = std::to_string(endEvent - 1);
    std::string text = what;
    if (endEvent > firstEvent)
      text += id + first;
    if (endEvent > firstEvent + 1)
      text += (endEvent == firstEvent + 2 ? " and " : " to ") + last + " in turn";
    return text + by + ": " + why + "\n";
  }
};

/// " on the cube core", in a kernel that has both kinds.
std::string coreOf(Operation* op, bool hasBoth) {
  auto scope = hasBoth ? op->getParentOfType<ScopeOp>() : ScopeOp();
  if (!scope)
    return "";
  return scope.getAgent() == Agent::Cube ? " on the cube core" : " on the vector cores";
}

} // namespace

std::string insertedWaitsText(func::FuncOp kernel, func::FuncOp written) {
  std::set<Agent> kinds;
  kernel.walk([&](ScopeOp scope) { kinds.insert(scope.getAgent()); });
  llvm::MapVector<int64_t, Inserted> all; // a flag of a loop is set before it and in it
  int64_t unnumbered = -1;
  kernel.walk([&](Operation* op) {
    auto why = op->getAttrOfType<StringAttr>(kWhyAttr);
    if (!why || isa<WaitFlagOp, WaitCrossFlagOp>(op))
      return; // said with its set
    auto number = op->getAttrOfType<IntegerAttr>(kWhyNumberAttr);
    Inserted& one = all[number ? number.getInt() : unnumbered--];
    one.why = why.str();
    one.by = coreOf(op, kinds.size() > 1);
    if (auto barrier = dyn_cast<PipeBarrierOp>(op)) {
      const bool isOfAll = barrier.getPipe() == Pipe::All;
      one.what = "barrier of " + (isOfAll ? "all pipes" : upper(stringifyPipe(barrier.getPipe())));
    } else if (auto set = dyn_cast<SetFlagOp>(op)) {
      one.what =
          "flag " + upper(stringifyPipe(set.getFrom())) + "_" + upper(stringifyPipe(set.getTo()));
      one.add(eventsOf(set.getEvent()));
    } else if (auto cross = dyn_cast<SetCrossFlagOp>(op)) {
      one.what = "cross-core flag";
      one.by += ", behind " + upper(stringifyPipe(cross.getPipe()));
      one.add(eventsOf(cross.getFlag()));
    }
  });
  std::vector<std::pair<std::string, int64_t>> equal;
  for (const auto& [number, one] : all) {
    const std::string entry = one.text(StringRef(one.what).starts_with("flag") ? " id " : " ");
    const auto found = llvm::find_if(equal, [&](const auto& each) { return each.first == entry; });
    if (found == equal.end())
      equal.emplace_back(entry, 1);
    else
      ++found->second;
  }
  std::string text;
  for (const auto& [entry, times] : equal)
    text += times == 1
                ? entry
                : entry.substr(0, entry.size() - 1) + " (" + std::to_string(times) + " times)\n";
  return text + waitsOfParts(kernel, written);
}

} // namespace tilewright::ascend
