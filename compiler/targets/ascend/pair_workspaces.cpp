// SPDX-License-Identifier: Apache-2.0
/// PairWorkspaces: where the programs of the cube and of the vector cores stand one behind the other, they
/// become one text, in which what one core writes to a workspace stands before where the other reads it.
///
///   ascend.scope cube { tile.for %k = 0 to 4 { a; tile.copy %c to %workspace[...] } }
///   ascend.scope vector { tile.for %j = 0 to 4 { tile.copy %workspace[...] to %x; b } }
/// becomes
///   tile.for %k = 0 to 4 {
///     ascend.scope cube { a; tile.copy %c to %workspace[...] }
///     ascend.scope vector { tile.copy %workspace[...] to %x; b }
///   }
///
/// Without scopes, the statements of the two cores stand in one text, in which a core may read a workspace
/// before the other's statement that alone writes it: such a reader, and what its core does behind it,
/// moves behind the writer. So does what reads a tile that a copy brings from the other core, if nothing
/// else has written it: a gemm of tiles that a loop behind it gathers, in the kernels' own order.
///
/// The text order alone would have all of the first program before the second. Kernels that are written so
/// mean the i-th use of a workspace by one core to go with the i-th use by the other, as TileLang-Ascend
/// pairs them, by name: the tensor's name has "workspace" in it. Only such kernels, without cross-core flags
/// of their own, are touched; of all others the flow of data says enough. InsertFlags then finds the flags.
/// It stands first.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <deque>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using Workspaces = llvm::SmallPtrSet<void*, 4>;

/// The tensor behind a value if its name says that it is a workspace; else null.
void* workspaceOf(Value value) {
  const Value storage = npu::storageOf(value);
  auto argument = dyn_cast<BlockArgument>(storage);
  auto kernel = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kNameAttr)
                     : nullptr;
  return name && name.getValue().contains("workspace") ? storage.getAsOpaquePointer() : nullptr;
}

/// The workspaces that `op`, or what it holds, reads or writes.
Workspaces workspacesOf(Operation* op, bool written) {
  Workspaces found;
  op->walk([&](tile::CopyOp copy) {
    if (void* space = workspaceOf(written ? copy.getTarget() : copy.getSource()))
      found.insert(space);
  });
  return found;
}

bool haveCommon(const Workspaces& a, const Workspaces& b) {
  return llvm::any_of(a, [&](void* each) { return b.contains(each); });
}

bool haveSameBounds(tile::ForOp a, tile::ForOp b) {
  return isSameNumber(a.getLower(), b.getLower()) && isSameNumber(a.getUpper(), b.getUpper()) &&
         isSameNumber(a.getStep(), b.getStep());
}

bool dependsOn(Value value, Value number) {
  if (value == number)
    return true;
  Operation* op = value.getDefiningOp();
  return op &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOn(operand, number); });
}

