// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/sum_kernels.h"

#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/micro_kernels.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {

using namespace mlir;

int64_t pairsOfDepth(int64_t depth) {
  return depth / 3 / kPairStep * kPairStep;
}

namespace {

/// Sums of one micro-kernel, each a vector: enough to hide a multiplication's latency, and few enough to leave registers
/// for what is added.
constexpr int64_t kSumsAtOnce = 16;

class SumLowering : MicroKernels {
public:
  SumLowering(tile::GemmOp op, const Machine& machine)
      : MicroKernels(op, machine), lanes(machine.vectorBits / 32),
        pairs(op->getAttrOfType<IntegerAttr>(kSumsAttr).getInt()) {}

  void lower() {
    start();
    panelSize = (products + kTermsOfColumn) * lanes;
    vector = VectorType::get({lanes}, element);
    either(isFinite(), [&](bool finite) {
      pairsNow = finite ? pairs : 0;
      forTiles(columns / lanes, 1, /*evenly=*/false, [&](Value panel, int64_t) {
        forTiles(rows, kSumsAtOnce, /*evenly=*/true,
                 [&](Value row, int64_t count) { microKernel(row, count, panel); });
      });
    });
    op.erase();
  }

private:
  Value loadScalar(Value pointer) {
    return LLVM::LoadOp::create(builder, element, pointer, elementBytes());
  }

  Value loadPlain(Value pointer) {
    return LLVM::LoadOp::create(builder, vector, pointer, elementBytes());
  }

  Value spread(Value scalar) {
    return vector::BroadcastOp::create(builder, vector, scalar);
  }

  /// Whether the own products of all rows and columns are.
  Value isFinite() {
    Value ofRows = loadScalar(constantPointer(a.pointer, products + kAllOfRow));
    Value ofColumns = loadPlain(constantPointer(b.pointer, (products + kAllOfColumn) * lanes));
    Value sum = vector::ReductionOp::create(builder, vector::CombiningKind::ADD, ofColumns);
    sum = arith::AddFOp::create(builder, sum, ofRows);
    Value size = math::AbsFOp::create(builder, sum);
    Value infinite = arith::ConstantOp::create(
        builder, builder.getF32FloatAttr(std::numeric_limits<float>::infinity()));
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, size, infinite);
  }

  void microKernel(Value row, int64_t count, Value panel) {
    Value column = math.mul(panel, math.constant(lanes));
    Value target = sumPointer(row, column), place = resultPointer(row, column);
    Value aStart = elementPointer(a.pointer, math.mul(row, math.constant(a.rowStride)));
    Value bStart = elementPointer(b.pointer, math.mul(panel, math.constant(panelSize)));
    askForSums(target, count);
    askForResult(row, count, column, lanes);
    SmallVector<Value> sums = firstSums(aStart, bStart, count);
    sums = multiply(aStart, bStart, 0, pairsNow, /*byPairs=*/true, sums);
    sums = multiply(aStart, bStart, 3 * pairsNow, products, /*byPairs=*/false, sums);
    storeSums(aStart, bStart, target, place, count, sums);
  }

  void askForSums(Value target, int64_t count) {
    if (!op.getClearAccum())
      for (int64_t r = 0; r < count; ++r)
        askFor(constantPointer(target, r * c.rowStride));
  }

  SmallVector<Value> firstSums(Value aStart, Value bStart, int64_t count) {
    if (!pairsNow)
      return SmallVector<Value>(count, zero(builder, vector));
    Value ofColumns = loadPlain(constantPointer(bStart, (products + kOwnProducts) * lanes));
    SmallVector<Value> sums;
    for (int64_t r = 0; r < count; ++r) {
      Value own = loadScalar(constantPointer(aStart, r * a.rowStride + products + kOwnProducts));
      sums.push_back(arith::SubFOp::create(builder, spread(own), ofColumns));
    }
    return sums;
  }

