// SPDX-License-Identifier: Apache-2.0
/// CheckHazards: says where instructions depend on each other and nothing orders them, and which
/// flags don't match. Changes nothing.
///
///   npu.load_ub ... to %x[%c0] ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ...
///     warning: exp needs what T.copy to UB writes to 'x', but nothing orders them: set a flag from
///              MTE2 to V, or switch tl.ascend_auto_sync on in pass_configs
///
/// It stands behind all that makes or takes waits. After InsertFlags it must find nothing; in a
/// kernel with flags by hand a hazard is a warning, because the vendor's compiler adds some
/// orderings by itself, and a flag that doesn't match is an error, because the chip would hang.
#include "compiler/ir/memory_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/cross_counts.h"
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/separate_flags.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/own_order.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/shared_lines.h"
#include "compiler/targets/ascend/vector_pairs.h"
#include "compiler/targets/ascend/vector_steps.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::FaultKind;
using model::Hazard;

/// As the language names it: "mte2".
std::string quoted(model::Pipe pipe) {
  return '"' + StringRef(model::nameOf(pipe)).lower() + '"';
}

/// What is missing, and the statements of the language for it.
std::string advice(const Hazard& hazard) {
  const model::Queue from = hazard.earlier->queue, to = hazard.later->queue;
  const std::string source = quoted(from.pipe), both = source + ", " + quoted(to.pipe) + ", id)";
  const auto ends = [](const std::string& set, const std::string& wait) {
    return ": " + set + " behind the earlier one and " + wait + " before this one";
  };
  if (from.agent != to.agent)
    return "set a cross-core flag on " + model::nameOf(from.pipe) +
           ends("T.set_cross_flag(" + source + ", id)", "T.wait_cross_flag(id)");
  if (from == to)
    return "add a barrier of " + model::nameOf(from.pipe) + ": T.pipe_barrier(" + source +
           ") between them";
  if (!model::hasEvent(from.agent, from.pipe, to.pipe))
    return "add a barrier of all pipes: T.barrier_all() between them";
  return "set a flag from " + model::nameOf(from.pipe) + " to " + model::nameOf(to.pipe) +
         ends("T.set_flag(" + both, "T.wait_flag(" + both);
}

const char* text(FaultKind kind) {
  switch (kind) {
  case FaultKind::SetTwice:
    return " is set again before anything waited for it";
  case FaultKind::NeverSet:
    return " is waited for, but nothing has set it";
  case FaultKind::OnePathOnly:
    return " is set, or waited for, in one branch only";
  case FaultKind::NotWaitedFor:
    return " is still set when the kernel ends";
  case FaultKind::Unbalanced:
    return " is not set as often as it is waited for in an iteration of this loop";
  }
  return "";
}

/// The names of the kernel's arguments, variables and loops that a number is made of.
void addNames(Value number, SmallVectorImpl<std::string>& names) {
  Operation* op = number.getDefiningOp();
  std::string name = quotedBuffer(number);
  if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
    name = quotedBuffer(load.getBuffer());
  else if (auto argument = dyn_cast<BlockArgument>(number))
    if (auto word = argument.getOwner()->getParentOp()->getAttrOfType<StringAttr>(tile::kNameAttr))
      name = "'" + word.str() + "'";
  if (!name.empty() && !llvm::is_contained(names, name))
    names.push_back(name);
  if (op && name.empty())
    for (Value operand : op->getOperands())
      addNames(operand, names);
}

/// Of a flag whose number isn't known: that this is so of the kernel.
std::string withoutNumber(Operation* flag) {
  SmallVector<std::string> names;
  for (Value operand : flag->getOperands())
    addNames(operand, names);
  const std::string made = names.empty() ? "" : ", made of " + llvm::join(names, " and ") + ",";
  return "the number of this flag" + made + " is known only when the kernel runs: ";
}

/// Of two instructions of a vector core: whether the vendor's compiler puts in what orders them, unless it is told not to
/// (`--cce-auto-sync`).
bool isOrderedByVendor(const Hazard& hazard) {
  const model::Queue from = hazard.earlier->queue, to = hazard.later->queue;
  const auto isPair = [&](model::Pipe a, model::Pipe b) {
    return (from.pipe == a && to.pipe == b) || (from.pipe == b && to.pipe == a);
  };
  return from.agent == model::Agent::Vector && to.agent == model::Agent::Vector &&
         (isPair(model::Pipe::V, model::Pipe::V) || isPair(model::Pipe::V, model::Pipe::S) ||
          isPair(model::Pipe::S, model::Pipe::MTE2) || isPair(model::Pipe::S, model::Pipe::MTE3));
}

