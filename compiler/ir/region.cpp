// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/region.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <llvm/Support/MathExtras.h>

#include <limits>

using namespace mlir;
using namespace tilewright::tile;

BufferRegion BufferRegion::whole(Value buffer) {
  BufferRegion region{buffer, {}, {}};
  Builder builder(buffer.getContext());
  for (int64_t dim : region.type().getShape()) {
    region.offsets.push_back(builder.getIndexAttr(0));
    region.extents.push_back(builder.getIndexAttr(dim));
  }
  return region;
}

static SmallVector<int64_t> toIntegers(ArrayRef<OpFoldResult> values) {
  SmallVector<int64_t> integers;
  for (OpFoldResult value : values) {
    auto attribute = dyn_cast<Attribute>(value);
    integers.push_back(attribute ? cast<IntegerAttr>(attribute).getInt() : ShapedType::kDynamic);
  }
  return integers;
}

SmallVector<int64_t> BufferRegion::staticExtents() const {
  return toIntegers(extents);
}
SmallVector<int64_t> BufferRegion::staticOffsets() const {
  return toIntegers(offsets);
}

static bool isWholeOf(BufferType type, ArrayRef<int64_t> offsets, ArrayRef<int64_t> extents) {
  return type.hasStaticShape() &&
         llvm::all_of(offsets, [](int64_t offset) { return offset == 0; }) &&
         extents == type.getShape();
}

bool BufferRegion::isWhole() const {
  return isWholeOf(type(), staticOffsets(), staticExtents());
}

BufferRegion tilewright::tile::makeRegion(Value buffer, ValueRange offsets, ValueRange extents,
                                          ArrayRef<int64_t> staticOffsets,
                                          ArrayRef<int64_t> staticExtents) {
  Builder builder(buffer.getContext());
  return {buffer, getMixedValues(staticOffsets, offsets, builder),
          getMixedValues(staticExtents, extents, builder)};
}

RegionParts::RegionParts(const BufferRegion& region) {
  dispatchIndexOpFoldResults(region.offsets, offsets, staticOffsets);
  dispatchIndexOpFoldResults(region.extents, extents, staticExtents);
}

SmallVector<int64_t> tilewright::tile::withoutUnitExtents(ArrayRef<int64_t> extents) {
  SmallVector<int64_t> kept;
  llvm::copy_if(extents, std::back_inserter(kept), [](int64_t extent) { return extent != 1; });
  return kept;
}

std::string tilewright::tile::shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      shape, [&](int64_t dim) { ShapedType::isDynamic(dim) ? stream << "?" : stream << dim; },
      [&] { stream << "x"; });
  return shape.empty() ? "scalar" : text;
}

bool tilewright::tile::mayEqual(int64_t left, int64_t right) {
  return left == right || ShapedType::isDynamic(left) || ShapedType::isDynamic(right);
}

bool tilewright::tile::mayEqual(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  return left.size() == right.size() && llvm::all_of(llvm::zip(left, right), [](auto pair) {
           return mayEqual(std::get<0>(pair), std::get<1>(pair));
         });
}

LogicalResult tilewright::tile::verifySameExtents(Operation* op, StringRef leftRole,
                                                  ArrayRef<int64_t> left, StringRef rightRole,
                                                  ArrayRef<int64_t> right) {
  SmallVector<int64_t> leftKept = withoutUnitExtents(left), rightKept = withoutUnitExtents(right);
  if (mayEqual(leftKept, rightKept))
    return success();
  return op->emitOpError() << leftRole << " has extents " << shapeText(left) << " but " << rightRole
                           << " has " << shapeText(right);
}

