// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_pairs.h"

#include "compiler/ir/block_cores.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/index_terms.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/meeting_proof.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/vector_races.h"
#include "compiler/targets/ascend/vector_steps.h"
#include "compiler/targets/ascend/vid_flow.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <array>
#include <set>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::MemorySpace;

/// The same statement, or two, of which one core runs one and the other core the other.
struct VectorPair {
  Operation* first = nullptr;
  Operation* second = nullptr;
  Value tensor;
  bool firstWrites = true, secondWrites = true;
  /// Both add the same there.
  bool areAdds = false;
  /// Of one statement whose part moves with vid, yet not far enough: along which dim, by how much, and how long it is.
  struct Step {
    size_t dim = 0;
    int64_t distance = 0, length = 0;
  };
  std::optional<Step> step = std::nullopt;
  /// In one turn of a loop or another.
  bool isInTurns = false;

  bool isOne() const {
    return first == second;
  }
};

/// An access to global memory of an instruction that each vector core runs, or one of them.
struct GlobalUse {
  npu::Instruction op;
  npu::Access access;
  std::array<bool, 2> runsOn{};

  bool isAtomic() const {
    return access.isWrite && op->hasAttr("atomic_add");
  }
};

class Finder {
public:
  explicit Finder(func::FuncOp kernel) : kernel(kernel), proof(kernel) {
    const LaunchKind kind = launchKindOf(kernel);
    isWanted = kind.hasTwoVectors;
    hasCube = kind.hasCube;
  }

  SmallVector<VectorPair> run() {
    if (!isWanted)
      return {};
    SmallVector<VectorPair> pairs;
    if (!mayOrderBy())
      survey();
    for (const GlobalUse& use : uses)
      addOne(use, pairs);
    const size_t ones = pairs.size();
    const auto isTold = [&](Operation* op) {
      return llvm::any_of(ArrayRef(pairs).take_front(ones),
                          [&](const VectorPair& pair) { return pair.first == op; });
    };
    for (auto [number, use] : llvm::enumerate(uses))
      for (const GlobalUse& other : ArrayRef(uses).drop_front(number + 1))
        if (!hasMeetings && !isTold(use.op) && !isTold(other.op))
          addTwo(use, other, pairs);
    // Between meetings, and in other turns than the first ones.
    for (const VectorRace& race : findVectorRaces(kernel))
      if (!isTold(race.first) && !isTold(race.second))
        pairs.push_back({.first = race.first,
                         .second = race.second,
                         .tensor = race.tensor,
                         .firstWrites = race.firstWrites,
                         .secondWrites = race.secondWrites,
                         .isInTurns = race.first == race.second});
    return pairs;
  }

private:
  /// Whether one core may wait where the other doesn't. Where both wait at the same places, nothing orders what they do
  /// between two of these.
  bool mayOrderBy() {
    return kernel
        .walk([&](Operation* op) {
          if (!isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op))
            return WalkResult::advance();
          hasMeetings = true;
          return npu::runsByVid(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  void survey() {
    unsigned node = 0;
    kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (auto loop = dyn_cast<tile::ForOp>(op))
        indices.addLoop(loop.getInductionVar(), node++, indices.of(loop.getLower()),
                        getConstantIntValue(loop.getStep()));
      auto instruction = dyn_cast<npu::Instruction>(op);
      if (!instruction || !isOfVectors(instruction) || isIdle(op))
        return;
      SmallVector<npu::Access> accesses;
      instruction.getAccesses(accesses);
      for (const npu::Access& access : accesses)
        if (access.type().getSpace() == MemorySpace::Global)
          uses.push_back({instruction, access, {runsOn(0, op), runsOn(1, op)}});
    });
    loops = node;
  }

  bool isOfVectors(npu::Instruction op) const {
    if (const std::optional<Agent> agent = op.getAgent())
      return *agent == Agent::Vector;
    if (auto scope = op->getParentOfType<ScopeOp>())
      return scope.getAgent() == Agent::Vector;
    return !hasCube;
  }

  /// In a loop that has no turn.
  static bool isIdle(Operation* op) {
    for (auto loop = op->getParentOfType<tile::ForOp>(); loop;
         loop = loop->getParentOfType<tile::ForOp>()) {
      const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                                   upper = getConstantIntValue(loop.getUpper());
      if (lower && upper && *upper <= *lower)
        return true;
    }
    return false;
  }

  static bool runsOn(int64_t core, Operation* op) {
    if (!npu::runsByVid(op))
      return true;
    for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
         branch = branch->getParentOfType<scf::IfOp>())
      if (onlyCoreIn(branch, op) == core && !npu::runsByVid(branch))
        return true;
    return false;
  }

