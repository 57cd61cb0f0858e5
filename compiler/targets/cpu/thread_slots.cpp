// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/thread_slots.h"

#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/targets/cpu/loops.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

bool tellsThreadsApart(tile::LaunchOp launch) {
  return launch
      .walk([](Operation* op) {
        return isa<tile::ThreadIdOp, tile::ShuffleOp, tile::VoteOp>(op) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

// Cuts

unsigned ThreadCuts::ownKind(Operation* op) {
  if (isForWholeBlock(op))
    return block;
  return isa<tile::SyncOp, tile::ShuffleOp, tile::VoteOp>(op) ? warp : 0;
}

unsigned ThreadCuts::visit(Operation* op) {
  unsigned kind = ownKind(op);
  if (!isa<tile::ParallelOp>(op))
    for (Region& region : op->getRegions())
      for (Block& nested : region)
        for (Operation& inner : nested)
          kind |= visit(&inner);
  if (kind != 0)
    kinds[op] = kind;
  return kind;
}

ThreadCuts::ThreadCuts(tile::LaunchOp launch) {
  for (Operation& op : *launch.getBodyBlock())
    visit(&op);
  // What leaves a loop that stays outside of the thread loops stays outside too.
  launch.walk([&](Operation* op) {
    if (!isa<tile::BreakOp, tile::ContinueOp>(op))
      return;
    SmallVector<Operation*> between{op};
    Operation* loop = op->getParentOp();
    for (; isa<scf::IfOp>(loop); loop = loop->getParentOp())
      between.push_back(loop);
    if (unsigned kind = kinds.lookup(loop); kind != 0 && isa<tile::ForOp, tile::WhileOp>(loop))
      for (Operation* inner : between)
        kinds[inner] |= kind;
  });
}

/// Whether an op holds a jump out of a loop that isn't in it.
static bool holdsJump(Operation* op) {
  return op
      ->walk([&](Operation* jump) {
        if (!isa<tile::BreakOp, tile::ContinueOp>(jump))
          return WalkResult::advance();
        Operation* loop = jump->getParentOp();
        while (isa<scf::IfOp>(loop))
          loop = loop->getParentOp();
        return op->isProperAncestor(loop) ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

bool ThreadCuts::mayPassBy(scf::IfOp branch) const {
  return !holdsJump(branch) && llvm::none_of(branch->getRegions(), [&](Region& side) {
    return !side.empty() && isComeTo(side.front());
  });
}

bool ThreadCuts::isComeTo(Block& body) const {
  return llvm::any_of(body, [&](Operation& op) {
    if (!isCut(&op))
      return false;
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return !branch.getElseRegion().empty() && isComeTo(*branch.thenBlock()) &&
             isComeTo(*branch.elseBlock());
    if (auto loop = dyn_cast<tile::ForOp>(op)) {
      const auto lower = getConstantIntValue(loop.getLower());
      const auto upper = getConstantIntValue(loop.getUpper());
      return lower && upper && *lower < *upper && isComeTo(*loop.getBodyBlock());
    }
    return !isa<tile::WhileOp>(op);
  });
}

// Slots

ThreadSlots::ThreadSlots(ImplicitLocOpBuilder& builder, ArrayRef<int64_t> extents)
    : builder(builder), threadExtents(extents) {
  for (int64_t extent : extents)
    threads *= extent;
}

Value ThreadSlots::constant(int64_t value) {
  return IndexMath(builder).constant(value);
}
Value ThreadSlots::constant(int64_t value, Type type) {
  return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, value));
}

/// How a scalar lies in a buffer.
static Type elementFor(Type scalar) {
  MLIRContext* context = scalar.getContext();
  if (scalar.isIndex())
    return IntegerType::get(context, 64, IntegerType::Signed);
  if (auto integer = dyn_cast<IntegerType>(scalar); integer && integer.getWidth() > 1)
    return IntegerType::get(context, integer.getWidth(), IntegerType::Signed);
  return scalar;
}

Value ThreadSlots::allocate(Type scalar) {
  auto type = BufferType::get({threads}, elementFor(scalar), MemorySpace::Fragment);
  return tile::AllocOp::create(builder, type, builder.getStringAttr("threads"), IntegerAttr());
}

Value ThreadSlots::read(Value array, Type scalar, Value thread) {
  Type stored = cast<BufferType>(array.getType()).getScalarType();
  Value value = tile::LoadOp::create(builder, stored, array, thread, /*in_bounds=*/true);
  return scalar.isIndex() ? arith::IndexCastOp::create(builder, scalar, value).getResult() : value;
}

void ThreadSlots::write(Value array, Value value, Value thread) {
  if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, builder.getI64Type(), value);
  tile::StoreOp::create(builder, value, array, thread, /*in_bounds=*/true);
}

// Buffers of a thread

/// The type with one more dim in front.
static BufferType widenedType(BufferType type, int64_t threads) {
  SmallVector<int64_t> shape{threads};
  llvm::append_range(shape, type.getShape());
  return BufferType::get(shape, type.getElementType(), MemorySpace::Fragment);
}

Value ThreadSlots::widenView(tile::ViewOp op, Value source) {
  auto type = widenedType(cast<BufferType>(op.getResult().getType()), threads);
  Value made = tile::ViewOp::create(builder, type, source, ValueRange());
  widened.insert(made);
  return made;
}

Value ThreadSlots::widen(Operation* op, const IRMapping& mapping) {
  builder.setLoc(op->getLoc());
  if (auto view = dyn_cast<tile::ViewOp>(op))
    return widenView(view, mapping.lookup(view.getSource()));
  auto alloc = cast<tile::AllocOp>(op);
  Value made = tile::AllocOp::create(builder, widenedType(alloc.getType(), threads),
                                     alloc.getSymNameAttr(), IntegerAttr());
  widened.insert(made);
  return made;
}

void ThreadSlots::adapt(Operation* op, Value thread) {
  SmallVector<Operation*> ops;
  op->walk<WalkOrder::PreOrder>([&](Operation* nested) { ops.push_back(nested); });
  OpBuilder::InsertionGuard guard(builder);
  for (Operation* nested : ops)
    adaptOne(nested, thread);
}

void ThreadSlots::adaptOne(Operation* op, Value thread) {
  auto withThread = [&](ValueRange indices) {
    SmallVector<Value> all{thread};
    llvm::append_range(all, indices);
    return all;
  };
  builder.setInsertionPoint(op);
  llvm::TypeSwitch<Operation*>(op)
      .Case([&](tile::ThreadIdOp id) {
        id.replaceAllUsesWith(threadId(thread, int64_t(id.getDim())));
        id.erase();
      })
      .Case<tile::LoadOp, tile::StoreOp, tile::AtomicOp>([&](auto access) {
        if (widened.contains(access.getBuffer()))
          access.getIndicesMutable().assign(withThread(access.getIndices()));
      })
      .Case([&](tile::ViewOp view) {
        if (!widened.contains(view.getSource()))
          return;
        view.getResult().replaceAllUsesWith(widenView(view, view.getSource()));
        view.erase();
      })
      .Case([&](tile::PrintOp print) {
        stageOperands(print, thread);
        printOnce(print, thread);
      })
      .Default([&](Operation* other) { stageOperands(other, thread); });
}

/// A tile operation gets a copy of the thread's part, and gives it back.
void ThreadSlots::stageOperands(Operation* op, Value thread) {
  for (OpOperand& operand : op->getOpOperands()) {
    Value buffer = operand.get();
    if (!widened.contains(buffer))
      continue;
    auto type = cast<BufferType>(buffer.getType());
    auto own =
        BufferType::get(type.getShape().drop_front(), type.getElementType(), MemorySpace::Local);
    builder.setInsertionPoint(op);
    Value part = tile::AllocOp::create(builder, own, StringAttr(), IntegerAttr());
    for (OpOperand& same : op->getOpOperands())
      if (same.get() == buffer)
        same.set(part);
    if (own.getRank() == 0) {
      Type scalar = own.getScalarType();
      Value before = tile::LoadOp::create(builder, scalar, buffer, thread, true);
      tile::StoreOp::create(builder, before, part, ValueRange(), true);
      builder.setInsertionPointAfter(op);
      Value after = tile::LoadOp::create(builder, scalar, part, ValueRange(), true);
      tile::StoreOp::create(builder, after, buffer, thread, true);
      continue;
    }
    tile::BufferRegion theirs{buffer, {thread}, {builder.getIndexAttr(1)}};
    for (int64_t dim : own.getShape()) {
      theirs.offsets.push_back(builder.getIndexAttr(0));
      theirs.extents.push_back(builder.getIndexAttr(dim));
    }
    tile::CopyOp::create(builder, theirs, tile::BufferRegion::whole(part));
    builder.setInsertionPointAfter(op);
    tile::CopyOp::create(builder, tile::BufferRegion::whole(part), theirs);
  }
}

/// A tile of the block is printed by one thread.
void ThreadSlots::printOnce(tile::PrintOp op, Value thread) {
  auto type = op.getValue() ? dyn_cast<BufferType>(op.getValue().getType()) : BufferType();
  if (!type || (type.getSpace() != MemorySpace::Shared && type.getSpace() != MemorySpace::Fragment))
    return;
  auto printing = op->getAttrOfType<IntegerAttr>("thread");
  builder.setInsertionPoint(op);
  Value number = constant(printing ? printing.getInt() : 0);
  Value isOne = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, thread, number);
  auto branch = scf::IfOp::create(builder, isOne);
  op->moveBefore(branch.thenBlock()->getTerminator());
}

Value ThreadSlots::threadId(Value thread, int64_t dim) {
  int64_t before = 1;
  for (int64_t extent : ArrayRef(threadExtents).take_front(size_t(dim)))
    before *= extent;
  Value id = thread;
  if (before != 1)
    id = arith::DivUIOp::create(builder, id, constant(before));
  if (dim + 1 != int64_t(threadExtents.size()))
    id = arith::RemUIOp::create(builder, id, constant(threadExtents[size_t(dim)]));
  return id;
}

// Shuffles and votes

Value ThreadSlots::partner(tile::ShuffleOp op, Value thread, Value lane) {
  IndexMath math(builder);
  const auto width = int64_t(op.getWidth());
  auto mask = [&](Value value, int64_t bits) {
    return arith::AndIOp::create(builder, value, constant(bits)).getResult();
  };
  Value own = mask(thread, tile::kWarpSize - 1);
  Value warpStart = math.sub(thread, own);
  Value base = math.sub(own, mask(own, width - 1));
  Value operand = arith::IndexCastOp::create(builder, builder.getIndexType(), lane);
  Value from;
  switch (op.getKind()) {
  case tile::ShuffleKind::Index:
    from = math.add(base, mask(operand, width - 1));
    break;
  case tile::ShuffleKind::Xor:
    from = arith::XOrIOp::create(builder, own, operand);
    break;
  case tile::ShuffleKind::Up:
    from = math.sub(own, operand);
    break;
  case tile::ShuffleKind::Down:
    from = math.add(own, operand);
    break;
  }
  Value end = math.min(math.add(base, constant(width)), math.sub(constant(threads), warpStart));
  Value inside = math.both(math.atMost(base, from), math.atMost(from, math.sub(end, constant(1))));
  return math.add(warpStart, arith::SelectOp::create(builder, inside, from, own));
}

Value ThreadSlots::startVote(tile::VoteOp op) {
  Type scalar = op.getType();
  auto type = BufferType::get({}, elementFor(scalar), MemorySpace::Var);
  Value total = tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
  Value start = constant(op.getKind() == tile::VoteKind::All ? 1 : 0, scalar);
  tile::StoreOp::create(builder, start, total, ValueRange(), true);
  return total;
}

void ThreadSlots::addVote(tile::VoteOp op, Value total, Value condition, Value thread) {
  Type scalar = op.getType();
  Value before = tile::LoadOp::create(builder, scalar, total, ValueRange(), true);
  Value said = condition;
  if (!scalar.isInteger(1))
    said = arith::ExtUIOp::create(builder, scalar, condition);
  Value after;
  switch (op.getKind()) {
  case tile::VoteKind::Any:
    after = arith::OrIOp::create(builder, before, said);
    break;
  case tile::VoteKind::All:
    after = arith::AndIOp::create(builder, before, said);
    break;
  case tile::VoteKind::Count:
    after = arith::AddIOp::create(builder, before, said);
    break;
  case tile::VoteKind::Ballot: {
    Value lane = arith::AndIOp::create(builder, thread, constant(tile::kWarpSize - 1));
    Value shift = arith::IndexCastOp::create(builder, scalar, lane);
    after = arith::OrIOp::create(builder, before, arith::ShLIOp::create(builder, said, shift));
    break;
  }
  }
  tile::StoreOp::create(builder, after, total, ValueRange(), true);
}

} // namespace tilewright::cpu
