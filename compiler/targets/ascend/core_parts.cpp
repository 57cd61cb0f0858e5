// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/core_parts.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/floor_divisor.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <map>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;

/// `low` to `high` (that, too), plus vid times `step`, plus what never changes while a block runs.
struct VidSpan {
  int64_t low = 0, high = 0, step = 0;
  std::map<const void*, int64_t> fixed; ///< values, and how often each

  VidSpan& add(const VidSpan& other, int64_t factor) {
    const int64_t a = other.low * factor, b = other.high * factor;
    low += std::min(a, b);
    high += std::max(a, b);
    step += other.step * factor;
    for (auto [value, count] : other.fixed)
      if ((fixed[value] += count * factor) == 0)
        fixed.erase(value);
    return *this;
  }
};

std::optional<VidSpan> spanOf(Value value);

std::optional<VidSpan> spanOfCounter(BlockArgument value) {
  Operation* owner = value.getOwner()->getParentOp();
  if (auto nest = dyn_cast<tile::ParallelOp>(owner)) {
    const std::optional<int64_t> extent =
        getConstantIntValue(nest.getMixedExtents()[value.getArgNumber()]);
    return extent ? std::optional(VidSpan{0, *extent - 1, 0, {}}) : std::nullopt;
  }
  if (auto loop = dyn_cast<tile::ForOp>(owner)) {
    const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                                 upper = getConstantIntValue(loop.getUpper());
    return lower && upper ? std::optional(VidSpan{*lower, *upper - 1, 0, {}}) : std::nullopt;
  }
  return VidSpan{0, 0, 0, {{value.getAsOpaquePointer(), 1}}};
}

/// Whether a value is computed once in a block, of what doesn't change.
bool isFixed(Operation* op) {
  for (Operation* around = op->getParentOp(); !isa<tile::LaunchOp, func::FuncOp>(around);
       around = around->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp, tile::ParallelOp>(around))
      return false;
  return isPure(op);
}

std::optional<VidSpan> quotient(const VidSpan& span, int64_t by) {
  const bool isWhole =
      span.low % by == 0 && span.high == span.low && span.step % by == 0 && span.fixed.empty();
  return isWhole ? std::optional(VidSpan{span.low / by, span.high / by, span.step / by, {}})
                 : std::nullopt;
}

std::optional<VidSpan> spanOf(Value value) {
  if (const std::optional<int64_t> number = getConstantIntValue(value))
    return VidSpan{*number, *number, 0, {}};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return spanOfCounter(argument);
  Operation* op = value.getDefiningOp();
  if (isa<VectorIdOp>(op))
    return VidSpan{0, 0, 1, {}};
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return spanOf(op->getOperand(0));
  const auto fixed = [&]() -> std::optional<VidSpan> {
    if (npu::differsByVid(value) || !isFixed(op))
      return std::nullopt;
    return VidSpan{0, 0, 0, {{value.getAsOpaquePointer(), 1}}};
  };
  if (op->getNumOperands() != 2)
    return fixed();
  const std::optional<VidSpan> a = spanOf(op->getOperand(0)), b = spanOf(op->getOperand(1));
  const std::optional<int64_t> left = getConstantIntValue(op->getOperand(0)),
                               right = getConstantIntValue(op->getOperand(1));
  if (isa<arith::AddIOp, arith::SubIOp>(op) && a && b)
    return VidSpan(*a).add(*b, isa<arith::AddIOp>(op) ? 1 : -1);
  if (isa<arith::MulIOp>(op) && (left || right) && a && b)
    return VidSpan().add(right ? *a : *b, right ? *right : *left);
  if (isa<arith::ShLIOp>(op) && right && *right >= 0 && *right < 32 && a)
    return VidSpan().add(*a, int64_t(1) << *right);
  if (const std::optional<int64_t> divisor = tile::floorDivisor(op); divisor && a)
    return quotient(*a, *divisor);
  return fixed();
}

