// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/build_program.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/analysis/settle_branches.h"
#include "compiler/targets/ascend/apart_accesses.h"
#include "compiler/targets/ascend/copy_bounds.h"
#include "compiler/targets/ascend/counted_variables.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/flag_numbers.h"
#include "compiler/targets/ascend/global_boxes.h"
#include "compiler/targets/ascend/index_terms.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/mark_statements.h"
#include "compiler/targets/ascend/model_variables.h"
#include "compiler/targets/ascend/pipelined_loops.h"
#include "compiler/targets/ascend/reaching_stores.h"
#include "compiler/targets/ascend/scalar_agents.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/tied_loops.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <map>
#include <set>

namespace tilewright::ascend {

using namespace mlir;

Operation* operationOf(const model::Node* node) {
  return static_cast<Operation*>(node->tag);
}

model::Agent modelAgent(Agent agent) {
  return agent == Agent::Cube ? model::Agent::Cube : model::Agent::Vector;
}

namespace {

using model::Node;
using model::NodeKind;
using model::Queue;
using model::Sync;
using model::SyncKind;
using tile::BufferType;
using tile::MemorySpace;

model::Pipe modelPipe(Pipe pipe) {
  return static_cast<model::Pipe>(pipe);
}
static_assert(static_cast<int>(Pipe::FIX) == static_cast<int>(model::Pipe::FIX));

bool isOfAgent(Pipe pipe, model::Agent agent) {
  if (pipe == Pipe::V)
    return agent == model::Agent::Vector;
  if (pipe == Pipe::M || pipe == Pipe::MTE1 || pipe == Pipe::FIX)
    return agent == model::Agent::Cube;
  return true;
}

class Translator {
public:
  Translator(func::FuncOp kernel, ModelOfKernel& model, OwnCrossFlags own,
             const std::set<Operation*>& notFollowed)
      : model(model), program(model.program), own(own), notFollowed(notFollowed), indices(kernel),
        variables(program, indices), ways(*kernel.getOps<tile::LaunchOp>().begin()) {
    survey(kernel);
    indices.ofVariable = [this](Value number, Operation* at) {
      return variables.partAt(number, at);
    };
    variables.haveCopies = isMixed || (model.hasCube && model.hasVector);
    tile::LaunchOp launch = *kernel.getOps<tile::LaunchOp>().begin();
    translate(*launch.getBodyBlock(), nullptr, program.body, std::nullopt);
    findApart(kernel, program);
    tieLoops(program);
    variables.forgetParts();
    program.values = indices.valueRanges();
    indices.forEachValue([&](Value value, unsigned number) { model.values[number] = value; });
    settleBranches(program);
  }

private:
  using Scope = std::optional<model::Agent>;

  /// Which agents there are, and which tensors both touch.
  void survey(func::FuncOp kernel) {
    std::map<void*, std::set<Agent>> users;
    kernel.walk([&](npu::Instruction op) {
      const std::optional<Agent> agent = agentOf(op);
      model.hasCube |= agent == Agent::Cube;
      model.hasVector |= agent == Agent::Vector;
      for (const npu::Access& access : accessesOf(op))
        if (access.type().getSpace() == MemorySpace::Global && agent)
          users[npu::storageOf(access.buffer).getAsOpaquePointer()].insert(*agent);
    });
    kernel.walk([&](ScopeOp scope) {
      if (speaksToOthers(scope) || hasScalarWork(scope))
        (scope.getAgent() == Agent::Cube ? model.hasCube : model.hasVector) = true;
    });
    if (!model.hasCube && !model.hasVector)
      model.hasVector = true;
    isMixed = launchKindOf(kernel).isMixed();
    // Those that the compiler put in say why.
    kernel.walk([&](Operation* op) {
      model.hasOwnCrossFlags |=
          (isa<SetCrossFlagOp, WaitCrossFlagOp>(op) && !op->hasAttr(kWhyAttr)) || isMeeting(op);
    });
    for (const auto& [tensor, agents] : users)
      if (agents.size() > 1)
        sharedTensors.insert(tensor);
  }

  /// Where one of two agents goes to a meeting of all cores, in its own text.
  bool isMeeting(Operation* op) const {
    return isa<SyncAllOp>(op) && op->getParentOfType<ScopeOp>() && isMixed;
  }

  static SmallVector<npu::Access> accessesOf(npu::Instruction op) {
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    return accesses;
  }