  void addOne(const GlobalUse& use, SmallVector<VectorPair>& pairs) {
    if (!use.access.isWrite || !use.runsOn[0] || !use.runsOn[1] ||
        (use.isAtomic() && !addsTheSame(use)))
      return;
    VectorPair pair{use.op, use.op, npu::storageOf(use.access.buffer)};
    pair.areAdds = use.isAtomic();
    const auto distance = [](OpFoldResult number, OpFoldResult) {
      return isa<Attribute>(number) ? 0 : vectorStep(cast<Value>(number));
    };
    if (doMeet(use, use, distance, &pair.step) &&
        !proof.areApartOnVectors(0, use.op, use.access, use.op, use.access))
      pairs.push_back(pair);
  }

  /// Whether vid has no part in what is added, nor in where.
  bool addsTheSame(const GlobalUse& use) {
    if (!flow)
      flow.emplace(kernel);
    return llvm::none_of(use.op->getOperands(), [&](Value operand) {
      return operand != use.access.buffer && flow->differs(operand);
    });
  }

  /// Whether the branches around one operation are some of those around the other one, but for those that ask for vid.
  static bool goTogether(Operation* a, Operation* b) {
    const auto first = branchesAround(a), second = branchesAround(b);
    const size_t common = std::min(first.size(), second.size());
    return ArrayRef(first).take_back(common) == ArrayRef(second).take_back(common);
  }

  static SmallVector<std::pair<Value, bool>> branchesAround(Operation* op) {
    SmallVector<std::pair<Value, bool>> found;
    for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
         branch = branch->getParentOfType<scf::IfOp>())
      if (!npu::differsByVid(branch.getCondition()))
        found.emplace_back(branch.getCondition(),
                           branch.getThenRegion().isAncestor(op->getParentRegion()));
    return found;
  }

  void addTwo(const GlobalUse& a, const GlobalUse& b, SmallVector<VectorPair>& pairs) {
    if (a.op == b.op || a.access.buffer != b.access.buffer ||
        !(a.access.isWrite || b.access.isWrite) || (a.isAtomic() && b.isAtomic()) ||
        !goTogether(a.op, b.op))
      return;
    for (const int64_t core : {0, 1}) {
      if (!a.runsOn[core] || !b.runsOn[1 - core])
        continue;
      const auto distance = [&](OpFoldResult from, OpFoldResult to) {
        return apart(from, core, to, 1 - core);
      };
      if (doMeet(a, b, distance, nullptr) &&
          !proof.areApartOnVectors(core, a.op, a.access, b.op, b.access)) {
        pairs.push_back(
            {a.op, b.op, npu::storageOf(a.access.buffer), a.access.isWrite, b.access.isWrite});
        return;
      }
    }
  }

  using Distance = llvm::function_ref<std::optional<int64_t>(OpFoldResult, OpFoldResult)>;

  static bool doMeet(const GlobalUse& a, const GlobalUse& b, Distance distance,
                     std::optional<VectorPair::Step>* step) {
    const npu::Access &x = a.access, &y = b.access;
    if (x.region.has_value() != y.region.has_value())
      return false;
    if (!x.region) {
      if (!x.offset || !y.offset)
        return false;
      return distance(x.offset, y.offset) == 0;
    }
    for (size_t dim = 0; dim < x.region->offsets.size(); ++dim) {
      const std::optional<int64_t> apart = distance(x.region->offsets[dim], y.region->offsets[dim]);
      if (!apart || isOfVid(x.region->extents[dim]) || isOfVid(y.region->extents[dim]))
        return false;
      if (*apart == 0)
        continue;
      // From the start of the one to the end of the other; what an edge cuts may be shorter.
      const std::optional<int64_t> length =
          getConstantIntValue((*apart > 0 ? x : y).region->extents[dim]);
      if (!length || std::abs(*apart) >= *length)
        return false;
      if (step)
        *step = {dim, std::abs(*apart), *length};
    }
    return true;
  }

  static bool isOfVid(OpFoldResult number) {
    return isa<Value>(number) && npu::differsByVid(cast<Value>(number));
  }

  /// In the first turns of all loops.
  std::optional<int64_t> apart(OpFoldResult from, int64_t core, OpFoldResult to, int64_t other) {
    std::optional<IndexSum> first = sumOn(core, from), second = sumOn(other, to);
    if (!first || !second)
      return std::nullopt;
    *second += *first *= -1;
    second->simplify();
    return second->terms.empty() ? std::optional(second->constant) : std::nullopt;
  }

  /// What never changes, and is the same on both cores, stays.
  std::optional<IndexSum> sumOn(int64_t core, OpFoldResult number) {
    if (const std::optional<int64_t> fixed = getConstantIntValue(number))
      return IndexSum{*fixed, {}};
    const std::optional<IndexSum> sum = indices.of(cast<Value>(number));
    if (!sum)
      return std::nullopt;
    IndexSum result{sum->constant, {}};
    for (const model::Term& term : sum->terms) {
      if (term.loop < loops) {
        result.constant += term.modulus ? term.bytes * term.ofRest(term.shift % term.modulus) : 0;
        continue;
      }
      const Value value = valueOf(term.loop);
      if (value.getDefiningOp<VectorIdOp>())
        result.constant += term.bytes * core;
      else if (npu::differsByVid(value))
        return std::nullopt;
      else
        result.terms.push_back(term);
    }
    return result;
  }

  Value valueOf(unsigned number) const {
    Value found;
    indices.forEachValue([&](Value value, unsigned its) {
      if (its == number)
        found = value;
    });
    return found;
  }

  func::FuncOp kernel;
  bool isWanted = false, hasCube = false, hasMeetings = false;
  IndexTerms indices;
  std::optional<VidFlow> flow;
  MeetingProof proof;
  unsigned loops = 0;
  SmallVector<GlobalUse> uses;
};