/// What a number is on a vector core, if only vid decides.
std::optional<APInt> numberOn(int64_t core, Value value) {
  const std::optional<VidSpan> span = spanOf(value);
  if (!span || span->low != span->high || !span->fixed.empty())
    return std::nullopt;
  return APInt(64, uint64_t(span->low + span->step * core));
}

std::optional<bool> holdsOn(int64_t core, Value condition) {
  if (const std::optional<int64_t> known = getConstantIntValue(condition))
    return *known != 0;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  const std::optional<APInt> left = numberOn(core, compare.getLhs()),
                             right = numberOn(core, compare.getRhs());
  if (!left || !right)
    return std::nullopt;
  return arith::applyCmpPredicate(compare.getPredicate(), *left, *right);
}

/// What an operation reads or writes of a tile. Without spans: any part.
struct TileAccess {
  Operation* op;
  bool reads, writes;
  SmallVector<std::optional<VidSpan>> spans;

  bool meets(int64_t core, const TileAccess& other, int64_t itsCore) const {
    for (auto [mine, its] : llvm::zip(spans, other.spans)) {
      if (!mine || !its || mine->fixed != its->fixed)
        continue;
      const int64_t shift = mine->step * core - its->step * itsCore;
      if (mine->high + shift < its->low || its->high < mine->low + shift)
        return false;
    }
    return true;
  }
};

std::optional<VidSpan> spanOf(OpFoldResult offset, OpFoldResult extent) {
  const std::optional<int64_t> number = getConstantIntValue(offset),
                               count = getConstantIntValue(extent);
  std::optional<VidSpan> span =
      number ? std::optional(VidSpan{*number, *number, 0, {}}) : spanOf(cast<Value>(offset));
  if (!span || !count)
    return std::nullopt;
  span->high += *count - 1;
  return span;
}

void addAccesses(SmallVector<TileAccess>& all, Operation* op, Value tile) {
  const auto add = [&](const BufferRegion& region, bool reads, bool writes) {
    if (region.buffer != tile)
      return;
    const BufferRegion known = withKnownExtents(region);
    TileAccess access{op, reads, writes, {}};
    for (auto [offset, extent] : llvm::zip(known.offsets, known.extents))
      access.spans.push_back(spanOf(offset, extent));
    all.push_back(access);
  };
  const size_t before = all.size();
  const auto addElement = [&](Value buffer, ValueRange indices, bool writes) {
    if (buffer != tile)
      return;
    TileAccess access{op, !writes, writes, {}};
    for (Value index : indices)
      access.spans.push_back(spanOf(index));
    all.push_back(access);
  };
  TypeSwitch<Operation*>(op)
      .Case<tile::CopyOp, tile::AtomicTileOp>([&](auto move) {
        add(move.getSourceRegion(), true, false);
        add(move.getTargetRegion(), false, true);
      })
      .Case<tile::ReduceOp, tile::ScanOp>([&](auto reduce) {
        add(reduce.getSourceRegion(), true, false);
        add(reduce.getTargetRegion(), true, true);
      })
      .Case([&](tile::FillOp fill) { add(fill.getTargetRegion(), false, true); })
      .Case([&](tile::LoadOp load) { addElement(load.getBuffer(), load.getIndices(), false); })
      .Case([&](tile::StoreOp store) { addElement(store.getBuffer(), store.getIndices(), true); });
  if (all.size() == before)
    all.push_back({op, true, true, {}});
}

/// A number as the vector core has it whose vid `known` says.
Value ofCore(OpBuilder& builder, Value number, Value vid, IRMapping& known) {
  Operation* op = number.getDefiningOp();
  if (isa<tile::BufferType>(number.getType()) || !npu::differsByVid(number))
    return number;
  if (isa<VectorIdOp>(op))
    return vid;
  if (Value made = known.lookupOrNull(number))
    return made;
  for (Value operand : op->getOperands())
    known.map(operand, ofCore(builder, operand, vid, known));
  builder.clone(*op, known);
  return known.lookup(number);
}

/// Whether a loop holds both.
bool isInLoopOf(Operation* op, Operation* other) {
  for (Operation* around = op->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp>(around) && around->isAncestor(other))
      return true;
  return false;
}