  SmallVector<model::Agent> agentsIn(Scope scope) const {
    if (scope)
      return {*scope};
    SmallVector<model::Agent> agents;
    if (model.hasCube)
      agents.push_back(model::Agent::Cube);
    if (model.hasVector)
      agents.push_back(model::Agent::Vector);
    return agents;
  }

  /// Who comes through a loop or branch.
  void addComers(Operation* op, Scope scope, Node& node) {
    node.isOfSomeCores = isMixed && (asksVectorCores(op) || (!scope && ways.decide(op)));
    node.isOfOneKind = isMixed && asksCubeCore(op);
  }

  Node* add(Operation* op, Node* parent, model::Block& block, NodeKind kind) {
    Node* node = program.add(block, parent, kind);
    node->tag = op;
    node->side = side;
    node->whole = statementOf(op).value_or(model::kNone);
    if (auto number = op->getAttrOfType<IntegerAttr>(kWhyNumberAttr))
      node->sync.owner = static_cast<unsigned>(number.getInt());
    return node;
  }

  void translate(Block& from, Node* parent, model::Block& block, Scope scope) {
    for (Operation& op : from) {
      side = scope;
      if (auto instruction = dyn_cast<npu::Instruction>(op))
        addInstruction(instruction, parent, block, scope);
      else if (auto inner = dyn_cast<ScopeOp>(op))
        translate(inner.getBody().front(), parent, block, modelAgent(inner.getAgent()));
      else if (auto loop = dyn_cast<tile::ForOp>(op))
        addLoop(loop, parent, block, scope);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        addIf(branch, parent, block, scope);
      else if (auto store = dyn_cast<tile::StoreOp>(op); store && variables.of(store.getBuffer()))
        addAssign(store, parent, block);
      else if (auto alloc = dyn_cast<tile::AllocOp>(op); alloc && parent && variables.of(alloc))
        addUnknown(alloc, parent, block);
      else if (isa<tile::BreakOp, tile::ContinueOp>(op))
        model.exit = &op;
      else if (op.getNumRegions() > 0)
        addOpenLoop(op, parent, block, scope);
      else
        addSync(op, parent, block, scope);
    }
  }

  void addLoop(tile::ForOp loop, Node* parent, model::Block& block, Scope scope) {
    if (hasOneTurnAtMost(loop, indices))
      return addOnce(loop, parent, block, scope);
    Node* node = add(loop, parent, block, NodeKind::Loop);
    addComers(loop, scope, *node);
    const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                                 upper = getConstantIntValue(loop.getUpper()),
                                 step = getConstantIntValue(loop.getStep());
    if (step && *step > 0)
      addLength(indices.of(loop.getLower()),
                *step > 256 ? indices.of(loop.getUpper())
                            : indices.ofEnd(loop.getLower(), loop.getUpper()),
                *step, *node);
    if (lower && upper && step && *step > 0)
      node->trips = std::max(int64_t{0}, (*upper - *lower + *step - 1) / *step);
    else
      node->mostTrips = mostTurnsOf(loop).value_or(-1);
    indices.addLoop(loop.getInductionVar(), node->id, indices.of(loop.getLower()), step);
    indices.enterLoop(loop.getLower(), loop.getUpper());
    translate(*loop.getBodyBlock(), node, node->body, scope);
    indices.leaveLoop();
    variables.addForgotten(loop, *node);
  }

  /// Of a loop that makes no more than one turn: a branch.
  void addOnce(tile::ForOp loop, Node* parent, model::Block& block, Scope scope) {
    Node* node = add(loop, parent, block, NodeKind::If);
    addComers(loop, scope, *node);
    const std::optional<IndexSum> lower = indices.of(loop.getLower());
    std::optional<IndexSum> length = indices.of(loop.getUpper());
    if (lower && length) {
      IndexSum first = *lower;
      *length += first *= -1;
      node->conditions.push_back(conditionOn(model::Comparison::Greater, *length));
    }
    indices.addOnce(loop.getInductionVar(), lower);
    indices.enterLoop(loop.getLower(), loop.getUpper());
    translate(*loop.getBodyBlock(), node, node->body, scope);
    indices.leaveLoop();
    variables.addForgotten(loop, *node);
  }

