// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/dialect.h"

#include "compiler/ir/address_attribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tile;

#include "compiler/ir/tile_dialect.cpp.inc"

#include "compiler/ir/tile_enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/tile_attrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/tile_types.cpp.inc"

void TileDialect::initialize() {
  addTypes();
  addAttributes();
  addStructureOps();
  addMemoryOps();
  addTensorOps();
  addThreadOps();
}

Operation* TileDialect::materializeConstant(OpBuilder& builder, Attribute value, Type type,
                                            Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

void TileDialect::addTypes() {
  Dialect::addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/tile_types.cpp.inc"
      >();
}

void TileDialect::addAttributes() {
  Dialect::addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/tile_attrs.cpp.inc"
      >();
}

// Buffers
// ----------------------------------------------------------------------------------------------

static bool isElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 1)
      return integer.isSignless();
    return !integer.isSignless() &&
           (width == 4 || width == 8 || width == 16 || width == 32 || width == 64);
  }
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3Type, Float8E4M3FNType,
             Float8E4M3FNUZType, Float8E5M2Type, Float8E5M2FNUZType, Float8E8M0FNUType,
             Float8E3M4Type, Float8E4M3B11FNUZType, Float6E2M3FNType, Float6E3M2FNType,
             Float4E2M1FNType, UnpackedFloat4Type>(type);
}

const llvm::fltSemantics& UnpackedFloat4Type::getFloatSemantics() const {
  return APFloat::Float4E2M1FN();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType, MemorySpace space,
                                 bool strided, Attribute layout) {
  if (!isElementType(elementType))
    return emitError() << "a buffer's elements cannot be of type " << elementType
                       << "; integers are si or ui with 4 to 64 bits, bool is i1";
  if (shape.size() > 16)
    return emitError() << "a buffer has at most 16 dims, not " << shape.size();
  if (space == MemorySpace::Var && !shape.empty())
    return emitError() << "a var buffer has rank 0, not " << shape.size();
  bool isGlobal = space == MemorySpace::Global;
  if (strided && !isGlobal)
    return emitError() << "only a global buffer may be strided, not one in "
                       << stringifyMemorySpace(space);
  int64_t bits = 64;
  for (int64_t dim : shape) {
    if (dim == ShapedType::kDynamic) {
      if (!isGlobal && space != MemorySpace::Shared)
        return emitError() << "a buffer in " << stringifyMemorySpace(space)
                           << " has a static shape";
      continue;
    }
    if (dim < 0)
      return emitError() << "a dim cannot be negative: " << dim;
    if (llvm::MulOverflow(bits, std::max<int64_t>(dim, 1), bits))
      return emitError() << "a buffer of this shape has more than 2^63 bits";
  }
  if (!layout)
    return success();
  if (auto map = dyn_cast<AffineMapAttr>(layout)) {
    if (map.getAffineMap().getNumDims() != shape.size())
      return emitError() << "the layout takes " << map.getAffineMap().getNumDims()
                         << " indices but the buffer has " << shape.size() << " dims";
    return success();
  }
  if (auto panel = dyn_cast<PanelAttr>(layout)) {
    if (panel.getDim() >= int64_t(shape.size()))
      return emitError() << "the layout cuts dim " << panel.getDim() << " but the buffer has "
                         << shape.size() << " dims";
    return success();
  }
  return emitError() << "a layout is an affine map or #tile.panel, not " << layout;
}

LogicalResult PanelAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim,
                                int64_t width) {
  if (dim < 0 || width < 1)
    return emitError() << "a panel has a dim of at least 0 and a width of at least 1, not " << dim
                       << " and " << width;
  return success();
}

Type BufferType::parse(AsmParser& parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  StringRef spaceName;
  SMLoc spaceLoc;
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(elementType) ||
      parser.parseComma())
    return {};
  spaceLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&spaceName))
    return {};
  std::optional<MemorySpace> space = symbolizeMemorySpace(spaceName);
  if (!space) {
    parser.emitError(spaceLoc, "unknown memory space '") << spaceName << "'";
    return {};
  }
  bool strided = false;
  Attribute layout;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("strided"))) {
      strided = true;
      continue;
    }
    if (parser.parseKeyword("layout", " or 'strided'") || parser.parseEqual() ||
        parser.parseAttribute(layout))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), shape, elementType, *space, strided,
                                       layout);
}

void BufferType::print(AsmPrinter& printer) const {
  printer << "<";
  for (int64_t dim : getShape()) {
    if (dim == kDynamic)
      printer << "?x";
    else
      printer << dim << "x";
  }
  printer << getElementType() << ", " << stringifyMemorySpace(getSpace());
  if (getStrided())
    printer << ", strided";
  if (getLayout())
    printer << ", layout = " << getLayout();
  printer << ">";
}

bool BufferType::hasStaticShape() const {
  return llvm::none_of(getShape(), ShapedType::isDynamic);
}

int64_t BufferType::getNumElements() const {
  int64_t count = 1;
  for (int64_t dim : getShape())
    count *= dim;
  return count;
}

unsigned BufferType::getElementBits() const {
  unsigned width = getElementType().getIntOrFloatBitWidth();
  const bool takesByte = width == 1 || width == 6 || isa<UnpackedFloat4Type>(getElementType());
  return takesByte ? 8 : width;
}

Type BufferType::getScalarType() const {
  if (auto integer = dyn_cast<IntegerType>(getElementType()))
    return IntegerType::get(getContext(), integer.getWidth());
  return getElementType();
}

// Attributes of kernels
// --------------------------------------------------------------------------------

