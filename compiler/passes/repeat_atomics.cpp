// SPDX-License-Identifier: Apache-2.0
/// RepeatAtomics: each thread of a block adds what the kernel adds, also where nothing tells them apart.
///
///     tile.atomic add %count[%c0], %one                   // in a block of 32 threads
/// becomes
///     tile.for %t = %c0 to %c32 step %c1 { tile.atomic add %count[%c0], %one }
///
/// Threads that do the same are run as one, as it makes no difference to stores; but an addition counts for
/// each of them. Where the value before is used, it is another one in each thread: a `tile.thread_id` makes
/// that they are told apart. What all threads do together (operations on tiles, T.parallel) happens once.
/// For the reference they are told apart, too, where threads touch the element without atomics: nothing orders that.
/// It stands before all that asks whether threads are told apart.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright {
namespace {

bool areToldApart(tile::LaunchOp launch) {
  return launch
      .walk([](Operation* op) {
        return isa<tile::ThreadIdOp, tile::ShuffleOp, tile::VoteOp>(op) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isUsed(tile::AtomicOp atomic) {
  return atomic.getPrevious() && !atomic.getPrevious().use_empty() &&
         atomic.getKind() != tile::AtomicKind::Load;
}

/// Whether it comes to something else when it is done again.
bool accumulates(tile::AtomicOp atomic) {
  return atomic.getKind() == tile::AtomicKind::Add || atomic.getKind() == tile::AtomicKind::Xor;
}

/// Whether threads touch the tensor otherwise, too, each for itself.
bool isTouchedPlainly(tile::AtomicOp atomic, tile::LaunchOp launch) {
  const Value root = rootBuffer(atomic.getBuffer());
  auto isOurs = [&](Operation* op, Value buffer) {
    return rootBuffer(buffer) == root && !op->getParentOfType<tile::ParallelOp>();
  };
  return atomic.getBuffer().getType().isGlobal() &&
         launch
             .walk([&](Operation* op) {
               auto load = dyn_cast<tile::LoadOp>(op);
               auto store = dyn_cast<tile::StoreOp>(op);
               return (load && isOurs(op, load.getBuffer())) ||
                              (store && isOurs(op, store.getBuffer()))
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

void repeat(tile::AtomicOp atomic, int64_t count) {
  OpBuilder builder(atomic);
  const Location place = atomic.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, place, value);
  };
  auto loop = tile::ForOp::create(builder, place, number(0), number(count), number(1));
  atomic->moveBefore(loop.getBodyBlock(), loop.getBodyBlock()->begin());
}

class RepeatAtomics : public KernelPass<RepeatAtomics> {
public:
  explicit RepeatAtomics(bool findsRaces) : findsRaces(findsRaces) {}

  static constexpr llvm::StringLiteral kArgument = "repeat-atomics";
  static constexpr llvm::StringLiteral kDescription =
      "what each thread of a block adds is added for each of them";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      repeatAtomics(launch, findsRaces);
  }

private:
  bool findsRaces;
};

} // namespace

void repeatAtomics(tile::LaunchOp launch, bool findsRaces) {
  const int64_t threads = launch.getThreadCount();
  if (launch.getNpu() || threads <= 1 || areToldApart(launch))
    return;
  SmallVector<tile::AtomicOp> ofThreads;
  launch.walk([&](tile::AtomicOp atomic) {
    if (!atomic->getParentOfType<tile::ParallelOp>() && !atomic.getBuffer().getType().isPerThread())
      ofThreads.push_back(atomic);
  });
  auto isApart = [&](tile::AtomicOp atomic) {
    return isUsed(atomic) || (findsRaces && isTouchedPlainly(atomic, launch));
  };
  if (auto* used = llvm::find_if(ofThreads, isApart); used != ofThreads.end()) {
    OpBuilder builder = OpBuilder::atBlockBegin(launch.getBodyBlock());
    tile::ThreadIdOp::create(builder, used->getLoc(), 0);
    return;
  }
  for (tile::AtomicOp atomic : ofThreads)
    if (accumulates(atomic))
      repeat(atomic, threads);
}

std::unique_ptr<Pass> createRepeatAtomics(bool findsRaces) {
  return std::make_unique<RepeatAtomics>(findsRaces);
}

} // namespace tilewright