  /// Of a loop whose length isn't known: whether it has an iteration, and what a branch can ask of it.
  void addLength(std::optional<IndexSum> lower, std::optional<IndexSum> length, int64_t step,
                 Node& node) {
    if (!lower || !length)
      return;
    *length += *lower *= -1;
    length->simplify();
    node.length = {length->constant, step, length->terms};
    node.isEntered = indices.isAboveZero(*length, /*isIfNotEmpty=*/false);
    node.isEnteredIfNotEmpty = indices.isAboveZero(*length, /*isIfNotEmpty=*/true);
    lengths[node.id] = {std::move(*length), step};
  }

  /// How a sum compares with 0: where it is about a loop's end, by how many iterations are still to come.
  model::Condition conditionOn(model::Comparison kind, const IndexSum& sum) const {
    for (const model::Term& term : sum.terms) {
      const auto length = lengths.find(term.loop);
      if (length == lengths.end() || program.nodes[term.loop].trips >= 0)
        continue;
      if (std::optional<model::Condition> found =
              indices.conditionOnEnd(kind, sum, term, length->second.first, length->second.second))
        return *found;
    }
    return indices.condition(kind, sum);
  }

  /// A while, or any loop of which nothing is known.
  void addOpenLoop(Operation& op, Node* parent, model::Block& block, Scope scope) {
    Node* node = add(&op, parent, block, NodeKind::Loop);
    addComers(&op, scope, *node);
    indices.addOpenLoop(&op, node->id);
    auto repeat = dyn_cast<tile::WhileOp>(op);
    if (repeat)
      addTurns(repeat, *node);
    const std::optional<CountedTurns> counted = repeat ? countedTurns(repeat) : std::nullopt;
    const bool isBelow = counted && counted->step > 0 && counted->more == 0;
    if (isBelow)
      indices.enterLoop(counted->start, counted->bound);
    for (Region& region : op.getRegions())
      for (Block& each : region)
        translate(each, node, node->body, scope);
    if (isBelow)
      indices.leaveLoop();
    if (repeat)
      variables.askBeforeTurns(repeat, *node);
    if (repeat && own != OwnCrossFlags::WithinCores) // nothing can be put in there alone
      addLastAsking(repeat, parent, block, scope);
    const auto last = std::find_if(block.rbegin(), block.rend(), [](const Node* each) {
      return each->kind == NodeKind::Loop || each->kind == NodeKind::If;
    });
    variables.addForgotten(&op, **last);
  }

