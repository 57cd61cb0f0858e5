// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/storage.h"

#include "compiler/ir/float_rounding.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <sys/uio.h>
#include <unistd.h>

namespace tilewright::interpreter {

namespace {

double toDouble(llvm::APFloat number) {
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

} // namespace

double roundTo(mlir::FloatType type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return double(float(value));
  if (llvm::isa<mlir::Float8E8M0FNUType>(type))
    return powerOfCode(codeOfPower(value));
  return toDouble(nearestNumber(type, value));
}

double fromInteger(mlir::FloatType type, int64_t value, bool isSigned) {
  const bool isShort = type.isF32() || type.isF16() || type.isBF16();
  const double plain = isSigned ? double(value) : double(uint64_t(value));
  if (!isShort || std::abs(plain) < 0x1p53)
    return roundTo(type, plain);
  llvm::APFloat rounded(type.getFloatSemantics());
  rounded.convertFromAPInt(llvm::APInt(64, uint64_t(value)), isSigned,
                           llvm::APFloat::rmNearestTiesToEven);
  bool losesInfo = false;
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

uint64_t unsignedBits(int64_t value, unsigned bits) {
  return bits >= 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

int64_t wrapTo(mlir::Type type, int64_t value) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  if (!integer || integer.getWidth() >= 64)
    return value;
  unsigned width = integer.getWidth();
  if (width == 1)
    return value & 1;
  return int64_t(uint64_t(value) << (64 - width)) >> (64 - width);
}

uint64_t toBits(mlir::Type elementType, const Scalar& value) {
  if (llvm::isa<mlir::Float8E8M0FNUType>(elementType))
    return codeOfPower(value.real);
  if (auto real = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    const llvm::fltSemantics& format = real.getFloatSemantics();
    // An infinity is one of the format's here: conversions have saturated before.
    const bool isInfinite = std::isinf(value.real) && llvm::APFloat::semanticsHasInf(format);
    const llvm::APFloat number = isInfinite
                                     ? llvm::APFloat::getInf(format, std::signbit(value.real))
                                     : nearestNumber(real, value.real);
    return number.bitcastToAPInt().getZExtValue();
  }
  return unsignedBits(value.integer,
                      elementType.isIndex() ? 64 : elementType.getIntOrFloatBitWidth());
}

Scalar fromBits(mlir::Type elementType, uint64_t bits) {
  if (llvm::isa<mlir::Float8E8M0FNUType>(elementType))
    return {0, powerOfCode(bits & 255)};
  if (auto real = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    const llvm::APInt pattern(real.getWidth(), unsignedBits(int64_t(bits), real.getWidth()));
    return {0, toDouble(llvm::APFloat(real.getFloatSemantics(), pattern))};
  }
  return {wrapTo(elementType, int64_t(bits)), 0};
}

Scalar convert(Scalar value, mlir::Type from, mlir::Type to) {
  bool fromReal = llvm::isa<mlir::FloatType>(from);
  if (fromReal && from == to)
    return value; // also an infinity, which conversions to 8 bits don't give
  if (auto real = llvm::dyn_cast<mlir::FloatType>(to)) {
    return {0, fromReal ? roundTo(real, value.real)
                        : fromInteger(real, value.integer, !from.isUnsignedInteger(64))};
  }
  if (to.isInteger(1))
    return {fromReal ? value.real != 0 : value.integer != 0, 0};
  if (!fromReal)
    return {value.integer, 0};
  // Out of range saturates, NaN gives 0.
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, int(width) - 1);
  double high = std::ldexp(1.0, int(width) - (isUnsigned ? 0 : 1));
  if (std::isnan(value.real))
    return {0, 0};
  if (value.real <= low)
    return {int64_t(low), 0};
  if (value.real >= high)
    return {isUnsigned ? int64_t(unsignedBits(-1, width)) : int64_t(unsignedBits(-1, width - 1)),
            0};
  return {isUnsigned ? int64_t(uint64_t(value.real)) : int64_t(value.real), 0};
}

Scalar asStored(mlir::Type type, Scalar value) {
  if (type.isUnsignedInteger())
    value.integer = int64_t(unsignedBits(value.integer, type.getIntOrFloatBitWidth()));
  return value;
}

Storage::Storage(int64_t elements, unsigned elementBits)
    : owned((elements * elementBits + 7) / 8), written(owned.size() * 2, false),
      memory(owned.data()) {}

bool Storage::isAccessible(int64_t bitOffset, bool isWrite) {
  if (!isWild)
    return true;
  uint8_t* address = memory + bitOffset / 8;
  const auto page = int64_t(reinterpret_cast<uintptr_t>(address) >> 12) * 2 + (isWrite ? 1 : 0);
  if (knownPages.contains(page))
    return true;
  // The kernel of the system looks for us: it gives an error where we would end. A byte is written back
  // as it was read.
  uint8_t byte = 0;
  iovec here{&byte, 1}, there{address, 1};
  const bool isReadable =
      process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
  if (!isReadable ||
      (isWrite && process_vm_writev(getpid(), &here, 1, &there, 1, 0) != 1 && errno == EFAULT))
    return false;
  knownPages.insert(page);
  return true;
}

uint64_t Storage::readBits(int64_t bitOffset, unsigned bits) const {
  if (bits == 4)
    return (memory[bitOffset / 8] >> (bitOffset % 8)) & 0xF;
  uint64_t value = 0;
  std::memcpy(&value, memory + bitOffset / 8, bits / 8);
  return value;
}

void Storage::writeBits(int64_t bitOffset, unsigned bits, uint64_t value) {
  uint8_t* byte = memory + bitOffset / 8;
  if (bits == 4)
    *byte = uint8_t((*byte & ~(0xF << (bitOffset % 8))) | ((value & 0xF) << (bitOffset % 8)));
  else
    std::memcpy(byte, &value, bits / 8);
  if (!written.empty())
    std::fill_n(written.begin() + bitOffset / 4, bits / 4, true);
  if (!products.empty())
    std::fill_n(products.begin() + bitOffset / 4, bits / 4, false);
}

bool Storage::isWritten(int64_t bitOffset, unsigned bits) const {
  return written.empty() ||
         std::all_of(written.begin() + bitOffset / 4, written.begin() + (bitOffset + bits) / 4,
                     [](bool known) { return known; });
}

void Storage::forget(int64_t bitOffset, unsigned bits, std::optional<unsigned> reason) {
  if (written.empty() || !isWritten(bitOffset, bits))
    return; // what was never written stays so
  std::fill(written.begin() + bitOffset / 4, written.begin() + (bitOffset + bits) / 4, false);
  reasons.erase(bitOffset);
  if (reason)
    reasons[bitOffset] = *reason;
}

std::optional<unsigned> Storage::forgottenBy(int64_t bitOffset) const {
  const auto found = reasons.find(bitOffset);
  return found == reasons.end() ? std::nullopt : std::optional(found->second);
}

void Storage::markAsProduct(int64_t bitOffset, unsigned bits) {
  products.resize(written.size());
  if (!products.empty())
    std::fill_n(products.begin() + bitOffset / 4, bits / 4, true);
}

bool Storage::isProduct(int64_t bitOffset) const {
  return !products.empty() && products[size_t(bitOffset / 4)];
}

uint8_t* Storage::lend(int64_t bitOffset, bool writes) {
  if (writes && !written.empty())
    std::fill(written.begin() + bitOffset / 4, written.end(), true);
  return memory + bitOffset / 8;
}

int64_t BufferValue::bitOffset(llvm::ArrayRef<int64_t> indices) const {
  int64_t element = 0;
  for (auto [index, stride] : llvm::zip(indices, strides))
    element += index * stride;
  return element * int64_t(type.getElementBits());
}

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

llvm::SmallVector<int64_t> spread(llvm::ArrayRef<int64_t> compact,
                                  llvm::ArrayRef<int64_t> extents) {
  llvm::SmallVector<int64_t> position(extents.size(), 0);
  size_t next = 0;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (extent != 1)
      position[dim] = compact[next++];
  return position;
}

} // namespace tilewright::interpreter
