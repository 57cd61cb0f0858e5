// SPDX-License-Identifier: Apache-2.0
/// Brings the operands of every tile.gemm into the form of the micro-kernel: on chip, in the type
/// that accumulates, b as [K, N].
///
///   tile.gemm %A : <64x32xf16, shared>, %B : <64x32xf16, shared> into %C : <64x64xf32, fragment>
///   {transpose_b}
/// becomes
///   %a = tile.alloc : <64x32xf32, shared>      tile.copy %A to %a
///   %b = tile.alloc : <32x64xf32, shared>      tile.copy %B to %b {transpose}
///   tile.gemm %a, %b into %C
///
/// A result narrower than float32 is staged too: it accumulates in float32 and is rounded once. A
/// `clear` that is known only at run time becomes a fill under scf.if. It stands first, so that
/// scratch planning sees the copies' targets.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// The type in which a gemm into elements of type `element` accumulates.
Type accumulatorType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

/// Rows and columns of the matrix that a region holds: its last two extents.
SmallVector<int64_t> matrixShape(const BufferRegion& region) {
  SmallVector<int64_t> extents = region.staticExtents();
  return {extents[extents.size() - 2], extents.back()};
}

class GemmPacker {
public:
  explicit GemmPacker(tile::GemmOp op)
      : op(op), builder(op.getLoc(), op),
        element(accumulatorType(op.getCRegion().type().getElementType())) {}

  void pack() {
    if (Value clear = op.getClear())
      clearFirst(clear);
    BufferRegion a = op.getARegion(), b = op.getBRegion(), c = op.getCRegion();
    bool transposeA = op.getTransposeA();
    if (needsStage(a)) {
      a = stageIn(a, transposeA);
      transposeA = false;
    }
    if (needsStage(b) || op.getTransposeB())
      b = stageIn(b, op.getTransposeB());
    BufferRegion accumulator = c;
    if (needsStage(c))
      accumulator = op.getClearAccum() ? newStage(matrixShape(c)) : stageIn(c, false);
    tile::GemmOp::create(builder, a, b, accumulator, transposeA, /*transposeB=*/false, Value(),
                         op.getClearAccum());
    if (needsStage(c))
      tile::CopyOp::create(builder, accumulator, c);
    op.erase();
  }

private:
  bool needsStage(const BufferRegion& region) const {
    return region.type().isGlobal() || region.type().getElementType() != element;
  }

  void clearFirst(Value condition) {
    auto branch = scf::IfOp::create(builder, condition);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    BufferRegion c = op.getCRegion();
    tile::FillOp::create(builder, zero(builder, c.type().getScalarType()), c);
  }

  BufferRegion newStage(ArrayRef<int64_t> shape) {
    auto type = BufferType::get(shape, element, MemorySpace::Shared);
    Value buffer = tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
    return BufferRegion::whole(buffer);
  }

  BufferRegion stageIn(const BufferRegion& region, bool transpose) {
    SmallVector<int64_t> shape = matrixShape(region);
    if (transpose)
      std::swap(shape[0], shape[1]);
    BufferRegion stage = newStage(shape);
    auto copy = tile::CopyOp::create(builder, region, stage);
    copy.setTranspose(transpose);
    return stage;
  }

  tile::GemmOp op;
  ImplicitLocOpBuilder builder;
  Type element;
};

struct PackGemmOperands : KernelPass<PackGemmOperands> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackGemmOperands)
  static constexpr llvm::StringLiteral kArgument = "cpu-pack-gemm-operands";
  static constexpr llvm::StringLiteral kDescription =
      "bring gemm operands on chip, into the accumulating type and row-major order";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](tile::GemmOp op) { GemmPacker(op).pack(); });
  }
};

} // namespace

std::unique_ptr<Pass> createPackGemmOperands() {
  return std::make_unique<PackGemmOperands>();
}

} // namespace tilewright::cpu
