// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/shared_lines.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/targets/ascend/first_turns.h"
#include "compiler/targets/ascend/launch_kind.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <map>
#include <set>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::MemorySpace;

constexpr int64_t lineBytes = 64;
constexpr int64_t mostBlocks = 64; ///< that are looked at

/// Bytes of a tensor that a core writes, side by side.
struct Write {
  Core core;
  Operation* op = nullptr;
  Bytes bytes;
};

/// By tensor and line; what one core does more than once there counts once.
using Line = std::vector<Write>;
using Lines = llvm::MapVector<std::pair<Value, int64_t>, Line>;

struct Written {
  DenseSet<Value> tensors; ///< of which scalar units write elements
  Lines elements, copies;
};

/// Notes what a core writes.
class Writes : public FirstTurns {
public:
  Writes(const Core& core, bool isMixed, Written& written)
      : FirstTurns(core, /*isOurs=*/!isMixed), written(written) {}

private:
  void visit(npu::Instruction op) override {
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      if (access.isWrite && written.tensors.contains(access.buffer))
        for (const Bytes& bytes : bytesOf(op, access))
          add(isa<npu::SetValueOp>(op) ? written.elements : written.copies, access.buffer,
              {core, op, bytes});
  }

  /// To the first and the last line: those between have no byte that isn't written.
  static void add(Lines& lines, Value tensor, const Write& write) {
    const int64_t first = write.bytes.begin / lineBytes, last = (write.bytes.end - 1) / lineBytes;
    for (const int64_t line : std::set<int64_t>{first, last}) {
      Line& all = lines[{tensor, line}];
      if (all.empty() || all.back().core != write.core || all.back().op != write.op)
        all.push_back(write);
    }
  }

  Written& written;
};

/// Arguments, not views of them.
DenseSet<Value> tensorsWithElements(func::FuncOp kernel) {
  DenseSet<Value> tensors;
  kernel.walk([&](npu::SetValueOp op) {
    if (op.getTarget().getType().getSpace() == MemorySpace::Global &&
        isa<BlockArgument>(op.getTarget()))
      tensors.insert(op.getTarget());
  });
  return tensors;
}

/// Whether anything may make cores wait for each other, or leave a loop early.
bool hasOrder(func::FuncOp kernel) {
  return kernel
      .walk([](Operation* op) {
        auto call = dyn_cast<npu::CallOp>(op);
        const bool isOpen = call && !call.getCallee().contains("DataCacheCleanAndInvalid");
        return isOpen || isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// "'C'[3, 1]": the first element of what is written.
std::string elementText(Value tensor, const Write& write) {
  auto type = cast<tile::BufferType>(tensor.getType());
  int64_t rest = write.bytes.begin * 8 / type.getElementType().getIntOrFloatBitWidth();
  std::vector<std::string> indices;
  for (const int64_t dim : llvm::reverse(type.getShape())) {
    const bool isLast = ShapedType::isDynamic(dim) || indices.size() + 1 == type.getShape().size();
    indices.insert(indices.begin(), std::to_string(isLast ? rest : rest % dim));
    rest = isLast ? 0 : rest / dim;
  }
  return quotedBuffer(tensor) + "[" + llvm::join(indices, ", ") + "]";
}

std::string coreName(const Core& core, const LaunchKind& kind) {
  const std::string block = "block " + std::to_string(core.block);
  if (core.agent == Agent::Cube)
    return "the cube core of " + block;
  return kind.hasTwoVectors ? "vector core " + std::to_string(core.vid) + " of " + block : block;
}

class Teller {
public:
  explicit Teller(const LaunchKind& kind) : kind(kind) {}

  /// `write`, of a copy or of another core's scalar unit, beside `element` in a line.
  void tell(Value tensor, const Write& write, const Write& element) {
    const bool isCopy = !isa<npu::SetValueOp>(write.op);
    // The same bytes are a race, and told as one.
    if (write.core == element.core || write.bytes.meets(element.bytes) ||
        !told.insert(std::minmax(write.op, element.op)).second)
      return;
    InFlightDiagnostic warning = write.op->emitWarning();
    const std::string place = elementText(tensor, write), other = elementText(tensor, element);
    if (isCopy)
      warning << "this copy writes " << place << " in " << coreName(write.core, kind)
              << ", over which the scalar unit's data cache of " << coreName(element.core, kind)
              << " may write back older bytes of a 64-byte line, as it writes " << other;
    else
      warning << "the scalar units of " << coreName(element.core, kind) << " and "
              << coreName(write.core, kind) << " write " << other << " and " << place
              << ", which lie in one 64-byte cache line; the line that is written back last may "
                 "undo the other";
    warning << ": let each core write lines of its own, or copy from UB";
    if (write.op != element.op)
      warning.attachNote(element.op->getLoc()) << "the element is written here";
  }

private:
  const LaunchKind& kind;
  std::set<std::pair<Operation*, Operation*>> told;
};

} // namespace

void warnOfSharedLines(func::FuncOp kernel) {
  const DenseSet<Value> tensors = tensorsWithElements(kernel);
  if (tensors.empty() || hasOrder(kernel))
    return;
  const LaunchKind kind = launchKindOf(kernel);
  for (auto launch : kernel.getOps<tile::LaunchOp>()) {
    SmallVector<int64_t> extents;
    int64_t blocks = 1;
    for (Value extent : launch.getGrid()) {
      extents.push_back(getConstantIntValue(extent).value_or(1)); // the first block is always there
      blocks = std::min(blocks * std::min(extents.back(), mostBlocks), mostBlocks);
    }
    Written written{tensors, {}, {}};
    for (int64_t block = 0; block < blocks; ++block) {
      SmallVector<int64_t> ids;
      for (int64_t rest = block; const int64_t extent : extents) {
        ids.push_back(rest % extent);
        rest /= extent;
      }
      if (kind.hasCube)
        Writes({block, Agent::Cube, 0}, kind.isMixed(), written).run(launch, ids);
      for (int64_t vid = 0; vid < kind.vectorCores(); ++vid)
        Writes({block, Agent::Vector, vid}, kind.isMixed(), written).run(launch, ids);
    }
    Teller teller(kind);
    for (const auto& [place, writes] : written.elements) {
      for (size_t i = 0; i < writes.size(); ++i)
        for (size_t k = i + 1; k < writes.size(); ++k)
          teller.tell(place.first, writes[k], writes[i]);
      if (const auto found = written.copies.find(place); found != written.copies.end())
        for (const Write& copy : found->second)
          for (const Write& element : writes)
            teller.tell(place.first, copy, element);
    }
  }
}

} // namespace tilewright::ascend
