// SPDX-License-Identifier: Apache-2.0
/// InsertFlags: makes every instruction wait for what it depends on.
///
///   npu.load_ub %A[%i] [64] : ... to %x[%c0] ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c64)
/// becomes
///   npu.load_ub %A[%i] [64] : ... to %x[%c0] ...
///   ascend.set_flag mte2 to v, %c0 {ascend.why = "exp (line 6) needs what T.copy to UB (line 5) writes to 'x'",
///                                   ascend.why_number = 0}
///   ascend.wait_flag mte2 to v, %c0 {ascend.why = ..., ascend.why_number = 0}
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ... count(%c64)
///
/// Of a kernel with flags of its own only the parts of one statement are ordered (mark_statements.h). What such flags
/// between cores order, there and back, gets none (own_order.h).
/// Between the cube and the vector cores it puts cross-core flags. It stands behind the planning of
/// memory, because reuse of bytes makes hazards, and before the split, while both kinds of core are
/// in one text order. docs/ascend-sync.md says how it works.
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
#include "compiler/targets/ascend/analysis/turn_order.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/mark_statements.h"
#include "compiler/targets/ascend/own_order.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <map>
#include <set>
#include <tuple>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::Hazard;
using model::Insertion;
using model::Node;
using model::Sync;
using model::SyncKind;

Agent agentOf(model::Queue queue) {
  return queue.agent == model::Agent::Cube ? Agent::Cube : Agent::Vector;
}

Pipe pipeOf(model::Queue queue) {
  return static_cast<Pipe>(queue.pipe);
}

/// Writes the syncs of a model back into the kernel.
class Writer {
public:
  Writer(const ModelOfKernel& model, const model::Conflicts& conflicts,
         const std::vector<Insertion>& insertions)
      : model(model), conflicts(conflicts), insertions(insertions) {}

  void write() {
    for (const Node& node : model.program.nodes) {
      Operation* op = operationOf(&node);
      if (!node.before.empty())
        writeAll(node.before, node, OpBuilder(op));
      if (!node.after.empty()) {
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(endOf(op));
        writeAll(node.after, node, builder);
      }
    }
  }

private:
  /// What a function queues is done behind the barrier that follows its call.
  static Operation* endOf(Operation* op) {
    Operation* next = op->getNextNode();
    const bool isOpaque = isa<npu::CallOp>(op) && cast<npu::CallOp>(op).getPipe() == Pipe::All;
    return isOpaque && isa_and_present<ScopeOp, PipeBarrierOp>(next) ? next : op;
  }

  void writeAll(const std::vector<Sync>& syncs, const Node& node, OpBuilder builder) {
    for (const Sync& sync : syncs)
      if (sync.insertion != model::kNone)
        writeOne(sync, node, builder);
  }

  const Insertion& insertionOf(const Sync& sync) const {
    return *llvm::find_if(insertions,
                          [&](const Insertion& each) { return each.number == sync.insertion; });
  }

  void writeOne(const Sync& sync, const Node& node, OpBuilder& builder) {
    const Insertion& insertion = insertionOf(sync);
    Operation* op = operationOf(&node);
    const Location place =
        operationOf(sync.kind == SyncKind::Set ? insertion.why.earlier : insertion.why.later)
            ->getLoc();
    OpBuilder::InsertionGuard guard(builder);
    auto around = op->getParentOfType<ScopeOp>();
    const bool isForeign = around && around.getAgent() != agentOf(sync.queue);
    Operation** last = isForeign ? leave(around, sync.kind, builder) : nullptr;
    Operation* outer = nullptr;
    if ((!around || isForeign) && needsScope(insertion)) {
      auto scope = ScopeOp::create(builder, place, agentOf(sync.queue));
      builder.setInsertionPointToStart(&scope.getBody().emplaceBlock());
      outer = scope;
    }
    Operation* made = make(sync, insertion, place, builder);
    if (last)
      *last = outer ? outer : made;
    made->setAttr(kWhyAttr, builder.getStringAttr(
                                insertion.holds ? describeHold(insertion.why)
                                                : describeWithPlaces(insertion.why, conflicts)));
    made->setAttr(kWhyNumberAttr, builder.getI64IntegerAttr(insertion.number));
  }

