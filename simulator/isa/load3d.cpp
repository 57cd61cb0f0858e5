// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData3DParamsV2: an image in L1 (channels in blocks of 32 bytes) becomes a matrix
// with a row for each place of the filter (m) and a column for each weight of it (k); a window of
// that goes to L0A as rows, or to L0B, where m is the depth of the product.
#include "simulator/isa/cube.h"
#include "simulator/isa/vector.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

/// Bytes of one window at its destination.
uint64_t windowBytes(const CubeInstr& i) {
  const WindowShape shape = windowShape(i);
  return uint64_t{ceilDiv(shape.rows, fractalSide)} * shape.depth * fractalBytes;
}

/// Where element (m, k) of a window goes, in bytes.
uint64_t windowByte(const CubeInstr& i, uint32_t m, uint32_t k) {
  uint32_t c0 = rowElements(i.dst.type), size = bytesOf(i.dst.type);
  if (i.dst.space == Space::L0B) {
    uint64_t fractal = uint64_t{m / c0} * ceilDiv(i.kExtension, fractalSide) + k / fractalSide;
    return fractal * fractalBytes + (k % fractalSide * c0 + m % c0) * size;
  }
  uint32_t row = i.transpose ? k : m, column = i.transpose ? m : k;
  uint64_t fractal = uint64_t{row / fractalSide} * windowShape(i).depth + column / c0;
  return fractal * fractalBytes + (row % fractalSide * c0 + column % c0) * size;
}

struct Places {
  uint32_t width, height; ///< places of the filter
};
Places placesOf(const CubeInstr& i) {
  uint32_t kernelH = (i.filterH - 1u) * i.dilationH + 1,
           kernelW = (i.filterW - 1u) * i.dilationW + 1;
  return {(i.l1W + i.pad[0] + i.pad[1] - kernelW) / i.strideW + 1,
          (i.l1H + i.pad[2] + i.pad[3] - kernelH) / i.strideH + 1};
}

} // namespace

WindowShape windowShape(const CubeInstr& i) {
  const uint32_t c0 = rowElements(i.dst.type);
  if (i.dst.space == Space::L0B)
    return {i.kExtension, ceilDiv(i.mExtension, c0)};
  if (!i.transpose)
    return {i.mExtension, ceilDiv(i.kExtension, c0)};
  // Two fractals of floats are transposed as a square: their depth comes in pairs.
  const uint32_t unit = std::max(c0, fractalSide);
  return {i.kExtension, ceilDiv(i.mExtension, unit) * unit / c0};
}

std::string inspectLoad3D(const CubeInstr& i, AccessList& list) {
  if (!i.mExtension || !i.kExtension || !i.loadRepeats)
    return {};
  if (i.dst.space != Space::L0A && i.dst.space != Space::L0B)
    return "LoadData with LoadData3DParamsV2 writes A2 or B2";
  if (i.transpose && (i.dst.space != Space::L0A || bytesOf(i.dst.type) < 2))
    return std::string("enTranspose takes 16- and 32-bit elements into A2, not ") +
           nameOf(i.dst.type) + (i.dst.space == Space::L0B ? " into B2" : "");
  if (!i.strideW || !i.strideH || !i.filterW || !i.filterH || !i.dilationW || !i.dilationH)
    return "strides, filter sizes and dilations of LoadData3DParamsV2 start at 1";
  uint32_t kernelH = (i.filterH - 1u) * i.dilationH + 1,
           kernelW = (i.filterW - 1u) * i.dilationW + 1;
  if (kernelH > i.l1H + 0u + i.pad[2] + i.pad[3] || kernelW > i.l1W + 0u + i.pad[0] + i.pad[1])
    return "the filter of " + std::to_string(kernelH) + " x " + std::to_string(kernelW) +
           " is larger than the padded image of " + std::to_string(i.l1H + i.pad[2] + i.pad[3]) +
           " x " + std::to_string(i.l1W + i.pad[0] + i.pad[1]);
  if (auto e = alignedTo(i.dst, "dst", fractalBytes, true); !e.empty())
    return e;
  uint32_t c0 = rowElements(i.dst.type);
  Region src;
  src.begin = i.a.address;
  src.length = uint64_t{ceilDiv(i.channels, c0)} * i.l1H * i.l1W * rowBytes;
  list.add(i.a, src, AccessKind::Read);
  Access& image = list.items[list.count - 1];
  image.mayBeUninitialised = image.isMoved = true;
  Region dst;
  dst.begin = i.dst.address;
  dst.length = windowBytes(i) * i.loadRepeats;
  list.add(i.dst, dst, AccessKind::Write);
  return {};
}

void runLoad3D(const CubeInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.dst.type), c0 = rowElements(i.dst.type);
  Places places = placesOf(i);
  uint32_t channelBlocks = ceilDiv(i.channels, c0);
  const uint8_t* image = context.at(i.a);
  uint8_t zeros[rowBytes] = {}, padding[rowBytes];
  for (uint32_t e = 0; e < rowBytes; e += size)
    std::memcpy(padding + e, &i.padBits, size);
  // A whole number of fractals is written, also where the window ends inside one.
  bool mIsDepth = i.dst.space == Space::L0B || i.transpose;
  const uint32_t depth = windowShape(i).depth * c0, kUnit = mIsDepth ? fractalSide : c0;
  uint32_t mCount = mIsDepth ? depth : ceilDiv(i.mExtension, fractalSide) * fractalSide;
  uint32_t blockCount = ceilDiv(ceilDiv(i.kExtension, kUnit) * kUnit, c0);
  for (uint32_t r = 0; r < i.loadRepeats; ++r) {
    uint32_t mStart = i.mStart + (i.loadRepeatsAlongK ? 0 : r * i.loadRepeatStride * fractalSide);
    uint32_t firstBlock = i.kStart / c0 + (i.loadRepeatsAlongK ? r * i.loadRepeatStride : 0);
    uint8_t* to = context.at(i.dst) + r * windowBytes(i);
    for (uint32_t m = 0; m < mCount; ++m)
      for (uint32_t b = 0; b < blockCount; ++b) {
        uint32_t position = mStart + m, block = firstBlock + b;
        uint32_t x = block % i.filterW, y = block / i.filterW % i.filterH;
        uint32_t channel = block / (i.filterW * uint32_t{i.filterH});
        int64_t column =
            int64_t{position % places.width} * i.strideW - i.pad[0] + int64_t{x} * i.dilationW;
        int64_t row =
            int64_t{position / places.width} * i.strideH - i.pad[2] + int64_t{y} * i.dilationH;
        const uint8_t* from = zeros;
        if (position < places.width * places.height && channel < channelBlocks)
          from = row < 0 || column < 0 || row >= i.l1H || column >= i.l1W
                     ? padding
                     : image + ((uint64_t{channel} * i.l1H + static_cast<uint64_t>(row)) * i.l1W +
                                static_cast<uint64_t>(column)) *
                                   rowBytes;
        for (uint32_t e = 0; e < c0 && b * c0 + e < ceilDiv(i.kExtension, kUnit) * kUnit; ++e)
          std::memcpy(to + windowByte(i, m, b * c0 + e), from + e * size, size);
      }
  }
}

} // namespace tilewright::ascend::isa
