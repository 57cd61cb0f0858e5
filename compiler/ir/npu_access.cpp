// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_access.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/root_buffer.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Support/MathExtras.h>

using namespace mlir;
using tilewright::tile::BufferType;
using tilewright::tile::MemorySpace;

namespace tilewright::npu {

static constexpr int64_t kFractalSide = 16;

void setRowBytes(Access& access, int64_t count, int64_t bytes, int64_t pitch) {
  access.bytes = count == 0 ? 0 : (count - 1) * pitch + bytes;
  if (count > 1 && bytes < pitch)
    access.rows = {count, bytes, pitch};
}

Value storageOf(Value buffer) {
  return rootBuffer(buffer);
}

SmallVector<Operation*> usersOf(Value buffer) {
  llvm::SetVector<Operation*> users;
  SmallVector<Value> names = {buffer};
  while (!names.empty())
    for (Operation* user : names.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<tile::ViewOp>(user))
        names.push_back(view.getResult());
      else
        users.insert(user);
    }
  return users.takeVector();
}

bool usesStorage(Operation* op, Value storage) {
  return !isa<tile::ViewOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
    return storageOf(operand) == storage;
  });
}

int64_t blockElements(BufferType type) {
  return kBlockBytes * 8 / int64_t(type.getElementBits());
}

int64_t rowPitch(BufferType type) {
  if (type.getRank() == 0)
    return 1;
  const int64_t width = type.getShape().back();
  if (width == 1 || type.getNumElements() == width)
    return width;
  return int64_t(llvm::alignTo(uint64_t(width), uint64_t(blockElements(type))));
}

int64_t fractalRows(BufferType type) {
  const int64_t rows = type.getRank() < 2 ? 1 : type.getShape()[type.getRank() - 2];
  return int64_t(llvm::alignTo(uint64_t(rows), uint64_t(kFractalSide)));
}

int64_t storageBytes(BufferType type) {
  const int64_t columns = type.getRank() == 0 ? 1 : type.getShape().back();
  const int64_t rows = columns == 0 ? 0 : type.getNumElements() / columns;
  const int64_t bits = type.getElementBits();
  if (type.getSpace() == MemorySpace::UB)
    return int64_t(llvm::alignTo(uint64_t(llvm::divideCeil(rows * rowPitch(type) * bits, 8)),
                                 uint64_t(kBlockBytes)));
  const int64_t tileRows = type.getRank() < 2 ? 1 : type.getShape()[type.getRank() - 2];
  const int64_t tiles = tileRows == 0 ? 0 : rows / tileRows;
  const auto roundUp = [](int64_t value, int64_t unit) {
    return int64_t(llvm::alignTo(uint64_t(value), uint64_t(unit)));
  };
  // The result of a gemm is in squares of 16; operands are 16 rows of blocks, in L0B as columns. Of bytes that are
  // transposed on their way, squares of 32 fill L0B, but such a tile has 32 columns, or all of L0B is a gemm's.
  const int64_t block = blockElements(type), larger = std::max(block, kFractalSide);
  if (type.getSpace() == MemorySpace::L0B)
    return tiles * roundUp(tileRows, larger) * roundUp(columns, kFractalSide) * bits / 8;
  const int64_t side = type.getSpace() == MemorySpace::L0C ? kFractalSide : block;
  return tiles * fractalRows(type) * roundUp(columns, side) * bits / 8;
}

} // namespace tilewright::npu