  /// To before or behind a scope of the other kind of core, which does nothing in there: before it what tells, behind it
  /// what waits, unless all of the scope lies on one side. Behind it the result is where to keep what comes last.
  Operation** leave(ScopeOp scope, SyncKind kind, OpBuilder& builder) {
    Block& body = scope.getBody().front();
    const bool isInside = builder.getInsertionBlock() != &body; // of a loop of the other kind
    Operation* loop = isInside
                          ? body.findAncestorOpInBlock(*builder.getInsertionBlock()->getParentOp())
                          : nullptr;
    const Block::iterator place = loop ? loop->getIterator() : builder.getInsertionPoint();
    const bool isFirst =
        std::all_of(body.begin(), place, [](Operation& op) { return isPure(&op); });
    const bool isLast = !loop && place == body.end();
    if (isFirst || (!isLast && kind == SyncKind::Set)) {
      builder.setInsertionPoint(scope);
      return nullptr;
    }
    Operation*& last = lastBehind.try_emplace(scope, scope).first->second;
    builder.setInsertionPointAfter(last);
    return &last;
  }

  /// Whether the op alone doesn't say which core runs it.
  bool needsScope(const Insertion& insertion) const {
    if (insertion.isCross)
      return true;
    if (!(model.hasCube && model.hasVector))
      return false;
    const auto isOfBoth = [](model::Pipe pipe) {
      return pipe == model::Pipe::MTE2 || pipe == model::Pipe::MTE3 || pipe == model::Pipe::S;
    };
    return insertion.isBarrierOfAll ||
           (isOfBoth(insertion.from.pipe) && isOfBoth(insertion.to.pipe));
  }

  Operation* make(const Sync& sync, const Insertion& insertion, Location place,
                  OpBuilder& builder) {
    if (sync.kind == SyncKind::Barrier)
      return PipeBarrierOp::create(builder, place, pipeOf(sync.queue));
    if (sync.kind == SyncKind::BarrierAll)
      return PipeBarrierOp::create(builder, place, Pipe::All);
    const Value event = eventOf(sync, place, builder);
    const bool isSet = sync.kind == SyncKind::Set;
    if (insertion.isCross && isSet)
      return SetCrossFlagOp::create(builder, place, pipeOf(insertion.from), event, 2);
    if (insertion.isCross)
      return WaitCrossFlagOp::create(builder, place, event, Pipe::All);
    const Pipe from = pipeOf(insertion.from), to = pipeOf(insertion.to);
    if (isSet)
      return SetFlagOp::create(builder, place, from, to, event);
    return WaitFlagOp::create(builder, place, from, to, event);
  }

  /// The event's id: a constant, or in turn by the number of the iteration.
  Value eventOf(const Sync& sync, Location place, OpBuilder& builder) {
    const auto constant = [&](int64_t number) -> Value {
      return arith::ConstantIndexOp::create(builder, place, number);
    };
    const int64_t first = model.program.flags[sync.flag].id;
    if (sync.turns.empty())
      return constant(first);
    const model::Term& term = sync.turns.front(); // of what was inserted, one of one loop
    Value turn = turnOf(operationOf(&model.program.nodes[term.loop]), term.modulus, place, builder);
    return first == 0 ? turn : arith::AddIOp::create(builder, place, turn, constant(first));
  }

