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
/// Where the machine multiplies pairs of bfloat16, operands stay in bfloat16, and two rows of b lie interleaved:
/// element (k, n) at (k / 2) * 2 N + 2 n + k mod 2. Such a gemm carries {cpu.pairs}.
///
/// A result narrower than float32 is staged too: it accumulates in float32 and is rounded once. A
/// `clear` that is known only at run time becomes a fill under scf.if. It stands first, so that
/// scratch planning sees the copies' targets.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine.h"
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
  GemmPacker(tile::GemmOp op, const Machine& machine)
      : op(op), builder(op.getLoc(), op),
        element(accumulatorType(op.getCRegion().type().getElementType())),
        lanes(machine.vectorBits / 32), canPair(machine.hasBf16Dot) {}

  void pack() {
    if (Value clear = op.getClear())
      clearFirst(clear);
    BufferRegion a = op.getARegion(), b = op.getBRegion(), c = op.getCRegion();
    bool transposeA = op.getTransposeA();
    const bool pairs = isPaired(a, b);
    if (needsStage(a) && !(pairs && !transposeA && !a.type().isGlobal())) {
      a = stageIn(a, transposeA, pairs ? a.type().getElementType() : element);
      transposeA = false;
    }
    if (pairs)
      b = op.getTransposeB() ? pairColumns(b) : pairRows(b);
    else if (needsStage(b) || op.getTransposeB())
      b = stageIn(b, op.getTransposeB(), element);
    BufferRegion accumulator = c;
    if (needsStage(c))
      accumulator =
          op.getClearAccum() ? newStage(matrixShape(c), element) : stageIn(c, false, element);
    auto packed = tile::GemmOp::create(builder, a, b, accumulator, transposeA,
                                       /*transposeB=*/false, Value(), op.getClearAccum());
    if (pairs)
      packed->setAttr(kPairsAttr, builder.getUnitAttr());
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

  /// Whether the machine's instruction for pairs of bfloat16 fits: an even depth and whole vectors.
  bool isPaired(const BufferRegion& a, const BufferRegion& b) {
    SmallVector<int64_t> columns = matrixShape(op.getCRegion()), depth = matrixShape(b);
    return canPair && a.type().getElementType().isBF16() && b.type().getElementType().isBF16() &&
           element.isF32() && depth[op.getTransposeB()] % 2 == 0 && columns[1] % lanes == 0 &&
           a.type().getShape().back() % 2 == 0;
  }

  BufferRegion newStage(ArrayRef<int64_t> shape, Type type) {
    auto bufferType = BufferType::get(shape, type, MemorySpace::Shared);
    Value buffer = tile::AllocOp::create(builder, bufferType, StringAttr(), IntegerAttr());
    return BufferRegion::whole(buffer);
  }

  BufferRegion stageIn(const BufferRegion& region, bool transpose, Type type) {
    SmallVector<int64_t> shape = matrixShape(region);
    if (transpose)
      std::swap(shape[0], shape[1]);
    BufferRegion stage = newStage(shape, type);
    auto copy = tile::CopyOp::create(builder, region, stage);
    copy.setTranspose(transpose);
    return stage;
  }

  /// The same memory as pairs, each a 32-bit integer.
  Value viewAsPairs(Value buffer, ArrayRef<int64_t> shape) {
    auto integer = builder.getIntegerType(32, /*isSigned=*/true);
    auto type = BufferType::get(shape, integer, MemorySpace::Shared);
    return tile::ViewOp::create(builder, type, buffer, ValueRange());
  }

  /// [K, N] with rows 2k and 2k + 1 interleaved.
  BufferRegion pairRows(const BufferRegion& b) {
    const int64_t depth = matrixShape(b)[0], columns = matrixShape(b)[1];
    BufferRegion stage = newStage({depth, columns}, b.type().getElementType());
    Value pairs = viewAsPairs(stage.buffer, {depth / 2, columns});
    SmallVector<OpFoldResult> extents{builder.getIndexAttr(depth / 2),
                                      builder.getIndexAttr(columns)};
    auto nest = tile::ParallelOp::create(builder, extents);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    IndexMath math(builder);
    Value pair = nest.getInductionVars()[0], column = nest.getInductionVars()[1];
    auto bitsOf = [&](int64_t parity) -> Value {
      SmallVector<Value> at;
      for (OpFoldResult offset : b.offsets)
        at.push_back(math.value(offset));
      Value row = math.add(math.mul(pair, math.constant(2)), math.constant(parity));
      at[at.size() - 2] = math.add(at[at.size() - 2], row);
      at.back() = math.add(at.back(), column);
      Value value = tile::LoadOp::create(builder, b.type().getScalarType(), b.buffer, at,
                                         /*in_bounds=*/!b.type().isGlobal());
      Value bits = arith::BitcastOp::create(builder, builder.getI16Type(), value);
      return arith::ExtUIOp::create(builder, builder.getI32Type(), bits);
    };
    Value low = bitsOf(0), high = bitsOf(1);
    Value sixteen = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(16));
    Value shifted = arith::ShLIOp::create(builder, high, sixteen);
    storeElement(builder, arith::OrIOp::create(builder, low, shifted), pairs, {pair, column});
    return stage;
  }

  /// As pairRows, of b stored as [N, K]: its pairs lie together already, and only change places.
  BufferRegion pairColumns(BufferRegion b) {
    const int64_t columns = matrixShape(b)[0], depth = matrixShape(b)[1];
    if (!b.isWhole() || b.type().isGlobal())
      b = stageIn(b, false, b.type().getElementType());
    BufferRegion stage = newStage({depth, columns}, b.type().getElementType());
    Value from = viewAsPairs(b.buffer, {columns, depth / 2});
    Value to = viewAsPairs(stage.buffer, {depth / 2, columns});
    auto copy = tile::CopyOp::create(builder, BufferRegion::whole(from), BufferRegion::whole(to));
    copy.setTranspose(true);
    return stage;
  }

  tile::GemmOp op;
  ImplicitLocOpBuilder builder;
  Type element;
  int64_t lanes;
  bool canPair;
};

struct PackGemmOperands : KernelPass<PackGemmOperands> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackGemmOperands)
  static constexpr llvm::StringLiteral kArgument = "cpu-pack-gemm-operands";
  static constexpr llvm::StringLiteral kDescription =
      "bring gemm operands on chip, into the accumulating type and row-major order";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  explicit PackGemmOperands(Machine machine) : machine(std::move(machine)) {}

  void runOnOperation() override {
    SmallVector<tile::GemmOp> ops;
    getOperation().walk([&](tile::GemmOp op) { ops.push_back(op); });
    for (tile::GemmOp op : ops)
      GemmPacker(op, machine).pack();
  }

  Machine machine;
};

} // namespace

std::unique_ptr<Pass> createPackGemmOperands(const Machine& machine) {
  return std::make_unique<PackGemmOperands>(machine);
}

} // namespace tilewright::cpu
