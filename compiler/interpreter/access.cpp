// SPDX-License-Identifier: Apache-2.0
// Values, buffers and checked elements.
#include "compiler/interpreter/machine.h"

namespace tilewright::interpreter {

Scalar Machine::scalar(Agent& agent, mlir::Value value) {
  if (auto found = agent.scalars.find(value); found != agent.scalars.end())
    return found->second;
  return launchScalars.lookup(value);
}

int64_t Machine::integer(Agent& agent, mlir::OpFoldResult value) {
  if (auto attribute = llvm::dyn_cast<mlir::Attribute>(value))
    return llvm::cast<mlir::IntegerAttr>(attribute).getInt();
  return scalar(agent, llvm::cast<mlir::Value>(value)).integer;
}

llvm::SmallVector<int64_t> Machine::integers(Agent& agent, mlir::ValueRange values) {
  llvm::SmallVector<int64_t> result;
  for (mlir::Value value : values)
    result.push_back(scalar(agent, value).integer);
  return result;
}

BufferValue& Machine::buffer(Agent& agent, mlir::Value value) {
  if (auto found = agent.buffers.find(value); found != agent.buffers.end())
    return found->second;
  if (agent.block)
    if (auto found = agent.block->buffers.find(value); found != agent.block->buffers.end())
      return found->second;
  return launchBuffers[value];
}

namespace {

/// An access that the user wrote with its index, not an operation on tiles.
bool isElementAccess(mlir::Operation* op) {
  return llvm::isa<tile::LoadOp, tile::StoreOp, tile::AtomicOp>(op);
}

/// How to say that an index may be out of range.
std::string guardOf(mlir::Operation* op, bool isNegative, int64_t extent) {
  const std::string holds = isNegative ? "i >= 0" : "i < " + std::to_string(extent);
  const std::string branch = "`if " + holds + "`";
  return llvm::isa<tile::LoadOp>(op)
             ? "guard it by " + branch + ", or choose another value: T.if_then_else(" + holds +
                   ", .., ..)"
             : "guard it by " + branch;
}

} // namespace

mlir::FailureOr<bool> Machine::isInBounds(mlir::Operation* op, const BufferValue& buffer,
                                          llvm::ArrayRef<int64_t> indices, bool provenInBounds) {
  if (!buffer.storage)
    return op->emitError(kNoTile);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index >= 0 && index < buffer.shape[dim])
      continue;
    const bool isReported = options.reportsOutOfRange && isElementAccess(op);
    if (buffer.type.isGlobal() && !provenInBounds && !isReported)
      return false;
    auto error = op->emitError("index ") << index << " is out of range for dim " << dim << " of '"
                                         << buffer.name << "' with extent " << buffer.shape[dim];
    if (isReported && !provenInBounds && buffer.type.isGlobal())
      error << "; " << guardOf(op, index < 0, buffer.shape[dim]);
    return error;
  }
  return true;
}

namespace {

mlir::LogicalResult reportWild(mlir::Operation* op, const BufferValue& buffer,
                               llvm::ArrayRef<int64_t> indices) {
  auto error = op->emitError("element [");
  llvm::interleaveComma(indices, error);
  return error << "] of '" << buffer.name
               << "', which is given by its address, lies outside of memory";
}

} // namespace

mlir::FailureOr<std::optional<Scalar>> Machine::read(mlir::Operation* op, const BufferValue& buffer,
                                                     llvm::ArrayRef<int64_t> indices,
                                                     bool provenInBounds) {
  mlir::FailureOr<bool> exists = isInBounds(op, buffer, indices, provenInBounds);
  if (failed(exists))
    return mlir::failure();
  if (!*exists)
    return std::optional<Scalar>();
  int64_t offset = buffer.bitOffset(indices);
  unsigned bits = buffer.type.getElementBits();
  if (!buffer.storage->isAccessible(offset, /*isWrite=*/false))
    return reportWild(op, buffer, indices);
  if (!buffer.storage->isWritten(offset, bits)) {
    if (buffer.type.getSpace() == tile::MemorySpace::Var && unusedOps.contains(op))
      return std::optional<Scalar>(); // T.Ref takes a variable's place
    auto atomic = llvm::dyn_cast<tile::AtomicOp>(op);
    const bool isUpdate = isAtomic && !(atomic && atomic.getKind() == tile::AtomicKind::Load);
    auto error = op->emitError(isUpdate ? "updates element [" : "reads element [");
    llvm::interleaveComma(indices, error);
    const std::optional<unsigned> reason = buffer.storage->forgottenBy(offset);
    if (!reason)
      return error << "] of '" << buffer.name << "', which was never written";
    const auto& [gemm, words] = leftUndefined[*reason];
    error << "] of '" << buffer.name << "', which a gemm has left undefined";
    error.attachNote(gemm->getLoc()) << words;
    return error;
  }
  const uint64_t found = buffer.storage->readBits(offset, bits);
  if (failed(noteAccess(op, buffer, indices, found, /*isWrite=*/false)))
    return mlir::failure();
  const mlir::Type type = buffer.type.getElementType();
  // A bool is a byte, of which any bit may be set where a caller views other bytes as bools.
  return std::optional(fromBits(type, type.isInteger(1) ? uint64_t(found != 0) : found));
}

