// SPDX-License-Identifier: Apache-2.0
/// The step machine: agents, their stacks of scopes, and where they wait for each other.
#pragma once

#include "compiler/interpreter/endless_loops.h"
#include "compiler/interpreter/interpret.h"
#include "compiler/interpreter/pipe_queues.h"
#include "compiler/interpreter/storage.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

#include <list>
#include <optional>

namespace tilewright::interpreter {

/// A scope that an agent is in: a body, how far it came, and the state of the loop that owns it.
struct Scope {
  mlir::Operation* owner = nullptr;
  mlir::Block* block = nullptr;
  mlir::Block::iterator next;
  int64_t induction = 0, upper = 0, step = 1; ///< tile.for, scf.for
  llvm::SmallVector<int64_t> point, extents;  ///< tile.parallel
  int64_t turn = 0;                       ///< how often a loop's body (or condition) was entered
  LoopTurns turns;                        ///< tile.while
  int64_t firstThread = 0, endThread = 0; ///< of a block: those who came here together
  /// Which of these did; all if null.
  std::shared_ptr<const llvm::BitVector> members;
};

/// What an agent of an NPU's block is; `Whole` is all of a block that doesn't tell its agents apart.
enum class AgentKind { Whole, Cube, Vector };

/// A thread of a block, a core of an NPU's block, or the whole block where the kernel doesn't tell
/// these apart.
struct Agent {
  int64_t thread = 0; ///< of a vector agent, its vector id
  AgentKind kind = AgentKind::Whole;
  struct Block* block = nullptr;
  std::vector<Scope> scopes;
  llvm::DenseMap<mlir::Value, Scalar> scalars;
  llvm::DenseMap<mlir::Value, BufferValue> buffers;
  /// Scalars that come from another agent's memory: only that agent knows them.
  llvm::DenseSet<mlir::Value> unknown;
  PipeQueues pipes;
  llvm::DenseMap<int64_t, int64_t> crossFlags; ///< how often a wait for each may pass
  /// The op that needs the other agents too; it is the next one of the innermost scope.
  mlir::Operation* waitsAt = nullptr;
  int64_t meeting = 0; ///< the last one that it took part in
  /// What those who met last know together; null where all of the block have met since.
  std::shared_ptr<Knowledge> known;
  /// What atomics with an order told it of other blocks, and the last of these that it took part of.
  std::shared_ptr<const Clock> others, acquired;
  bool isDone() const {
    return scopes.empty();
  }
};

/// A block that runs: its agents and what they share.
struct Block {
  std::vector<Agent> agents;
  llvm::DenseMap<mlir::Value, BufferValue> buffers;
  /// Sets of cross flags that still lack those of other agents: (flag, mode) to a count per agent.
  llvm::DenseMap<std::pair<int64_t, int64_t>, llvm::SmallVector<int64_t>> raised;
  int64_t number = 0;
  int64_t round = 0; ///< goes up where all threads meet
};

class Machine {
public:
  Machine(mlir::func::FuncOp kernel, const InterpretOptions& options)
      : kernel(kernel), options(options) {}
  mlir::LogicalResult bind(llvm::ArrayRef<Argument> arguments);
  mlir::LogicalResult run();
  /// Warns of results that have elements which nobody has written.
  void tellUnwritten(llvm::ArrayRef<Argument> arguments);

private:
  enum class Outcome { Ran, Waits, Failed };
  /// Who has a buffer of an NPU's block: the vector agents each one, or all agents together.
  enum class Owner { Block, Vector };

  // blocks.cpp: the blocks of a launch
  mlir::LogicalResult runGrid(tile::LaunchOp launch);
  void makeBlock(tile::LaunchOp launch, llvm::ArrayRef<int64_t> blockIds, Block& block);
  /// Until all agents are done, or wait for the other blocks at a barrier; false where one of them waits for these in
  /// a loop.
  mlir::FailureOr<bool> runBlock(Block& block);
  /// Runs each block on; those that end are gone. Whether any has come further.
  mlir::FailureOr<bool> goOn(std::list<Block>& blocks, std::list<Block>::iterator from);
  mlir::LogicalResult beginLast(std::list<Block>& blocks);
  mlir::LogicalResult runToEnd(std::list<Block>& blocks);
  mlir::LogicalResult runTogether(std::list<Block>& blocks);
  static bool waitsForGrid(const Block& block);

