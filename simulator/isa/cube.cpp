// SPDX-License-Identifier: Apache-2.0
// Loads from L1 to L0A, L0B; fills; what a cube instruction touches.
#include "simulator/isa/cube.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <cstring>

namespace tilewright::ascend::isa {

const char* nameOf(CubeOp op) {
  static const char* const names[] = {
      "LoadData", "LoadDataWithTranspose", "LoadData", "LoadDataWithSparse", "Mmad", "Fixpipe",
      "LoadBias", "InitConstValue"};
  return names[static_cast<size_t>(op)];
}

std::string alignedTo(const Operand& o, const char* name, uint32_t multiple, bool written) {
  if (o.space == Space::GM || o.address % multiple == 0)
    return {};
  return std::string(name) + " starts at " + spaceNames[static_cast<unsigned>(o.space)] + " byte " +
         std::to_string(o.address) + ", which is no multiple of " + std::to_string(multiple) +
         (written ? " [ErrorWrite4]" : " [ErrorRead4]");
}

std::string checkFractals(const AccessList& list, const Operand& tensor, bool written) {
  if (tensor.space == Space::GM || tensor.bytes == 0)
    return {};
  const uint64_t end = tensor.address + tensor.bytes;
  for (unsigned k = 0; k < list.count; ++k) {
    const Access& a = list.items[k];
    const bool isRead = a.kind == AccessKind::Read;
    const uint64_t last = a.region.hull().end;
    if (isRead != written && a.space == tensor.space && last > end &&
        last <= spaceBytes[static_cast<unsigned>(a.space)])
      return std::string(isRead ? "reads" : "writes") + " fractals up to byte " +
             std::to_string(last - 1) + ", but the tensor ends at byte " + std::to_string(end - 1) +
             "; give it room for whole fractals" + (isRead ? " [ErrorRead3]" : " [ErrorWrite2]");
  }
  return {};
}

void addFractals(AccessList& list, const Operand& o, Region r) {
  if (r.empty())
    return;
  list.add(o, r, AccessKind::Read);
  Access& all = list.items[list.count - 1];
  all.mayBeUninitialised = all.isMoved = true;
  Region first;
  first.begin = r.begin;
  first.length = rowBytes;
  list.add(o, first, AccessKind::Read);
  list.items[list.count - 1].takesMoved = true;
}

namespace {

/// Fractals that one repeat of LoadDataWithTranspose moves.
uint32_t fractalsPerBlock(DType type) {
  return type == DType::I4 ? 4 : bytesOf(type) == 2 ? 1 : 2;
}

std::string inspectLoad(const CubeInstr& i, AccessList& list) {
  if (i.repeat == 0)
    return {};
  constexpr uint32_t mostRepeats = 255;
  if (i.repeat > mostRepeats)
    return "repeatTimes is " + std::to_string(i.repeat) + ", but at most 255 are possible";
  if (auto e = alignedTo(i.dst, "dst", fractalBytes, true); !e.empty() && i.dst.space != Space::L1)
    return e;
  if (auto e = alignedTo(i.a, "src", rowBytes); !e.empty())
    return e;
  bool square = i.op == CubeOp::Load2DTranspose;
  if (i.transpose && !square && bytesOf(i.dst.type) != 2)
    return std::string("ifTranspose takes 16-bit elements, not ") + nameOf(i.dst.type) +
           "; use LoadDataWithTranspose";
  uint32_t each = square ? fractalsPerBlock(i.dst.type) : 1;
  Region src;
  src.begin = i.a.address + uint64_t{i.startIndex} * each * fractalBytes;
  src.length = each * fractalBytes;
  src.inner = i.repeat;
  src.innerStride = int64_t{i.srcStride} * each * fractalBytes;
  if (i.descending)
    src.innerStride = -src.innerStride;
  addFractals(list, i.a, src);
  Region dst;
  dst.begin = i.dst.address;
  dst.length = fractalBytes;
  dst.inner = square ? each : 1;
  dst.innerStride = int64_t{i.dstFracGap + 1} * fractalBytes;
  dst.outer = i.repeat;
  dst.outerStride = int64_t{i.dstGap + 1} * fractalBytes;
  list.add(i.dst, dst, AccessKind::Write);
  return {};
}

/// The fractals of A and B with a value to multiply. Loads write whole ones, so that the rows and
/// columns behind m, n and k are there too; but not those that a rounded k of floats only skips.
void addFactors(AccessList& list, const CubeInstr& i, MmadShape s) {
  const uint32_t depth = ceilDiv(i.k, rowElements(i.a.type));
  Region a;
  a.begin = i.a.address;
  a.length = uint64_t{depth} * (i.vectorA ? rowBytes : fractalBytes);
  a.inner = i.vectorA ? 1 : s.m1;
  a.innerStride = int64_t{s.k1} * fractalBytes;
  list.add(i.a, a, AccessKind::Read);
  list.items[list.count - 1].takesMoved = true;
  Region b;
  b.begin = i.b.address;
  b.length = uint64_t{s.n1} * (i.sparse ? depth / 2 : depth) * fractalBytes;
  list.add(i.b, b, AccessKind::Read);
  list.items[list.count - 1].takesMoved = true;
}

/// The rows and columns of the result: 16 columns lie as high as all rows do, in whole groups of 16.
void addResult(AccessList& list, const CubeInstr& i, MmadShape s, AccessKind kind) {
  const auto add = [&](Region c) {
    list.add(i.dst, c, kind);
    list.items[list.count - 1].takesMoved = kind == AccessKind::Read;
  };
  const uint32_t whole = i.n / fractalSide, rest = i.n % fractalSide;
  const int64_t step = int64_t{s.m1} * fractalSide * resultUnit;
  if (whole > 0)
    add({.begin = i.dst.address,
         .length = uint64_t{i.m} * resultUnit,
         .inner = whole,
         .innerStride = step});
  if (rest > 0)
    add({.begin = i.dst.address + whole * static_cast<uint64_t>(step),
         .length = rest * sizeof(float),
         .inner = i.m,
         .innerStride = resultUnit});
}

/// What of the last groups of 16 lies behind m and n: it has no value that anybody may rely on.
/// A sum reads it, and nobody minds.
void addBehindResult(AccessList& list, const CubeInstr& i, MmadShape s, bool isSum) {
  const auto add = [&](Region c) {
    if (isSum) {
      list.add(i.dst, c, AccessKind::Read);
      list.items[list.count - 1].mayBeUninitialised = true;
    }
    list.add(i.dst, c, AccessKind::Write);
    list.items[list.count - 1].undefined = true;
    list.items[list.count - 1].movedFrom = {.isOutside = true, .isLeft = true};
  };
  const uint32_t rows = s.m1 * fractalSide, rest = i.n % fractalSide;
  const uint64_t step = uint64_t{rows} * resultUnit;
  if (i.m < rows)
    add({.begin = i.dst.address + uint64_t{i.m} * resultUnit,
         .length = uint64_t{rows - i.m} * resultUnit,
         .inner = s.n1,
         .innerStride = static_cast<int64_t>(step)});
  if (rest > 0)
    add({.begin = i.dst.address + (s.n1 - 1) * step + rest * sizeof(float),
         .length = (fractalSide - rest) * sizeof(float),
         .inner = i.m,
         .innerStride = resultUnit});
}

std::string inspectMmad(const CubeInstr& i, AccessList& list) {
  if (!i.m || !i.n || !i.k)
    return {};
  constexpr uint32_t largest = 4095;
  if (i.sparse && (i.a.type != DType::I8 || i.k % 64))
    return i.a.type != DType::I8
               ? std::string("MmadWithSparse takes int8_t, not ") + nameOf(i.a.type)
               : "MmadWithSparse: k is " + std::to_string(i.k) + ", which is no multiple of 64";
  for (auto [value, name] : {std::pair{i.m, "m"}, {i.n, "n"}, {i.k, "k"}})
    if (value > largest)
      return std::string(name) + " is " + std::to_string(value) + ", but at most 4095 is possible";
  bool floats = i.a.type == DType::F16 || i.a.type == DType::BF16 || i.a.type == DType::F32;
  bool ints = i.a.type == DType::I8 || i.a.type == DType::I4 || i.a.type == DType::U8;
  bool right = i.a.type == i.b.type &&
               ((floats && i.dst.type == DType::F32) || (ints && i.dst.type == DType::I32));
  if (!right)
    return std::string("arch 2201 has no Mmad of ") + nameOf(i.a.type) + " and " +
           nameOf(i.b.type) + " to " + nameOf(i.dst.type);
  if (i.a.space != Space::L0A || i.b.space != Space::L0B || i.dst.space != Space::L0C)
    return "takes its matrices from A2 and B2 and writes CO1";
  for (const Operand* o : {&i.a, &i.b})
    if (auto e = alignedTo(*o, o == &i.a ? "fm" : "filter", fractalBytes); !e.empty())
      return e;
  if (auto e = alignedTo(i.dst, "dst", resultUnit, true); !e.empty())
    return e;
  MmadShape s = mmadShape(i);
  addFactors(list, i, s);
  bool bias = i.fromBias || i.hasBias;
  if (bias) {
    Region row;
    row.begin = i.c.address;
    row.length = uint64_t{i.n} * sizeof(float);
    list.add(i.c, row, AccessKind::Read);
  } else if (!i.initialise) {
    addResult(list, i, s, AccessKind::Read);
  }
  addResult(list, i, s, AccessKind::Write);
  addBehindResult(list, i, s, !bias && !i.initialise);
  return {};
}

std::string inspectFill(const CubeInstr& i, AccessList& list) {
  uint32_t unit = i.dst.space == Space::L1 ? rowBytes : fractalBytes;
  if (auto e = alignedTo(i.dst, "dst", unit, true); !e.empty())
    return e;
  Region dst;
  dst.begin = i.dst.address;
  dst.length = uint64_t{i.m} * unit;
  dst.inner = i.repeat;
  dst.innerStride = (int64_t{i.m} + i.dstGap) * unit;
  list.add(i.dst, dst, AccessKind::Write);
  return {};
}

void runLoad2D(const CubeInstr& i, const Context& context) {
  const uint8_t* src = context.at(i.a) + uint64_t{i.startIndex} * fractalBytes;
  uint8_t* dst = context.at(i.dst);
  int64_t step = int64_t{i.srcStride} * fractalBytes * (i.descending ? -1 : 1);
  for (uint32_t r = 0; r < i.repeat; ++r) {
    const uint8_t* from = src + step * r;
    uint8_t* to = dst + uint64_t{r} * (i.dstGap + 1) * fractalBytes;
    if (!i.transpose) {
      std::memcpy(to, from, fractalBytes);
      continue;
    }
    uint16_t in[fractalSide][fractalSide], out[fractalSide][fractalSide];
    std::memcpy(in, from, sizeof in);
    for (uint32_t y = 0; y < fractalSide; ++y)
      for (uint32_t x = 0; x < fractalSide; ++x)
        out[x][y] = in[y][x];
    std::memcpy(to, out, sizeof out);
  }
}

/// Squares of 16 x 16 (16 bits), 32 x 32 (8 bits), 16 x 16 of two fractals (32 bits).
void runLoadTranspose(const CubeInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.dst.type), each = fractalsPerBlock(i.dst.type);
  uint32_t columns = rowBytes / size;
  uint32_t square = size == 1 ? 32 : fractalSide;
  const uint8_t* src = context.at(i.a) + uint64_t{i.startIndex} * each * fractalBytes;
  for (uint32_t r = 0; r < i.repeat; ++r) {
    const uint8_t* from =
        src + int64_t{i.srcStride} * each * fractalBytes * r * (i.descending ? -1 : 1);
    uint8_t* to = context.at(i.dst) + uint64_t{r} * (i.dstGap + 1) * fractalBytes;
    uint8_t copy[4 * fractalBytes];
    std::memcpy(copy, from, each * fractalBytes);
    for (uint32_t y = 0; y < square; ++y)
      for (uint32_t x = 0; x < square; ++x) {
        // Fractals of the square lie below each other (8 bits) or side by side (32 bits).
        auto offset = [&](uint32_t row, uint32_t column, uint64_t step) {
          return (row / fractalSide + column / columns) * step +
                 row % fractalSide * uint64_t{rowBytes} + column % columns * size;
        };
        std::memcpy(to + offset(x, y, uint64_t{i.dstFracGap + 1} * fractalBytes),
                    copy + offset(y, x, fractalBytes), size);
      }
  }
}

void runFill(const CubeInstr& i, const Context& context) {
  uint64_t unit = i.dst.space == Space::L1 ? rowBytes : fractalBytes;
  uint32_t size = bytesOf(i.dst.type);
  for (uint32_t r = 0; r < i.repeat; ++r) {
    uint8_t* at = context.at(i.dst) + r * (i.m + i.dstGap) * unit;
    for (uint64_t k = 0; k < i.m * unit; k += size)
      std::memcpy(at + k, &i.padBits, size);
  }
}

} // namespace