  /// The steps from `first` up to `end`; by pairs with those `pairs` further on, and one more step each, `2 pairs` on.
  SmallVector<Value> multiply(Value aStart, Value bStart, int64_t first, int64_t end, bool byPairs,
                              ArrayRef<Value> before) {
    if (first >= end)
      return SmallVector<Value>(before);
    auto loop = scf::ForOp::create(builder, math.constant(first), math.constant(end),
                                   math.constant(1), before);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value aHere = elementPointer(aStart, k);
    Value bHere = elementPointer(bStart, math.mul(k, math.constant(lanes)));
    SmallVector<Value> sums(loop.getRegionIterArgs());
    if (byPairs)
      addPairs(aHere, bHere, sums);
    addProducts(aHere, bHere, byPairs ? 2 * pairs : 0, sums);
    scf::YieldOp::create(builder, sums);
    return SmallVector<Value>(loop.getResults());
  }

  /// Of this step and the one `pairs` further on.
  void addPairs(Value aHere, Value bHere, MutableArrayRef<Value> sums) {
    Value b0 = loadPlain(bHere), b1 = loadPlain(constantPointer(bHere, pairs * lanes));
    for (auto [r, sum] : llvm::enumerate(sums)) {
      const int64_t row = int64_t(r) * a.rowStride;
      Value a0 = spread(loadScalar(constantPointer(aHere, row)));
      Value a1 = spread(loadScalar(constantPointer(aHere, row + pairs)));
      Value left = arith::AddFOp::create(builder, a0, b1);
      Value right = arith::AddFOp::create(builder, a1, b0);
      sum = math::FmaOp::create(builder, left, right, sum);
    }
  }

  /// Of the step so many further on.
  void addProducts(Value aHere, Value bHere, int64_t further, MutableArrayRef<Value> sums) {
    Value right = loadPlain(constantPointer(bHere, further * lanes));
    for (auto [r, sum] : llvm::enumerate(sums)) {
      Value left = loadScalar(constantPointer(aHere, int64_t(r) * a.rowStride + further));
      sum = math::FmaOp::create(builder, spread(left), right, sum);
    }
  }

  /// Scaled back, and added to c unless that counts as 0; to c, or the last ones to where the result goes.
  void storeSums(Value aStart, Value bStart, Value target, Value resultTarget, int64_t count,
                 ArrayRef<Value> sums) {
    Value ofColumns = loadPlain(constantPointer(bStart, (products + kExponent) * lanes));
    Value least = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(vector, builder.getF32FloatAttr(-1000).getValue()));
    SmallVector<Value> scaled;
    for (int64_t r = 0; r < count; ++r) {
      Value ofRow = loadScalar(constantPointer(aStart, r * a.rowStride + products + kExponent));
      Value exponent = arith::AddFOp::create(builder, spread(ofRow), ofColumns);
      if (!pairsNow) // zeros times what isn't finite stay NaN
        exponent = arith::MaximumFOp::create(builder, exponent, least);
      scaled.push_back(timesPowerOfTwo(sums[r], exponent));
    }
    either(result.isLast, [&](bool isLast) {
      either(op.getClear(), [&](bool isClear) {
        for (int64_t r = 0; r < count; ++r) {
          Value here = constantPointer(target, r * c.rowStride), sum = scaled[r];
          if (!isClear && !op.getClearAccum())
            sum = arith::AddFOp::create(builder, sum, loadPlain(here));
          else if (pairsNow) // of a row of zeros what pairs leave may be scaled to -0
            sum = arith::AddFOp::create(builder, sum, zero(builder, vector));
          if (isLast)
            storeResult(sum, resultTarget, r, 0);
          else
            LLVM::StoreOp::create(builder, sum, here, elementBytes());
        }
      });
    });
  }

  Value timesPowerOfTwo(Value numbers, Value exponents) {
    auto constant = [&](Type type, int64_t value) -> Value {
      return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, value));
    };
    const Value allLanes = constant(builder.getIntegerType(unsigned(lanes)), -1);
    const Value asUsual = constant(builder.getI32Type(), 4); // the rounding
    return LLVM::CallIntrinsicOp::create(
               builder, vector, builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
               ValueRange{numbers, exponents, numbers, allLanes, asUsual})
        .getResult(0);
  }

  int64_t lanes;
  /// Of the gemm, and of the version that is being built: 0 where something isn't finite.
  int64_t pairs, pairsNow = 0;
  /// Elements of a panel of b with its terms.
  int64_t panelSize = 0;
  VectorType vector;
};

} // namespace

void lowerToSums(tile::GemmOp op, const Machine& machine) {
  SumLowering(op, machine).lower();
}

} // namespace tilewright::cpu