  /// The number of the iteration, modulo `modulus`.
  Value turnOf(Operation* op, int64_t modulus, Location place, OpBuilder& builder) {
    auto loop = dyn_cast<tile::ForOp>(op);
    if (!loop) {
      Value number = tile::LoadOp::create(builder, place, builder.getI32Type(),
                                          counterOf(op, modulus), ValueRange(),
                                          /*in_bounds=*/false);
      return arith::IndexCastOp::create(builder, place, builder.getIndexType(), number);
    }
    Value turn = loop.getInductionVar();
    if (getConstantIntValue(loop.getLower()) != 0)
      turn = arith::SubIOp::create(builder, place, turn, loop.getLower());
    if (getConstantIntValue(loop.getStep()) != 1)
      turn = arith::DivSIOp::create(builder, place, turn, loop.getStep());
    Value most = arith::ConstantIndexOp::create(builder, place, modulus);
    return arith::RemSIOp::create(builder, place, turn, most);
  }

  /// A variable that counts the turns of a `while`, modulo `modulus`.
  Value counterOf(Operation* loop, int64_t modulus) {
    Value& counter = counters[{loop, modulus}];
    if (counter)
      return counter;
    const Location place = loop->getLoc();
    OpBuilder builder(loop);
    const auto type = IntegerType::get(loop->getContext(), 32, IntegerType::Signed);
    const auto constant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(builder, place, builder.getI32IntegerAttr(int32_t(number)));
    };
    const auto store = [&](Value number) {
      tile::StoreOp::create(builder, place, number, counter, ValueRange(), /*in_bounds=*/false);
    };
    counter = tile::AllocOp::create(builder, place,
                                    tile::BufferType::get({}, type, tile::MemorySpace::Var),
                                    builder.getStringAttr("turn"), IntegerAttr());
    store(constant(0));
    Block& body = cast<tile::WhileOp>(loop).getBody().front();
    if (body.mightHaveTerminator())
      builder.setInsertionPoint(body.getTerminator());
    else
      builder.setInsertionPointToEnd(&body);
    Value now = tile::LoadOp::create(builder, place, builder.getI32Type(), counter, ValueRange(),
                                     /*in_bounds=*/false);
    Value next = arith::AddIOp::create(builder, place, now, constant(1));
    store(arith::RemSIOp::create(builder, place, next, constant(modulus)));
    return counter;
  }

  const ModelOfKernel& model;
  const model::Conflicts& conflicts;
  const std::vector<Insertion>& insertions;
  std::map<std::pair<Operation*, int64_t>, Value> counters;
  llvm::DenseMap<Operation*, Operation*> lastBehind; ///< of what has left a scope
};

/// All ends, with the scopes that are there for them alone.
void eraseInsertion(func::FuncOp kernel, unsigned number) {
  SmallVector<Operation*> ends;
  kernel.walk([&](Operation* op) {
    auto of = op->getAttrOfType<IntegerAttr>(kWhyNumberAttr);
    if (of && of.getInt() == number)
      ends.push_back(op);
  });
  for (Operation* end : ends) {
    auto scope = dyn_cast<ScopeOp>(end->getParentOp());
    end->erase();
    if (scope && llvm::all_of(scope.getBody().front(), [](Operation& op) { return isPure(&op); }))
      scope.erase();
  }
}

