// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_ops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using ascend::Agent;
using ascend::Pipe;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;
using tile::parseRegion;
using tile::printRegion;

#define GET_OP_CLASSES
#include "compiler/ir/npu_transfer_ops.cpp.inc"

void NpuDialect::addTransferOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/npu_transfer_ops.cpp.inc"
      >();
}

using Accesses = SmallVectorImpl<Access>;

static int64_t elementBytes(BufferType type) {
  return int64_t(type.getElementBits()) / 8;
}

static Access globalAccess(const BufferRegion& region, bool isWrite) {
  return {region.buffer, nullptr, ShapedType::kDynamic, isWrite, region};
}

static LogicalResult verifySpace(Operation* op, StringRef role, Value buffer, MemorySpace space) {
  MemorySpace actual = cast<BufferType>(buffer.getType()).getSpace();
  if (actual == space)
    return success();
  return op->emitOpError() << role << " lies in " << stringifyMemorySpace(actual) << ", not in "
                           << stringifyMemorySpace(space);
}

/// The numbers of the global region fit together, and at most one extent before the last differs from 1: what one
/// instruction can walk.
static LogicalResult verifyRows(Operation* op, StringRef role, Value buffer, ValueRange offsets,
                                ValueRange givenExtents, ArrayRef<int64_t> staticOffsets,
                                ArrayRef<int64_t> staticExtents) {
  const FailureOr<BufferRegion> whole =
      tile::verifiedRegion(op, role, buffer, offsets, givenExtents, staticOffsets, staticExtents);
  if (failed(whole))
    return failure();
  const BufferRegion& region = *whole;
  SmallVector<int64_t> extents = region.staticExtents();
  if (extents.empty())
    return op->emitOpError() << "needs at least one dim";
  if (llvm::count_if(ArrayRef(extents).drop_back(), [](int64_t e) { return e != 1; }) > 1)
    return op->emitOpError() << "has a region of " << tile::shapeText(extents)
                             << "; one instruction takes rows of one dim";
  return success();
}

/// Rows and columns of a region of global memory; kDynamic where not known.
static std::pair<int64_t, int64_t> rowsAndColumns(const BufferRegion& region) {
  SmallVector<int64_t> extents = region.staticExtents();
  int64_t rows = 1;
  for (int64_t extent : ArrayRef(extents).drop_back())
    if (extent != 1)
      rows = extent;
  return {rows, extents.back()};
}

/// What of UB a copy of `region` moves: rows `pitch` elements apart.
static Access ubAccess(Value buffer, Value offset, const BufferRegion& region, int64_t pitch,
                       bool isWrite) {
  Access access{buffer, offset, ShapedType::kDynamic, isWrite};
  auto [rows, columns] = rowsAndColumns(region);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns))
    return access;
  const int64_t size = elementBytes(access.type());
  setRowBytes(access, rows, int64_t(llvm::alignTo(columns * size, kBlockBytes)), pitch * size);
  return access;
}

BufferRegion LoadUbOp::getGlobalRegion() {
  return tile::makeRegion(getSource(), getSourceOffsets(), getSourceExtents(),
                          getStaticSourceOffsets(), getStaticSourceExtents());
}
Pipe LoadUbOp::getPipe() {
  return Pipe::MTE2;
}
std::optional<Agent> LoadUbOp::getAgent() {
  return Agent::Vector;
}
void LoadUbOp::getAccesses(Accesses& accesses) {
  BufferRegion region = getGlobalRegion();
  accesses.push_back(globalAccess(region, false));
  if (getBefore())
    accesses.push_back({getTarget(), getTargetOffset(), ShapedType::kDynamic, true});
  else
    accesses.push_back(
        ubAccess(getTarget(), getTargetOffset(), region, int64_t(getPitch()), /*isWrite=*/true));
}
LogicalResult LoadUbOp::verify() {
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::Global)) ||
      failed(verifySpace(*this, "target", getTarget(), MemorySpace::UB)))
    return failure();
  if (getBefore() && !getPad())
    return emitOpError() << "has elements before its rows, but nothing to pad them with";
  return verifyRows(*this, "source", getSource(), getSourceOffsets(), getSourceExtents(),
                    getStaticSourceOffsets(), getStaticSourceExtents());
}

BufferRegion StoreUbOp::getGlobalRegion() {
  return tile::makeRegion(getTarget(), getTargetOffsets(), getTargetExtents(),
                          getStaticTargetOffsets(), getStaticTargetExtents());
}
Pipe StoreUbOp::getPipe() {
  return Pipe::MTE3;
}
std::optional<Agent> StoreUbOp::getAgent() {
  return Agent::Vector;
}
void StoreUbOp::getAccesses(Accesses& accesses) {
  BufferRegion region = getGlobalRegion();
  accesses.push_back(
      ubAccess(getSource(), getSourceOffset(), region, int64_t(getPitch()), /*isWrite=*/false));
  accesses.push_back(globalAccess(region, true));
}
LogicalResult StoreUbOp::verify() {
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::UB)) ||
      failed(verifySpace(*this, "target", getTarget(), MemorySpace::Global)))
    return failure();
  return verifyRows(*this, "target", getTarget(), getTargetOffsets(), getTargetExtents(),
                    getStaticTargetOffsets(), getStaticTargetExtents());
}

