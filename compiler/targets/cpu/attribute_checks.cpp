// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/attribute_checks.h"

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/gemm_tiles.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/BuiltinAttributes.h>

#include <limits>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// An attribute that is one integer, and what it may be.
struct Number {
  StringRef name;
  int64_t least;
  int64_t most = std::numeric_limits<int64_t>::max();
};

constexpr Number kNumberAttributes[] = {
    {kOffsetAttr, 0},           {kScratchBytesAttr, 0}, {kWorkspaceBytesAttr, 0},
    {kPackedAttr, 1, 4},        {kPiecesAttr, 1, 3},    {kSumsAttr, 1, 1 << 20},
    {kElementBytesAttr, 0, 16}, {kTurnsAttr, 1},        {kRowsAheadAttr, 0, 1 << 20},
    {kApartAttr, 2, 1024},      {kStripCostAttr, 1},    {kAssertAttr, 0, INT32_MAX - 1}};

LogicalResult checkNumber(Operation* op, const Number& number, Attribute given) {
  auto integer = dyn_cast<IntegerAttr>(given);
  if (!integer || !integer.getType().isSignlessInteger() ||
      integer.getType().getIntOrFloatBitWidth() > 64)
    return op->emitError() << "'" << number.name << "' is an integer, not " << given;
  if (integer.getInt() >= number.least && integer.getInt() <= number.most)
    return success();
  return op->emitError() << "'" << number.name << "' is " << integer.getInt() << " but from "
                         << number.least << " to " << number.most << " is expected";
}

/// The rows of b that lie interleaved fill 32 bits, but for one alone, and k is a multiple of them.
LogicalResult checkPacked(Operation* op, int64_t group) {
  auto gemm = dyn_cast<tile::GemmOp>(op);
  if (!gemm)
    return op->emitError() << "'" << kPackedAttr << "' stands on tile.gemm only";
  const tile::BufferRegion a = gemm.getARegion();
  const Type element = a.type().getScalarType();
  const int64_t bits = element.getIntOrFloatBitWidth();
  if (group != 1 && bits * group != 32)
    return op->emitError() << "'" << kPackedAttr << "' is " << group << " but rows of " << element
                           << " are interleaved";
  const std::optional<int64_t> products =
      getConstantIntValue(a.extents[a.extents.size() - (gemm.getTransposeA() ? 2 : 1)]);
  if (!products || *products % group != 0)
    return op->emitError() << "'" << kPackedAttr << "' is " << group
                           << " but a has no multiple of so many products";
  return success();
}

/// Its products fill tiles: groups along k whole ones, or all pieces of so many, and the columns.
LogicalResult checkTiles(tile::GemmOp gemm) {
  auto packed = gemm->getAttrOfType<IntegerAttr>(kPackedAttr);
  auto pieces = gemm->getAttrOfType<IntegerAttr>(kPiecesAttr);
  if (!packed || packed.getInt() < 1)
    return gemm.emitError() << "'" << kTilesAttr << "' stands on a gemm whose b is packed";
  const SmallVector<int64_t> a = gemm.getARegion().staticExtents(),
                             c = gemm.getCRegion().staticExtents();
  const int64_t products = a[a.size() - (gemm.getTransposeA() ? 2 : 1)], columns = c.back();
  if (ShapedType::isDynamic(products) || ShapedType::isDynamic(columns))
    return gemm.emitError() << "'" << kTilesAttr << "' stands on a gemm of known extents";
  const int64_t groups = products / packed.getInt();
  const int64_t step = pieces ? std::clamp<int64_t>(pieces.getInt(), 1, 3) * kTileColumns
                              : tileDepth(std::max<int64_t>(groups, 1));
  if (groups < 1 || step == 0 || groups % step != 0 || columns % kTileColumns != 0)
    return gemm.emitError() << "'" << kTilesAttr << "' stands on a gemm of " << products
                            << " products and " << columns << " columns, which fill no tiles";
  return success();
}

} // namespace

AttributeChecks::AttributeChecks(MLIRContext* context)
    : Dialect(getDialectNamespace(), context, TypeID::get<AttributeChecks>()) {}

LogicalResult AttributeChecks::verifyOperationAttribute(Operation* op, NamedAttribute attribute) {
  const StringRef name = attribute.getName().strref();
  for (const Number& number : kNumberAttributes) {
    if (name != number.name)
      continue;
    if (failed(checkNumber(op, number, attribute.getValue())))
      return failure();
    return name == kPackedAttr ? checkPacked(op, cast<IntegerAttr>(attribute.getValue()).getInt())
                               : success();
  }
  if (auto gemm = dyn_cast<tile::GemmOp>(op); gemm && name == kTilesAttr)
    return checkTiles(gemm);
  if (name == kTileShapeAttr) {
    auto shape = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    auto isOfTiles = [](int64_t each) { return each >= 1 && each <= kTileRows; };
    if (!shape || shape.size() != 2 || !llvm::all_of(shape.asArrayRef(), isOfTiles))
      return op->emitError() << "'" << name << "' is two numbers from 1 to " << kTileRows
                             << ", not " << attribute.getValue();
  }
  return success();
}

} // namespace tilewright::cpu
