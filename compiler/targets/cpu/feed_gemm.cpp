// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/feed_gemm.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/cpu/attributes.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferRegion;

namespace {

/// Rows that leave eight registers to the computation, beside those of b and a.
constexpr int64_t kMostFedRows = 8;

/// A buffer on chip that nothing has another view of.
bool isPlainOnChip(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && !alloc.getType().isGlobal() &&
         llvm::none_of(alloc->getUsers(), [](Operation* user) { return isa<tile::ViewOp>(user); });
}

/// Whether a nest does nothing but to compute, and all memory that it uses are buffers on chip, none of these, of
/// which nothing has another view.
bool touchesOthers(Operation* op, ArrayRef<Value> buffers) {
  return !op->walk([&](Operation* inner) {
              if (isa<tile::LoadOp, tile::StoreOp>(inner)) {
                Value buffer = isa<tile::LoadOp>(inner) ? cast<tile::LoadOp>(inner).getBuffer()
                                                        : cast<tile::StoreOp>(inner).getBuffer();
                const bool isOther = isPlainOnChip(buffer) && !llvm::is_contained(buffers, buffer);
                return isOther ? WalkResult::advance() : WalkResult::interrupt();
              }
              const bool isFine = inner == op || inner->hasTrait<OpTrait::IsTerminator>() ||
                                  (isPure(inner) && inner->getNumRegions() == 0);
              return isFine ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Whether each turn of a loop stores as many rows of so many elements as it goes on by.
bool storesRows(scf::ForOp loop, int64_t turn, int64_t columns) {
  int64_t rows = 0;
  for (auto store : loop.getBody()->getOps<LLVM::StoreOp>()) {
    auto type = dyn_cast<VectorType>(store.getValue().getType());
    if (!type || !type.getElementType().isF32() || type.getNumElements() != columns)
      return false;
    ++rows;
  }
  return rows == turn;
}

} // namespace

int64_t rowsOfFedKernel(int64_t rows, const Machine& machine) {
  if (!machine.isX86 || machine.vectorBits != 512)
    return 0;
  const int64_t whole = gemmRows(machine), rest = rows % whole;
  if (rows < whole || rest == 0)
    return 0;
  // As the rest of a gemm is split elsewhere: few sums don't hide the latency of a product.
  const int64_t fed = rest < whole / 2 ? (whole + rest) / 2 : rest;
  return fed <= kMostFedRows ? fed : 0;
}

tile::GemmOp gemmToFeed(tile::ParallelOp nest, tile::ReduceOp reduce, const Machine& machine) {
  tile::GemmOp gemm;
  SmallVector<Operation*> nests;
  for (Operation* op = reduce->getNextNode(); op && !gemm; op = op->getNextNode()) {
    gemm = dyn_cast<tile::GemmOp>(op);
    if (isa<tile::ParallelOp>(op))
      nests.push_back(op);
    else if (!gemm && (!isPure(op) || op->getNumRegions()))
      return {};
  }
  if (!gemm || gemm->hasAttr(kPackedAttr) || gemm.getTransposeB())
    return {};
  const BufferRegion a = gemm.getARegion(), b = gemm.getBRegion(), c = gemm.getCRegion();
  auto isFloat = [](const BufferRegion& of) { return of.type().getElementType().isF32(); };
  if (!isFloat(a) || !isFloat(b) || !isFloat(c) || !b.isWhole() || b.type().getRank() != 2 ||
      !isPlainOnChip(b.buffer) || b.buffer != reduce.getSourceRegion().buffer ||
      !isPlainOnChip(c.buffer) || a.buffer == b.buffer || c.buffer == b.buffer)
    return {};
  const int64_t lanes = machine.vectorBits / 32, columns = b.staticExtents().back();
  const SmallVector<int64_t> extents = c.staticExtents();
  if (columns % lanes || columns > gemmVectors(machine) * lanes ||
      rowsOfFedKernel(extents[extents.size() - 2], machine) == 0)
    return {};
  const Value target = reduce.getTargetRegion().buffer;
  if (target == a.buffer || target == c.buffer || !touchesOthers(nest, {a.buffer, c.buffer}))
    return {};
  const bool areApart = llvm::all_of(nests, [&](Operation* between) {
    return touchesOthers(between, {a.buffer, b.buffer, c.buffer});
  });
  return areApart ? gemm : tile::GemmOp();
}

void moveNestsBehind(tile::ReduceOp reduce, tile::GemmOp gemm) {
  Operation* last = gemm;
  for (Operation* op = reduce->getNextNode(); op != gemm;) {
    Operation* next = op->getNextNode();
    if (isa<tile::ParallelOp>(op)) {
      op->moveAfter(last);
      last = op;
    }
    op = next;
  }
}

scf::ForOp loopThatFeeds(tile::GemmOp gemm, int64_t depth, int64_t columns) {
  scf::ForOp loop;
  for (Operation* op = gemm->getPrevNode(); op && !loop; op = op->getPrevNode()) {
    loop = op->hasAttr(kFeedsAttr) ? dyn_cast<scf::ForOp>(op) : scf::ForOp();
    if (!loop && !isPure(op))
      return {};
  }
  if (!loop)
    return {};
  const auto lower = getConstantIntValue(loop.getLowerBound()),
             upper = getConstantIntValue(loop.getUpperBound()),
             step = getConstantIntValue(loop.getStep());
  const bool fits = lower == 0 && upper == depth && step && *step > 0 && depth > *step &&
                    depth % *step == 0 && storesRows(loop, *step, columns);
  return fits ? loop : scf::ForOp();
}

} // namespace tilewright::cpu