BufferRegion LoadL1Op::getGlobalRegion() {
  return tile::makeRegion(getSource(), getSourceOffsets(), getSourceExtents(),
                          getStaticSourceOffsets(), getStaticSourceExtents());
}
Pipe LoadL1Op::getPipe() {
  return Pipe::MTE2;
}
std::optional<Agent> LoadL1Op::getAgent() {
  return Agent::Cube;
}
void LoadL1Op::getAccesses(Accesses& accesses) {
  BufferRegion region = getGlobalRegion();
  accesses.push_back(globalAccess(region, false));
  auto [rows, columns] = rowsAndColumns(region);
  Access target{getTarget(), getTargetOffset(), ShapedType::kDynamic, true};
  if (!ShapedType::isDynamic(columns)) {
    const int64_t groups = llvm::divideCeil(columns, blockElements(getTarget().getType()));
    const int64_t last = ShapedType::isDynamic(rows) ? int64_t(getRows()) : rows;
    setRowBytes(target, groups, last * kBlockBytes, int64_t(getRows()) * kBlockBytes);
    target.isAtMost = ShapedType::isDynamic(rows);
  }
  accesses.push_back(target);
}
LogicalResult LoadL1Op::verify() {
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::Global)) ||
      failed(verifySpace(*this, "target", getTarget(), MemorySpace::L1)))
    return failure();
  if (getRows() % 16 != 0)
    return emitOpError() << "has " << getRows() << " rows, which is no multiple of 16";
  return verifyRows(*this, "source", getSource(), getSourceOffsets(), getSourceExtents(),
                    getStaticSourceOffsets(), getStaticSourceExtents());
}

Pipe FillL1Op::getPipe() {
  return Pipe::MTE2;
}
std::optional<Agent> FillL1Op::getAgent() {
  return Agent::Cube;
}
void FillL1Op::getAccesses(Accesses& accesses) {
  accesses.push_back({getTarget(), getTargetOffset(), int64_t(getBytes()), true});
  accesses.back().isAtMost = bool(getCount());
}

Pipe LoadL0Op::getPipe() {
  return Pipe::MTE1;
}
std::optional<Agent> LoadL0Op::getAgent() {
  return Agent::Cube;
}
void LoadL0Op::getAccesses(Accesses& accesses) {
  // The rectangle's place is a value; the tile is the one that begins at the source's offset.
  const BufferType source = getSource().getType();
  const BufferType tile =
      BufferType::get(source.getShape().take_back(2), source.getElementType(), source.getSpace());
  // Floats are transposed in squares of 16.
  const bool isToA = getTarget().getType().getSpace() == MemorySpace::L0A;
  const bool isInSquares = isToA == getTranspose() && source.getElementBits() == 32;
  const int64_t width = isInSquares ? llvm::alignTo(getWidth(), 16) : int64_t(getWidth());
  const int64_t height = int64_t(getHeight());
  Access read{getSource(), getSourceOffset(), storageBytes(tile), false};
  if (!isInSquares) { // what lies between squares counts, too
    const int64_t c0 = blockElements(source), rows = int64_t(getRows());
    read.piece = std::make_shared<Access::Piece>(
        Access::Piece{{{{getRow(), c0}, {getColumn(), rows}}},
                      {width / c0, height * kBlockBytes, rows * kBlockBytes}});
  }
  accesses.push_back(read);
  const int64_t bytes = height * width * elementBytes(getTarget().getType());
  // Fractals lie otherwise where there are fewer: nothing is left of what was there before.
  accesses.push_back({getTarget(), getTargetOffset(), bytes, true});
}
LogicalResult LoadL0Op::verify() {
  MemorySpace to = getTarget().getType().getSpace();
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::L1)))
    return failure();
  if (to != MemorySpace::L0A && to != MemorySpace::L0B)
    return emitOpError() << "target lies in " << stringifyMemorySpace(to) << ", not in L0A or L0B";
  const int64_t c0 = blockElements(getSource().getType());
  // Of floats that are transposed on their way, L0B has fractals of 8 x 16.
  const bool isTurned = to == MemorySpace::L0B && !getTranspose() && c0 == 8;
  const int64_t unit = isTurned ? c0 : 16;
  if (!getCounts().empty() && getCounts().size() != 2)
    return emitOpError() << "has " << getCounts().size()
                         << " counts, but needs those of rows and of columns";
  if (getRows() % 16 != 0 || int64_t(getHeight()) % unit != 0 || int64_t(getWidth()) % c0 != 0)
    return emitOpError() << "takes whole fractals of " << unit << "x" << c0 << ", not "
                         << getHeight() << "x" << getWidth();
  return success();
}

