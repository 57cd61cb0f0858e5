// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/tensor_ops.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilewright::tile;

#define GET_OP_CLASSES
#include "compiler/ir/tensor_ops.cpp.inc"

void TileDialect::addTensorOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/tensor_ops.cpp.inc"
      >();
}

Value tilewright::tile::tileTarget(Operation* op) {
  if (!isTileOperation(op))
    return {};
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffects(effects);
  for (const MemoryEffects::EffectInstance& effect : effects)
    if (isa<MemoryEffects::Write>(effect.getEffect()))
      return effect.getValue();
  return {};
}

bool tilewright::tile::isOfSingleThread(Operation* op) {
  const Value target = tileTarget(op);
  if (!target)
    return false;
  auto copy = dyn_cast<CopyOp>(op);
  const auto type = cast<BufferType>(target.getType());
  return type.isPerThread() ||
         (copy && cast<BufferType>(copy.getSource().getType()).isPerThread() &&
          (type.isGlobal() || type.getSpace() == MemorySpace::Shared));
}

Type tilewright::tile::accumulationType(Type source, Type target) {
  const bool isRealToWhole = isa<FloatType>(source) && !isa<FloatType>(target);
  const bool isWholeToReal = !isa<FloatType>(source) && isa<FloatType>(target);
  const bool isWider = target.getIntOrFloatBitWidth() > source.getIntOrFloatBitWidth();
  return isWholeToReal || (isWider && !isRealToWhole) ? target : source;
}

static LogicalResult verifyBoundsFlags(Operation* op, std::optional<ArrayRef<bool>> flags,
                                       StringRef role, BufferType type) {
  if (!flags || int64_t(flags->size()) == type.getRank())
    return success();
  return op->emitOpError() << role << " has " << flags->size() << " in-bounds flags but "
                           << type.getRank() << " dims";
}

/// A dim is in bounds if it is marked so, or if all that matters is static: the verifier has
/// checked that for on-chip buffers.
static bool isInBounds(const BufferRegion& region, std::optional<ArrayRef<bool>> flags,
                       int64_t dim) {
  if (flags && (*flags)[dim])
    return true;
  int64_t offset = region.staticOffsets()[dim], extent = region.staticExtents()[dim];
  int64_t size = region.type().getShape()[dim];
  bool known = !ShapedType::isDynamic(offset) && !ShapedType::isDynamic(extent) &&
               !ShapedType::isDynamic(size);
  return known && offset >= 0 && extent <= size && offset <= size - extent;
}

#define TILEWRIGHT_REGION(OP, NAME)                                                                \
  BufferRegion OP::get##NAME##Region() {                                                           \
    return makeRegion(get##NAME(), get##NAME##Offsets(), get##NAME##Extents(),                     \
                      getStatic##NAME##Offsets(), getStatic##NAME##Extents());                     \
  }
TILEWRIGHT_REGION(CopyOp, Source)
TILEWRIGHT_REGION(CopyOp, Target)
TILEWRIGHT_REGION(FillOp, Target)
TILEWRIGHT_REGION(GemmOp, A)
TILEWRIGHT_REGION(GemmOp, B)
TILEWRIGHT_REGION(GemmOp, C)
TILEWRIGHT_REGION(ReduceOp, Source)
TILEWRIGHT_REGION(ReduceOp, Target)
TILEWRIGHT_REGION(ScanOp, Source)
TILEWRIGHT_REGION(ScanOp, Target)
TILEWRIGHT_REGION(AtomicTileOp, Source)
TILEWRIGHT_REGION(AtomicTileOp, Target)
#undef TILEWRIGHT_REGION