struct CheckHazards : KernelPass<CheckHazards> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckHazards)
  static constexpr llvm::StringLiteral kArgument = "ascend-check-hazards";
  static constexpr llvm::StringLiteral kDescription =
      "warn of instructions that nothing orders; refuse flags that don't match";

  CheckHazards() = default;
  CheckHazards(WithinCores withinCores, bool betweenCores, bool split, bool isRelaxed)
      : withinCores(withinCores), betweenCores(betweenCores), split(split), isRelaxed(isRelaxed) {}

  void runOnOperation() override {
    if (getOperation().getOps<tile::LaunchOp>().empty())
      return; // not a kernel
    checked = getOperation();
    OwningOpRef<func::FuncOp> structured;
    std::unique_ptr<ModelOfKernel> model = buildProgram(checked);
    if (model->exit && !model->unknownEvent) {
      structured = checked.clone();
      checked = *structured;
      structureExits(checked);
      model = buildProgram(checked);
    }
    if (model->unknownEvent)
      model->unknownEvent->emitRemark()
          << withoutNumber(model->unknownEvent)
          << "none of its flags is checked while it is compiled, but the host checks them";
    if (model->exit || model->unknownEvent)
      return;
    told.clear();
    openOnChip.reset();
    ownOrder.reset();
    toldSwitches.clear();
    hasToldOfVendor = false;
    warnOfVectorPairs(getOperation());
    if (!structured) // else first turns may end early
      warnOfSharedLines(getOperation());
    getOperation().walk([](npu::StoreL0cOp store) { warnOfPartOfVid(store); });
    const bool areMatched = succeeded(checkBothVectorCores());
    hasOwnCrossFlags = model->hasOwnCrossFlags;
    OwnCrossFlags own = OwnCrossFlags::LeftOut;
    if (model->hasOwnCrossFlags && checkBetweenCores(areMatched)) {
      own = OwnCrossFlags::WithoutGlobal;
      model = buildProgram(checked, own);
    }
    separateFlags(model->program);
    model::Verdict verdict = checkIterations(model->program, model::Conflicts(model->program));
    if (verdict.areMixed) { // an id is one flag, then
      model = buildProgram(checked, own);
      verdict = checkIterations(model->program, model::Conflicts(model->program));
    }
    findWays(model->program, verdict.unproven);
    findings.clear();
    for (const auto& [pair, finding] : verdict.findings)
      findings[{pair.first->id, pair.second->id}] = describe(finding, model->values);
    SmallVector<Hazard> hazards;
    const model::Conflicts conflicts(model->program);
    llvm::copy_if(verdict.hazards, std::back_inserter(hazards), [&](const Hazard& hazard) {
      return !isOrderedBetweenCores(hazard, conflicts) && !isLeftToHost(hazard) &&
             !(isRelaxed && isOrderedByVendor(hazard)) &&
             (hazard.earlier->queue.agent == hazard.later->queue.agent ||
              !model->hasOwnCrossFlags || model::meetInOwnBuffer(*hazard.earlier, *hazard.later));
    });
    if (!hazards.empty())
      warnOfMissing(hazards, conflicts, own);
    // Ways out of a loop are more than are followed apart for sure.
    if (structured)
      llvm::append_range(verdict.unproven, std::exchange(verdict.faults, {}));
    report(verdict.faults, *model);
    warnOfUnproven(verdict.unproven, *model);
  }

  /// Flags that match only if branches go together of which the compiler can't tell: one warning for all of them.
  void warnOfUnproven(const std::vector<model::Fault>& faults, const ModelOfKernel& model) {
    if (faults.empty())
      return;
    std::map<std::string, std::set<unsigned>> events; // by their pipes
    std::set<std::string> names;
    for (const model::Fault& fault : faults) {
      const model::Flag& flag = model.program.flags[fault.flag];
      if (flag.isCross)
        names.insert(describe(flag));
      else
        events[" from " + model::nameOf(flag.from.pipe) + " to " + model::nameOf(flag.to.pipe)]
            .insert(flag.id);
    }
    for (const auto& [pipes, ids] : events) {
      std::string named = ids.size() > 1 ? "events " : "event ";
      for (const unsigned id : ids) {
        if (id != *ids.begin())
          named += id == *ids.rbegin() ? " and " : ", ";
        named += std::to_string(id);
      }
      names.insert(named.append(pipes));
    }
    const bool isOne = names.size() == 1 && (events.empty() || events.begin()->second.size() == 1);
    InFlightDiagnostic warning = placeOf(faults.front())->emitWarning();
    warning << llvm::join(names, ", ") << (isOne ? " matches" : " match")
            << " only if branches go together that the compiler takes one by one; what that orders "
               "is left to the host, which counts flags as they come";
    warning.attachNote(placeOf(faults.front())->getLoc())
        << "taken one by one, " << describe(model.program.flags[faults.front().flag])
        << text(faults.front().kind);
  }

  void findWays(const model::Program& program, ArrayRef<model::Fault> unproven) {
    ways.clear();
    std::set<const void*> ofStatements;
    for (const model::Node& node : program.nodes)
      if (node.kind == model::NodeKind::Statement)
        ofStatements.insert(placeIn(&node));
    for (const model::Node& node : program.nodes) {
      if (node.kind != model::NodeKind::Sync || node.sync.kind != model::SyncKind::Set)
        continue;
      const model::Flag& flag = program.flags[node.sync.flag];
      if (!flag.isCross)
        ways[{flag.from.index(), flag.to.index()}].ofParts.insert(
            ofStatements.contains(placeIn(&node)) ? placeIn(&node) : nullptr);
    }
    for (const model::Fault& fault : unproven)
      if (const model::Flag& flag = program.flags[fault.flag]; !flag.isCross)
        ways[{flag.from.index(), flag.to.index()}].isUnproven = true;
  }

  /// Whether flags may order two instructions, of some of which the compiler can't tell.
  bool isLeftToHost(const Hazard& hazard) const {
    using Step = std::pair<unsigned, bool>; // to a queue, and whether by such a flag
    std::set<Step> reached;
    SmallVector<Step> open = {{hazard.earlier->queue.index(), false}};
    while (!open.empty()) {
      const auto [queue, byUnproven] = open.pop_back_val();
      for (const auto& [between, way] : ways) {
        const auto& [from, to] = between;
        const bool isFirst = from == hazard.earlier->queue.index() && !byUnproven;
        const bool isLast = to == hazard.later->queue.index();
        const auto isUsed = [&](const void* part) {
          return !part || (isFirst && part == placeIn(hazard.earlier)) ||
                 (isLast && part == placeIn(hazard.later));
        };
        if (const Step step{to, byUnproven || way.isUnproven};
            from == queue && llvm::any_of(way.ofParts, isUsed) && reached.insert(step).second)
          open.push_back(step);
      }
    }
    return reached.contains({hazard.later->queue.index(), true});
  }

  static std::pair<unsigned, unsigned> ends(const Hazard& hazard) {
    return {hazard.earlier->queue.index(), hazard.later->queue.index()};
  }

  static const void* placeIn(const model::Node* node) {
    return operationOf(node)->getLoc().getAsOpaquePointer();
  }

  /// Of the kernel's own flags to the cube core, which waits until both vector cores have set one: whether
  /// branches on vid leave only one of them to do so.
  LogicalResult checkBothVectorCores() {
    if (!launchKindOf(getOperation()).hasTwoVectors)
      return success();
    bool areMatched = true;
    std::map<int64_t, std::array<SetCrossFlagOp, 2>> sets; // by flag and vector core
    getOperation().walk([&](SetCrossFlagOp set) {
      auto scope = set->getParentOfType<ScopeOp>();
      const std::optional<int64_t> flag = getConstantIntValue(set.getFlag());
      constexpr int64_t kBetweenKinds = 2;
      if (!flag || !scope || scope.getAgent() != Agent::Vector || set.getMode() != kBetweenKinds)
        return;
      for (const int64_t core : {0, 1})
        if (mayRunOn(core, set))
          sets[*flag][core] = set;
    });
    for (const auto& [flag, setBy] : sets)
      for (const int64_t core : {0, 1})
        if (setBy[core] && !setBy[1 - core]) {
          SetCrossFlagOp set = setBy[core];
          set.emitError() << "cross-core flag " << flag << " is set by vector core " << core
                          << " of a block only, but the cube core waits for both: set it outside "
                             "of the branch on the vector core's number";
          areMatched = false;
        }
    if (!areMatched)
      signalPassFailure();
    return success(areMatched);
  }

  /// What flags of the kernel's own between cores order: all that touches global memory. False if it can't
  /// be told, which is said where nothing is known to be wrong.
  bool checkBetweenCores(bool areMatched) {
    ownOrder = std::make_shared<OwnOrder>(checked);
    const ModelOfKernel& model = ownOrder->model();
    if (model.unknownCrossFlag)
      model.unknownCrossFlag->emitRemark()
          << withoutNumber(model.unknownCrossFlag)
          << "what the flags between its cores order isn't checked while it is compiled, but the "
             "host checks it";
    if (model.unknownCrossFlag)
      return false;
    const bool isFollowed = ownOrder->isFollowed();
    if (isFollowed && !ownOrder->faults().empty()) {
      report(ownOrder->faults(), model);
      return true;
    }
    const model::CrossCounts counts = model::countCrossFlags(model.program);
    if (counts.kind == model::CrossCounts::Kind::Wrong) {
      report(counts.faults, model);
      return true;
    }
    if (counts.kind == model::CrossCounts::Kind::WrongSoFar)
      warnOfCounts(counts, model);
    else if (!isFollowed && areMatched)
      leaveCrossFlagsToHost(model);
    if (!isFollowed)
      return false;
    openOnChip.emplace();
    ownOrder->forEachHazard([&](const Hazard& hazard, const model::Conflicts& conflicts) {
      if (isGlobal(hazard))
        warn(hazard, conflicts);
      else
        openOnChip->emplace(operationOf(hazard.earlier), operationOf(hazard.later));
    });
    return true;
  }

  /// Flags between cores that don't match as far as loops of unknown length, or too long ones, have been followed.
  void warnOfCounts(const model::CrossCounts& counts, const ModelOfKernel& model) {
    const std::string turns = counts.turns == 0 ? "as many turns of its loops"
                                                : "each number of turns of its loops from " +
                                                      std::to_string(counts.turns) + " on";
    for (const model::Fault& fault : counts.faults)
      placeOf(fault)->emitWarning() << describe(model.program.flags[fault.flag]) << text(fault.kind)
                                    << ", with " << turns << " as the compiler has followed";
  }

  static void leaveCrossFlagsToHost(const ModelOfKernel& model) {
    for (const model::Node& node : model.program.nodes)
      if (node.kind == model::NodeKind::Sync && node.sync.flag != model::kNone &&
          model.program.flags[node.sync.flag].isCross) {
        operationOf(&node)->emitRemark()
            << "the compiler can't follow the kernel's flags between cores through the branches "
               "and loops around them: what they order isn't checked while it is compiled, but the "
               "host checks it";
        return;
      }
  }

  /// Whether the kernel's own flags between cores order two instructions of one core: what the other core has waited
  /// for is over when it tells something back.
  bool isOrderedBetweenCores(const Hazard& hazard, const model::Conflicts& conflicts) const {
    return openOnChip &&
           !openOnChip->contains({operationOf(hazard.earlier), operationOf(hazard.later)}) &&
           ownOrder->tellsOf(hazard, conflicts);
  }

  /// Of many hazards one flag may be all that is missing, and what the first two of three pipes need orders the
  /// third: told is what each flag or barrier that the compiler would put in is there for.
  void warnOfMissing(ArrayRef<Hazard> hazards, const model::Conflicts& ofHazards,
                     OwnCrossFlags own) {
    const std::unique_ptr<ModelOfKernel> model = buildProgram(checked, own);
    const model::Conflicts conflicts(model->program);
    model::InsertOptions options;
    options.betweenAgents = !model->hasOwnCrossFlags;
    const model::Inserted inserted = insertFlags(model->program, conflicts, options);
    SmallVector<Hazard> missing;
    for (const model::Insertion& insertion : inserted.insertions)
      if (!insertion.holds)
        missing.push_back(insertion.why);
    for (const model::Unorderable& failure : inserted.failures)
      missing.push_back(failure.hazard);
    std::set<std::pair<unsigned, unsigned>>
        without; // what leads from where to where, and wasn't missing
    llvm::erase_if(missing, [&](const Hazard& hazard) {
      const bool isOrdered = isOrderedBetweenCores(hazard, conflicts) || isLeftToHost(hazard);
      if (isOrdered)
        without.insert(ends(hazard));
      return isOrdered;
    });
    for (const Hazard& hazard : missing)
      without.erase(ends(hazard));
    for (const Hazard& hazard : hazards)
      if (without.erase(ends(hazard)))
        missing.push_back(hazard);
    llvm::sort(missing, [](const Hazard& a, const Hazard& b) {
      return std::pair(a.later->id, a.earlier->id) < std::pair(b.later->id, b.earlier->id);
    });
    for (const Hazard& hazard : missing)
      warn(hazard, conflicts);
    if (missing.empty())
      for (const Hazard& hazard : hazards)
        warn(hazard, ofHazards);
  }

  /// Whether two statements can only meet in global memory: on chip they are checked with all iterations.
  static bool isGlobal(const Hazard& hazard) {
    for (const model::Access& access : hazard.later->accesses)
      for (const model::Access& other : hazard.earlier->accesses)
        if (access.isGlobal && access.memory == other.memory && (access.isWrite || other.isWrite))
          return true;
    return false;
  }

  void report(const std::vector<model::Fault>& faults, const ModelOfKernel& model) {
    for (const model::Fault& fault : faults) {
      placeOf(fault)->emitError() << describe(model.program.flags[fault.flag]) << text(fault.kind);
    }
    if (!faults.empty())
      signalPassFailure();
  }

  Operation* placeOf(const model::Fault& fault) {
    return fault.at ? operationOf(fault.at) : getOperation();
  }

  void warn(const Hazard& hazard, const model::Conflicts& conflicts) {
    if (isRelaxed && isOrderedByVendor(hazard))
      return;
    std::string text =
        describeWithBuffer(hazard, conflicts) + ", but nothing orders them: " + advice(hazard);
    Operation *earlier = operationOf(hazard.earlier), *later = operationOf(hazard.later);
    // Parts of one statement differ in nothing that the kernel's author sees.
    if (!told.emplace(text, earlier->getLoc().getAsOpaquePointer(),
                      later->getLoc().getAsOpaquePointer())
             .second)
      return;
    const std::string switches = switchesFor(hazard).str();
    if (!switches.empty() && toldSwitches.insert(switches).second)
      text += ", or switch " + switches + " on in pass_configs";
    InFlightDiagnostic warning = later->emitWarning(text);
    warning.attachNote(earlier->getLoc()) << "the earlier one is here";
    const auto found = findings.find({hazard.earlier->id, hazard.later->id});
    if (found != findings.end() && !found->second.empty())
      warning.attachNote(later->getLoc()) << found->second;
    if (isOrderedByVendor(hazard))
      warning.attachNote(later->getLoc())
          << "the vendor's compiler orders these two by itself"
          << (std::exchange(hasToldOfVendor, true)
                  ? ""
                  : "; a kernel that relies on it runs on the host with --cce-auto-sync=on in "
                    "compile_flags, or with TILEWRIGHT_ASCEND=relaxed");
  }

  /// What is off and would order these; empty if nothing would.
  StringRef switchesFor(const Hazard& hazard) const {
    const model::Queue from = hazard.earlier->queue, to = hazard.later->queue;
    if (from.agent != to.agent) {
      if (betweenCores || hasOwnCrossFlags)
        return "";
      return split ? "tl.ascend_auto_cross_core_sync"
                   : "tl.ascend_auto_cv_combine and tl.ascend_auto_cross_core_sync";
    }
    if (withinCores == WithinCores::All)
      return "";
    const bool isOfScalar = from.pipe == model::Pipe::S || to.pipe == model::Pipe::S;
    return withinCores == WithinCores::None && isOfScalar ? "tl.ascend_auto_sync_vs"
                                                          : "tl.ascend_auto_sync";
  }

  WithinCores withinCores = WithinCores::All;
  bool betweenCores = true, split = true, hasOwnCrossFlags = false;
  bool isRelaxed = false; ///< the vendor's compiler orders what it can
  /// The kernel, or a copy of it in which what leaves loops early are branches.
  func::FuncOp checked;
  /// Of a kernel with flags of its own between cores.
  std::shared_ptr<const OwnOrder> ownOrder;
  /// What touches the same bytes on chip although the kernel's own flags between cores are followed; nothing where they
  /// aren't.
  std::optional<std::set<std::pair<Operation*, Operation*>>> openOnChip;
  /// Flags from one queue to another.
  struct Way {
    bool isUnproven = false; ///< the compiler can't tell of some that they match
    std::set<const void*>
        ofParts{}; ///< the statements that they are parts of; nullptr: they are the kernel's own
  };
  std::map<std::pair<unsigned, unsigned>, Way> ways;
  /// In which run, or what was too large, by the numbers of both statements.
  std::map<std::pair<unsigned, unsigned>, std::string> findings;
  /// What has been said, with both places.
  std::set<std::tuple<std::string, const void*, const void*>> told;
  /// The switches that a warning of this kernel has named: what one of them does for all needs one word.
  std::set<std::string> toldSwitches;
  bool hasToldOfVendor = false;
};

} // namespace

std::unique_ptr<Pass> createCheckHazards(WithinCores withinCores, bool betweenCores, bool split,
                                         bool isRelaxed) {
  return std::make_unique<CheckHazards>(withinCores, betweenCores, split, isRelaxed);
}

} // namespace tilewright::ascend