  // machine.cpp: scopes, and where agents meet
  mlir::LogicalResult meet(llvm::MutableArrayRef<Agent> agents);
  mlir::LogicalResult meetAt(llvm::ArrayRef<Agent*> agents, bool isPart, mlir::Operation* op);
  mlir::LogicalResult runCollective(llvm::ArrayRef<Agent*> agents, mlir::Operation* op);
  mlir::LogicalResult checkUniform(llvm::ArrayRef<Agent*> agents, mlir::Operation* op);
  /// What a thread has there; nothing where it has written nothing.
  std::optional<Scalar> ownElement(Agent& agent, tile::LoadOp load);
  /// The agents go the ways of a branch that groups of threads take.
  void part(llvm::ArrayRef<Agent*> agents, mlir::scf::IfOp branch);
  Outcome step(Agent& agent);
  mlir::LogicalResult enterOrRun(Agent& agent, mlir::Operation& op);
  mlir::LogicalResult terminate(Agent& agent, mlir::Operation& terminator);
  mlir::LogicalResult leaveLoop(Agent& agent, bool again);
  /// An error where a loop whose condition holds is sure to run for ever.
  mlir::LogicalResult checkEnds(Scope& scope, tile::WhileOp loop);
  /// Whether a loop has atomics by which other blocks may end it.
  bool asksOthers(tile::WhileOp loop);
  void enter(Agent& agent, mlir::Operation& owner, mlir::Block& block);
  mlir::LogicalResult enterParallel(Agent& agent, tile::ParallelOp op);
  void setPoint(Agent& agent, tile::ParallelOp op);
  bool needsOthers(const Agent& agent, mlir::Operation& op) const;

  // ordering.cpp: what comes before what
  /// What these have done is ordered before what they do from here on.
  void order(llvm::ArrayRef<Agent*> agents);
  static void shareClocks(llvm::ArrayRef<Agent*> agents);
  /// Whether atomics of the launch order what is around them.
  static bool hasOrders(tile::LaunchOp launch);
  /// What an atomic that has been done orders by its memory order.
  void synchronize(Agent& agent, tile::AtomicOp op, BufferValue& target,
                   llvm::ArrayRef<int64_t> indices);
  static void acquire(Agent& agent, const std::shared_ptr<const Clock>& released);
  void release(Agent& agent, std::shared_ptr<const Clock>& released);
  static ThreadPlace placeOf(const Agent& agent);

  // npu.cpp: the agents of an NPU's block
  mlir::LogicalResult runNpuGrid(tile::LaunchOp launch, llvm::ArrayRef<int64_t> grid);
  void makeNpuBlock(tile::LaunchOp launch, llvm::ArrayRef<int64_t> ids, Block& block);
  mlir::LogicalResult runNpuBlocks(llvm::MutableArrayRef<Block> blocks);
  mlir::FailureOr<bool> advance(llvm::MutableArrayRef<Block> blocks, Block& block);
  mlir::LogicalResult runToNextPoint(Agent& agent);
  mlir::LogicalResult reportStuck(llvm::MutableArrayRef<Block> blocks);
  bool mayGoOn(llvm::MutableArrayRef<Block> blocks, Agent& agent, mlir::Operation& op);
  mlir::LogicalResult runNpuOp(Agent& agent, mlir::Operation& op);
  mlir::LogicalResult runPrintf(Agent& agent, ascend::PrintfOp print);
  mlir::LogicalResult runNpuCall(Agent& agent, ascend::CallExternOp call);
  void raiseCrossFlag(Agent& agent, int64_t flag, int64_t mode);
  mlir::LogicalResult checkPipes(const Agent& agent);
  /// Whether this agent leaves the op to others.
  bool isLeftToOthers(Agent& agent, mlir::Operation& op);
  std::optional<ascend::Agent> coreOfFlag(mlir::Operation& op);
  /// The cube core goes past what values decide that only the vector cores know: variables that it assigns to are such, too.
  mlir::LogicalResult passByOthers(Agent& agent, mlir::Operation& op);
  /// Handles an op of which this agent lacks operands; false if it lacks none.
  mlir::FailureOr<bool> passUnknown(Agent& agent, mlir::Operation& op);
  Owner ownerOf(mlir::Value buffer);
  /// Whether an agent has all that a scope of its kind works on; an error of each place that has not.
  mlir::LogicalResult checkScope(ascend::ScopeOp scope);
  /// Whether a copy leads from the tiles of one kind of core to those of the other.
  bool crosses(tile::CopyOp copy);
  /// Lets an agent name a tile of another one, which it or the other may see through views; adds the names.
  mlir::LogicalResult lendTile(Agent& agent, Agent& owner, mlir::Value tile,
                               llvm::SmallVectorImpl<mlir::Value>& names);
  /// Such a copy in a scope of the cube core.
  mlir::LogicalResult runCrossing(Agent& agent, tile::CopyOp copy);
  /// Outside of scopes.
  npu::Doer doerOf(mlir::Operation& op);

