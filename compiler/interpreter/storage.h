// SPDX-License-Identifier: Apache-2.0
/// Scalars and the memory of buffers, as the interpreter holds them.
#pragma once

#include "compiler/interpreter/races.h"
#include "compiler/ir/dialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilewright::interpreter {

/// A scalar value: integers (sign-extended; i1 as 0 or 1) in `integer`, floats in `real`, always
/// exactly a value of their type.
struct Scalar {
  int64_t integer = 0;
  double real = 0;
};

/// The nearest value of a float type, ties to even; overflow gives infinity, in less than 16 bits the
/// largest value. Rounding a double that is the result of one +, -, *, / or sqrt of values
/// of a type of at most 24 bits gives the correctly rounded result (53 >= 2 * 24 + 2).
double roundTo(mlir::FloatType type, double value);
/// An integer as the nearest float: of more than 53 bits not by way of a double, which would round first.
double fromInteger(mlir::FloatType type, int64_t value, bool isSigned);
/// The lowest bits of an integer as a value of an integer type, sign-extended unless it is i1.
int64_t wrapTo(mlir::Type type, int64_t value);
/// The low `bits` bits as an unsigned number.
uint64_t unsignedBits(int64_t value, unsigned bits);
/// A scalar's bits as the type stores them, and back.
uint64_t toBits(mlir::Type elementType, const Scalar& value);
Scalar fromBits(mlir::Type elementType, uint64_t bits);
/// Converts an element as a copy does: by value; to an integer by truncation, to bool by != 0.
Scalar convert(Scalar value, mlir::Type from, mlir::Type to);
/// The element's value as a number that its own type's sign gives.
Scalar asStored(mlir::Type type, Scalar value);

/// The memory behind a buffer and its views.
class Storage {
public:
  /// Memory of our own, undefined.
  Storage(int64_t elements, unsigned elementBits);
  /// Memory of the caller; `isWild` where only an address says that there is any.
  explicit Storage(void* data, bool isWild = false)
      : memory(static_cast<uint8_t*>(data)), isWild(isWild) {}
  /// Memory of the caller that holds nothing yet.
  Storage(void* data, int64_t elements, unsigned elementBits)
      : written((elements * elementBits + 7) / 8 * 2, false), memory(static_cast<uint8_t*>(data)) {}

  /// Whether the process may touch the element: always, but in wild memory.
  bool isAccessible(int64_t bitOffset, bool isWrite);
  uint64_t readBits(int64_t bitOffset, unsigned bits) const;
  void writeBits(int64_t bitOffset, unsigned bits, uint64_t value);
  bool isWritten(int64_t bitOffset, unsigned bits) const;
  /// As if the element had never been written, maybe because of what `reason` is a number of; nothing for what the
  /// caller filled.
  void forget(int64_t bitOffset, unsigned bits, std::optional<unsigned> reason = std::nullopt);
  /// Of an element that isn't written, why it was forgotten, if it was.
  std::optional<unsigned> forgottenBy(int64_t bitOffset) const;
  /// An element is the cube unit's, until something else writes it.
  void markAsProduct(int64_t bitOffset, unsigned bits);
  bool isProduct(int64_t bitOffset) const;
  const uint8_t* bytes() const {
    return memory;
  }
  /// For a function that isn't interpreted, which may write all from here on if it `writes`.
  uint8_t* lend(int64_t bitOffset, bool writes);
  Access& access(int64_t bitOffset) {
    return accesses[bitOffset];
  }
  /// Of the caller's memory, which has other names where it is given twice, or by its address, too.
  bool isOfCaller() const {
    return owned.empty();
  }

private:
  std::vector<uint8_t> owned;
  std::vector<bool> written;                 ///< per 4 bits, of memory that began empty
  std::vector<bool> products;                ///< per 4 bits; empty before the first one
  llvm::DenseMap<int64_t, unsigned> reasons; ///< of what was forgotten, until it is written again
  uint8_t* memory;
  bool isWild = false;
  llvm::DenseSet<int64_t> knownPages; ///< of wild memory: twice the number, and 1 for writing
  llvm::DenseMap<int64_t, Access> accesses;
};

/// A buffer at run time: a type, an extent and a stride (in elements) per dim, and storage.
struct BufferValue {
  tile::BufferType type;
  llvm::SmallVector<int64_t> shape, strides;
  std::shared_ptr<Storage> storage;
  std::string name;

  int64_t bitOffset(llvm::ArrayRef<int64_t> indices) const;
};

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// A position of the box without its unit dims, spread over a box of the same extents otherwise.
llvm::SmallVector<int64_t> spread(llvm::ArrayRef<int64_t> compact, llvm::ArrayRef<int64_t> extents);

} // namespace tilewright::interpreter
