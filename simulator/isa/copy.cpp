// SPDX-License-Identifier: Apache-2.0
// Data movement by DMA: bursts between GM and local memories, ND to zN, and zN to ND.
#include "simulator/isa/cube.h"
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend::isa {

const char* nameOf(const CopyInstr& instr) {
  switch (instr.kind) {
  case CopyKind::FillLocal:
    return "InitConstValue";
  default:
    return instr.isPadded ? "DataCopyPad" : "DataCopy";
  }
}

namespace {

Region rows(uint64_t begin, uint64_t length, uint32_t count, int64_t stride) {
  Region r;
  r.begin = begin;
  r.length = length;
  r.inner = count;
  r.innerStride = stride;
  return r;
}

std::string inspectBurst(const CopyInstr& i, AccessList& list) {
  if (i.count == 0 || i.length == 0)
    return {};
  for (const Operand* o : {&i.dst, &i.src}) {
    const uint32_t multiple = o->space == Space::BT || o->space == Space::FB ? 64 : blockBytes;
    if (o->space != Space::GM && o->address % multiple)
      return std::string(o == &i.dst ? "destination" : "source") + " starts at local byte " +
             std::to_string(o->address) + ", which is no multiple of " + std::to_string(multiple) +
             (o == &i.dst ? " [ErrorWrite4]" : " [ErrorRead4]");
  }
  list.add(i.src, rows(i.src.address, i.sourceBytes(), i.count, i.srcStride), AccessKind::Read);
  // Biases and scales go by 64 and 128 bytes: of those behind the last column nobody takes anything.
  Access& read = list.items[list.count - 1];
  read.mayBeUninitialised = read.isMoved = i.dst.space == Space::BT || i.dst.space == Space::FB;
  read.isByElements = i.src.space == Space::UB && i.dst.space == Space::UB;
  uint64_t padded = i.length + i.padLeft + i.padRight;
  AccessKind kind = i.atomic == AtomicOp::None ? AccessKind::Write : AccessKind::Atomic;
  if (i.padDefined || !(i.padLeft + i.padRight)) {
    list.add(i.dst, rows(i.dst.address, padded, i.count, i.dstStride), kind);
  } else {
    // Padding first: the data's own bytes are then what counts.
    list.add(i.dst, rows(i.dst.address + i.length, i.padRight, i.count, i.dstStride), kind);
    list.items[list.count - 1].undefined = true;
    list.add(i.dst, rows(i.dst.address, i.length, i.count, i.dstStride), kind);
  }
  const Region from = rows(i.src.address, i.sourceBytes(), i.count, i.srcStride),
               to = rows(i.dst.address, padded, i.count, i.dstStride);
  if (i.src.space == Space::UB && i.dst.space == Space::UB && from.overlaps(to) &&
      (i.src.address != i.dst.address || (i.count > 1 && i.srcStride != i.dstStride)))
    return overlapInPart(i.dst, i.src);
  auto beyond = [&](const Operand& o, uint64_t length, int64_t stride) {
    Interval hull = rows(o.address, length, i.count, stride).hull();
    return o.space != Space::GM && o.bytes && hull.end > o.address + o.bytes;
  };
  if (beyond(i.src, i.sourceBytes(), i.srcStride))
    return "reads more than the source tensor's " + std::to_string(i.src.bytes) +
           " bytes [ErrorRead3]";
  if (beyond(i.dst, padded, i.dstStride))
    return "writes " + std::to_string(rows(0, padded, i.count, i.dstStride).hull().end) +
           " bytes into a tensor of " + std::to_string(i.dst.bytes) + " bytes [ErrorWrite2]";
  return {};
}

std::string inspectNd2Nz(const CopyInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src.type);
  if (!i.ndNum || !i.nValue || !i.dValue)
    return {};
  constexpr uint32_t most = 16384;
  if (i.nValue > most)
    return "nValue is " + std::to_string(i.nValue) + ", but at most 16384 is possible";
  constexpr uint64_t farthest = 65535; // elements; a chip's instruction has 16 bits for that
  if (const uint64_t stride = i.srcDValue; i.nValue > 1 && stride > farthest)
    return "srcDValue is " + std::to_string(stride) +
           ", but at most 65535 is possible: copy rows that lie further apart one by one";
  if (i.dst.address % blockBytes)
    return "destination starts at local byte " + std::to_string(i.dst.address) +
           ", which is no multiple of 32 [ErrorWrite4]";
  Region src;
  src.begin = i.src.address;
  src.length = uint64_t{i.dValue} * size;
  src.inner = i.nValue;
  src.innerStride = static_cast<int64_t>(i.srcDValue * size);
  src.outer = i.ndNum;
  src.outerStride = static_cast<int64_t>(i.srcNdMatrixStride * size);
  list.add(i.src, src, AccessKind::Read);
  uint32_t columns = (i.dValue * size + blockBytes - 1) / blockBytes;
  for (uint32_t matrix = 0; matrix < i.ndNum; ++matrix) {
    Region dst;
    dst.begin = i.dst.address + matrix * i.dstNzMatrixStride * size;
    dst.length = blockBytes;
    dst.inner = i.nValue;
    dst.innerStride = static_cast<int64_t>(i.dstNzNStride * blockBytes);
    dst.outer = columns;
    dst.outerStride = static_cast<int64_t>(i.dstNzC0Stride * blockBytes);
    list.add(i.dst, dst, AccessKind::Write);
  }
  return {};
}

std::string inspectNz2Nd(const CopyInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src.type);
  for (uint32_t matrix = 0; matrix < i.ndNum; ++matrix) {
    Region src;
    src.begin = i.src.address + matrix * i.dstNzMatrixStride * size;
    src.length = blockBytes;
    src.inner = i.nValue;
    src.innerStride = blockBytes;
    src.outer = (i.dValue * size + blockBytes - 1) / blockBytes;
    src.outerStride = static_cast<int64_t>(i.dstNzC0Stride * blockBytes);
    list.add(i.src, src, AccessKind::Read);
    Region dst =
        rows(i.dst.address + matrix * i.srcNdMatrixStride * size, uint64_t{i.dValue} * size,
             i.nValue, static_cast<int64_t>(i.srcDValue * size));
    list.add(i.dst, dst, i.atomic == AtomicOp::None ? AccessKind::Write : AccessKind::Atomic);
  }
  return {};
}

