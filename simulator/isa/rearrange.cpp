// SPDX-License-Identifier: Apache-2.0
// Brcb, Transpose, TransDataTo5HD; broadcasts and reductions of a matrix (advanced functions).
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <cstring>

namespace tilewright::ascend::isa {

namespace {

constexpr uint32_t side = 16;
constexpr uint32_t brcbLanes = 8;

Region blocks(uint64_t begin, uint32_t repeats, uint32_t stride) {
  Region r;
  r.begin = begin;
  r.length = blockBytes;
  r.inner = repeats;
  r.innerStride = int64_t{stride} * blockBytes;
  return r;
}

/// Transpose between [N, C, H, W] (mode 1: from there) and [N, H, W, C]: N matrices.
struct Transpose4D {
  uint32_t matrices, channels, pixels;
  explicit Transpose4D(const VectorInstr& i)
      : matrices(i.lengths[0]), channels(i.lengths[1]), pixels(i.lengths[2] * i.lengths[3]) {}
};
std::string inspectTranspose4D(const VectorInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src0.type);
  if (size != 1 && size != 2 && size != 4)
    return wrongTypes(i);
  constexpr uint32_t largest = 4095;
  Transpose4D t(i);
  if (t.channels > largest || t.pixels > largest)
    return "cSize is " + std::to_string(t.channels) + " and hSize * wSize is " +
           std::to_string(t.pixels) + ", but each is at most " + std::to_string(largest);
  if (t.pixels * size % blockBytes)
    return "hSize * wSize is " + std::to_string(t.pixels) + ", which are " +
           std::to_string(t.pixels * size) + " bytes, no multiple of 32";
  uint64_t bytes = uint64_t{t.matrices} * t.channels * t.pixels * size;
  if (i.dst.address < i.src0.address + bytes && i.src0.address < i.dst.address + bytes)
    return "the destination, at UB byte " + std::to_string(i.dst.address) +
           ", overlaps the source, at " + std::to_string(i.src0.address) + "; each has " +
           std::to_string(bytes) + " bytes";
  addFlat(list, i.src0, bytes, AccessKind::Read);
  addFlat(list, i.dst, bytes, AccessKind::Write);
  return {};
}
template <class T> void transpose4D(const Transpose4D& t, bool toPixels, T* dst, const T* src) {
  uint32_t rows = toPixels ? t.channels : t.pixels, columns = toPixels ? t.pixels : t.channels;
  for (uint32_t n = 0; n < t.matrices; ++n, dst += rows * columns, src += rows * columns)
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < columns; ++c)
        dst[c * rows + r] = src[r * columns + c];
}
void runTranspose4D(const VectorInstr& i, const Context& context) {
  uint8_t* dst = context.at(i.dst);
  const uint8_t* src = context.at(i.src0);
  Transpose4D t(i);
  switch (bytesOf(i.src0.type)) {
  case 1:
    return transpose4D(t, i.mode == 1, dst, src);
  case 2:
    return transpose4D(t, i.mode == 1, reinterpret_cast<uint16_t*>(dst),
                       reinterpret_cast<const uint16_t*>(src));
  default:
    return transpose4D(t, i.mode == 1, reinterpret_cast<uint32_t*>(dst),
                       reinterpret_cast<const uint32_t*>(src));
  }
}

/// The matrix: `repeat` rows of `scalar` columns, rows `src0Rep` elements apart.
std::string inspectMatrix(const VectorInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src0.type);
  uint64_t rows = i.repeat, columns = i.scalar;
  if (i.op == VectorOp::Broadcast) {
    addFlat(list, i.src0, (i.mode ? rows : columns) * size, AccessKind::Read);
    addFlat(list, i.dst, rows * columns * size, AccessKind::Write);
    return {};
  }
  if (i.src0.type != DType::F32 && i.src0.type != DType::F16)
    return wrongTypes(i);
  Region src;
  src.begin = i.src0.address;
  src.length = columns * size;
  src.inner = i.repeat;
  src.innerStride = int64_t{i.src0Rep} * size;
  list.add(i.src0, src, AccessKind::Read);
  addFlat(list, i.dst, (i.mode >= 4 ? columns : rows) * size, AccessKind::Write);
  return {};
}

void runMatrix(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  uint64_t rows = i.repeat, columns = i.scalar;
  const uint8_t* src = context.at(i.src0);
  uint8_t* d = context.at(i.dst);
  if (i.op == VectorOp::Broadcast) {
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t c = 0; c < columns; ++c)
        std::memcpy(d + (r * columns + c) * size, src + (i.mode ? r : c) * size, size);
    return;
  }
  bool byColumn = i.mode >= 4;
  for (uint64_t o = 0; o < (byColumn ? columns : rows); ++o) {
    float result = 0;
    for (uint64_t k = 0; k < (byColumn ? rows : columns); ++k) {
      uint64_t at = byColumn ? k * i.src0Rep + o : o * i.src0Rep + k;
      auto x = static_cast<float>(loadElement(src + at * size, i.src0.type));
      constexpr int sum = 0, max = 1;
      int kind = i.mode % 4;
      result = k == 0        ? x
               : kind == sum ? result + x
               : kind == max ? std::max(result, x)
                             : std::min(result, x);
    }
    storeElement(d + o * size, i.dst.type, result);
  }
}

