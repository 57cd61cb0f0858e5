// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/vectors.h"

#include "compiler/ir/dialect.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;

/// How elements lie in memory: floats of 8 bits are bytes to LLVM.
static Type storedAs(BufferType type) {
  Type scalar = type.getScalarType();
  return type.getElementBits() == 8 ? Type(IntegerType::get(type.getContext(), 8)) : scalar;
}

Value addressOf(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices,
                LLVM::GEPNoWrapFlags wraps) {
  IndexMath math(builder);
  const auto type = cast<BufferType>(buffer.getType());
  Value flat = math.constant(0);
  for (auto [number, index] : llvm::enumerate(indices))
    flat = math.add(math.mul(flat, math.dim(buffer, int64_t(number))), index);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value base = UnrealizedConversionCastOp::create(builder, pointer, buffer).getResult(0);
  Value wide = arith::IndexCastOp::create(builder, builder.getI64Type(), flat);
  return LLVM::GEPOp::create(builder, pointer, storedAs(type), base, ValueRange(wide), wraps);
}

Value loadVector(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices, int64_t lanes) {
  const auto type = cast<BufferType>(buffer.getType());
  const unsigned bytes = std::max(1u, type.getElementBits() / 8);
  Value value = LLVM::LoadOp::create(builder, VectorType::get({lanes}, storedAs(type)),
                                     addressOf(builder, buffer, indices), bytes);
  if (storedAs(type) != type.getScalarType())
    value =
        arith::BitcastOp::create(builder, VectorType::get({lanes}, type.getScalarType()), value);
  return value;
}

void storeVector(ImplicitLocOpBuilder& builder, Value vector, Value buffer, ValueRange indices,
                 bool isStreamed) {
  const auto type = cast<BufferType>(buffer.getType());
  auto shaped = cast<VectorType>(vector.getType());
  if (shaped.getElementType().isBF16()) // as bits: see ExpandSmallFloats
    vector = arith::BitcastOp::create(builder, shaped.clone(builder.getI16Type()), vector);
  const unsigned alignment = isStreamed ? unsigned(kLineBytes) : type.getElementBits() / 8;
  LLVM::StoreOp::create(builder, vector, addressOf(builder, buffer, indices), alignment,
                        /*isVolatile=*/false, /*isNonTemporal=*/isStreamed);
}

std::pair<Value, Value> interleaved(ImplicitLocOpBuilder& builder, Value a, Value b) {
  const int64_t count = cast<VectorType>(a.getType()).getNumElements();
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < count; ++lane) {
    low.push_back(lane / 2 + (lane % 2) * count);
    high.push_back(low.back() + count / 2);
  }
  return {vector::ShuffleOp::create(builder, a, b, low),
          vector::ShuffleOp::create(builder, a, b, high)};
}

bool isOfWholeVectors(Type type, int64_t lanes) {
  auto shaped = dyn_cast<VectorType>(type);
  return shaped && shaped.getRank() == 1 && shaped.getNumElements() % lanes == 0 &&
         llvm::isPowerOf2_64(uint64_t(shaped.getNumElements()));
}

Value vectorByVector(ImplicitLocOpBuilder& builder, ValueRange wide, int64_t lanes,
                     llvm::function_ref<Value(ArrayRef<Value>)> make) {
  const int64_t count = cast<VectorType>(wide.front().getType()).getNumElements();
  SmallVector<Value> parts;
  for (int64_t first = 0; first < count; first += lanes) {
    auto part = llvm::map_to_vector(wide, [&](Value all) -> Value {
      if (count == lanes)
        return all;
      return vector::ShuffleOp::create(builder, all, all,
                                       llvm::to_vector(llvm::seq(first, first + lanes)));
    });
    parts.push_back(make(part));
  }
  while (parts.size() > 1) {
    const int64_t width = 2 * cast<VectorType>(parts.front().getType()).getNumElements();
    auto both = llvm::to_vector(llvm::seq<int64_t>(0, width));
    for (size_t at = 0; at < parts.size() / 2; ++at)
      parts[at] = vector::ShuffleOp::create(builder, parts[2 * at], parts[2 * at + 1], both);
    parts.resize(parts.size() / 2);
  }
  return parts.front();
}

SmallVector<Value> transposed(ImplicitLocOpBuilder& builder, SmallVector<Value> rows) {
  const auto count = int64_t(rows.size());
  // Blocks of `half` change places across the diagonal of each block of twice their size.
  for (int64_t half = count / 2; half > 0; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < count; ++lane) {
      const bool isRight = lane & half;
      upper.push_back(isRight ? count + lane - half : lane);
      lower.push_back(isRight ? count + lane : lane + half);
    }
    for (int64_t row = 0; row < count; ++row) {
      if (row & half)
        continue;
      Value a = rows[row], b = rows[row + half];
      rows[row] = vector::ShuffleOp::create(builder, a, b, upper);
      rows[row + half] = vector::ShuffleOp::create(builder, a, b, lower);
    }
  }
  return rows;
}

} // namespace tilewright::cpu