mlir::LogicalResult Machine::write(mlir::Operation* op, const BufferValue& buffer,
                                   llvm::ArrayRef<int64_t> indices, Scalar value,
                                   bool provenInBounds) {
  mlir::FailureOr<bool> exists = isInBounds(op, buffer, indices, provenInBounds);
  if (failed(exists))
    return mlir::failure();
  if (!*exists)
    return mlir::success();
  if (!buffer.storage->isAccessible(buffer.bitOffset(indices), /*isWrite=*/true))
    return reportWild(op, buffer, indices);
  const int64_t offset = buffer.bitOffset(indices);
  const unsigned width = buffer.type.getElementBits();
  const uint64_t bits = toBits(buffer.type.getElementType(), value);
  const bool isKept = running && buffer.storage->isWritten(offset, width) &&
                      buffer.storage->readBits(offset, width) == bits;
  if (failed(noteAccess(op, buffer, indices, bits, /*isWrite=*/true, isKept)))
    return mlir::failure();
  if (hasWhile) {
    const auto place = uint64_t(reinterpret_cast<uintptr_t>(buffer.storage->bytes())) * 8 + offset;
    const bool isWritten = buffer.storage->isWritten(offset, width);
    memory.change(place,
                  isWritten ? std::optional(buffer.storage->readBits(offset, width)) : std::nullopt,
                  bits);
  }
  buffer.storage->writeBits(offset, width, bits);
  return mlir::success();
}

mlir::LogicalResult Machine::noteAccess(mlir::Operation* op, const BufferValue& buffer,
                                        llvm::ArrayRef<int64_t> indices, uint64_t bits,
                                        bool isWrite, bool isKept) {
  const bool isOfGrid = buffer.type.isGlobal() && blockNumber >= 0;
  if (buffer.type.isPerThread())
    return noteOwn(op, buffer, indices, isWrite);
  if (iteration < 0 && !isOfGrid && !running)
    return mlir::success();
  const unsigned width = buffer.type.getElementBits();
  const unsigned part = narrowestOfViews ? std::min(width, narrowestOfViews) : width;
  const int64_t offset = buffer.bitOffset(indices);
  for (unsigned at = 0; at < width; at += part)
    if (failed(notePart(op, buffer, indices, offset + at, unsignedBits(int64_t(bits >> at), part),
                        isWrite, isKept)))
      return mlir::failure();
  return mlir::success();
}

mlir::LogicalResult Machine::noteOwn(mlir::Operation* op, const BufferValue& buffer,
                                     llvm::ArrayRef<int64_t> indices, bool isWrite) {
  if (iteration < 0 || options.iterationsTakeTurns)
    return mlir::success();
  Access& last = buffer.storage->access(buffer.bitOffset(indices));
  if (isWrite) {
    last.epoch = epoch;
    last.writer = iteration;
  } else if (last.epoch == epoch && last.writer != iteration) {
    return op->emitError("an iteration of the parallel loop reads '")
           << buffer.name
           << "' as another one left it, but each thread has its own; use T.serial, or "
           << "a reduction of a tile";
  }
  return mlir::success();
}

Access& Machine::accessOf(Storage& storage, int64_t bitOffset) {
  if (!usesAddresses || !storage.isOfCaller())
    return storage.access(bitOffset);
  const auto begin = uint64_t(reinterpret_cast<uintptr_t>(storage.bytes()));
  return accessesByAddress[begin * 8 + uint64_t(bitOffset)];
}

mlir::LogicalResult Machine::notePart(mlir::Operation* op, const BufferValue& buffer,
                                      llvm::ArrayRef<int64_t> indices, int64_t offset,
                                      uint64_t bits, bool isWrite, bool isKept) {
  const bool isOfGrid = buffer.type.isGlobal() && blockNumber >= 0;
  const AccessKind kind = isAtomic  ? isWrite ? AccessKind::AtomicUpdate : AccessKind::AtomicRead
                          : isWrite ? AccessKind::Write
                                    : AccessKind::Read;
  auto report = [&](llvm::StringRef who, mlir::Operation* other, bool isWithAtomic) {
    auto error = op->emitError("two ") << who << " use element [";
    llvm::interleaveComma(indices, error);
    error << "] of '" << buffer.name << "', and "
          << (isWithAtomic ? "only one of them atomically" : "one of them writes it");
    if (other->getLoc() != op->getLoc())
      error.attachNote(other->getLoc()) << "the other one uses it here";
    return mlir::failure();
  };
  auto reportAmong = [&](llvm::StringRef who, const Touches& touches, int64_t number) {
    return report(who, touches.findRace(kind, number),
                  isAtomic || touches.isWithAtomic(kind, number));
  };
  Access& last = accessOf(*buffer.storage, offset);
  if (isOfGrid) {
    if (last.round != gridRound) {
      last = {};
      last.round = gridRound;
    }
    if (followsOrders) {
      if (!last.ordered)
        last.ordered = std::make_unique<OrderedElement>();
      ThreadPlace place = placeOf(*acting);
      place.isWhole = !running;
      if (auto race = last.ordered->blocks.note(kind, place, op))
        return report("blocks of the grid", race->at, race->isWithAtomic);
    } else {
      if (last.blocks.findRace(kind, blockNumber))
        return reportAmong("blocks of the grid", last.blocks, blockNumber);
      last.blocks.add(kind, blockNumber, op);
    }
  }
  if (last.ordered && kind == AccessKind::Write)
    last.ordered->released = nullptr;
  if (running) {
    if (!last.threads)
      last.threads = std::make_unique<ThreadTouches>();
    const AccessKind ofThread = isKept && !isAtomic ? AccessKind::SameWrite : kind;
    if (auto race = last.threads->note(ofThread, placeOf(*running), op, bits))
      return report("threads of the block, with no barrier between,", race->at, race->isWithAtomic);
  }
  if (iteration < 0 || options.iterationsTakeTurns)
    return mlir::success();
  if (last.epoch != epoch)
    last.iterations = {}, last.epoch = epoch;
  if (last.iterations.findRace(kind, iteration))
    return reportAmong("iterations of the parallel loop", last.iterations, iteration);
  last.iterations.add(kind, iteration, op);
  return mlir::success();
}

} // namespace tilewright::interpreter