void store(const CopyInstr& i, const Context& context, uint8_t* to, const uint8_t* from,
           uint64_t bytes) {
  if (i.atomic == AtomicOp::None)
    std::memcpy(to, from, bytes);
  else
    context.atomics->store(i.atomic, i.atomicType, to, from, bytes);
}

void fillPad(uint8_t* at, uint64_t bytes, uint64_t bits, uint32_t size, bool defined) {
  if (!defined) {
    std::memset(at, 0xFF, bytes);
    return;
  }
  for (uint64_t k = 0; k < bytes; k += size)
    std::memcpy(at + k, &bits, std::min<uint64_t>(size, bytes - k));
}

void widenRows(const CopyInstr& i, uint8_t* to, const uint8_t* from) {
  for (uint32_t row = 0; row < i.count; ++row)
    loadRow(reinterpret_cast<const Half*>(from + row * i.srcStride),
            reinterpret_cast<float*>(to + row * i.dstStride), i.length / sizeof(float));
}

void runBurst(const CopyInstr& i, const Context& context) {
  uint8_t* to = context.at(i.dst);
  const uint8_t* from = context.at(i.src);
  if (i.widens())
    return widenRows(i, to, from);
  bool inRow = i.srcStride == static_cast<int64_t>(i.length) && i.dstStride == i.srcStride &&
               !i.padLeft && !i.padRight;
  if (inRow || i.count == 1) {
    uint64_t all = inRow ? i.length * i.count : i.length;
    if (i.padLeft)
      fillPad(to, i.padLeft, i.padBits, bytesOf(i.dst.type), i.padDefined);
    store(i, context, to + i.padLeft, from, all);
    if (i.padRight)
      fillPad(to + i.padLeft + all, i.padRight, i.padBits, bytesOf(i.dst.type), i.padDefined);
    return;
  }
  for (uint32_t row = 0; row < i.count; ++row, to += i.dstStride, from += i.srcStride) {
    fillPad(to, i.padLeft, i.padBits, bytesOf(i.dst.type), i.padDefined);
    store(i, context, to + i.padLeft, from, i.length);
    fillPad(to + i.padLeft + i.length, i.padRight, i.padBits, bytesOf(i.dst.type), i.padDefined);
  }
}

