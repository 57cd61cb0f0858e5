// SPDX-License-Identifier: Apache-2.0
/// AssertRegions: a gemm, reduction or scan whose region may leave its buffer is preceded by an
/// assertion that it does not.
///
///     tile.gemm %a[%m, 0] [16, 16] : !tile.buffer<64x16xf32, shared>, ...
/// becomes, where nothing is known of %m,
///     %low = arith.cmpi sge, %m, %c0 : index
///     %high = arith.cmpi sle, %m, %c48 : index
///     %inside = arith.andi %low, %high : i1
///     tile.assert %inside, "this operation leaves its buffer in dim 0, which ends at 64"
///     tile.gemm ...
///
/// These ops have no meaning outside of a buffer, unlike copies and fills, which are clipped. It stands
/// before all passes that may trust a region, and before assertions are numbered.
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
namespace {

SmallVector<tile::BufferRegion> trustedRegions(Operation* op) {
  return llvm::TypeSwitch<Operation*, SmallVector<tile::BufferRegion>>(op)
      .Case([](tile::GemmOp gemm) -> SmallVector<tile::BufferRegion> {
        return {gemm.getARegion(), gemm.getBRegion(), gemm.getCRegion()};
      })
      .Case<tile::ReduceOp, tile::ScanOp>([](auto reduce) -> SmallVector<tile::BufferRegion> {
        return {reduce.getSourceRegion(), reduce.getTargetRegion()};
      })
      .Default(SmallVector<tile::BufferRegion>());
}

class Asserter {
public:
  void visit(Region& region) {
    ranges.enter(region);
    for (Block& block : region)
      for (Operation& op : llvm::make_early_inc_range(block)) {
        for (const tile::BufferRegion& trusted : trustedRegions(&op))
          for (int64_t dim = 0; dim < trusted.type().getRank(); ++dim)
            if (!fits(trusted, dim))
              assertFits(&op, trusted, dim);
        for (Region& nested : op.getRegions())
          visit(nested);
      }
    ranges.leave();
  }

private:
  IndexRange rangeOf(OpFoldResult number) {
    std::optional<int64_t> fixed = getConstantIntValue(number);
    return fixed ? IndexRange{*fixed, *fixed} : ranges.rangeOf(cast<Value>(number));
  }

  /// Whether a part of a dim is known to stay inside. A whole dynamic dim is `[0] [its extent]`.
  bool fits(const tile::BufferRegion& region, int64_t dim) {
    IndexRange offset = rangeOf(region.offsets[dim]), extent = rangeOf(region.extents[dim]);
    if (region.type().isDynamicDim(dim)) {
      auto value = dyn_cast<Value>(region.extents[dim]);
      auto whole = value ? value.getDefiningOp<tile::DimOp>() : nullptr;
      return offset == IndexRange{0, 0} && whole && whole.getBuffer() == region.buffer &&
             int64_t(whole.getDim()) == dim;
    }
    int64_t end = 0;
    return offset.low >= 0 && !llvm::AddOverflow(offset.high, extent.high, end) &&
           end <= region.type().getShape()[dim];
  }

  static void assertFits(Operation* op, const tile::BufferRegion& region, int64_t dim) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    auto value = [&](OpFoldResult number) -> Value {
      if (auto fixed = getConstantIntValue(number))
        return arith::ConstantIndexOp::create(builder, *fixed);
      return cast<Value>(number);
    };
    bool isDynamic = region.type().isDynamicDim(dim);
    Value extent = isDynamic ? Value(tile::DimOp::create(builder, region.buffer, dim))
                             : value(builder.getIndexAttr(region.type().getShape()[dim]));
    Value limit = arith::SubIOp::create(builder, extent, value(region.extents[dim]));
    Value offset = value(region.offsets[dim]);
    Value notNegative = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, offset,
                                              value(builder.getIndexAttr(0)));
    Value notBeyond = arith::CmpIOp::create(builder, arith::CmpIPredicate::sle, offset, limit);
    Value inside = arith::AndIOp::create(builder, notNegative, notBeyond);
    std::string message = "this operation leaves its buffer in dim " + std::to_string(dim);
    if (!isDynamic)
      message += ", which ends at " + std::to_string(region.type().getShape()[dim]);
    tile::AssertOp::check(builder, op->getLoc(), inside, message);
  }

  IndexRanges ranges;
};

class AssertRegions : public KernelPass<AssertRegions> {
public:
  static constexpr llvm::StringLiteral kArgument = "assert-regions";
  static constexpr llvm::StringLiteral kDescription =
      "assert that gemms, reductions and scans stay inside of their buffers";

  void runOnOperation() override {
    Asserter asserter;
    asserter.visit(getOperation().getBody());
  }
};

} // namespace

std::unique_ptr<Pass> createAssertRegions() {
  return std::make_unique<AssertRegions>();
}

} // namespace tilewright
