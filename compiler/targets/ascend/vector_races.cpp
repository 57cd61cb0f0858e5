// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_races.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/analysis/core_meetings.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/first_turns.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/meeting_proof.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <map>
#include <set>
#include <tuple>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::CoreStep;
using model::CoreSteps;
using model::kBlockCores;
using model::kCubeCore;

constexpr int64_t mostTurns = 8;   ///< of loops without flags of the kernel's own
constexpr size_t mostSteps = 4000; ///< of a core

bool isMeeting(Operation* op) {
  return isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op);
}

/// A function of which nobody knows what it waits for.
bool isUnknownCall(Operation* op) {
  auto call = dyn_cast<npu::CallOp>(op);
  return isa<CallExternOp>(op) || (call && !call.getCallee().contains("DataCacheCleanAndInvalid"));
}

/// Whether any operation in one, or itself, is what is asked for.
bool has(Operation* op, llvm::function_ref<bool(Operation*)> isAsked) {
  return op
      ->walk([&](Operation* inner) {
        return isAsked(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool maySync(Operation* op) {
  return has(op, [](Operation* inner) { return isMeeting(inner) || isUnknownCall(inner); });
}

/// What the compiler puts in fits together however long a loop is.
bool hasOwnSync(Operation* op) {
  return has(op, [](Operation* inner) {
    return isUnknownCall(inner) || (isMeeting(inner) && !inner->hasAttr(kWhyAttr));
  });
}

SmallVector<npu::Access> globalAccesses(npu::Instruction op) {
  SmallVector<npu::Access> accesses;
  op.getAccesses(accesses);
  llvm::erase_if(accesses, [](const npu::Access& access) {
    return !access.type().isGlobal() || !isa<BlockArgument>(access.buffer);
  });
  return accesses;
}

/// All that is looked at in a kernel, and what stands around it.
DenseSet<Operation*> lookedAtIn(func::FuncOp kernel) {
  DenseSet<Operation*> found;
  kernel.walk([&](Operation* op) {
    auto instruction = dyn_cast<npu::Instruction>(op);
    const bool isOne = isMeeting(op) || isUnknownCall(op) ||
                       isa<tile::StoreOp, tile::LoadOp, tile::BreakOp, tile::ContinueOp>(op) ||
                       (instruction && !globalAccesses(instruction).empty());
    for (Operation* around = op; isOne && around && found.insert(around).second;)
      around = around->getParentOp();
  });
  return found;
}

/// Whether vector cores have work for a number that stands in a program for both kinds of core: what only the cube core
/// needs, they don't read.
class Needs {
public:
  bool isForVectors(Operation* op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return llvm::any_of(result.getUsers(), [&](Operation* user) { return isUse(user); });
    });
  }

private:
  bool isUse(Operation* user) {
    if (!seen.insert(user).second)
      return false;
    if (isa<tile::ConditionOp>(user))
      return hasVectorWork(user->getParentOp());
    if (user->getNumRegions() > 0)
      return hasVectorWork(user) || isForVectors(user);
    return isWork(user) || isForVectors(user);
  }

  bool isWork(Operation* op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return llvm::any_of(npu::usersOf(npu::storageOf(store.getBuffer())), [&](Operation* user) {
        return isa<tile::LoadOp>(user) && seen.insert(user).second && isForVectors(user);
      });
    if (auto scope = op->getParentOfType<ScopeOp>())
      return scope.getAgent() == Agent::Vector && !isPure(op);
    auto instruction = dyn_cast<npu::Instruction>(op);
    if (!instruction || isa<npu::GetValueOp>(op))
      return false;
    return instruction.getAgent().value_or(Agent::Vector) == Agent::Vector;
  }

  bool hasVectorWork(Operation* op) {
    return has(op, [&](Operation* inner) { return inner->getNumRegions() == 0 && isWork(inner); });
  }

  DenseSet<Operation*> seen;
};

/// Rows of a tensor, in order.
struct CoreUse {
  npu::Instruction op;
  unsigned access = 0; ///< of those to global memory
  Value tensor;
  bool isWrite = false, isAtomic = false;
  SmallVector<Bytes> rows;
  SmallVector<Value> asked; ///< branches around, of which it isn't known that they are taken
  size_t step = 0;

  bool meets(const CoreUse& other) const {
    for (size_t i = 0, k = 0; i < rows.size() && k < other.rows.size();) {
      if (rows[i].meets(other.rows[k]))
        return true;
      rows[i].end < other.rows[k].end ? ++i : ++k;
    }
    return false;
  }

  /// Whether the branches of the one are some of the other one's.
  bool goesWith(const CoreUse& other) const {
    const size_t common = std::min(asked.size(), other.asked.size());
    return ArrayRef(asked).take_front(common) == ArrayRef(other.asked).take_front(common);
  }
};

/// What a core does with the kernel's tensors, and where it meets others.
class CoreRun : public FirstTurns {
public:
  CoreRun(const Core& core, bool isMixed, RunChoice choice, const DenseSet<Operation*>& lookedAt)
      : FirstTurns(core, /*isOurs=*/true, choice), lookedAt(lookedAt), isMixed(isMixed) {}

  std::vector<CoreUse> uses;
  CoreSteps steps;

private:
  bool isOfUse(Operation* op) const override {
    return lookedAt.contains(op);
  }

  void visit(npu::Instruction op) override {
    if (isUnknownCall(op))
      return stop();
    if (core.agent != Agent::Vector || !isDone(op))
      return;
    for (const auto& [number, access] : llvm::enumerate(globalAccesses(op)))
      if (SmallVector<Bytes> rows = bytesOf(op, access); !rows.empty()) {
        uses.push_back({op, static_cast<unsigned>(number), access.buffer, access.isWrite,
                        op->hasAttr("atomic_add"), std::move(rows), asked, steps.size()});
        add({});
      }
  }

  bool isDone(npu::Instruction op) {
    return !isMixed || !isa<npu::GetValueOp>(op) || op.getAgent() ||
           op->getParentOfType<ScopeOp>() || Needs().isForVectors(op);
  }

  void pass(Operation* op, bool isOurs) override {
    if (op->getNumRegions() > 0 || isUnknownCall(op)) {
      if (isOurs || op->getNumRegions() > 0)
        stopIf(maySync(op)); // nobody knows whether, and how often
      return;
    }
    if (!isOurs || !isMeeting(op))
      return;
    if (isa<SyncAllOp>(op))
      return add({CoreStep::Meet});
    auto set = dyn_cast<SetCrossFlagOp>(op);
    if (set && isOfOtherKind(set.getPipe()))
      return;
    const std::optional<int64_t> flag =
        numberOf(set ? set.getFlag() : cast<WaitCrossFlagOp>(op).getFlag());
    if (!flag)
      return stop();
    add({set ? CoreStep::Set : CoreStep::Wait, *flag, set ? int64_t(set.getMode()) : 0});
  }

  /// A pipe that this kind of core lacks.
  bool isOfOtherKind(Pipe pipe) const {
    return core.agent == Agent::Cube ? pipe == Pipe::V
                                     : pipe == Pipe::M || pipe == Pipe::MTE1 || pipe == Pipe::FIX;
  }

  void cutShort(Operation* loop) override {
    stopIf(hasOwnSync(loop));
  }

  void stopIf(bool isSo) {
    if (isSo)
      stop();
  }

  void add(const CoreStep& step) {
    steps.push_back(step);
    stopIf(steps.size() >= mostSteps);
  }

  const DenseSet<Operation*>& lookedAt;
  bool isMixed;
};

class Races {
public:
  explicit Races(func::FuncOp kernel)
      : kernel(kernel), kind(launchKindOf(kernel)), lookedAt(lookedAtIn(kernel)), proof(kernel) {
    kernel.walk<WalkOrder::PreOrder>(
        [&](Operation* op) { order.try_emplace(op, static_cast<unsigned>(order.size())); });
  }

  std::vector<VectorRace> run() {
    for (auto launch : kernel.getOps<tile::LaunchOp>())
      for (const Branches branches : {Branches::None, Branches::Outermost, Branches::All})
        run(launch,
            {.turns = hasOwnSync(launch) ? int64_t(mostSteps) : mostTurns, .branches = branches});
    return std::move(races);
  }

private:
  void run(tile::LaunchOp launch, RunChoice choice) {
    const SmallVector<int64_t> ids(launch.getGrid().size(), 0);
    std::array<CoreSteps, kBlockCores> steps;
    std::array<std::vector<CoreUse>, kBlockCores> uses;
    for (size_t number = 0; number < kBlockCores; ++number) {
      const bool isCube = number == kCubeCore;
      if (isCube && !kind.hasCube)
        continue;
      const Core core{0, isCube ? Agent::Cube : Agent::Vector,
                      isCube ? 0 : static_cast<int64_t>(number)};
      CoreRun coreRun(core, kind.isMixed(), choice, lookedAt);
      coreRun.run(launch, ids);
      steps[number] = std::move(coreRun.steps);
      uses[number] = std::move(coreRun.uses);
    }
    const auto known = model::knownInSteps(steps);
    for (const CoreUse& use : uses[0])
      for (const CoreUse& other : uses[1])
        if (use.step < known[0].size() && other.step < known[1].size() &&
            known[0][use.step][1] <= static_cast<int64_t>(other.step) &&
            known[1][other.step][0] <= static_cast<int64_t>(use.step))
          compare(use, other);
  }

  void compare(const CoreUse& use, const CoreUse& other) {
    if (use.tensor != other.tensor || !(use.isWrite || other.isWrite) ||
        (use.isAtomic && other.isAtomic) || !use.goesWith(other) || !use.meets(other) ||
        areApart(use, other))
      return;
    const bool isInOrder = order.lookup(use.op) <= order.lookup(other.op);
    const CoreUse &first = isInOrder ? use : other, &second = isInOrder ? other : use;
    if (found.emplace(first.op, second.op).second)
      races.push_back({first.op, second.op, use.tensor, first.isWrite, second.isWrite});
  }

  /// Where unknown numbers count as one that suits both, though none does.
  bool areApart(const CoreUse& use, const CoreUse& other) {
    const auto [known, isNew] =
        apart.try_emplace({use.op, use.access, other.op, other.access}, false);
    if (isNew)
      known->second = proof.areApartOnVectors(0, use.op, globalAccesses(use.op)[use.access],
                                              other.op, globalAccesses(other.op)[other.access]);
    return known->second;
  }

  func::FuncOp kernel;
  LaunchKind kind;
  DenseSet<Operation*> lookedAt;
  MeetingProof proof;
  /// By statement and access of the first vector core, and of the second.
  std::map<std::tuple<Operation*, unsigned, Operation*, unsigned>, bool> apart;
  DenseMap<Operation*, unsigned> order; ///< places in the text
  std::set<std::pair<Operation*, Operation*>> found;
  std::vector<VectorRace> races;
};

} // namespace

std::vector<VectorRace> findVectorRaces(func::FuncOp kernel) {
  return launchKindOf(kernel).vectorCores() == 2 ? Races(kernel).run() : std::vector<VectorRace>();
}

} // namespace tilewright::ascend