/// The attributes of an op are verified before the op: the function itself may still be wrong, and
/// says so.
static bool hasSoundArguments(FunctionOpInterface function) {
  auto type = function->getAttrOfType<TypeAttr>("function_type");
  if (!type || !isa<FunctionType>(type.getValue()))
    return false;
  ArrayAttr all = function.getArgAttrsAttr();
  return !all || (all.size() == function.getNumArguments() && llvm::all_of(all, [](Attribute one) {
                    return isa_and_nonnull<DictionaryAttr>(one);
                  }));
}

LogicalResult TileDialect::verifyOperationAttribute(Operation* op, NamedAttribute attribute) {
  if (attribute.getName() != kKernelAttr)
    return success();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitError() << "'tile.kernel' stands on functions only";
  if (!hasSoundArguments(function))
    return success();
  if (function.isExternal())
    return op->emitError() << "a kernel has a body";
  if (function.getNumResults() != 0)
    return op->emitError() << "a kernel has no results, but this one has "
                           << function.getNumResults();
  bool symbols = false;
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    bool isSymbol = bool(function.getArgAttr(number, kSymbolAttr));
    if (!isSymbol && !function.getArgAttr(number, kNameAttr))
      return op->emitError() << "argument " << number
                             << " of the kernel has neither 'tile.name' nor 'tile.symbol'";
    if (!isSymbol && symbols)
      return op->emitError() << "argument " << number << " of the kernel stands after a symbol";
    symbols |= isSymbol;
  }
  if (llvm::none_of(function.getFunctionBody().front(), [](Operation& nested) {
        return nested.getName().getStringRef() == "tile.launch";
      }))
    return op->emitError() << "a kernel has at least one launch, but this one has none";
  return success();
}

static LogicalResult verifyShapeMap(Operation* op, unsigned number, NamedAttribute attribute,
                                    Type type) {
  auto function = cast<FunctionOpInterface>(op);
  auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
  auto buffer = dyn_cast<BufferType>(type);
  if (!map || !buffer)
    return op->emitError() << attribute.getName().strref()
                           << " is an affine map on a buffer argument";
  AffineMap value = map.getAffineMap();
  unsigned symbols = 0;
  for (unsigned other = 0; other < function.getNumArguments(); ++other)
    symbols += bool(function.getArgAttr(other, kSymbolAttr));
  if (value.getNumDims() != 0 || value.getNumSymbols() != symbols)
    return op->emitError() << attribute.getName().strref() << " of argument " << number << " takes "
                           << value.getNumSymbols() << " symbols but the kernel has " << symbols;
  if (value.getNumResults() != buffer.getRank())
    return op->emitError() << attribute.getName().strref() << " of argument " << number << " has "
                           << value.getNumResults() << " results but the buffer has "
                           << buffer.getRank() << " dims";
  if (attribute.getName() != kShapeAttr)
    return success();
  for (auto [dim, expression] : llvm::zip(buffer.getShape(), value.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    if (!ShapedType::isDynamic(dim) && (!constant || constant.getValue() != dim))
      return op->emitError() << "dim " << dim << " of argument " << number
                             << " disagrees with its tile.shape";
  }
  return success();
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation* op, unsigned, unsigned number,
                                                    NamedAttribute attribute) {
  auto function = cast<FunctionOpInterface>(op); // MLIR asks for arguments of functions only
  if (!hasSoundArguments(function) || number >= function.getNumArguments())
    return success();
  Type type = function.getArgumentTypes()[number];
  StringRef name = attribute.getName();
  if (name == kShapeAttr || name == kStridesAttr)
    return verifyShapeMap(op, number, attribute, type);
  if (name == kNameAttr || name == kSymbolAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitError() << name << " of argument " << number << " is not a string";
    if (name == kSymbolAttr && !type.isIndex())
      return op->emitError() << "argument " << number << " is a symbol, so its type is index, not "
                             << type;
    return success();
  }
  if (name == kScalarAttr) {
    auto scalar = dyn_cast<StringAttr>(attribute.getValue());
    if (!scalar || !function.getArgAttr(number, kSymbolAttr))
      return op->emitError() << name << " of argument " << number
                             << " is a string on a symbol, which it gives a name of a scalar";
    for (unsigned other = 0; other < function.getNumArguments(); ++other)
      if (function.getArgAttr(other, kNameAttr) == scalar &&
          isa<IntegerType>(function.getArgumentTypes()[other]))
        return success();
    return op->emitError() << name << " of argument " << number << " names no integer: '"
                           << scalar.getValue() << "'";
  }
  if (name == kDtypeAttr || name == kPointeeAttr) {
    if (!isa<TypeAttr>(attribute.getValue()))
      return op->emitError() << name << " of argument " << number << " is not a type";
    return success();
  }
  if (name == kAddressAttr) {
    if (!isa<UnitAttr>(attribute.getValue()) || !type.isInteger(64))
      return op->emitError() << name << " of argument " << number
                             << " is for integers of 64 bits, without a value";
    return success();
  }
  if (name == kOverlapsAttr || name == kApartAttr) {
    const bool isSound = name == kApartAttr ? isa<DenseI64ArrayAttr>(attribute.getValue())
                                            : isa<UnitAttr>(attribute.getValue());
    if (!isSound || !isa<BufferType>(type))
      return op->emitError() << name << " of argument " << number << " is for tensors, "
                             << (name == kApartAttr ? "with numbers of others" : "without a value");
    return success();
  }
  return op->emitError() << "unknown attribute " << name << " of argument " << number;
}
