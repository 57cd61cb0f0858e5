// SPDX-License-Identifier: Apache-2.0
/// Turns a tile.gemm of few rows and a transposed b into products of rows, without bringing b into another order.
///
///   tile.gemm %a : <16x1024xbf16, shared>, %b : <32x1024xbf16, shared> into %C : <16x32xf32, fragment> {transpose_b}
/// becomes, where the machine has vdpbf16ps
///   scf.for %n = 0 to 32 step 4 {                           // 4 rows of b
///     %s:16 = scf.for %k = 0 to 1024 step 32 iter_args(%zeros:16) {      // with rows 0 to 3 of a
///       %a0, ... %a3 = llvm.load ... : 32 elements of bf16, along k
///       %b0, ... %b3 = llvm.load ...
///       vdpbf16ps %s0, %a0, %b0 ... }
///     ... the lanes of each sum added up, and to C;   the same for rows 4 to 7, 8 to 11, 12 to 15 }
///
/// The packed micro-kernels (pack_gemm_operands.cpp, lower_gemm.cpp) transpose b first. That costs as much as the products
/// of some ten rows; here it costs to add lanes up once for each element of C. So it is for at most kMostRows rows, and
/// depths of kLeastDepth at least.
///
/// Where a copy from global memory alone brings an operand as it is, the rows are read there. Each group of b's rows then
/// asks for the next one: a group takes as long as several requests to memory, and the rows of a group are apart from
/// each other, so that the machine foresees little.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;

constexpr int64_t kMostRows = 16, kLeastDepth = 256;
/// Rows of a and of b whose products are summed up at once: 16 sums and 8 rows fit 32 registers, and hide an
/// instruction's latency.
constexpr int64_t kRowsAtOnce = 4;

class DotGemm {
public:
  DotGemm(tile::GemmOp op, const Machine& machine)
      : op(op), builder(op.getLoc(), op), lanes(machine.vectorBits / 32), a(op.getARegion()),
        b(op.getBRegion()), c(op.getCRegion()), element(a.type().getElementType()),
        step(element.isBF16() ? 2 * lanes : lanes), shape(matrixShape(c)),
        depth(matrixShape(b)[1]) {
    isKnown = element.isF32() || (element.isBF16() && machine.hasBf16Dot);
  }

  bool fits() {
    return isKnown && op.getTransposeB() && !op.getTransposeA() &&
           b.type().getElementType() == element && c.type().getElementType().isF32() &&
           !a.type().isGlobal() && !b.type().isGlobal() && !c.type().isGlobal() &&
           shape[0] <= kMostRows && shape[1] % kRowsAtOnce == 0 && depth >= kLeastDepth &&
           depth % step == 0;
  }

  void lower() {
    if (Value clear = op.getClear()) {
      auto branch = scf::IfOp::create(builder, clear);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      tile::FillOp::create(builder, zero(builder, builder.getF32Type()), c);
    }
    SmallVector<tile::CopyOp> passedOver;
    readInPlace(a, passedOver);
    readInPlace(b, passedOver);
    IndexMath math(builder);
    const Range columns[] = {{math.constant(0), math.constant(shape[1] / kRowsAtOnce)}};
    buildNest(builder, columns, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IndexMath innerMath(inner);
      Value column = innerMath.mul(at[0], innerMath.constant(kRowsAtOnce));
      for (int64_t row = 0; row < shape[0]; row += kRowsAtOnce)
        block(inner, row, std::min(kRowsAtOnce, shape[0] - row), column);
    });
    op.erase();
    for (tile::CopyOp copy : passedOver) {
      Operation* buffer = copy.getTargetRegion().buffer.getDefiningOp();
      copy.erase();
      buffer->erase();
    }
  }

