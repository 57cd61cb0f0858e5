// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/shared_lines.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
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
constexpr size_t mostRuns = 256;   ///< of a part of a tensor

struct Core {
  int64_t block = 0;
  Agent agent = Agent::Vector;
  int64_t vid = 0;

  auto operator<=>(const Core& other) const = default;
};

/// Bytes of a tensor that a core writes, side by side.
struct Write {
  Core core;
  Operation* op = nullptr;
  int64_t begin = 0, end = 0;

  bool meets(const Write& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// By tensor and line; what one core does more than once there counts once.
using Line = std::vector<Write>;
using Lines = llvm::MapVector<std::pair<Value, int64_t>, Line>;

struct Written {
  DenseSet<Value> tensors; ///< of which scalar units write elements
  Lines elements, copies;
};

/// Runs a kernel's first turns on one core, as far as numbers of blocks and cores say what it does.
class FirstTurns {
public:
  FirstTurns(const Core& core, bool isMixed, Written& written)
      : core(core), isMixed(isMixed), written(written) {}

  void run(tile::LaunchOp launch, ArrayRef<int64_t> ids) {
    for (auto [argument, id] : llvm::zip_equal(launch.getBlockIds(), ids))
      known[argument] = id;
    run(*launch.getBodyBlock(), /*isOurs=*/!isMixed);
  }

private:
  /// `isOurs`: it is this kind of core that does what stands there.
  void run(Block& block, bool isOurs) {
    for (Operation& op : block) {
      if (auto scope = dyn_cast<ScopeOp>(op)) {
        if (scope.getAgent() == core.agent)
          run(scope.getBody().front(), /*isOurs=*/true);
      } else if (auto loop = dyn_cast<tile::ForOp>(op)) {
        runFirst(loop, isOurs);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        const std::optional<int64_t> taken = numberOf(branch.getCondition());
        Region& region = taken == 0 ? branch.getElseRegion() : branch.getThenRegion();
        if (taken && !region.empty())
          run(region.front(), isOurs);
      } else if (auto instruction = dyn_cast<npu::Instruction>(op)) {
        const std::optional<Agent> agent = instruction.getAgent();
        if (agent ? *agent == core.agent : isOurs)
          addWrites(instruction);
      }
    }
  }

  void runFirst(tile::ForOp loop, bool isOurs) {
    const std::optional<int64_t> lower = numberOf(loop.getLower()),
                                 upper = numberOf(loop.getUpper());
    if (!lower || !upper || *lower >= *upper)
      return;
    known[loop.getInductionVar()] = *lower;
    run(*loop.getBodyBlock(), isOurs);
  }

  void addWrites(npu::Instruction op) {
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      if (access.isWrite && !access.isAtMost && written.tensors.contains(access.buffer))
        addWrite(op, access);
  }

  void addWrite(npu::Instruction op, const npu::Access& access) {
    const int64_t bytes = access.type().getElementType().getIntOrFloatBitWidth() / 8;
    if (bytes < 1)
      return;
    if (isa<npu::SetValueOp>(op)) {
      if (const std::optional<int64_t> at = access.offset ? numberOf(access.offset) : std::nullopt)
        add(written.elements, access.buffer, {core, op, *at * bytes, (*at + 1) * bytes});
    } else if (access.region && op.getPipe() != Pipe::S) {
      addRuns(op, *access.region, bytes);
    }
  }

  /// All that a copy writes, each row by itself.
  void addRuns(npu::Instruction op, const tile::BufferRegion& region, int64_t bytes) {
    const ArrayRef<int64_t> shape = region.type().getShape();
    SmallVector<std::pair<int64_t, int64_t>> parts; // of each dim
    size_t runs = 1;
    for (auto [offset, extent, dim] : llvm::zip_equal(region.offsets, region.extents, shape)) {
      const std::optional<int64_t> first = numberOf(offset), count = numberOf(extent);
      if (!first || !count || ShapedType::isDynamic(dim) || *first < 0 || *first >= dim)
        return;
      parts.emplace_back(*first, std::min(*count, dim - *first));
      runs *= parts.size() == shape.size()
                  ? 1
                  : static_cast<size_t>(std::max<int64_t>(parts.back().second, 0));
      if (runs == 0 || runs > mostRuns || parts.back().second < 1)
        return;
    }
    for (size_t run = 0; run < runs; ++run) {
      int64_t begin = 0;
      size_t rest = run;
      int64_t pitch = 1;
      for (size_t dim = shape.size(); dim-- > 0;) {
        int64_t at = parts[dim].first;
        if (dim + 1 < shape.size()) {
          at += static_cast<int64_t>(rest) % parts[dim].second;
          rest /= static_cast<size_t>(parts[dim].second);
        }
        begin += at * pitch;
        pitch *= shape[dim];
      }
      add(written.copies, region.buffer,
          {core, op, begin * bytes, (begin + parts.back().second) * bytes});
    }
  }

  /// To the first and the last line: those between have no byte that isn't written.
  static void add(Lines& lines, Value tensor, const Write& write) {
    const int64_t first = write.begin / lineBytes, last = (write.end - 1) / lineBytes;
    for (const int64_t line : std::set<int64_t>{first, last}) {
      Line& all = lines[{tensor, line}];
      if (all.empty() || all.back().core != write.core || all.back().op != write.op)
        all.push_back(write);
    }
  }

  std::optional<int64_t> numberOf(OpFoldResult number) {
    if (auto attribute = dyn_cast<Attribute>(number))
      return cast<IntegerAttr>(attribute).getInt();
    return numberOf(cast<Value>(number));
  }

  std::optional<int64_t> numberOf(Value value) {
    if (const std::optional<int64_t> constant = getConstantIntValue(value))
      return constant;
    if (const auto found = known.find(value); found != known.end())
      return found->second;
    Operation* op = value.getDefiningOp();
    if (isa_and_nonnull<VectorIdOp>(op))
      return core.vid;
    if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1 || !isPure(op))
      return std::nullopt;
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      const std::optional<int64_t> number =
          operand.getType().isIntOrIndex() ? numberOf(operand) : std::nullopt;
      if (!number)
        return std::nullopt;
      operands.push_back(IntegerAttr::get(operand.getType(), *number));
    }
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != 1)
      return std::nullopt;
    if (auto folded = dyn_cast<Value>(results[0]))
      return folded == value ? std::nullopt : numberOf(folded);
    auto attribute = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
    return attribute ? std::optional(attribute.getType().isInteger(1)
                                         ? attribute.getValue().getZExtValue()
                                         : attribute.getInt())
                     : std::nullopt;
  }

  Core core;
  bool isMixed;
  Written& written;
  DenseMap<Value, int64_t> known;
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
  int64_t rest = write.begin * 8 / type.getElementType().getIntOrFloatBitWidth();
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
    if (write.core == element.core || write.meets(element) ||
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
        FirstTurns({block, Agent::Cube, 0}, kind.isMixed(), written).run(launch, ids);
      for (int64_t vid = 0; vid < kind.vectorCores(); ++vid)
        FirstTurns({block, Agent::Vector, vid}, kind.isMixed(), written).run(launch, ids);
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
