// SPDX-License-Identifier: Apache-2.0
/// ForwardFills: an element that is read of a tile in UB is the number that a fill has put there, if nothing else writes the
/// tile and the fill is always the last thing done to it before.
///
///   npu.duplicate %columns[%c0] : !tile.buffer<16xsi32, UB>, %column count(%c16)
///   %v = npu.get_value %columns[%c3] : !tile.buffer<16xsi32, UB>                  // used: %v
/// becomes
///   npu.duplicate %columns[%c0] : !tile.buffer<16xsi32, UB>, %column count(%c16)  // used: %column
///
/// The scalar unit then doesn't wait for the vector unit, and what is computed from the number is known to be apart from
/// other places that are. It works on instructions, of which each says what it touches, and stands before buffers get
/// versions and places. Kernels whose flags are by hand keep what they have written.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Dominance.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// What alone touches a tile but for reading it; null if that is more than one fill, or may be.
npu::DuplicateOp onlyFillOf(Value storage) {
  npu::DuplicateOp fill;
  for (Operation* user : npu::usersOf(storage)) {
    auto instruction = dyn_cast<npu::Instruction>(user);
    if (!instruction)
      return {};
    SmallVector<npu::Access> accesses;
    instruction.getAccesses(accesses);
    for (const npu::Access& access : accesses) {
      if (!access.isWrite || npu::storageOf(access.buffer) != storage)
        continue;
      auto duplicate = dyn_cast<npu::DuplicateOp>(user);
      if (!duplicate || (fill && fill != duplicate))
        return {};
      fill = duplicate;
    }
  }
  return fill;
}

/// Whether an element is one of those that a fill writes.
bool isWritten(npu::DuplicateOp fill, npu::GetValueOp get) {
  const std::optional<int64_t> begin = getConstantIntValue(fill.getTargetOffset()),
                               count = fill.getCount() ? getConstantIntValue(fill.getCount())
                                                       : std::nullopt,
                               at = getConstantIntValue(get.getSourceOffset());
  return begin && count && at && fill.getTarget() == get.getSource() && *begin <= *at &&
         *at < *begin + *count;
}

struct ForwardFills : KernelPass<ForwardFills> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForwardFills)
  static constexpr llvm::StringLiteral kArgument = "ascend-forward-fills";
  static constexpr llvm::StringLiteral kDescription =
      "take what a fill has put into a tile for an element of it";

  void runOnOperation() override {
    SmallVector<npu::GetValueOp> gets;
    getOperation().walk([&](npu::GetValueOp get) { gets.push_back(get); });
    std::optional<DominanceInfo> dominance;
    for (npu::GetValueOp get : gets) {
      auto alloc = npu::storageOf(get.getSource()).getDefiningOp<tile::AllocOp>();
      // A tile to which the kernel gives an address may share its bytes with others.
      if (!alloc || alloc.getAddress() ||
          alloc.getResult().getType().getSpace() != tile::MemorySpace::UB)
        continue;
      npu::DuplicateOp fill = onlyFillOf(alloc);
      if (!fill || !isWritten(fill, get))
        continue;
      if (!dominance)
        dominance.emplace(getOperation());
      if (!dominance->properlyDominates(fill, get))
        continue;
      get.replaceAllUsesWith(fill.getValue());
      get.erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createForwardFills() {
  return std::make_unique<ForwardFills>();
}

} // namespace tilewright::ascend