void runNd2Nz(const CopyInstr& i, const Context& context) {
  uint64_t size = bytesOf(i.src.type);
  uint64_t rowBytes = i.dValue * size;
  uint64_t whole = rowBytes / blockBytes, rest = rowBytes % blockBytes;
  for (uint32_t matrix = 0; matrix < i.ndNum; ++matrix) {
    const uint8_t* from = context.at(i.src) + matrix * i.srcNdMatrixStride * size;
    uint8_t* to = context.at(i.dst) + matrix * i.dstNzMatrixStride * size;
    for (uint32_t row = 0; row < i.nValue; ++row) {
      const uint8_t* in = from + row * i.srcDValue * size;
      uint8_t* out = to + row * i.dstNzNStride * blockBytes;
      for (uint64_t c = 0; c < whole; ++c)
        std::memcpy(out + c * i.dstNzC0Stride * blockBytes, in + c * blockBytes, blockBytes);
      if (rest) {
        uint8_t* last = out + whole * i.dstNzC0Stride * blockBytes;
        std::memcpy(last, in + whole * blockBytes, rest);
        std::memset(last + rest, 0, blockBytes - rest);
      }
    }
  }
}

void runNz2Nd(const CopyInstr& i, const Context& context) {
  uint64_t size = bytesOf(i.src.type);
  uint64_t rowBytes = i.dValue * size;
  for (uint32_t matrix = 0; matrix < i.ndNum; ++matrix)
    for (uint32_t row = 0; row < i.nValue; ++row) {
      const uint8_t* in =
          context.at(i.src) + matrix * i.dstNzMatrixStride * size + row * blockBytes;
      uint8_t* out =
          context.at(i.dst) + matrix * i.srcNdMatrixStride * size + row * i.srcDValue * size;
      for (uint64_t at = 0; at < rowBytes; at += blockBytes)
        store(i, context, out + at, in + at / blockBytes * i.dstNzC0Stride * blockBytes,
              std::min<uint64_t>(blockBytes, rowBytes - at));
    }
}

} // namespace

std::string inspect(const CopyInstr& instr, AccessList& accesses, const Context&) {
  switch (instr.kind) {
  case CopyKind::Nd2Nz:
    if (auto e = inspectNd2Nz(instr, accesses); !e.empty())
      return e;
    return checkFractals(accesses, instr.dst, true);
  case CopyKind::Nz2Nd:
    if (auto e = inspectNz2Nd(instr, accesses); !e.empty())
      return e;
    return checkFractals(accesses, instr.src, false);
  default:
    return inspectBurst(instr, accesses);
  }
}

void run(const CopyInstr& instr, const Context& context) {
  if (instr.kind == CopyKind::Nd2Nz)
    runNd2Nz(instr, context);
  else if (instr.kind == CopyKind::Nz2Nd)
    runNz2Nd(instr, context);
  else if (instr.count && instr.length)
    runBurst(instr, context);
}

namespace {
template <class T> void combineInts(AtomicOp op, uint8_t* memory, const uint8_t* data, uint64_t n) {
  for (uint64_t k = 0; k < n; ++k) {
    T m, d;
    std::memcpy(&m, memory + k * sizeof(T), sizeof(T));
    std::memcpy(&d, data + k * sizeof(T), sizeof(T));
    if (op == AtomicOp::Add)
      m = static_cast<T>(static_cast<uint64_t>(m) + static_cast<uint64_t>(d));
    else
      m = op == AtomicOp::Max ? std::max(m, d) : std::min(m, d);
    std::memcpy(memory + k * sizeof(T), &m, sizeof(T));
  }
}
template <class T>
void combineFloats(AtomicOp op, uint8_t* memory, const uint8_t* data, uint64_t n) {
  for (uint64_t k = 0; k < n; ++k) {
    T m, d;
    std::memcpy(&m, memory + k * sizeof(T), sizeof(T));
    std::memcpy(&d, data + k * sizeof(T), sizeof(T));
    float x, y;
    loadRow(&m, &x, 1);
    loadRow(&d, &y, 1);
    float z = op == AtomicOp::Add ? x + y : op == AtomicOp::Max ? std::max(x, y) : std::min(x, y);
    storeRow(&z, &m, 1);
    std::memcpy(memory + k * sizeof(T), &m, sizeof(T));
  }
}
} // namespace

void combine(AtomicOp op, DType type, uint8_t* memory, const uint8_t* data, uint64_t bytes) {
  uint64_t n = bytes / bytesOf(type);
  switch (type) {
  case DType::F32:
    return combineFloats<float>(op, memory, data, n);
  case DType::F16:
    return combineFloats<Half>(op, memory, data, n);
  case DType::BF16:
    return combineFloats<Bfloat16>(op, memory, data, n);
  case DType::I8:
    return combineInts<int8_t>(op, memory, data, n);
  case DType::I16:
    return combineInts<int16_t>(op, memory, data, n);
  default:
    return combineInts<int32_t>(op, memory, data, n);
  }
}

} // namespace tilewright::ascend::isa