/// Whether a vector core may read what only the other one has written. The cube core gets what the first one has.
bool lacks(const TileAccess& reader, const TileAccess& writer) {
  return llvm::any_of(ArrayRef<int64_t>{0, 1}, [&](int64_t core) {
    return !(core == 1 && isa<tile::GemmOp>(reader.op)) && mayRunOn(core, reader.op) &&
           mayRunOn(1 - core, writer.op) && reader.meets(core, writer, 1 - core);
  });
}

} // namespace

bool mayRunOn(int64_t core, Operation* op) {
  for (Operation* inner = op; auto branch = inner->getParentOfType<scf::IfOp>(); inner = branch) {
    const std::optional<bool> holds = holdsOn(core, branch.getCondition());
    if (holds && *holds != branch.getThenRegion().isAncestor(inner->getParentRegion()))
      return false;
  }
  return true;
}

std::optional<int64_t> onlyCoreIn(Operation* branch, Operation* op) {
  std::optional<int64_t> only;
  for (const int64_t core : {0, 1}) {
    bool runs = true;
    for (Operation* inner = op; inner != branch; inner = inner->getParentOp()) {
      auto around = dyn_cast<scf::IfOp>(inner->getParentOp());
      const std::optional<bool> holds =
          around ? holdsOn(core, around.getCondition()) : std::nullopt;
      if (!holds)
        return std::nullopt;
      runs &= *holds == around.getThenRegion().isAncestor(inner->getParentRegion());
    }
    if (runs && only)
      return std::nullopt;
    if (runs)
      only = core;
  }
  return only;
}

bool isMadeOfVid(Value number) {
  if (!npu::differsByVid(number))
    return true;
  Operation* op = number.getDefiningOp();
  return op && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), isMadeOfVid);
}

bool mustBeOfVectors(Operation* op) {
  return !op->getParentOfType<ScopeOp>() && npu::doerOf(op) != npu::Doer::Cube;
}

bool canBothBeMoved(Operation* op) {
  return npu::doerOf(op) == npu::Doer::EachVector && !npu::runsByVid(op) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return isa<tile::BufferType>(operand.getType()) || isMadeOfVid(operand);
         });
}

void moveBoth(Operation* op) {
  OpBuilder builder(op);
  for (const int64_t core : {0, 1}) {
    Value vid = arith::ConstantIndexOp::create(builder, op->getLoc(), core);
    IRMapping known;
    for (Value operand : SmallVector<Value>(op->getOperands()))
      known.map(operand, ofCore(builder, operand, vid, known));
    builder.clone(*op, known);
  }
  op->erase();
}

LogicalResult checkCoreParts(Value tile, bool isOperand) {
  const SmallVector<Operation*> users = npu::usersOf(tile);
  SmallVector<TileAccess> accesses; // in text order: what is told is where it begins
  tile.getDefiningOp()->getParentOfType<func::FuncOp>().walk([&](Operation* user) {
    if (!llvm::is_contained(users, user) || user->getParentOfType<ScopeOp>() ||
        isa<tile::AddressOp>(user))
      return;
    if (!isa<tile::GemmOp>(user))
      addAccesses(accesses, user, tile);
    else if (isOperand)
      accesses.push_back({user, true, false, {}});
  });
  for (const TileAccess& writer : accesses) {
    if (!writer.writes || !npu::makesApart(writer.op, tile))
      continue;
    for (const TileAccess& reader : accesses)
      if (reader.reads && (&reader >= &writer || isInLoopOf(reader.op, writer.op)) &&
          lacks(reader, writer)) {
        InFlightDiagnostic error = writer.op->emitError();
        error << "unsupported on ascend: each vector core has a copy of this gemm's tile in UB, so "
                 "what vid says here reaches only one of them";
        error.attachNote(reader.op->getLoc()) << "the other one is read here, maybe";
        return failure();
      }
  }
  return success();
}

} // namespace tilewright::ascend