namespace {

std::string inspectOp(const CubeInstr& i, AccessList& list) {
  switch (i.op) {
  case CubeOp::Load2D:
  case CubeOp::Load2DTranspose:
    return inspectLoad(i, list);
  case CubeOp::Load3D:
    return inspectLoad3D(i, list);
  case CubeOp::LoadSparse:
    return inspectLoadSparse(i, list);
  case CubeOp::Mmad:
    return inspectMmad(i, list);
  case CubeOp::Fixpipe:
    return inspectFixpipe(i, list);
  case CubeOp::Fill:
    return inspectFill(i, list);
  default:
    return "arch 2201 has no such load";
  }
}

} // namespace

std::string inspect(const CubeInstr& i, AccessList& list, const Context&) {
  if (auto e = inspectOp(i, list); !e.empty())
    return e;
  // These write whole fractals; what others write of their last ones nobody may need.
  const bool writesWhole = i.op == CubeOp::Load2D || i.op == CubeOp::Load2DTranspose ||
                           i.op == CubeOp::LoadSparse || i.op == CubeOp::Fill;
  if (auto e = writesWhole ? checkFractals(list, i.dst, true) : std::string(); !e.empty())
    return e;
  return checkExtents(i);
}

void run(const CubeInstr& i, const Context& context) {
  switch (i.op) {
  case CubeOp::Load2D:
    return runLoad2D(i, context);
  case CubeOp::Load2DTranspose:
    return runLoadTranspose(i, context);
  case CubeOp::Load3D:
    if (i.mExtension && i.kExtension)
      runLoad3D(i, context);
    return;
  case CubeOp::LoadSparse:
    return runLoadSparse(i, context);
  case CubeOp::Mmad:
    if (i.m && i.n && i.k)
      runMmad(i, context);
    return;
  case CubeOp::Fixpipe:
    return runFixpipe(i, context);
  default:
    return runFill(i, context);
  }
}

} // namespace tilewright::ascend::isa