struct InsertFlags : KernelPass<InsertFlags> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InsertFlags)
  static constexpr llvm::StringLiteral kArgument = "ascend-insert-flags";
  static constexpr llvm::StringLiteral kDescription =
      "make every instruction wait for what it depends on";

  InsertFlags() = default;
  InsertFlags(WithinCores withinCores, bool betweenCores)
      : withinCores(withinCores), betweenCores(betweenCores) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    if (getOperation().getOps<tile::LaunchOp>().empty())
      return; // not a kernel
    const std::unique_ptr<ModelOfKernel> model =
        buildProgram(getOperation(), OwnCrossFlags::WithinCores);
    if (model->exit && withinCores == WithinCores::None && !betweenCores) {
      forgetOwnBuffers(model->program);
    } else if (model->exit) {
      model->exit->emitError("flags cannot be inserted in a loop that is left early: "
                             "ascend-structure-exits makes a branch of it");
      return signalPassFailure();
    }
    const model::Conflicts conflicts(model->program);
    model::InsertOptions options;
    options.withinAgents = withinCores != WithinCores::None;
    options.scalarOnly = withinCores == WithinCores::ScalarUnit;
    options.ofParts = withinCores != WithinCores::All;
    options.betweenAgents = betweenCores && !model->hasOwnCrossFlags;
    const model::Inserted inserted = insertFlags(model->program, conflicts, options);
    // Parts of one statement differ in nothing that the kernel's author sees.
    std::set<std::tuple<std::string, const void*, const void*>> told;
    DenseSet<Location> refused;
    for (const model::Unorderable& failure : inserted.failures) {
      if (isOfElement(failure.hazard, refused))
        continue;
      const std::string text = describe(failure.hazard, conflicts) + ", but " + failure.reason;
      Operation *earlier = operationOf(failure.hazard.earlier),
                *later = operationOf(failure.hazard.later);
      if (!told.emplace(text, earlier->getLoc().getAsOpaquePointer(),
                        later->getLoc().getAsOpaquePointer())
               .second)
        continue;
      InFlightDiagnostic error = later->emitError(text);
      error.attachNote(earlier->getLoc()) << "the earlier one is here";
    }
    if (!inserted.failures.empty())
      return signalPassFailure();
    Writer(*model, conflicts, inserted.insertions).write();
    if (model->hasOwnCrossFlags && !model->exit)
      dropOrderedByOwnFlags(*model, conflicts, inserted.insertions);
    unmarkStatements(getOperation());
  }

  /// Whether no flag can order the two because the way to them is up to an element of UB: an error of each such element.
  static bool isOfElement(const Hazard& hazard, DenseSet<Location>& refused) {
    for (const model::Node* node : {hazard.later, hazard.earlier}) {
      if (node->queue.agent != model::Agent::Cube)
        continue;
      if (npu::GetValueOp read = elementAskedAround(operationOf(node))) {
        if (refused.insert(read.getLoc()).second)
          refuseElement(read, Agent::Cube, operationOf(node));
        return true;
      }
    }
    return false;
  }

  /// The branches around the two on the number of the loop that carries it leave it no turns.
  static bool isInNoRun(const Hazard& hazard) {
    return hazard.carriedBy &&
           model::isNeverBehind(*hazard.later, *hazard.earlier, *hazard.carriedBy);
  }

  /// Takes out what the kernel's own flags, there and back, order too: the model knows nothing of them.
  void dropOrderedByOwnFlags(ModelOfKernel& model, const model::Conflicts& conflicts,
                             ArrayRef<Insertion> insertions) {
    OwnOrder order(getOperation());
    if (!order.isFollowed() || !order.faults().empty() || !order.areOfAllLengths())
      return;
    const auto isTold = [&](unsigned number) {
      if (order.isComplete())
        return true;
      const std::vector<Hazard> with = check(model.program, conflicts).hazards,
                                without = check(model.program, conflicts, number).hazards;
      return llvm::all_of(without, [&](const Hazard& hazard) {
        return llvm::is_contained(with, hazard) || isInNoRun(hazard) ||
               order.tellsOf(hazard, conflicts);
      });
    };
    for (const Insertion& insertion : insertions) {
      const unsigned number = insertion.number;
      if (insertion.isCross || !isTold(number) || !order.leaveOut(number))
        continue;
      remove(model.program, number);
      eraseInsertion(getOperation(), number);
    }
  }

  /// Nothing leaves a statement in its middle, but what is ordered from one turn of a loop to the next would be
  /// set and never waited for.
  static void forgetOwnBuffers(model::Program& program) {
    for (Node& node : program.nodes)
      for (model::Access& access : node.accesses)
        access.isOfPart = false;
  }

  WithinCores withinCores = WithinCores::All;
  bool betweenCores = true;
};

} // namespace

std::unique_ptr<Pass> createInsertFlags(WithinCores withinCores, bool betweenCores) {
  return std::make_unique<InsertFlags>(withinCores, betweenCores);
}

} // namespace tilewright::ascend
