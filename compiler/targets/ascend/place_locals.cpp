// SPDX-License-Identifier: Apache-2.0
/// PlaceLocals: an array of T.alloc_local that copies, fills or reductions take lies in UB.
///
///   %f = tile.alloc "f" : !tile.buffer<64xf32, local>
///   tile.copy %A : !tile.buffer<64xf32, global> to %f : !tile.buffer<64xf32, local>
/// becomes
///   %f = tile.alloc "f" : !tile.buffer<64xf32, UB>
///   tile.copy %A : !tile.buffer<64xf32, global> to %f : !tile.buffer<64xf32, UB>
///
/// Others stay arrays of the scalar unit, whose elements are registers or its stack. It stands first: passes behind
/// it ask who shares a buffer.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

struct PlaceLocals : KernelPass<PlaceLocals> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceLocals)
  static constexpr llvm::StringLiteral kArgument = "ascend-place-locals";
  static constexpr llvm::StringLiteral kDescription =
      "put arrays of T.alloc_local that operations on tiles take in UB";

  void runOnOperation() override {
    getOperation().walk([](tile::AllocOp alloc) {
      const auto isOnTiles = [](Operation* user) {
        return isa<tile::CopyOp, tile::FillOp, tile::ReduceOp, tile::ScanOp, tile::AtomicTileOp>(
            user);
      };
      if (alloc.getType().getSpace() == MemorySpace::Local &&
          llvm::any_of(npu::usersOf(alloc), isOnTiles))
        moveToUb(alloc);
    });
  }

  /// Also what views it.
  static void moveToUb(Value buffer) {
    const auto type = cast<BufferType>(buffer.getType());
    buffer.setType(BufferType::get(type.getShape(), type.getElementType(), MemorySpace::UB,
                                   type.getStrided(), type.getLayout()));
    for (Operation* user : buffer.getUsers())
      if (auto view = dyn_cast<tile::ViewOp>(user))
        moveToUb(view);
  }
};

} // namespace

std::unique_ptr<Pass> createPlaceLocals() {
  return std::make_unique<PlaceLocals>();
}

} // namespace tilewright::ascend