std::string inspectRearranged(const VectorInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src0.type);
  if (i.op == VectorOp::Broadcast || i.op == VectorOp::ReduceRows)
    return inspectMatrix(i, list);
  if (i.op == VectorOp::Brcb) {
    if (size != 2 && size != 4)
      return wrongTypes(i);
    addFlat(list, i.src0, uint64_t{i.repeat} * brcbLanes * size, AccessKind::Read);
    const unsigned source = list.count;
    Region r;
    r.begin = i.dst.address;
    r.length = blockBytes;
    r.inner = brcbLanes;
    r.innerStride = i.dstBlk * blockBytes;
    r.outer = i.repeat;
    r.outerStride = i.dstRep * blockBytes;
    list.add(i.dst, r, AccessKind::Write);
    bool meet = list.count > source && source &&
                list.items[source].region.overlaps(list.items[source - 1].region);
    return meet ? overUnread(i.dst, i.src0) : std::string();
  }
  if (i.op == VectorOp::Transpose && i.mode)
    return inspectTranspose4D(i, list);
  if (i.op == VectorOp::Transpose) {
    if (size != 2)
      return wrongTypes(i);
    addFlat(list, i.src0, side * side * size, AccessKind::Read);
    addFlat(list, i.dst, side * side * size, AccessKind::Write);
    return {};
  }
  if (size != 1 && size != 2 && size != 4)
    return wrongTypes(i);
  for (uint32_t k = 0; k < side; ++k) {
    if ((i.lists[k] | i.lists[side + k]) % blockBytes)
      return "address " + std::to_string(k) + " of the lists is no multiple of 32";
    list.add(i.src0, blocks(i.lists[side + k], i.repeat, i.src0Rep), AccessKind::Read);
  }
  for (uint32_t k = 0; k < side; ++k) {
    Region r = blocks(i.lists[k], i.repeat, i.dstRep);
    if (size == 1) { // half a block
      r.begin += i.flag ? side : 0;
      r.length = side;
    }
    list.add(i.dst, r, AccessKind::Write);
  }
  return {};
}

/// No count says how much of a block or a square is filled.
bool onlyMoves(const VectorInstr& i) {
  return i.op == VectorOp::Brcb || i.op == VectorOp::Transpose || i.op == VectorOp::TransDataTo5HD;
}

std::string inspectRearrangeGroup(const VectorInstr& i, AccessList& list, const Context&) {
  const unsigned first = list.count;
  std::string wrong = inspectRearranged(i, list);
  const bool isLocal = i.src0.space == Space::UB && i.dst.space == Space::UB;
  for (unsigned k = first; k < list.count && isLocal && onlyMoves(i); ++k)
    list.items[k].isMoved = list.items[k].kind == AccessKind::Read;
  return wrong;
}

void runTransDataTo5HD(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  uint32_t columns = size == 1 ? side : blockBytes / size;
  uint8_t in[side][blockBytes];
  bool dstHigh = i.flag, srcHigh = i.mode != 0;
  for (uint32_t rep = 0; rep < i.repeat; ++rep) {
    for (uint32_t row = 0; row < side; ++row)
      std::memcpy(in[row],
                  context.at(Space::UB, i.lists[side + row] + rep * i.src0Rep * blockBytes),
                  blockBytes);
    for (uint32_t column = 0; column < columns; ++column)
      for (uint32_t row = 0; row < side; ++row) {
        // A transposed row of 16 elements fills one block, or two of 4-byte elements.
        uint32_t perBlock = size == 4 ? 8 : side;
        uint32_t list = size == 4 ? 2 * column + row / perBlock : column;
        uint32_t at = row % perBlock + (dstHigh && size == 1 ? side : 0);
        uint32_t from = column + (srcHigh && size == 1 ? side : 0);
        std::memcpy(context.at(Space::UB, i.lists[list] + rep * i.dstRep * blockBytes) + at * size,
                    in[row] + from * size, size);
      }
  }
}

void runRearrangeGroup(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  if (i.op == VectorOp::TransDataTo5HD)
    return runTransDataTo5HD(i, context);
  if (i.op == VectorOp::Broadcast || i.op == VectorOp::ReduceRows)
    return runMatrix(i, context);
  uint8_t* d = context.at(i.dst);
  const uint8_t* src = context.at(i.src0);
  if (i.op == VectorOp::Transpose && i.mode)
    return runTranspose4D(i, context);
  if (i.op == VectorOp::Transpose) {
    uint16_t in[side][side];
    std::memcpy(in, src, sizeof in);
    for (uint32_t r = 0; r < side; ++r)
      for (uint32_t c = 0; c < side; ++c)
        std::memcpy(d + (c * side + r) * 2, &in[r][c], 2);
    return;
  }
  for (uint32_t rep = 0; rep < i.repeat; ++rep)
    for (uint32_t k = 0; k < brcbLanes; ++k)
      for (uint32_t at = 0; at < blockBytes; at += size)
        std::memcpy(d + (rep * i.dstRep + k * i.dstBlk) * blockBytes + at,
                    src + (rep * brcbLanes + k) * size, size);
}

} // namespace

const VectorGroup rearrangeGroup = {inspectRearrangeGroup, runRearrangeGroup};

} // namespace tilewright::ascend::isa