#define TILEWRIGHT_VERIFIED(NAME, ROLE)                                                            \
  verifiedRegion(*this, ROLE, get##NAME(), get##NAME##Offsets(), get##NAME##Extents(),             \
                 getStatic##NAME##Offsets(), getStatic##NAME##Extents())

// Copy and fill
// ----------------------------------------------------------------------------------------

void CopyOp::build(OpBuilder& builder, OperationState& state, const BufferRegion& source,
                   const BufferRegion& target) {
  RegionParts from(source), to(target);
  build(builder, state, source.buffer, from.offsets, from.extents, target.buffer, to.offsets,
        to.extents, Value(), Value(), ValueRange(), from.staticOffsets, from.staticExtents,
        to.staticOffsets, to.staticExtents, DenseBoolArrayAttr(), DenseBoolArrayAttr(),
        DenseI64ArrayAttr(), false, false);
}

Value CopyOp::endOf(int64_t dim) {
  for (auto [number, ended] : llvm::enumerate(getEndedDims().value_or(ArrayRef<int64_t>())))
    if (ended == dim)
      return getEnds()[number];
  return {};
}

void CopyOp::takeEnds(CopyOp other) {
  getEndsMutable().assign(other.getEnds());
  setEndedDimsAttr(other.getEndedDimsAttr());
}

bool CopyOp::isSourceInBounds(int64_t dim) {
  return !endOf(dim) && isInBounds(getSourceRegion(), getSourceInBounds(), dim);
}
bool CopyOp::isTargetInBounds(int64_t dim) {
  return isInBounds(getTargetRegion(), getTargetInBounds(), dim);
}

LogicalResult CopyOp::verify() {
  FailureOr<BufferRegion> source = TILEWRIGHT_VERIFIED(Source, "copy source");
  FailureOr<BufferRegion> target = TILEWRIGHT_VERIFIED(Target, "copy target");
  if (failed(source) || failed(target))
    return failure();
  if (failed(verifyBoundsFlags(*this, getSourceInBounds(), "copy source", source->type())) ||
      failed(verifyBoundsFlags(*this, getTargetInBounds(), "copy target", target->type())))
    return failure();
  const ArrayRef<int64_t> ended = getEndedDims().value_or(ArrayRef<int64_t>());
  if (ended.size() != getEnds().size() ||
      llvm::any_of(ended, [&](int64_t dim) { return dim < 0 || dim >= source->type().getRank(); }))
    return emitOpError() << "has " << getEnds().size() << " ends, but names dims " << ended
                         << " of a source of " << source->type().getRank();
  if (getPad() && getPad().getType() != source->type().getScalarType())
    return emitOpError() << "pads with " << getPad().getType()
                         << " but the source has elements of type "
                         << source->type().getScalarType();
  if (getScale() &&
      (!getScale().getType().isF32() || !source->type().getScalarType().isInteger(32) ||
       !target->type().getElementType().isF16()))
    return emitOpError() << "scales by " << getScale().getType() << " from "
                         << source->type().getElementType() << " to "
                         << target->type().getElementType()
                         << "; it is by f32, from int32 to float16";
  SmallVector<int64_t> extents = source->staticExtents();
  if (getTranspose()) {
    if (extents.size() < 2)
      return emitOpError() << "transposes a source of " << extents.size() << " dims; it needs 2";
    std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
  }
  return verifySameExtents(*this, "copy source", extents, "target", target->staticExtents());
}

void FillOp::build(OpBuilder& builder, OperationState& state, Value value,
                   const BufferRegion& target) {
  RegionParts to(target);
  build(builder, state, value, target.buffer, to.offsets, to.extents, to.staticOffsets,
        to.staticExtents, DenseBoolArrayAttr());
}

bool FillOp::isTargetInBounds(int64_t dim) {
  return isInBounds(getTargetRegion(), getTargetInBounds(), dim);
}

LogicalResult FillOp::verify() {
  FailureOr<BufferRegion> target = TILEWRIGHT_VERIFIED(Target, "fill target");
  if (failed(target) ||
      failed(verifyBoundsFlags(*this, getTargetInBounds(), "fill target", target->type())))
    return failure();
  if (getValue().getType() != target->type().getScalarType())
    return emitOpError() << "fills with " << getValue().getType()
                         << " but the target has elements of type "
                         << target->type().getScalarType();
  return success();
}

// Gemm
// -------------------------------------------------------------------------------------------------

void GemmOp::build(OpBuilder& builder, OperationState& state, const BufferRegion& a,
                   const BufferRegion& b, const BufferRegion& c, bool transposeA, bool transposeB,
                   Value clear, bool clearAccum, GemmPolicy policy) {
  RegionParts left(a), right(b), result(c);
  build(builder, state, a.buffer, left.offsets, left.extents, b.buffer, right.offsets,
        right.extents, c.buffer, result.offsets, result.extents, clear, left.staticOffsets,
        left.staticExtents, right.staticOffsets, right.staticExtents, result.staticOffsets,
        result.staticExtents, transposeA, transposeB, clearAccum, policy);
}

/// The rows and columns of a gemm's operand.
static FailureOr<std::pair<int64_t, int64_t>> matrixOf(Operation* op, StringRef role,
                                                       const BufferRegion& region, bool transpose) {
  SmallVector<int64_t> extents = region.staticExtents();
  if (extents.size() < 2)
    return op->emitOpError() << role << " has " << extents.size() << " dims; it needs 2";
  for (int64_t extent : ArrayRef<int64_t>(extents).drop_back(2))
    if (extent != 1)
      return op->emitOpError() << role << " has extents " << shapeText(extents)
                               << "; those before the last two must be 1";
  std::pair<int64_t, int64_t> matrix(extents[extents.size() - 2], extents.back());
  if (transpose)
    std::swap(matrix.first, matrix.second);
  return matrix;
}

LogicalResult GemmOp::verify() {
  FailureOr<BufferRegion> a = TILEWRIGHT_VERIFIED(A, "gemm a");
  FailureOr<BufferRegion> b = TILEWRIGHT_VERIFIED(B, "gemm b");
  FailureOr<BufferRegion> c = TILEWRIGHT_VERIFIED(C, "gemm c");
  if (failed(a) || failed(b) || failed(c))
    return failure();
  auto left = matrixOf(*this, "gemm a", *a, getTransposeA());
  if (failed(left))
    return failure();
  auto right = matrixOf(*this, "gemm b", *b, getTransposeB());
  if (failed(right))
    return failure();
  auto result = matrixOf(*this, "gemm c", *c, false);
  if (failed(result))
    return failure();
  if (!mayEqual(left->second, right->first))
    return emitOpError() << "gemm a has K = " << left->second << " but b has K = " << right->first;
  if (!mayEqual(left->first, result->first))
    return emitOpError() << "gemm a has M = " << left->first << " but c has M = " << result->first;
  if (!mayEqual(right->second, result->second))
    return emitOpError() << "gemm b has N = " << right->second
                         << " but c has N = " << result->second;
  bool isFloat = isa<FloatType>(a->type().getElementType());
  for (const BufferRegion* other : {&*b, &*c})
    if (isa<FloatType>(other->type().getElementType()) != isFloat)
      return emitOpError() << "mixes elements of type " << a->type().getElementType() << " and "
                           << other->type().getElementType();
  if (getClear() && getClearAccum())
    return emitOpError() << "has both clear and clear_accum";
  return success();
}

// Reductions and scans
// ---------------------------------------------------------------------------------

void ReduceOp::build(OpBuilder& builder, OperationState& state, ReduceKind kind,
                     const BufferRegion& source, const BufferRegion& target, int64_t dim,
                     bool clear, bool nanPropagate) {
  RegionParts from(source), to(target);
  build(builder, state, kind, source.buffer, from.offsets, from.extents, target.buffer, to.offsets,
        to.extents, from.staticOffsets, from.staticExtents, to.staticOffsets, to.staticExtents, dim,
        clear, nanPropagate);
}

static LogicalResult verifyKind(Operation* op, ReduceKind kind, BufferType type) {
  bool isBits =
      kind == ReduceKind::BitAnd || kind == ReduceKind::BitOr || kind == ReduceKind::BitXor;
  if (isBits && isa<FloatType>(type.getElementType()))
    return op->emitOpError() << stringifyReduceKind(kind) << " works on integers, not on "
                             << type.getElementType();
  return success();
}

LogicalResult ReduceOp::verify() {
  FailureOr<BufferRegion> source = TILEWRIGHT_VERIFIED(Source, "reduce source");
  FailureOr<BufferRegion> target = TILEWRIGHT_VERIFIED(Target, "reduce target");
  if (failed(source) || failed(target) || failed(verifyKind(*this, getKind(), source->type())))
    return failure();
  SmallVector<int64_t> kept = source->staticExtents(), dropped = kept,
                       actual = target->staticExtents();
  int64_t dim = int64_t(getDim());
  if (dim >= int64_t(kept.size()))
    return emitOpError() << "reduces dim " << dim << " of a source with " << kept.size() << " dims";
  kept[dim] = 1;
  dropped.erase(dropped.begin() + dim);
  if (!mayEqual(kept, actual) && !mayEqual(dropped, actual) &&
      !(dropped.empty() && actual == ArrayRef<int64_t>{1}))
    return emitOpError() << "reduce target has extents " << shapeText(actual)
                         << " but the result has " << shapeText(dropped) << " or "
                         << shapeText(kept);
  return success();
}

void ScanOp::build(OpBuilder& builder, OperationState& state, ReduceKind kind,
                   const BufferRegion& source, const BufferRegion& target, int64_t dim,
                   bool reverse) {
  RegionParts from(source), to(target);
  build(builder, state, kind, source.buffer, from.offsets, from.extents, target.buffer, to.offsets,
        to.extents, from.staticOffsets, from.staticExtents, to.staticOffsets, to.staticExtents, dim,
        reverse);
}

LogicalResult ScanOp::verify() {
  FailureOr<BufferRegion> source = TILEWRIGHT_VERIFIED(Source, "scan source");
  FailureOr<BufferRegion> target = TILEWRIGHT_VERIFIED(Target, "scan target");
  if (failed(source) || failed(target))
    return failure();
  if (getKind() != ReduceKind::Sum && getKind() != ReduceKind::Max)
    return emitOpError() << "computes sum or max, not " << stringifyReduceKind(getKind());
  if (getDim() >= source->extents.size())
    return emitOpError() << "runs along dim " << getDim() << " of a source with "
                         << source->extents.size() << " dims";
  if (!mayEqual(source->staticExtents(), target->staticExtents()))
    return emitOpError() << "scan source has extents " << shapeText(source->staticExtents())
                         << " but target has " << shapeText(target->staticExtents());
  return success();
}

// Atomics
// ----------------------------------------------------------------------------------------------

void AtomicTileOp::build(OpBuilder& builder, OperationState& state, AtomicKind kind,
                         const BufferRegion& source, const BufferRegion& target) {
  RegionParts from(source), to(target);
  build(builder, state, kind, source.buffer, from.offsets, from.extents, target.buffer, to.offsets,
        to.extents, from.staticOffsets, from.staticExtents, to.staticOffsets, to.staticExtents,
        DenseBoolArrayAttr(), DenseBoolArrayAttr());
}

bool AtomicTileOp::isSourceInBounds(int64_t dim) {
  return isInBounds(getSourceRegion(), getSourceInBounds(), dim);
}
bool AtomicTileOp::isTargetInBounds(int64_t dim) {
  return isInBounds(getTargetRegion(), getTargetInBounds(), dim);
}

LogicalResult AtomicTileOp::verify() {
  FailureOr<BufferRegion> source = TILEWRIGHT_VERIFIED(Source, "atomic source");
  FailureOr<BufferRegion> target = TILEWRIGHT_VERIFIED(Target, "atomic target");
  if (failed(source) || failed(target))
    return failure();
  if (failed(verifyBoundsFlags(*this, getSourceInBounds(), "atomic source", source->type())) ||
      failed(verifyBoundsFlags(*this, getTargetInBounds(), "atomic target", target->type())))
    return failure();
  if (getKind() == AtomicKind::Load || getKind() == AtomicKind::Store)
    return emitOpError() << stringifyAtomicKind(getKind())
                         << " works on one element, not on a tile";
  return verifySameExtents(*this, "atomic source", source->staticExtents(), "target",
                           target->staticExtents());
}
