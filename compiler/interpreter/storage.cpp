// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/storage.h"

#include "llvm/ADT/APFloat.h"

namespace tilewright::interpreter {

double roundTo(mlir::FloatType type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return double(float(value));
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
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
  if (auto real = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    llvm::APFloat number(value.real);
    bool losesInfo = false;
    number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }
  return unsignedBits(value.integer,
                      elementType.isIndex() ? 64 : elementType.getIntOrFloatBitWidth());
}

Scalar fromBits(mlir::Type elementType, uint64_t bits) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    llvm::APFloat number(real.getFloatSemantics(), llvm::APInt(real.getWidth(), bits));
    bool losesInfo = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return {0, number.convertToDouble()};
  }
  return {wrapTo(elementType, int64_t(bits)), 0};
}

Storage::Storage(int64_t elements, unsigned elementBits)
    : owned((elements * elementBits + 7) / 8), written(owned.size() * 2, false),
      memory(owned.data()) {}

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
}

bool Storage::isWritten(int64_t bitOffset, unsigned bits) const {
  return written.empty() ||
         std::all_of(written.begin() + bitOffset / 4, written.begin() + (bitOffset + bits) / 4,
                     [](bool known) { return known; });
}

void Storage::forget(int64_t bitOffset, unsigned bits) {
  if (!written.empty())
    std::fill(written.begin() + bitOffset / 4, written.begin() + (bitOffset + bits) / 4, false);
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

} // namespace tilewright::interpreter