  /// Whether what a `while` asks for touches nothing: it asks once more than its body runs, which its turns stand for, too.
  static bool asksForNumbersAlone(tile::WhileOp loop) {
    return !loop.getCondition()
                .walk([](Operation* op) {
                  const bool isPlain = isPure(op) ||
                                       isa<scf::IfOp, tile::LoadOp, tile::StoreOp>(op) ||
                                       op->hasTrait<OpTrait::IsTerminator>();
                  return isPlain ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  /// Of a `while` whose turns variables count.
  void addTurns(tile::WhileOp loop, Node& node) {
    const auto followed = loop->getAttrOfType<IntegerAttr>(kMostTurnsAttr);
    if (!asksForNumbersAlone(loop)) {
      if (followed) // what it asks once more stands in a turn, too
        node.mostTrips = followed.getInt() + 1;
      return;
    }
    const std::optional<CountedTurns> turns = countedTurns(loop);
    std::optional<int64_t> most = turns ? mostTurnsOf(*turns) : std::nullopt;
    if (!turns || turns->isAll)
      node.trips = (most ? most : turnsByVariables(loop)).value_or(-1);
    if (!most && node.trips < 0)
      most = mostTurnsByVariables(loop);
    if (followed && (!most || followed.getInt() < *most))
      most = followed.getInt();
    if (node.trips < 0)
      (most == 0 || (followed && loop->hasAttr(kAllTurnsAttr)) ? node.trips : node.mostTrips) =
          most.value_or(-1);
    if (!turns || !turns->isAll || !indices.isUnchanging(turns->bound))
      return;
    const bool isUp = turns->step > 0;
    std::optional<IndexSum> from = indices.of(isUp ? turns->start : turns->bound),
                            to = indices.of(isUp ? turns->bound : turns->start);
    if (to)
      to->constant += turns->more;
    addLength(std::move(from), std::move(to), std::abs(turns->step), node);
  }

  /// A `while` asks once more than its body runs. What it asks then is behind the loop, and no turn's.
  void addLastAsking(tile::WhileOp loop, Node* parent, model::Block& block, Scope scope) {
    indices.removeOpenLoop(loop);
    const size_t first = program.nodes.size();
    translate(loop.getCondition().front(), parent, block, scope);
    for (size_t i = first; i < program.nodes.size(); ++i)
      program.nodes[i].isOfNoTurn = true;
  }

  void addIf(scf::IfOp branch, Node* parent, model::Block& block, Scope scope) {
    Node* node = add(branch, parent, block, NodeKind::If);
    addComers(branch, scope, *node);
    const Value first = askedBeforeMore(branch.getCondition());
    if (first && variables.ask(branch, first, *node)) {
      node->isBoth = node->asksMore = true;
      translate(*branch.thenBlock(), node, node->otherwise, scope);
      if (branch.elseBlock())
        translate(*branch.elseBlock(), node, node->body, scope);
      return;
    }
    if (branch.getCondition().getDefiningOp<arith::AndIOp>()) {
      askAll(branch, branch.getCondition(), *node);
      node->isBoth = node->variable != model::kNone;
    } else {
      addConditions(branch.getCondition(), node->conditions);
      variables.ask(branch, branch.getCondition(), *node);
    }
    const bool isInLoop = !loopsAround(node).empty();
    if (!isInLoop || indices.isUnchanging(branch.getCondition()))
      node->question =
          questions.try_emplace(branch.getCondition(), unsigned(questions.size())).first->second;
    translate(*branch.thenBlock(), node, node->body, scope);
    if (branch.elseBlock())
      translate(*branch.elseBlock(), node, node->otherwise, scope);
  }

  void addAssign(tile::StoreOp store, Node* parent, model::Block& block) {
    Node* node = add(store, parent, block, NodeKind::Assign);
    node->variable = *variables.of(store.getBuffer());
    variables.setAssigned(store, *node);
  }

  /// A variable that each turn of a loop declares anew.
  void addUnknown(tile::AllocOp alloc, Node* parent, model::Block& block) {
    const unsigned variable = *variables.of(alloc);
    if (!program.toldApart.contains(variable))
      return;
    Node* node = add(alloc, parent, block, NodeKind::Assign);
    node->variable = variable;
    node->value = model::kNoValue;
  }

  /// Of a branch for which several things must hold.
  void askAll(scf::IfOp branch, Value condition, Node& node) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      askAll(branch, both.getLhs(), node);
      return askAll(branch, both.getRhs(), node);
    }
    std::vector<model::Condition> conditions;
    addConditions(condition, conditions);
    if (conditions.empty() && !variables.ask(branch, condition, node))
      node.asksMore = true;
    llvm::append_range(node.conditions, conditions);
  }

  /// What must hold for a part of what a branch asks; if only some of it is known, nothing.
  void addConditions(Value value, std::vector<model::Condition>& conditions) {
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    const std::optional<model::Comparison> kind =
        compare ? comparisonOf(compare.getPredicate()) : std::nullopt;
    if (!kind)
      return;
    const std::optional<int64_t> bound = getConstantIntValue(compare.getRhs());
    if (bound && (kind == model::Comparison::Less || kind == model::Comparison::LessOrEqual))
      return addBelow(compare.getLhs(), *bound, *kind, conditions);
    std::optional<IndexSum> difference = indices.inBranch(compare.getLhs()),
                            right = indices.inBranch(compare.getRhs());
    if (!difference || !right)
      return;
    *difference += *right *= -1;
    conditions.push_back(conditionOn(*kind, *difference));
  }

  /// What must hold for a number to be less than a bound (or no more), also where it was cut to what lies
  /// within a tensor: the greatest of some is if all are, the least of two if the other is a constant that isn't.
  void addBelow(Value value, int64_t bound, model::Comparison kind,
                std::vector<model::Condition>& conditions) {
    Operation* op = value.getDefiningOp();
    if (isa_and_nonnull<arith::MaxSIOp>(op)) {
      std::vector<model::Condition> left, right;
      addBelow(op->getOperand(0), bound, kind, left);
      addBelow(op->getOperand(1), bound, kind, right);
      if (left.empty() || right.empty())
        return;
      llvm::append_range(conditions, left);
      llvm::append_range(conditions, right);
      return;
    }
    if (isa_and_nonnull<arith::MinSIOp>(op))
      for (const auto& [value, other] : {std::pair(op->getOperand(0), op->getOperand(1)),
                                         {op->getOperand(1), op->getOperand(0)}})
        if (const std::optional<int64_t> fixed = getConstantIntValue(other))
          if (!*model::holds(kind, *fixed - bound, *fixed - bound))
            return addBelow(value, bound, kind, conditions);
    if (std::optional<IndexSum> sum = indices.inBranch(value)) {
      sum->constant -= bound;
      conditions.push_back(indices.condition(kind, *sum));
    }
  }

  /// What must hold for a part of a tensor not to be empty: of a number that was cut to what lies within the
  /// tensor, that each of what it is the least of is more than 0.
  void addNotEmpty(OpFoldResult extent, std::vector<model::Condition>& conditions) {
    if (getConstantIntValue(extent))
      return;
    const Value value = llvm::cast<Value>(extent);
    Operation* op = value.getDefiningOp();
    if (auto more = dyn_cast_or_null<arith::MaxSIOp>(op);
        more && getConstantIntValue(more.getRhs()) == 0)
      return addNotEmpty(more.getLhs(), conditions);
    if (auto least = dyn_cast_or_null<arith::MinSIOp>(op)) {
      addNotEmpty(least.getLhs(), conditions);
      addNotEmpty(least.getRhs(), conditions);
      return;
    }
    if (const std::optional<IndexSum> sum = indices.of(value))
      conditions.push_back(indices.condition(model::Comparison::Greater, *sum));
  }

  void addInstruction(npu::Instruction op, Node* parent, model::Block& block, Scope scope) {
    if (std::optional<Agent> agent = op.getAgent())
      scope = modelAgent(*agent);
    for (const model::Agent agent : agentsIn(scope)) {
      Node* node = add(op, parent, block, NodeKind::Statement);
      node->queue = {agent, queuedOn(op.getPipe(), agent)};
      for (auto&& [number, access] : llvm::enumerate(accessesOf(op))) {
        boundBytes(access, op);
        addAccess(access, static_cast<unsigned>(number), op, *node);
        if (access.region)
          for (const OpFoldResult extent : access.region->extents)
            addNotEmpty(extent, node->conditions);
      }
      markDoneAtBarrier(*node);
    }
  }

  /// What a statement reads behind a barrier that it has inside, it has written before that.
  static void markDoneAtBarrier(Node& node) {
    for (model::Access& write : node.accesses)
      write.isDoneAtBarrier =
          write.isWrite && !write.isBehindBarrier && write.rows == 1 && !write.isGlobal &&
          llvm::any_of(node.accesses, [&](const model::Access& read) {
            return !read.isWrite && read.isBehindBarrier && read.rows == 1 &&
                   read.memory == write.memory && read.terms.empty() && write.terms.empty() &&
                   read.begin <= write.begin && write.end <= read.end;
          });
  }

  /// Functions of which nothing is known count as work of the unit that computes; barriers of all
  /// pipes stand around them.
  static model::Pipe queuedOn(Pipe pipe, model::Agent agent) {
    if (pipe != Pipe::All)
      return modelPipe(pipe);
    return agent == model::Agent::Cube ? model::Pipe::M : model::Pipe::V;
  }

  void addBarrierAll(Operation* op, model::Agent agent, Node* parent, model::Block& block) {
    Node* node = add(op, parent, block, NodeKind::Sync);
    node->sync.kind = SyncKind::BarrierAll;
    node->sync.queue.agent = agent;
  }

  // --- what an instruction touches --------------------------------------------------------------

  void addAccess(const npu::Access& access, unsigned number, Operation* op, Node& node) {
    const Value storage = npu::storageOf(access.buffer);
    const auto type = cast<BufferType>(storage.getType());
    if (type.getSpace() == MemorySpace::Var || type.getSpace() == MemorySpace::Local)
      return;
    model::Access result;
    result.number = number;
    result.isWrite = access.isWrite;
    result.isBehindBarrier = access.isBehindBarrier;
    if (type.getSpace() != MemorySpace::Global) {
      setBytes(access, op, storage, type, result);
    } else {
      const bool isShared = sharedTensors.contains(storage.getAsOpaquePointer());
      result.isOfPart = storage.getDefiningOp<tile::AllocOp>() != nullptr;
      result.isHandedOver = isShared && !result.isOfPart && model.hasOwnCrossFlags &&
                            own == OwnCrossFlags::WithinCores;
      if (model.hasOwnCrossFlags && !result.isOfPart &&
          (own == OwnCrossFlags::WithoutGlobal || (own == OwnCrossFlags::LeftOut && isShared)))
        return;
      result.isGlobal = true;
      result.isAtomic = access.isWrite && op->hasAttr("atomic_add");
      result.memory = result.isHandedOver ? handedOver(storage.getAsOpaquePointer(), node)
                                          : numberOf(storage, firstGlobal);
      setBox(access, op, indices, result);
    }
    node.accesses.push_back(std::move(result));
  }

  static constexpr unsigned firstUnplaced = 16, firstGlobal = 1U << 16, firstHandedOver = 1U << 24;

  /// A tensor as one core has it.
  unsigned handedOver(const void* tensor, const Node& node) {
    const auto count = static_cast<unsigned>(handedOverTensors.size());
    const auto agent = static_cast<unsigned>(node.queue.agent);
    return handedOverTensors.try_emplace({tensor, agent}, firstHandedOver + count).first->second;
  }

  /// What a core has read of the tensors that both kinds touch is over when it sets a flag of the kernel's own.
  void addRelease(SetCrossFlagOp set, Node* parent, model::Block& block, Scope scope) {
    for (const model::Agent agent : agentsIn(scope)) {
      Node* node = add(set, parent, block, NodeKind::Statement);
      node->queue = {agent, modelPipe(set.getPipe())};
      for (Value tensor : set->getParentOfType<func::FuncOp>().getArguments()) {
        if (!sharedTensors.contains(tensor.getAsOpaquePointer()))
          continue;
        model::Access access;
        access.end = model::kUnknownExtent;
        access.isWrite = access.isGlobal = access.isHandedOver = access.isRelease = true;
        access.number = static_cast<unsigned>(node->accesses.size());
        access.memory = handedOver(tensor.getAsOpaquePointer(), *node);
        node->accesses.push_back(std::move(access));
      }
    }
  }

  unsigned numberOf(Value storage, unsigned first) {
    const auto count = static_cast<unsigned>(storages.size());
    return storages.try_emplace(storage.getAsOpaquePointer(), first + count).first->second;
  }

  void setBytes(const npu::Access& access, Operation* op, Value storage, BufferType type,
                model::Access& result) {
    auto alloc = storage.getDefiningOp<tile::AllocOp>();
    const bool isPlaced = alloc && alloc.getAddress();
    const auto base = isPlaced ? static_cast<int64_t>(*alloc.getAddress()) : 0;
    result.isOfPart = alloc && statementOf(alloc);
    result.memory =
        isPlaced ? static_cast<unsigned>(type.getSpace()) : numberOf(storage, firstUnplaced);
    const int64_t size = npu::storageBytes(type);
    result.begin = result.bufferBegin = base;
    result.end = result.bufferEnd = base + size;
    std::optional<IndexSum> offset =
        access.offset ? indices.offsetAt(op, access.offset) : std::nullopt;
    const auto bits = static_cast<int64_t>(access.type().getElementBits());
    if (!offset || (bits < 8 && (!offset->terms.empty() || offset->constant % 2)))
      return;
    const bool isPiece = access.piece && addSteps(*access.piece, op, *offset);
    const std::optional<npu::Access::Rows> rows =
        isPiece ? std::optional(access.piece->rows) : access.rows;
    result.begin = base + offset->constant * bits / 8;
    result.terms = std::move(offset->terms);
    for (model::Term& term : result.terms)
      term.bytes = term.bytes * bits / 8;
    result.line = versionOf(storage, result, base);
    if (rows) {
      result.end = result.begin + rows->bytes;
      result.rows = rows->count;
      result.pitch = rows->pitch;
    } else if (!ShapedType::isDynamic(access.bytes))
      result.end = result.begin + access.bytes;
    else if (!result.terms.empty())
      result.end = result.begin + size; // no offset reaches beyond
  }

  /// The bytes of the one version of a buffer in which an access begins: it doesn't leave them, however much of it isn't
  /// known.
  std::optional<model::Range> versionOf(Value storage, const model::Range& from,
                                        int64_t base) const {
    const int64_t bytes = bytesOfVersion(storage);
    const auto isTurn = [&](const model::Term& term) {
      return term.bytes == bytes && term.modulus > 1 && term.loop < program.nodes.size() &&
             term.table.empty() && term.values.empty();
    };
    const auto turn = llvm::find_if(from.terms, isTurn);
    if (turn == from.terms.end() || bytes == npu::storageBytes(cast<BufferType>(storage.getType())))
      return std::nullopt;
    return model::Range{
        .begin = base, .end = base + bytes, .rows = 1, .pitch = 0, .terms = {*turn}};
  }

  /// Adds to the offset of a tile where its piece begins, if that is known.
  bool addSteps(const npu::Access::Piece& piece, Operation* op, IndexSum& offset) {
    IndexSum begin = offset;
    for (const auto& [value, elements] : piece.steps) {
      std::optional<IndexSum> step = indices.offsetAt(op, value);
      if (!step)
        return false;
      *step *= elements;
      begin += *step;
    }
    begin.simplify();
    offset = std::move(begin);
    return true;
  }

  // --- what waits -------------------------------------------------------------------------------

  void addSync(Operation& op, Node* parent, model::Block& block, Scope scope) {
    if (auto barrier = dyn_cast<PipeBarrierOp>(op)) {
      for (const model::Agent agent : agentsIn(scope))
        addBarrier(barrier, agent, parent, block);
    } else if (auto set = dyn_cast<SetFlagOp>(op)) {
      addFlag(set, SyncKind::Set, set.getEvent(), set.getFrom(), set.getTo(), parent, block, scope);
    } else if (auto wait = dyn_cast<WaitFlagOp>(op)) {
      addFlag(wait, SyncKind::Wait, wait.getEvent(), wait.getFrom(), wait.getTo(), parent, block,
              scope);
    } else if (auto set = dyn_cast<SetCrossFlagOp>(op)) {
      if (own == OwnCrossFlags::WithinCores && model.hasOwnCrossFlags && !set->hasAttr(kWhyAttr))
        addRelease(set, parent, block, scope);
      addCrossFlag(set, SyncKind::Set, set.getFlag(), modelPipe(set.getPipe()), parent, block,
                   scope, set.getMode() == kBetweenKinds);
    } else if (auto wait = dyn_cast<WaitCrossFlagOp>(op)) {
      addCrossFlag(wait, SyncKind::Wait, wait.getFlag(), model::Pipe::S, parent, block, scope);
    } else if (isa<SyncAllOp>(op)) {
      Sync& sync = add(&op, parent, block, NodeKind::Sync)->sync;
      sync.kind = isMeeting(&op) ? SyncKind::Meeting : SyncKind::SyncAll;
      sync.queue.agent = scope.value_or(model::Agent::Vector);
    }
  }

  void addBarrier(PipeBarrierOp op, model::Agent agent, Node* parent, model::Block& block) {
    if (op.getPipe() == Pipe::All) {
      addBarrierAll(op, agent, parent, block);
    } else if (isOfAgent(op.getPipe(), agent)) {
      Node* node = add(op, parent, block, NodeKind::Sync);
      node->sync.kind = SyncKind::Barrier;
      node->sync.queue = {agent, modelPipe(op.getPipe())};
    }
  }

  void addFlag(Operation* op, SyncKind kind, Value event, Pipe from, Pipe to, Node* parent,
               model::Block& block, Scope scope) {
    constexpr int64_t lastEvent = 7;
    const std::optional<FlagNumber> number =
        notFollowed.contains(op) ? std::nullopt : flagNumber(indices.of(event), program, lastEvent);
    for (const model::Agent agent : agentsIn(scope)) {
      if (!model::hasEvent(agent, modelPipe(from), modelPipe(to)))
        continue;
      const Queue source{agent, modelPipe(from)}, target{agent, modelPipe(to)};
      const unsigned first = flagsBetween(source, target, lastEvent);
      if (!number) {
        model.unknownEvent = model.unknownEvent ? model.unknownEvent : op;
        for (unsigned event = 0; event <= lastEvent; ++event)
          program.reserved.insert(first + event);
        continue;
      }
      Sync& sync = add(op, parent, block, NodeKind::Sync)->sync;
      sync.kind = kind;
      sync.queue = kind == SyncKind::Set ? source : target;
      sync.flag = first + static_cast<unsigned>(number->least);
      sync.turns = number->turns;
    }
  }

  /// A flag between cores: one that the compiler has put in, or of the kernel's own.
  void addCrossFlag(Operation* op, SyncKind kind, Value number, model::Pipe pipe, Node* parent,
                    model::Block& block, Scope scope, bool isBetweenKinds = true) {
    const bool isOwn = !op->hasAttr(kWhyAttr);
    const std::optional<IndexSum> id = indices.of(number);
    if (isOwn && own != OwnCrossFlags::Shown)
      return reserveCross(id);
    const std::optional<FlagNumber> known = flagNumber(id, program, crossFlags - 1);
    if (!known || notFollowed.contains(op)) {
      model.unknownCrossFlag = model.unknownCrossFlag ? model.unknownCrossFlag : op;
      return;
    }
    for (const model::Agent agent : agentsIn(scope)) {
      if (!isOfAgent(static_cast<Pipe>(pipe), agent))
        continue; // it has no such pipe: nothing becomes of the set there
      const bool isToOther = kind == SyncKind::Set && isBetweenKinds;
      Sync& sync = add(op, parent, block, NodeKind::Sync)->sync;
      sync.kind = kind;
      sync.queue = {agent, pipe};
      sync.flag =
          crossFlagsTo(isToOther ? otherThan(agent) : agent) + static_cast<unsigned>(known->least);
      sync.turns = known->turns;
    }
  }

  /// A flag of the kernel's own is not for the compiler, whichever core waits for it.
  void reserveCross(const std::optional<IndexSum>& id) {
    const bool isOne = id && id->terms.empty();
    for (int64_t each = 0; each < crossFlags; ++each)
      if (!isOne || id->constant == each)
        program.reserved.insert(crossFlagsTo(model::Agent::Vector) + static_cast<unsigned>(each));
  }

  static constexpr int64_t crossFlags = 16;
  static constexpr int64_t kBetweenKinds =
      2; ///< the mode of a set; the others tell cores of one kind

  static model::Agent otherThan(model::Agent agent) {
    return agent == model::Agent::Cube ? model::Agent::Vector : model::Agent::Cube;
  }

  /// The first of all flags that an agent waits for; nearly always the other one sets them.
  unsigned crossFlagsTo(model::Agent agent) {
    auto [at, isNew] =
        firstCrossFlags.try_emplace(agent, static_cast<unsigned>(program.flags.size()));
    for (unsigned id = 0; isNew && id < crossFlags; ++id)
      program.addFlag({otherThan(agent), model::Pipe::S}, {agent, model::Pipe::S}, id,
                      /*isCross=*/true);
    return at->second;
  }

  /// The first of all events between two queues.
  unsigned flagsBetween(Queue from, Queue to, unsigned last) {
    auto [at, isNew] =
        events.try_emplace({from.index(), to.index()}, static_cast<unsigned>(program.flags.size()));
    for (unsigned id = 0; isNew && id <= last; ++id)
      program.addFlag(from, to, id);
    return at->second;
  }

  ModelOfKernel& model;
  model::Program& program;
  OwnCrossFlags own;
  Scope side;                              ///< in which what is added stands
  const std::set<Operation*>& notFollowed; ///< flags whose numbers count as unknown
  bool isMixed = false;                    ///< both kinds of core run, also one that only waits
  IndexTerms indices;
  std::map<unsigned, std::pair<IndexSum, int64_t>>
      lengths; ///< by loop: from its first number to its end, and the step
  llvm::DenseMap<Value, unsigned> questions; ///< what branches ask
  ModelVariables variables;
  OwnWays ways;
  std::set<void*> sharedTensors;
  std::map<void*, unsigned> storages;
  std::map<std::pair<const void*, unsigned>, unsigned> handedOverTensors; ///< by kind of core
  std::map<std::pair<unsigned, unsigned>, unsigned> events;
  std::map<model::Agent, unsigned> firstCrossFlags;
};

/// Flags of events whose turns are too many for the phases of their loops.
std::set<Operation*> eventsWithoutPhases(const model::Program& program) {
  std::set<Operation*> found;
  const std::vector<int64_t> known = model::periods(program);
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::Sync && !model::isKnownByPeriods(node.sync, known))
      found.insert(operationOf(&node));
  return found;
}

} // namespace

std::unique_ptr<ModelOfKernel> buildProgram(func::FuncOp kernel, OwnCrossFlags own) {
  std::set<Operation*> notFollowed;
  while (true) {
    auto model = std::make_unique<ModelOfKernel>();
    const Translator translator(kernel, *model, own, notFollowed);
    // Flags between cores are followed in turns that are written out.
    const size_t before = notFollowed.size();
    if (own != OwnCrossFlags::Shown)
      notFollowed.merge(eventsWithoutPhases(model->program));
    if (notFollowed.size() == before)
      return model;
  }
}

} // namespace tilewright::ascend