/// Whether each iteration of a loop writes to where the one before has written, in one of `spaces`.
bool overwrites(tile::ForOp loop, const Workspaces& spaces) {
  const WalkResult found = loop.walk([&](tile::CopyOp copy) {
    void* space = workspaceOf(copy.getTarget());
    const bool moves = llvm::any_of(copy->getOperands(), [&](Value operand) {
      return operand.getType().isIndex() && dependsOn(operand, loop.getInductionVar());
    });
    return space && spaces.contains(space) && !moves ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// What the cores hand to each other: tensors that are named so, and tiles that copies lead across.
struct Handed {
  Workspaces tiles;

  /// Of these, what `op`, or what it holds, reads, or what copies in it write.
  Workspaces of(Operation* op, bool written) const {
    Workspaces found = workspacesOf(op, written);
    if (tiles.empty())
      return found;
    op->walk([&](Operation* inner) {
      auto copy = dyn_cast<tile::CopyOp>(inner);
      for (Value operand : inner->getOperands())
        if (void* tile = tileOf(inner, operand); tiles.contains(tile))
          if ((copy && copy.getTarget() == operand) == written)
            found.insert(tile);
    });
    return found;
  }

  /// The tile that an operation uses; null if it only names it.
  static void* tileOf(Operation* op, Value operand) {
    return isa<tile::BufferType>(operand.getType()) && !isa<tile::ViewOp>(op)
               ? npu::storageOf(operand).getAsOpaquePointer()
               : nullptr;
  }
};

/// What is left of one core's program.
struct Program {
  Agent agent;
  std::deque<Operation*> ops;

  Program(Agent agent) : agent(agent) {}
  Program(Agent agent, Block& block) : agent(agent) {
    for (Operation& op : block)
      if (!op.hasTrait<OpTrait::IsTerminator>())
        ops.push_back(&op);
  }
  Workspaces written(const Handed& handed) const {
    Workspaces all;
    for (Operation* op : ops)
      all.insert_range(handed.of(op, true));
    return all;
  }
};

/// Writes two programs as one.
class Merger {
public:
  explicit Merger(bool scoped, Handed handed = {}) : scoped(scoped), handed(std::move(handed)) {}

  /// False if neither can go on: each waits for the other.
  bool merge(Program& first, Program& second, OpBuilder& at) {
    while (!first.ops.empty() || !second.ops.empty()) {
      const bool hasFirst = goOn(first, second, at), hasSecond = goOn(second, first, at);
      if (!hasFirst && !hasSecond && !mergeLoops(first, second, at))
        return false;
    }
    return true;
  }

private:
  /// Takes over what `program` can do before `other` has done more.
  bool goOn(Program& program, const Program& other, OpBuilder& at) {
    bool any = false;
    while (!program.ops.empty()) {
      Operation* op = program.ops.front();
      if (haveCommon(handed.of(op, false), other.written(handed)) || isInLoopOfBoth(op, other))
        return any;
      take(program, at);
      any = true;
    }
    return any;
  }

  /// A loop that writes what a loop of the other core reads waits for that.
  static bool isInLoopOfBoth(Operation* op, const Program& other) {
    auto loop = dyn_cast<tile::ForOp>(op);
    if (!loop)
      return false;
    const Workspaces written = workspacesOf(op, true);
    return llvm::any_of(other.ops, [&](Operation* later) {
      auto reader = dyn_cast<tile::ForOp>(later);
      return reader && haveSameBounds(loop, reader) &&
             haveCommon(written, workspacesOf(later, false));
    });
  }

  /// Values are for both cores, so that all that follows may use them.
  void take(Program& program, OpBuilder& at) const {
    Operation* op = program.ops.front();
    program.ops.pop_front();
    if (!scoped || op->getNumResults() > 0) {
      op->moveBefore(at.getInsertionBlock(), at.getInsertionPoint());
      return;
    }
    Operation* before = at.getInsertionPoint() == at.getInsertionBlock()->begin()
                            ? nullptr
                            : &*std::prev(at.getInsertionPoint());
    auto scope = dyn_cast_or_null<ScopeOp>(before);
    if (!scope || scope.getAgent() != program.agent) {
      scope = ScopeOp::create(at, op->getLoc(), program.agent);
      scope.getBody().emplaceBlock();
    }
    Block& body = scope.getBody().front();
    op->moveBefore(&body, body.end());
  }

  bool mergeLoops(Program& first, Program& second, OpBuilder& at) {
    auto one = first.ops.empty() ? nullptr : dyn_cast<tile::ForOp>(first.ops.front());
    auto other = second.ops.empty() ? nullptr : dyn_cast<tile::ForOp>(second.ops.front());
    if (!one || !other || !haveSameBounds(one, other))
      return false;
    first.ops.pop_front();
    second.ops.pop_front();
    one->moveBefore(at.getInsertionBlock(), at.getInsertionPoint());
    other.getInductionVar().replaceAllUsesWith(one.getInductionVar());
    Program left(first.agent, *one.getBodyBlock()), right(second.agent, *other.getBodyBlock());
    OpBuilder inside(one.getBodyBlock()->getTerminator());
    if (!merge(left, right, inside))
      return false;
    other->erase();
    return true;
  }

  bool scoped; ///< whether each piece of a program gets a scope of its own
  Handed handed;
};

void emitStuck(const Program& one, const Program& other) {
  Operation* stuck = one.ops.empty() ? other.ops.front() : one.ops.front();
  stuck->emitError("this reads a workspace that the other core writes only after it has read "
                   "another from here: the uses of workspaces go in pairs, in their order");
}

/// The cores that do something, as far as the memories that it names say so.
struct Doers {
  bool cube = false, vector = false;

  Doers& operator|=(const Doers& other) {
    cube |= other.cube;
    vector |= other.vector;
    return *this;
  }
  bool isOne() const {
    return cube != vector;
  }
};

constexpr Doers kBoth = {true, true};

Doers doersOf(Value buffer) {
  const Value tile = npu::storageOf(buffer);
  switch (cast<tile::BufferType>(tile.getType()).getSpace()) {
  case tile::MemorySpace::L1:
  case tile::MemorySpace::L0A:
  case tile::MemorySpace::L0B:
  case tile::MemorySpace::L0C:
    return {true, false};
  case tile::MemorySpace::UB:
    return {false, true};
  case tile::MemorySpace::Shared:
  case tile::MemorySpace::Fragment: {
    Doers doers;
    for (Operation* user : npu::usersOf(tile)) {
      doers.cube |= isa<tile::GemmOp>(user);
      doers.vector |= !isa<tile::GemmOp, tile::CopyOp, tile::FillOp, tile::ViewOp>(user);
    }
    return doers.cube ? doers : Doers{false, true};
  }
  default:
    return {};
  }
}

/// Whether a copy leads from one core's tile to the other's. It belongs to the core that has the source.
bool isAcross(tile::CopyOp copy) {
  const Doers from = doersOf(copy.getSource()), to = doersOf(copy.getTarget());
  return from.isOne() && to.isOne() && from.cube != to.cube;
}

bool mayWrite(Operation* op, Value tile) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  return !interface || llvm::any_of(op->getOperands(), [&](Value operand) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (isa<tile::BufferType>(operand.getType()) && npu::storageOf(operand) == tile)
      interface.getEffectsOnValue(operand, effects);
    return llvm::any_of(
        effects, [](const auto& effect) { return isa<MemoryEffects::Write>(effect.getEffect()); });
  });
}

/// Statements of both cores that stand one behind the other in a block.
class WorkspaceStretch {
public:
  explicit WorkspaceStretch(Block& block) : block(&block) {}

  /// Whether `op` was added: nothing that both cores do, or what is no copy or computation of tiles, is part of it.
  bool add(Operation* op) {
    Doers doers;
    op->walk([&](Operation* inner) { doers |= doersWithin(inner); });
    if (doers.cube && doers.vector)
      return false;
    if (doers.isOne())
      ops.push_back(op);
    done[op] = doers;
    op->walk([&](tile::CopyOp copy) {
      if (isAcross(copy))
        handed.tiles.insert(npu::storageOf(copy.getTarget()).getAsOpaquePointer());
    });
    return true;
  }

  /// The readers behind their writers, in front of `end`.
  LogicalResult pair(Operation* end) {
    if ((!isReadFirst() && !areTilesReadFirst()) || !areTilesInOrder() || sharesTensors())
      return success();
    Program cube(Agent::Cube), vector(Agent::Vector);
    for (Operation* op : ops)
      (done[op].cube ? cube : vector).ops.push_back(op);
    OpBuilder at(end);
    if (Merger(/*scoped=*/false, handed).merge(cube, vector, at))
      return success();
    emitStuck(cube, vector);
    return failure();
  }

private:
  Doers doersWithin(Operation* op) const {
    Doers doers;
    auto copy = dyn_cast<tile::CopyOp>(op);
    const bool leadsAcross = copy && isAcross(copy);
    for (Value operand : op->getOperands()) {
      if (leadsAcross && operand == copy.getTarget())
        continue;
      if (isa<tile::BufferType>(operand.getType()))
        doers |= doersOf(operand);
      else if (Operation* source = operand.getDefiningOp())
        doers |= done.lookup(source);
    }
    const bool isKnown =
        isPure(op) ||
        isa<tile::AllocOp, tile::ForOp, tile::ParallelOp, scf::IfOp, tile::LoadOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>();
    return isKnown || doers.isOne() ? doers : kBoth;
  }

  /// Whether a workspace is read before the other core's statement behind it, the only one to write it.
  bool isReadFirst() {
    for (auto reader = ops.begin(); reader != ops.end(); ++reader)
      for (void* space : workspacesOf(*reader, false)) {
        const auto writes = [&](Operation* op) { return workspacesOf(op, true).contains(space); };
        const bool isBefore = std::any_of(ops.begin(), std::next(reader), writes);
        const bool isBehind = std::any_of(std::next(reader), ops.end(), [&](Operation* op) {
          return done[op].cube != done[*reader].cube && writes(op);
        });
        if (!isBefore && isBehind && isWrittenHereOnly(space))
          return true;
      }
    return false;
  }

  /// The same of a tile that a copy brings across.
  bool areTilesReadFirst() {
    return llvm::any_of(handed.tiles, [&](void* tile) { return !readersBefore(tile).empty(); });
  }

  /// Whether each such tile is brought once, and what uses it before can't mean what the text says: nothing has
  /// written it in the first turn.
  bool areTilesInOrder() {
    return llvm::all_of(handed.tiles, [&](void* tile) {
      const auto brings = [&](Operation* op) { return handed.of(op, true).contains(tile); };
      const SmallVector<Operation*> readers = readersBefore(tile);
      const auto finds = [&](Operation* reader) { return isRead(tile, reader); };
      return llvm::count_if(ops, brings) == 1 &&
             (readers.empty() || (isFilledBehind(tile, readers) && llvm::any_of(readers, finds)));
    });
  }

  SmallVector<Operation*> readersBefore(void* tile) {
    SmallVector<Operation*> readers;
    for (Operation* op : ops) {
      if (handed.of(op, true).contains(tile))
        break;
      if (handed.of(op, false).contains(tile))
        readers.push_back(op);
    }
    return readers;
  }

  /// Whether `op`, or what it holds, reads the tile whenever the block runs.
  bool isRead(void* tile, Operation* op) {
    return op
        ->walk([&](Operation* inner) {
          const bool reads = llvm::any_of(inner->getOperands(), [&](Value operand) {
            return Handed::tileOf(inner, operand) == tile;
          });
          return reads && runsAlways(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool runsAlways(Operation* op) {
    for (; op->getBlock() != block; op = op->getParentOp())
      if (auto loop = dyn_cast<tile::ForOp>(op->getParentOp())) {
        const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                                     upper = getConstantIntValue(loop.getUpper());
        if (!lower || !upper || *lower >= *upper)
          return false;
      } else if (!isa<tile::ParallelOp>(op->getParentOp())) {
        return false;
      }
    return true;
  }

  /// Whether nothing writes a tile but what stands behind `readers` here.
  bool isFilledBehind(void* tile, ArrayRef<Operation*> readers) {
    const Value storage = Value::getFromOpaquePointer(tile);
    return llvm::none_of(npu::usersOf(storage), [&](Operation* user) {
      const auto holds = [&](Operation* op) { return op->isAncestor(user); };
      return mayWrite(user, storage) && (llvm::any_of(readers, holds) || llvm::none_of(ops, holds));
    });
  }

  bool isWrittenHereOnly(void* space) {
    const WalkResult found =
        block->getParentOp()->getParentOfType<func::FuncOp>().walk([&](tile::CopyOp copy) {
          const bool isElsewhere =
              workspaceOf(copy.getTarget()) == space &&
              llvm::none_of(ops, [&](Operation* op) { return op->isAncestor(copy); });
          return isElsewhere ? WalkResult::interrupt() : WalkResult::advance();
        });
    return !found.wasInterrupted();
  }

  /// Whether the cores share another tensor that one of them writes: its order counts, too.
  bool sharesTensors() {
    llvm::SmallPtrSet<void*, 8> touched[2], written[2];
    for (Operation* top : ops)
      top->walk([&](Operation* op) {
        const size_t core = done[top].cube ? 0 : 1;
        auto copy = dyn_cast<tile::CopyOp>(op);
        for (Value operand : op->getOperands()) {
          auto type = dyn_cast<tile::BufferType>(operand.getType());
          if (!type || !type.isGlobal() || workspaceOf(operand))
            continue;
          void* tensor = npu::storageOf(operand).getAsOpaquePointer();
          touched[core].insert(tensor);
          if (!isa<tile::LoadOp, tile::ViewOp, tile::DimOp>(op) &&
              (!copy || copy.getTarget() == operand))
            written[core].insert(tensor);
        }
      });
    const auto meet = [&](size_t core) {
      return llvm::any_of(written[core],
                          [&](void* each) { return touched[1 - core].contains(each); });
    };
    return meet(0) || meet(1);
  }

  Block* block;
  SmallVector<Operation*> ops; ///< of one core each
  Handed handed;
  DenseMap<Operation*, Doers> done;
};

struct PairWorkspaces : KernelPass<PairWorkspaces> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PairWorkspaces)
  static constexpr llvm::StringLiteral kArgument = "ascend-pair-workspaces";
  static constexpr llvm::StringLiteral kDescription =
      "one text of two cores' programs that hand on workspaces";

  void runOnOperation() override {
    const WalkResult hasFlags = getOperation().walk([](Operation* op) {
      return isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op) ? WalkResult::interrupt()
                                                                 : WalkResult::advance();
    });
    if (hasFlags.wasInterrupted())
      return;
    SmallVector<std::pair<ScopeOp, ScopeOp>> pairs;
    getOperation().walk([&](ScopeOp first) {
      if (ScopeOp second = partnerOf(first))
        pairs.emplace_back(first, second);
    });
    for (auto [first, second] : pairs)
      merge(first, second);
    SmallVector<Block*> blocks;
    getOperation().walk([&](Block* block) {
      Operation* around = block->getParentOp();
      if (isa<tile::LaunchOp, tile::ForOp, scf::IfOp>(around) &&
          !around->getParentOfType<ScopeOp>())
        blocks.push_back(block);
    });
    for (Block* block : blocks)
      if (failed(pairWithin(*block)))
        signalPassFailure();
  }

private:
  static LogicalResult pairWithin(Block& block) {
    WorkspaceStretch stretch(block);
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (!op.hasTrait<OpTrait::IsTerminator>() && stretch.add(&op))
        continue;
      if (failed(stretch.pair(&op)))
        return failure();
      stretch = WorkspaceStretch(block);
    }
    return success();
  }

  /// The other core's program behind this one, if they hand on workspaces and the text order alone does
  /// not say how: a loop overwrites what it has written, or the reader stands first.
  static ScopeOp partnerOf(ScopeOp first) {
    Operation* next = first->getNextNode();
    while (next && isPure(next))
      next = next->getNextNode();
    auto second = dyn_cast_or_null<ScopeOp>(next);
    if (!second || second.getAgent() == first.getAgent())
      return {};
    const bool isReadFirst = haveCommon(workspacesOf(first, false), workspacesOf(second, true));
    bool isInLoops = false;
    for (Operation& op : first.getBody().front())
      if (auto loop = dyn_cast<tile::ForOp>(op))
        isInLoops |= overwrites(loop, workspacesOf(second, false));
    return isReadFirst || isInLoops ? second : ScopeOp();
  }

  void merge(ScopeOp first, ScopeOp second) {
    OpBuilder at(second);
    Program one(first.getAgent(), first.getBody().front());
    Program other(second.getAgent(), second.getBody().front());
    if (!Merger(/*scoped=*/true).merge(one, other, at)) {
      emitStuck(one, other);
      return signalPassFailure();
    }
    first->erase();
    second->erase();
  }
};

} // namespace

std::unique_ptr<Pass> createPairWorkspaces() {
  return std::make_unique<PairWorkspaces>();
}

} // namespace tilewright::ascend