Pipe MmadOp::getPipe() {
  return Pipe::M;
}
std::optional<Agent> MmadOp::getAgent() {
  return Agent::Cube;
}
void MmadOp::getAccesses(Accesses& accesses) {
  const int64_t m = llvm::alignTo(getM(), 16), n = llvm::alignTo(getN(), 16);
  const int64_t k = llvm::alignTo(getK(), blockElements(getA().getType()));
  const int64_t bytes = elementBytes(getA().getType());
  const int64_t depth = getPairs() ? int64_t(llvm::alignTo(getK(), 16)) : k;
  accesses.push_back({getA(), getAOffset(), m * depth * bytes, false});
  accesses.push_back({getB(), getBOffset(), k * n * bytes, false});
  if (!matchPattern(getInit(), m_One()))
    accesses.push_back({getC(), getCOffset(), m * n * 4, false});
  accesses.push_back({getC(), getCOffset(), m * n * 4, true});
  accesses.back().isAtMost = !getCounts().empty() && !(*this)->hasAttr(kAloneAttr);
}
LogicalResult MmadOp::verify() {
  if (!getCounts().empty() && getCounts().size() != 3)
    return emitOpError() << "has " << getCounts().size()
                         << " counts, but needs those of m, n and k";
  return success(succeeded(verifySpace(*this, "a", getA(), MemorySpace::L0A)) &&
                 succeeded(verifySpace(*this, "b", getB(), MemorySpace::L0B)) &&
                 succeeded(verifySpace(*this, "c", getC(), MemorySpace::L0C)));
}

BufferRegion StoreL0cOp::getGlobalRegion() {
  return tile::makeRegion(getTarget(), getTargetOffsets(), getTargetExtents(),
                          getStaticTargetOffsets(), getStaticTargetExtents());
}
Pipe StoreL0cOp::getPipe() {
  return Pipe::FIX;
}
std::optional<Agent> StoreL0cOp::getAgent() {
  return Agent::Cube;
}
void StoreL0cOp::getAccesses(Accesses& accesses) {
  BufferRegion region = getGlobalRegion();
  auto [rows, columns] = rowsAndColumns(region);
  Access source{getSource(), getSourceOffset()};
  if (!ShapedType::isDynamic(columns)) {
    // Groups of 16 columns, each with all rows of the tile.
    constexpr int64_t side = 16, rowBytes = side * 4;
    const int64_t height = ShapedType::isDynamic(rows) || getPitch() ? int64_t(getRows()) : rows;
    setRowBytes(source, int64_t(llvm::divideCeil(columns, side)), height * rowBytes,
                int64_t(getRows()) * rowBytes);
  }
  source.isAtMost = bool(getPitch());
  accesses.push_back(source);
  accesses.push_back(globalAccess(region, true));
}
LogicalResult StoreL0cOp::verify() {
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::L0C)) ||
      failed(verifySpace(*this, "target", getTarget(), MemorySpace::Global)))
    return failure();
  return verifyRows(*this, "target", getTarget(), getTargetOffsets(), getTargetExtents(),
                    getStaticTargetOffsets(), getStaticTargetExtents());
}

Pipe MoveL0cOp::getPipe() {
  return Pipe::FIX;
}
std::optional<Agent> MoveL0cOp::getAgent() {
  return Agent::Cube;
}
void MoveL0cOp::getAccesses(Accesses& accesses) {
  // Groups of 16 columns, each with all rows of its tile.
  constexpr int64_t side = 16, sourceRowBytes = side * 4, targetRowBytes = side * 2;
  const int64_t groups = int64_t(getWidth()) / side, height = int64_t(getHeight());
  accesses.push_back({getSource(), getSourceOffset()});
  const int64_t ofSource = int64_t(getSourceRows());
  setRowBytes(accesses.back(), groups, (getPitch() ? ofSource : height) * sourceRowBytes,
              ofSource * sourceRowBytes);
  accesses.back().isAtMost = bool(getPitch()) || !getCounts().empty();
  accesses.push_back({getTarget(), getTargetOffset(), 0, true});
  setRowBytes(accesses.back(), groups, height * targetRowBytes,
              int64_t(getTargetRows()) * targetRowBytes);
  accesses.back().isAtMost = !getCounts().empty();
}
LogicalResult MoveL0cOp::verify() {
  if (failed(verifySpace(*this, "source", getSource(), MemorySpace::L0C)) ||
      failed(verifySpace(*this, "target", getTarget(), MemorySpace::L1)))
    return failure();
  const Type from = getSource().getType().getElementType();
  const Type to = getTarget().getType().getElementType();
  const bool rounds = from.isF32() && (to.isF16() || to.isBF16());
  if (!rounds && !(from.isInteger(32) && to.isF16() && getScale()))
    return emitOpError() << "does not convert " << from << " to " << to
                         << (getScale() ? "" : " without a scale");
  if (getWidth() % 16 != 0)
    return emitOpError() << "moves groups of 16 columns, not " << getWidth();
  if (!getCounts().empty() && getCounts().size() != 2)
    return emitOpError() << "has " << getCounts().size()
                         << " counts, but needs those of rows and of columns";
  return success();
}