private:
  /// Takes the source of the copy that brings `operand`, if rows can be read there as they are.
  void readInPlace(BufferRegion& operand, SmallVector<tile::CopyOp>& passedOver) {
    if (a.buffer == b.buffer)
      return;
    tile::CopyOp copy = onlySource(op, operand);
    if (!copy || !copy.getSourceInBounds() || llvm::is_contained(*copy.getSourceInBounds(), false))
      return;
    const BufferRegion source = copy.getSourceRegion();
    if (!isDenseTensor(source.buffer) ||
        source.type().getElementType() != operand.type().getElementType() ||
        ArrayRef(source.staticExtents()).take_back(2) != ArrayRef(matrixShape(operand)))
      return;
    operand = source;
    passedOver.push_back(copy);
  }

  static SmallVector<Value> place(ImplicitLocOpBuilder& inner, const BufferRegion& region,
                                  Value row, Value column) {
    IndexMath math(inner);
    SmallVector<Value> at;
    for (OpFoldResult offset : region.offsets)
      at.push_back(math.value(offset));
    const size_t rows = at.size() - 2;
    at[rows] = math.add(at[rows], row);
    at[rows + 1] = math.add(at[rows + 1], column);
    return at;
  }

  /// A vector along k.
  Value load(ImplicitLocOpBuilder& inner, const BufferRegion& region, Value row, Value k) const {
    Value address = addressOf(inner, region.buffer, place(inner, region, row, k));
    auto words = VectorType::get({lanes}, inner.getF32Type());
    Value loaded = LLVM::LoadOp::create(inner, words, address, element.getIntOrFloatBitWidth() / 8);
    return vector::BitCastOp::create(inner, VectorType::get({step}, element), loaded);
  }

  Value multiplyAdd(ImplicitLocOpBuilder& inner, Value x, Value y, Value sum) const {
    if (element.isF32())
      return math::FmaOp::create(inner, x, y, sum);
    return LLVM::CallIntrinsicOp::create(
               inner, sum.getType(),
               inner.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + Twine(32 * lanes)),
               ValueRange{sum, x, y})
        .getResult(0);
  }

  /// The elements of c in `count` rows from `row` on and kRowsAtOnce columns from `column` on.
  void block(ImplicitLocOpBuilder& inner, int64_t row, int64_t count, Value column) {
    IndexMath math(inner);
    const SmallVector<Value> zeros(size_t(count * kRowsAtOnce),
                                   zero(inner, VectorType::get({lanes}, inner.getF32Type())));
    auto loop = scf::ForOp::create(inner, math.constant(0), math.constant(depth),
                                   math.constant(step), zeros);
    {
      OpBuilder::InsertionGuard guard(inner);
      inner.setInsertionPointToStart(loop.getBody());
      Value k = loop.getInductionVar();
      SmallVector<Value> right, sums;
      for (int64_t number = 0; number < kRowsAtOnce; ++number)
        right.push_back(load(inner, b, math.add(column, math.constant(number)), k));
      fetchNext(inner, row / kRowsAtOnce, column, k);
      for (int64_t number = 0; number < count; ++number) {
        Value left = load(inner, a, math.constant(row + number), k);
        for (Value vector : right)
          sums.push_back(
              multiplyAdd(inner, left, vector, loop.getRegionIterArg(unsigned(sums.size()))));
      }
      scf::YieldOp::create(inner, sums);
    }
    for (int64_t number = 0; number < count; ++number)
      addUp(inner, math.constant(row + number), column,
            loop.getResults().slice(size_t(number * kRowsAtOnce), kRowsAtOnce));
  }

  /// Asks for the rows of b behind those from `column` on: each block with these for its share.
  void fetchNext(ImplicitLocOpBuilder& inner, int64_t share, Value column, Value k) const {
    if (!b.type().isGlobal())
      return;
    IndexMath math(inner);
    const int64_t shares = int64_t(llvm::divideCeil(shape[0], kRowsAtOnce));
    for (int64_t number = share; number < kRowsAtOnce; number += shares) {
      Value row = math.add(column, math.constant(kRowsAtOnce + number));
      // Behind the last rows there may be none: no promise to be inside.
      Value address =
          addressOf(inner, b.buffer, place(inner, b, row, k), LLVM::GEPNoWrapFlags::none);
      prefetch(inner, address, math.constant(0));
    }
  }

  /// Lanes `first`, `first` + 2, ... of two vectors one behind the other.
  static Value everyOther(ImplicitLocOpBuilder& inner, Value x, Value y, int64_t first,
                          int64_t count) {
    SmallVector<int64_t> lanes;
    for (int64_t number = 0; number < count; ++number)
      lanes.push_back(2 * number + first);
    return vector::ShuffleOp::create(inner, x, y, lanes);
  }

  /// Adds each sum's lanes up, and the results to kRowsAtOnce elements of a row of c. Neighbours are added pair by pair, of
  /// two vectors as long as there are several.
  void addUp(ImplicitLocOpBuilder& inner, Value row, Value column, ValueRange rowSums) {
    auto pairs = [&](Value x, Value y, int64_t count) -> Value {
      return arith::AddFOp::create(inner, everyOther(inner, x, y, 0, count),
                                   everyOther(inner, x, y, 1, count));
    };
    SmallVector<Value> sums(rowSums);
    while (sums.size() > 1) {
      SmallVector<Value> fewer;
      for (size_t number = 0; number < sums.size(); number += 2)
        fewer.push_back(pairs(sums[number], sums[number + 1], lanes));
      sums = fewer;
    }
    Value sum = sums.front();
    for (int64_t count = lanes / 2; count >= kRowsAtOnce; count /= 2)
      sum = pairs(sum, sum, count);
    const SmallVector<Value> at = place(inner, c, row, column);
    if (!op.getClearAccum())
      sum = arith::AddFOp::create(inner, loadVector(inner, c.buffer, at, kRowsAtOnce), sum);
    storeVector(inner, sum, c.buffer, at);
  }

  tile::GemmOp op;
  ImplicitLocOpBuilder builder;
  int64_t lanes;
  BufferRegion a, b, c;
  Type element;
  /// Elements of a vector along k.
  int64_t step;
  bool isKnown;
  /// Rows and columns of c, and columns of a and b.
  SmallVector<int64_t> shape;
  int64_t depth;
};

struct LowerDots : MachinePass<LowerDots> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerDots)
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-dots";
  static constexpr llvm::StringLiteral kDescription =
      "turn tile.gemm of few rows and a transposed b into products of rows";
  using MachinePass::MachinePass;
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (machine.vectorBits < 512)
      return;
    getOperation().walk([&](tile::GemmOp op) {
      DotGemm gemm(op, machine);
      if (gemm.fits())
        gemm.lower();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerDots(const Machine& machine) {
  return std::make_unique<LowerDots>(machine);
}

} // namespace tilewright::cpu
