// SPDX-License-Identifier: Apache-2.0
// How far cube instructions go in the tensors that they are given. Rows and columns that only fill the
// last fractal nobody may need, and tensors often end before them.
#include "simulator/isa/cube.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <algorithm>

namespace tilewright::ascend::isa {

namespace {

/// Bytes up to the last row of the last fractal that counts: `rows` of them in all.
uint64_t fractalsUpTo(uint64_t last, uint32_t rows) {
  return last * fractalBytes +
         uint64_t{rows - (ceilDiv(rows, fractalSide) - 1) * fractalSide} * rowBytes;
}

/// "reads up to L0A byte 1023, but the tensor ends at byte 511 [ErrorRead3]", or nothing.
std::string goesBeyond(const Operand& o, uint64_t bytes, bool written) {
  const auto space = static_cast<unsigned>(o.space);
  if (o.space == Space::GM || o.bytes == 0 || bytes <= o.bytes ||
      o.address + bytes > spaceBytes[space])
    return {};
  return std::string(written ? "writes" : "reads") + " up to " + spaceNames[space] + " byte " +
         std::to_string(o.address + bytes - 1) + ", but the tensor ends at byte " +
         std::to_string(o.address + o.bytes - 1) + (written ? " [ErrorWrite2]" : " [ErrorRead3]");
}

std::string checkMmad(const CubeInstr& i) {
  const MmadShape s = mmadShape(i);
  const uint32_t depth = ceilDiv(i.k, rowElements(i.a.type));
  const uint64_t a = i.vectorA ? uint64_t{depth} * rowBytes
                               : fractalsUpTo(uint64_t{s.m1 - 1} * s.k1 + depth - 1, i.m);
  if (auto e = goesBeyond(i.a, a, false); !e.empty())
    return e;
  const uint32_t depthB = std::max(i.sparse ? depth / 2 : depth, 1u);
  if (auto e = goesBeyond(i.b, fractalsUpTo(uint64_t{depthB} * s.n1 - 1, i.n), false); !e.empty())
    return e;
  if (i.fromBias || i.hasBias)
    if (auto e = goesBeyond(i.c, uint64_t{i.n} * sizeof(float), false); !e.empty())
      return e;
  const uint64_t c = (uint64_t{s.n1 - 1} * s.m1 * fractalSide + i.m) * resultUnit;
  return goesBeyond(i.dst, c, true);
}

std::string checkFixpipe(const CubeInstr& i) {
  const uint32_t size = bytesOf(i.dst.type);
  const uint64_t lastMatrix = i.rowMajor ? std::max(i.ndNum, 1u) - 1 : 0;
  const uint64_t from =
      lastMatrix * i.srcNdStride * fractalSide * resultUnit +
      (uint64_t{ceilDiv(i.n, fractalSide) - 1} * i.fixSrcStride + i.m) * resultUnit;
  if (auto e = goesBeyond(i.a, from, false); !e.empty())
    return e;
  if (i.rowMajor)
    return goesBeyond(
        i.dst, (lastMatrix * i.dstNdStride + uint64_t{i.m - 1u} * i.fixDstStride + i.n) * size,
        true);
  const uint32_t columns = size == 4 && !i.channelSplit ? fractalSide : rowBytes / size;
  const uint64_t last = ceilDiv(i.n, columns) - 1;
  return goesBeyond(i.dst,
                    last * i.fixDstStride * rowBytes +
                        (uint64_t{i.m - 1u} * columns + i.n - last * columns) * size,
                    true);
}

/// The last element that a place of the filter meets, and the last one written.
std::string checkLoad3D(const CubeInstr& i) {
  const uint32_t c0 = rowElements(i.dst.type);
  const WindowShape shape = windowShape(i);
  const uint64_t window = uint64_t{ceilDiv(shape.rows, fractalSide)} * shape.depth;
  if (auto e = goesBeyond(i.dst, fractalsUpTo(window * i.loadRepeats - 1, shape.rows), true);
      !e.empty())
    return e;
  const uint32_t more = (i.loadRepeats - 1u) * i.loadRepeatStride * fractalSide;
  const uint32_t kEnd = i.kStart + i.kExtension + (i.loadRepeatsAlongK ? more : 0),
                 mEnd = i.mStart + i.mExtension + (i.loadRepeatsAlongK ? 0 : more);
  const uint32_t reachW = (i.filterW - 1u) * i.dilationW, reachH = (i.filterH - 1u) * i.dilationH;
  const uint32_t wide = (i.l1W + i.pad[0] + i.pad[1] - reachW - 1) / i.strideW + 1,
                 high = (i.l1H + i.pad[2] + i.pad[3] - reachH - 1) / i.strideH + 1;
  const uint32_t place = std::min(mEnd, wide * high) - 1;
  const uint32_t block = std::min((kEnd - 1) / c0 / (i.filterW * i.filterH),
                                  ceilDiv(std::max<uint32_t>(i.channels, 1), c0) - 1);
  const uint32_t lowest = place / wide * i.strideH + reachH;
  if (!i.l1H || !i.l1W || lowest < i.pad[2])
    return {};
  const uint64_t row = std::min<uint32_t>(lowest - i.pad[2], i.l1H - 1u);
  return goesBeyond(i.a, ((uint64_t{block} * i.l1H + row) * i.l1W + 1) * rowBytes, false);
}

/// A source may end inside its last fractal, whose other rows nobody needs.
std::string checkLoad(const CubeInstr& i) {
  if (i.descending || !i.repeat)
    return {};
  const uint32_t each = i.op != CubeOp::Load2DTranspose ? 1
                        : i.dst.type == DType::I4       ? 4
                        : bytesOf(i.dst.type) == 2      ? 1
                                                        : 2;
  const uint64_t last = (i.startIndex + (i.repeat - 1u) * uint64_t{i.srcStride}) * each + each - 1;
  return goesBeyond(i.a, last * fractalBytes + rowBytes, false);
}

} // namespace

std::string checkExtents(const CubeInstr& i) {
  switch (i.op) {
  case CubeOp::Mmad:
    return i.m && i.n && i.k ? checkMmad(i) : std::string();
  case CubeOp::Fixpipe:
    return i.m && i.n ? checkFixpipe(i) : std::string();
  case CubeOp::Load3D:
    return i.mExtension && i.kExtension && i.loadRepeats ? checkLoad3D(i) : std::string();
  case CubeOp::Load2D:
  case CubeOp::Load2DTranspose:
    return checkLoad(i);
  default:
    return {};
  }
}

} // namespace tilewright::ascend::isa
