// SPDX-License-Identifier: Apache-2.0
/// Gives every buffer on chip its place in the scratch memory of the thread that runs the block.
///
///   %a = tile.alloc "A_shared" : !tile.buffer<64x32xf32, shared>
/// becomes
///   %a = tile.alloc "A_shared" {cpu.offset = 0} : !tile.buffer<64x32xf32, shared>
/// and the function gets {cpu.scratch_bytes = 8192}.
///
/// Buffers that are never live at once share bytes (first fit). A buffer that is used in a loop but
/// allocated outside of it lives as long as the whole loop. Mutable scalars (var) get no place:
/// they become stack slots, which LLVM turns into registers. It stands after everything that
/// allocates.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Interfaces/LoopLikeInterface.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// Offsets are multiples of a cache line.
constexpr int64_t alignment = 64;

int64_t roundUp(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

struct Lifetime {
  tile::AllocOp op;
  int64_t bytes;
  /// Number of the allocation.
  int64_t defined;
  /// Numbers of the first and last operation that may touch it.
  int64_t first, last;
  int64_t offset = 0;
};

class ScratchPlan {
public:
  explicit ScratchPlan(func::FuncOp function) : function(function) {
    int64_t number = 0;
    numberOps(function.getOperation(), number);
  }

  /// Workspaces in global memory, one after the other: any block may use them at any time.
  int64_t placeWorkspaces() {
    int64_t total = 0;
    function.walk([&](tile::AllocOp op) {
      if (!op.getType().isGlobal())
        return;
      op->setAttr(kOffsetAttr, Builder(function.getContext()).getI64IntegerAttr(total));
      const BufferType type = op.getType();
      total += roundUp((type.getNumElements() * int64_t(type.getElementBits()) + 7) / 8);
    });
    return total;
  }

  /// Returns the bytes of all.
  int64_t place() {
    SmallVector<Lifetime> buffers;
    function.walk([&](tile::AllocOp op) {
      if (op.getType().getSpace() != tile::MemorySpace::Var && !op.getType().isGlobal())
        buffers.push_back(lifetime(op));
    });
    // Larger ones first; then in the order of the text.
    llvm::sort(buffers, [](const Lifetime& a, const Lifetime& b) {
      return std::pair(-a.bytes, a.defined) < std::pair(-b.bytes, b.defined);
    });
    int64_t total = 0;
    for (size_t number = 0; number < buffers.size(); ++number) {
      Lifetime& buffer = buffers[number];
      buffer.offset = firstFit(buffer, ArrayRef(buffers).take_front(number));
      total = std::max(total, buffer.offset + buffer.bytes);
      buffer.op->setAttr(kOffsetAttr,
                         Builder(function.getContext()).getI64IntegerAttr(buffer.offset));
    }
    return total;
  }

private:
  struct Span {
    int64_t first, last;
  };

  void numberOps(Operation* op, int64_t& number) {
    Span& span = spans[op];
    span.first = number++;
    for (Region& region : op->getRegions())
      for (Block& block : region)
        for (Operation& nested : block)
          numberOps(&nested, number);
    spans[op].last = number++;
  }

  static bool isLoop(Operation* op) {
    return isa<tile::ForOp, tile::WhileOp, tile::ParallelOp, LoopLikeOpInterface>(op);
  }

  /// Extends `life` by one use.
  void touch(Lifetime& life, Operation* user) {
    if (user->hasAttr(kRowSumsAttr) || user->hasAttr(kStageAttr) ||
        user->hasAttr(kResultAttr)) // it speaks of the gemm behind it
      while (!isa<tile::GemmOp>(user))
        user = user->getNextNode();
    Span span = spans.lookup(user);
    for (Operation* outer = user->getParentOp(); outer != life.op->getParentOp();
         outer = outer->getParentOp())
      if (isLoop(outer))
        span = spans.lookup(outer);
    if (isa<tile::AddressOp>(user)) // who reads or writes there by its address isn't known
      if (auto launch = user->getParentOfType<tile::LaunchOp>())
        span = spans.lookup(launch);
    life.first = std::min(life.first, span.first);
    life.last = std::max(life.last, span.last);
    if (auto view = dyn_cast<tile::ViewOp>(user))
      for (Operation* further : view.getResult().getUsers())
        touch(life, further);
  }

  Lifetime lifetime(tile::AllocOp op) {
    const BufferType type = op.getType();
    const int64_t bytes = (type.getNumElements() * type.getElementBits() + 7) / 8;
    Lifetime life{op, std::max(roundUp(bytes), alignment), spans.lookup(op).first, INT64_MAX, 0};
    for (Operation* user : op->getUsers())
      touch(life, user);
    return life;
  }

  static int64_t firstFit(const Lifetime& buffer, ArrayRef<Lifetime> placed) {
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (const Lifetime& other : placed)
      if (other.first <= buffer.last && buffer.first <= other.last)
        taken.emplace_back(other.offset, other.offset + other.bytes);
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + buffer.bytes <= begin)
        break;
      offset = std::max(offset, end);
    }
    return offset;
  }

  func::FuncOp function;
  llvm::DenseMap<Operation*, Span> spans;
};

struct PlanScratch : KernelPass<PlanScratch> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanScratch)
  static constexpr llvm::StringLiteral kArgument = "cpu-plan-scratch";
  static constexpr llvm::StringLiteral kDescription =
      "give every buffer on chip its place in the scratch memory";

  void runOnOperation() override {
    ScratchPlan plan(getOperation());
    Builder builder(&getContext());
    getOperation()->setAttr(kScratchBytesAttr, builder.getI64IntegerAttr(plan.place()));
    if (const int64_t bytes = plan.placeWorkspaces())
      getOperation()->setAttr(kWorkspaceBytesAttr, builder.getI64IntegerAttr(bytes));
  }
};

} // namespace

std::unique_ptr<Pass> createPlanScratch() {
  return std::make_unique<PlanScratch>();
}

} // namespace tilewright::cpu