  // lazy_choices.cpp
  /// Runs an op on scalars, and of the lazy ops before it (but those of `done`) what it needs.
  mlir::LogicalResult compute(Agent& agent, mlir::Operation& op,
                              llvm::DenseSet<mlir::Operation*>& done);

  // element_ops.cpp: ops on scalars and single elements
  mlir::LogicalResult runScalar(Agent& agent, mlir::Operation& op);
  mlir::LogicalResult runAlloc(Agent& agent, tile::AllocOp op);
  mlir::LogicalResult runAllocSized(Agent& agent, tile::AllocSizedOp op);
  mlir::LogicalResult runCall(Agent& agent, tile::CallOp op);
  mlir::LogicalResult runTensorAt(Agent& agent, tile::TensorAtOp op);
  mlir::LogicalResult runView(Agent& agent, tile::ViewOp op);
  mlir::LogicalResult runLoad(Agent& agent, tile::LoadOp op);
  mlir::LogicalResult runStore(Agent& agent, tile::StoreOp op);
  mlir::LogicalResult runAtomic(Agent& agent, tile::AtomicOp op);
  mlir::LogicalResult runPrint(Agent& agent, tile::PrintOp op);
  mlir::LogicalResult shuffle(llvm::ArrayRef<Agent*> agents, tile::ShuffleOp op);
  mlir::LogicalResult vote(llvm::ArrayRef<Agent*> agents, tile::VoteOp op);

  // tile_ops.cpp: ops on regions
  mlir::LogicalResult runTile(Agent& agent, mlir::Operation& op);
  mlir::LogicalResult runCopy(Agent& agent, tile::CopyOp op);
  mlir::LogicalResult runFill(Agent& agent, tile::FillOp op);
  mlir::LogicalResult runGemm(Agent& agent, tile::GemmOp op);
  mlir::LogicalResult runReduce(Agent& agent, tile::ReduceOp op);
  mlir::LogicalResult runScan(Agent& agent, tile::ScanOp op);
  mlir::LogicalResult runAtomicTile(Agent& agent, tile::AtomicTileOp op);

  static constexpr llvm::StringLiteral kNoTile =
      "a core works on this tile that has none: allocate it outside of the T.Scope";

  /// A region at run time.
  struct Window {
    BufferValue* buffer = nullptr;
    llvm::SmallVector<int64_t> offsets, extents;
    llvm::SmallVector<int64_t> at(llvm::ArrayRef<int64_t> position) const;
  };
  mlir::FailureOr<Window> window(Agent& agent, const tile::BufferRegion& region);
  void forgetBehind(tile::GemmOp op, const Window& c);
  bool isAddedByVectors(const Window& c) const;

  // access.cpp: values, buffers, checked elements
  Scalar scalar(Agent& agent, mlir::Value value);
  int64_t integer(Agent& agent, mlir::OpFoldResult value);
  llvm::SmallVector<int64_t> integers(Agent& agent, mlir::ValueRange values);
  BufferValue& buffer(Agent& agent, mlir::Value value);
  /// Whether the element exists; an error where an on-chip buffer is left or `provenInBounds` is
  /// wrong.
  mlir::FailureOr<bool> isInBounds(mlir::Operation* op, const BufferValue& buffer,
                                   llvm::ArrayRef<int64_t> indices, bool provenInBounds);
  /// Nothing where a global buffer is left: reads as 0.
  mlir::FailureOr<std::optional<Scalar>> read(mlir::Operation* op, const BufferValue& buffer,
                                              llvm::ArrayRef<int64_t> indices,
                                              bool provenInBounds = false);
  mlir::LogicalResult write(mlir::Operation* op, const BufferValue& buffer,
                            llvm::ArrayRef<int64_t> indices, Scalar value,
                            bool provenInBounds = false);
  /// An error where the access races with another. `bits` is what it reads or writes; `isKept`: it
  /// writes the value that is there.
  mlir::LogicalResult noteAccess(mlir::Operation* op, const BufferValue& buffer,
                                 llvm::ArrayRef<int64_t> indices, uint64_t bits, bool isWrite,
                                 bool isKept = false);
  /// The same for what each thread has for itself: an iteration reads nothing that another one wrote.
  mlir::LogicalResult noteOwn(mlir::Operation* op, const BufferValue& buffer,
                              llvm::ArrayRef<int64_t> indices, bool isWrite);
  /// As noteAccess for a part of an element, which views of another element type tell apart.
  mlir::LogicalResult notePart(mlir::Operation* op, const BufferValue& buffer,
                               llvm::ArrayRef<int64_t> indices, int64_t offset, uint64_t bits,
                               bool isWrite, bool isKept);
  Access& accessOf(Storage& storage, int64_t bitOffset);
  /// What the same memory may be called: `narrowestOfViews` and `usesAddresses`.
  void findNames();