LogicalResult tilewright::tile::verifyRegion(Operation* op, StringRef role,
                                             const BufferRegion& region) {
  BufferType type = region.type();
  SmallVector<int64_t> offsets = region.staticOffsets();
  SmallVector<int64_t> extents = region.staticExtents();
  if (int64_t(offsets.size()) != type.getRank() || int64_t(extents.size()) != type.getRank())
    return op->emitOpError() << role << " has " << offsets.size() << " offsets and "
                             << extents.size() << " extents but its buffer has " << type.getRank()
                             << " dims";
  for (auto [number, dim, offset, extent] : llvm::enumerate(type.getShape(), offsets, extents)) {
    bool knownExtent = !ShapedType::isDynamic(extent), knownOffset = !ShapedType::isDynamic(offset);
    if (knownExtent && extent < 0)
      return op->emitOpError() << role << " has extent " << extent << " in dim " << number;
    if (type.isGlobal() || !knownExtent || ShapedType::isDynamic(dim))
      continue;
    if (extent > dim)
      return op->emitOpError() << role << " takes " << extent << " elements of dim " << number
                               << ", which has " << dim;
    if (knownOffset && (offset < 0 || offset > dim - extent)) {
      int64_t last = 0;
      if (llvm::AddOverflow(offset, extent - 1, last))
        last = std::numeric_limits<int64_t>::max();
      return op->emitOpError() << role << " takes elements " << offset << " to " << last
                               << " of dim " << number << ", which has " << dim;
    }
  }
  return success();
}

FailureOr<BufferRegion> tilewright::tile::verifiedRegion(Operation* op, StringRef role,
                                                         Value buffer, ValueRange offsets,
                                                         ValueRange extents,
                                                         ArrayRef<int64_t> staticOffsets,
                                                         ArrayRef<int64_t> staticExtents) {
  if (size_t(llvm::count(staticOffsets, ShapedType::kDynamic)) != offsets.size() ||
      size_t(llvm::count(staticExtents, ShapedType::kDynamic)) != extents.size())
    return op->emitOpError()
           << role
           << " has another number of operands than of offsets and extents that are not static";
  BufferRegion region = makeRegion(buffer, offsets, extents, staticOffsets, staticExtents);
  if (failed(verifyRegion(op, role, region)))
    return failure();
  return region;
}

ParseResult tilewright::tile::parseRegion(OpAsmParser& parser,
                                          OpAsmParser::UnresolvedOperand& buffer,
                                          SmallVectorImpl<OpAsmParser::UnresolvedOperand>& offsets,
                                          SmallVectorImpl<OpAsmParser::UnresolvedOperand>& extents,
                                          DenseI64ArrayAttr& staticOffsets,
                                          DenseI64ArrayAttr& staticExtents, Type& type) {
  if (parser.parseOperand(buffer))
    return failure();
  // `[` or `:` follows: an absent list means the whole buffer.
  bool isWhole = succeeded(parser.parseOptionalColon());
  if (!isWhole && (parseDynamicIndexList(parser, offsets, staticOffsets) ||
                   parseDynamicIndexList(parser, extents, staticExtents) || parser.parseColon()))
    return failure();
  SMLoc typeLoc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  auto bufferType = dyn_cast<BufferType>(type);
  if (!bufferType)
    return parser.emitError(typeLoc) << "expected a !tile.buffer type but got " << type;
  if (!isWhole)
    return success();
  if (!bufferType.hasStaticShape())
    return parser.emitError(typeLoc)
           << "a region of a buffer with dynamic dims needs offsets and extents";
  staticOffsets =
      parser.getBuilder().getDenseI64ArrayAttr(SmallVector<int64_t>(bufferType.getRank(), 0));
  staticExtents = parser.getBuilder().getDenseI64ArrayAttr(bufferType.getShape());
  return success();
}

void tilewright::tile::printRegion(OpAsmPrinter& printer, Operation* op, Value buffer,
                                   OperandRange offsets, OperandRange extents,
                                   DenseI64ArrayAttr staticOffsets, DenseI64ArrayAttr staticExtents,
                                   Type type) {
  printer << buffer;
  if (!isWholeOf(cast<BufferType>(type), staticOffsets.asArrayRef(), staticExtents.asArrayRef())) {
    printDynamicIndexList(printer, op, offsets, staticOffsets);
    printer << " ";
    printDynamicIndexList(printer, op, extents, staticExtents);
  }
  printer << " : " << type;
}