Pipe CopyUbOp::getPipe() {
  return Pipe::V;
}
std::optional<Agent> CopyUbOp::getAgent() {
  return Agent::Vector;
}
void CopyUbOp::getAccesses(Accesses& accesses) {
  const auto rows = int64_t(getCount()), bytes = int64_t(getBytes());
  accesses.push_back({getSource(), getSourceOffset()});
  setRowBytes(accesses.back(), rows, bytes, int64_t(getSourcePitch()));
  accesses.push_back({getTarget(), getTargetOffset(), 0, true});
  setRowBytes(accesses.back(), rows, bytes, int64_t(getTargetPitch()));
}

/// The kind of core whose memory a buffer lies in; nothing for global memory.
static std::optional<Agent> agentOf(BufferType type) {
  switch (type.getSpace()) {
  case MemorySpace::UB:
    return Agent::Vector;
  case MemorySpace::L1:
  case MemorySpace::L0A:
  case MemorySpace::L0B:
  case MemorySpace::L0C:
    return Agent::Cube;
  default:
    return std::nullopt;
  }
}

Pipe GetValueOp::getPipe() {
  return Pipe::S;
}
std::optional<Agent> GetValueOp::getAgent() {
  return getOn() ? getOn() : agentOf(getSource().getType());
}
void GetValueOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getSource(), getSourceOffset(), elementBytes(getSource().getType()), false});
}

/// What nothing asks for is not read.
LogicalResult GetValueOp::canonicalize(GetValueOp op, PatternRewriter& rewriter) {
  if (!op->use_empty())
    return failure();
  rewriter.eraseOp(op);
  return success();
}

Pipe SetValueOp::getPipe() {
  return Pipe::S;
}
std::optional<Agent> SetValueOp::getAgent() {
  return getOn() ? getOn() : agentOf(getTarget().getType());
}
void SetValueOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getTarget(), getTargetOffset(), elementBytes(getTarget().getType()), true});
}

Pipe CallOp::getPipe() {
  return getQueue();
}
std::optional<Agent> CallOp::getAgent() {
  return getOn();
}
void CallOp::getAccesses(Accesses& accesses) {
  size_t number = 0;
  for (Value argument : getArguments()) {
    if (!isa<BufferType>(argument.getType()))
      continue;
    const StringRef done = cast<StringAttr>(getAccess()[number]).getValue();
    Access access{argument, getOffsets()[number], getBytes()[number]};
    if (getRows() && (*getRows())[3 * number] > 0) {
      const int64_t bytes = int64_t(access.type().getElementBits()) / 8;
      const ArrayRef<int64_t> given = getRows()->slice(3 * number, 3);
      access.rows = {given[0], given[1] * bytes, given[2] * bytes};
      access.bytes = (given[0] - 1) * access.rows->pitch + access.rows->bytes;
    }
    for (const bool isWrite : {false, true})
      if (done.contains(isWrite ? 'w' : 'r')) {
        access.isWrite = isWrite;
        accesses.push_back(access);
      }
    ++number;
  }
}
LogicalResult RequireOp::verify() {
  const size_t places = getSentence().count("{}");
  if (places != getNumbers().size())
    return emitOpError() << "has " << getNumbers().size() << " numbers for " << places
                         << " places in its sentence";
  return success();
}

LogicalResult CheckPartOp::verify() {
  if (getPart().size() != 2 * getShape().size() || getTensor().size() % 3 != 0)
    return emitOpError() << "has " << getPart().size() << " numbers of its part and "
                         << getTensor().size() << " of its tensor, but its tile has "
                         << getShape().size() << " dims";
  return success();
}

LogicalResult CallOp::verify() {
  const auto buffers =
      size_t(llvm::count_if(getArguments(), [](Value v) { return isa<BufferType>(v.getType()); }));
  if (getOffsets().size() == buffers && getBytes().size() == buffers &&
      getAccess().size() == buffers && (!getRows() || getRows()->size() == 3 * buffers))
    return success();
  return emitOpError() << "has " << buffers << " buffers but " << getOffsets().size()
                       << " offsets, " << getBytes().size() << " sizes and " << getAccess().size()
                       << " accesses";
}