  mlir::func::FuncOp kernel;
  bool isCancelled() const {
    return options.cancel && options.cancel->load(std::memory_order_relaxed);
  }

  const InterpretOptions& options;
  llvm::DenseMap<mlir::Value, Scalar> launchScalars;
  llvm::DenseMap<mlir::Value, BufferValue> launchBuffers;
  llvm::DenseMap<mlir::Value, Owner> owners; ///< of allocations
  llvm::DenseMap<mlir::Operation*, npu::Doer> doers;
  llvm::DenseSet<mlir::Operation*> checkedScopes;
  std::optional<llvm::DenseMap<mlir::Operation*, std::optional<ascend::Agent>>> flagCores;
  llvm::DenseSet<mlir::Operation*> lazyOps; ///< run where a choice needs them
  llvm::DenseSet<mlir::Operation*> unusedOps;
  llvm::MutableArrayRef<Block> liveBlocks; ///< of an NPU
  bool agentsDiffer = false;
  int64_t steps = 0;
  bool hasWhile = false;
  llvm::DenseMap<const Storage*, int64_t>
      productRows; ///< by tile: those of T.mma that ran last, in groups of 16
  /// What gemms have left undefined, by the numbers that storage has for it: the gemm, and what it does leave.
  std::vector<std::pair<mlir::Operation*, std::string>> leftUndefined;
  llvm::DenseSet<mlir::Operation*> mayEnd; ///< loops whose condition may change
  MemoryState memory;                      ///< followed if `hasWhile`
  int64_t threadCount = 1;
  /// The bits of the narrowest elements of views of wider ones, or the other way around; 0 without such.
  unsigned narrowestOfViews = 0;
  /// Where the kernel makes tensors of addresses: who touched the caller's memory, by its bits.
  bool usesAddresses = false;
  llvm::DenseMap<uint64_t, Access> accessesByAddress;
  bool threadsDiffer = false;
  bool followsOrders = false; ///< as `hasOrders` says
  /// The parallel loop that runs, and its iteration; -1 outside.
  int64_t epoch = 0, iteration = -1;
  /// The thread that runs, of a block whose threads are told apart; null where they run as one.
  const Agent* running = nullptr;
  const Agent* acting = nullptr; ///< the agent that runs, of all that run as one the first
  int64_t meetings = 0;          ///< of the threads of all blocks: the rounds' numbers
  /// The number of the block that runs, and whether an atomic update runs.
  int64_t blockNumber = -1;
  int64_t blockCount = 0, blocksBefore = 0; ///< of all launches, and of those before this one
  /// Whether a loop that waits for other blocks may still be ended by one of them.
  bool othersMayEnd = false;
  bool isInWait = false; ///< the agent that runs has come to wait in such a loop
  struct {
    mlir::Operation* loop = nullptr;
    bool isForOthers = false; ///< nothing else ends it
  } waitsIn;                  ///< the last such loop
  struct {
    mlir::Operation* loop = nullptr;
    int64_t block = 0;
  } lateWait; ///< the first one in which a block waited for later ones, while all before it had ended
  llvm::DenseMap<mlir::Operation*, bool> asking; ///< of loops, as `asksOthers` says
  int64_t gridRound = 0; ///< how often all blocks have waited for each other
  int64_t gridSyncs = 0; ///< the same of an NPU's launch
  bool isAtomic = false;
};

/// Calls `visit` for each position of a box, the last dim fastest; ends at the first failure.
template <typename Visit>
mlir::LogicalResult forEachPosition(llvm::ArrayRef<int64_t> extents, Visit visit) {
  for (int64_t extent : extents)
    if (extent <= 0)
      return mlir::success();
  llvm::SmallVector<int64_t> position(extents.size(), 0);
  while (true) {
    if (failed(visit(llvm::ArrayRef<int64_t>(position))))
      return mlir::failure();
    size_t dim = extents.size();
    while (dim > 0 && ++position[dim - 1] == extents[dim - 1])
      position[--dim] = 0;
    if (dim == 0)
      return mlir::success();
  }
}

} // namespace tilewright::interpreter