/// " of 'O'"; empty if it has no name.
std::string ofTensor(const VectorPair& pair) {
  const std::string name = quotedBuffer(pair.tensor);
  return name.empty() ? "" : " of " + name;
}

/// Of a kernel that doesn't tell its vector cores apart, yet runs on both: why it does.
void noteAdds(func::FuncOp kernel, InFlightDiagnostic& warning) {
  kernel.walk([&](npu::StoreUbOp store) {
    if (!store.getAtomicAdd() || npu::runsByVid(store))
      return WalkResult::advance();
    warning.attachNote(store.getLoc()) << "both run because the kernel adds to global memory here";
    return WalkResult::interrupt();
  });
}

/// "to 'O' "; empty if it has no name.
std::string toTensor(const VectorPair& pair) {
  const std::string name = quotedBuffer(pair.tensor);
  return name.empty() ? "" : "to " + name + " ";
}

void warnOfOne(func::FuncOp kernel, const VectorPair& pair) {
  InFlightDiagnostic warning = pair.first->emitWarning();
  if (pair.step) {
    warning << "what the two vector cores of a block store here" << ofTensor(pair)
            << " overlaps, and nothing orders them: along dim " << pair.step->dim << " they begin "
            << pair.step->distance << " apart, but are " << pair.step->length
            << " long; let vid move it by " << pair.step->length
            << ", or store it where `vid == 0`";
    return;
  }
  if (pair.areAdds) {
    warning
        << "both vector cores of a block add the same " << toTensor(pair)
        << "here, so that it counts twice: add it where `vid == 0`, a part of its own on each, by "
           "vid, or "
           "launch one with threads=1";
    return;
  }
  if (pair.isInTurns) {
    warning
        << "what the two vector cores of a block store here" << ofTensor(pair)
        << " overlaps, in one turn of a loop or another, and nothing orders them: let each keep "
           "to a part of its own, by vid";
    return;
  }
  tile::LaunchOp launch = *kernel.getOps<tile::LaunchOp>().begin();
  const bool areAlike = launch->hasAttr(kCoresAlikeAttr) || !launchKindOf(kernel).usesVectorId;
  const bool hasNoVid = launch->hasAttr(kCoresAlikeAttr) && launch.getThreadCount() == 2;
  warning << "both vector cores of a block store this at the same place" << ofTensor(pair)
          << ", and nothing orders them: "
          << (hasNoVid ? "put it into T.Scope(\"V\"), where the first one does it, or "
                       : "store where `vid == 0`, or ")
          << (areAlike ? "launch one with threads=1" : "a part of its own on each, by vid");
  if (areAlike)
    noteAdds(kernel, warning);
}

void warnOfTwo(const VectorPair& pair) {
  const bool bothWrite = pair.firstWrites && pair.secondWrites;
  const bool isFirstRead = !pair.firstWrites;
  Operation *place = isFirstRead ? pair.first : pair.second,
            *other = isFirstRead ? pair.second : pair.first;
  InFlightDiagnostic warning = place->emitWarning();
  warning << "one vector core of a block " << (bothWrite ? "stores" : "reads")
          << " here what the other one stores" << ofTensor(pair)
          << ", and nothing orders them: put T.sync_all() between them, or let each keep to a part "
             "of its own, by vid";
  warning.attachNote(other->getLoc()) << "the other one's store is here";
}

} // namespace

void warnOfVectorPairs(func::FuncOp kernel) {
  std::set<std::pair<const void*, const void*>> told; // parts of one statement have one place
  for (const VectorPair& pair : Finder(kernel).run()) {
    if (!told.emplace(pair.first->getLoc().getAsOpaquePointer(),
                      pair.second->getLoc().getAsOpaquePointer())
             .second)
      continue;
    if (pair.isOne())
      warnOfOne(kernel, pair);
    else
      warnOfTwo(pair);
  }
}

} // namespace tilewright::ascend
