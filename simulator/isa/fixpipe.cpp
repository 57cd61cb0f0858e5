// SPDX-License-Identifier: Apache-2.0
// Fixpipe: L0C to GM or L1, with conversion, scale, ReLU and change of layout.
#include "simulator/isa/cube.h"
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace tilewright::ascend::isa {

namespace {

bool isPerChannel(QuantMode mode) {
  return mode == QuantMode::VReq8 || mode == QuantMode::VDeqF16 || mode == QuantMode::VQF32ToB8;
}

bool typesMatch(const CubeInstr& i) {
  DType from = i.a.type, to = i.dst.type;
  bool byte = to == DType::I8 || to == DType::U8;
  switch (i.quant) {
  case QuantMode::None:
    return from == to && (from == DType::F32 || from == DType::I32);
  case QuantMode::F32ToF16:
    return from == DType::F32 && to == DType::F16;
  case QuantMode::F32ToBf16:
    return from == DType::F32 && to == DType::BF16;
  case QuantMode::VDeqF16:
  case QuantMode::DeqF16:
    return from == DType::I32 && to == DType::F16;
  case QuantMode::VReq8:
  case QuantMode::Req8:
    return from == DType::I32 && byte;
  case QuantMode::VQF32ToB8:
  case QuantMode::QF32ToB8:
    return from == DType::F32 && byte;
  }
  return false;
}

/// Elements that a row of the result's fractals holds.
uint32_t dstColumns(const CubeInstr& i) {
  uint32_t size = bytesOf(i.dst.type);
  return size == 4 && !i.channelSplit ? fractalSide : rowBytes / size;
}

float scaleOf(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

void storeConverted(const CubeInstr& i, uint8_t* to, const uint8_t* from, float scale) {
  if (i.quant == QuantMode::None) {
    uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    if (i.relu && (bits >> 31))
      bits = 0;
    std::memcpy(to, &bits, sizeof bits);
    return;
  }
  double value = loadElement(from, i.a.type);
  bool scaled = i.quant != QuantMode::F32ToF16 && i.quant != QuantMode::F32ToBf16;
  if (scaled)
    value = static_cast<float>(value) * scale;
  if (i.relu && value < 0)
    value = 0;
  if (bytesOf(i.dst.type) == 1) {
    double low = i.dst.type == DType::I8 ? -128 : 0, high = low + 255;
    value = std::nearbyint(value);
    value = value < low ? low : value > high ? high : value;
  }
  storeElement(to, i.dst.type, value);
}

} // namespace

uint64_t fixpipePlace(const CubeInstr& i, uint32_t nd, uint32_t m, uint32_t n) {
  const uint64_t size = bytesOf(i.dst.type);
  if (i.rowMajor)
    return i.dst.address + (uint64_t{nd} * i.dstNdStride + uint64_t{m} * i.fixDstStride + n) * size;
  const uint32_t columns = dstColumns(i);
  return i.dst.address + uint64_t{n / columns} * i.fixDstStride * rowBytes +
         (uint64_t{m} * columns + n % columns) * size;
}

std::string inspectFixpipe(const CubeInstr& i, AccessList& list) {
  if (!i.m || !i.n)
    return {};
  if (!typesMatch(i))
    return std::string("quantPre ") + std::to_string(static_cast<int>(i.quant)) + " doesn't turn " +
           nameOf(i.a.type) + " into " + nameOf(i.dst.type);
  if (auto e = alignedTo(i.a, "src", resultUnit); !e.empty())
    return e;
  const bool hasScales = i.c.space != Operand().space || i.c.bytes;
  if (isPerChannel(i.quant) && !hasScales)
    return "quantPre " + std::to_string(static_cast<int>(i.quant)) +
           " takes a scale for each column, but the call has none";
  constexpr uint32_t sourceBytes = 4;
  uint32_t size = bytesOf(i.dst.type);
  for (uint32_t nd = 0; nd < std::max(i.ndNum, 1u); ++nd) {
    Region src;
    src.begin =
        i.a.address + uint64_t{nd} * i.srcNdStride * fractalSide * fractalSide * sourceBytes;
    src.length = uint64_t{i.m} * fractalSide * sourceBytes;
    src.inner = ceilDiv(i.n, fractalSide);
    src.innerStride = int64_t{i.fixSrcStride} * fractalSide * sourceBytes;
    list.add(i.a, src, AccessKind::Read);
    list.items[list.count - 1].takesMoved = true;
    Region dst;
    AccessKind kind = i.atomic == AtomicOp::None ? AccessKind::Write : AccessKind::Atomic;
    if (i.rowMajor) {
      dst.begin = i.dst.address + uint64_t{nd} * i.dstNdStride * size;
      dst.length = uint64_t{i.n} * size;
      dst.inner = i.m;
      dst.innerStride = int64_t{i.fixDstStride} * size;
    } else {
      dst.begin = i.dst.address;
      dst.length = uint64_t{i.m} * dstColumns(i) * size;
      dst.inner = ceilDiv(i.n, dstColumns(i));
      dst.innerStride = int64_t{i.fixDstStride} * rowBytes;
    }
    list.add(i.dst, dst, kind);
    if (!i.rowMajor)
      break;
  }
  if (isPerChannel(i.quant)) {
    Region scales;
    scales.begin = i.c.address;
    scales.length = uint64_t{i.n} * sizeof(uint64_t);
    list.add(i.c, scales, AccessKind::Read);
  }
  return {};
}

void runFixpipe(const CubeInstr& i, const Context& context) {
  constexpr uint32_t sourceBytes = 4;
  uint32_t size = bytesOf(i.dst.type);
  bool perChannel = isPerChannel(i.quant);
  const uint8_t* scales = perChannel ? context.at(i.c) : nullptr;
  thread_local std::vector<uint8_t> row;
  uint32_t matrices = i.rowMajor ? std::max(i.ndNum, 1u) : 1;
  for (uint32_t nd = 0; nd < matrices && i.n; ++nd)
    for (uint32_t m = 0; m < i.m; ++m) {
      const uint8_t* from = context.at(i.a) + (uint64_t{nd} * i.srcNdStride * fractalSide + m) *
                                                  fractalSide * sourceBytes;
      row.resize(uint64_t{i.n} * size);
      bool plain = i.quant == QuantMode::None && !i.relu;
      bool toHalf = i.quant == QuantMode::F32ToF16 && !i.relu;
      for (uint32_t n1 = 0; n1 * fractalSide < i.n; ++n1) {
        const uint8_t* in = from + uint64_t{n1} * i.fixSrcStride * fractalSide * sourceBytes;
        uint32_t count = std::min(fractalSide, i.n - n1 * fractalSide);
        uint8_t* out = row.data() + n1 * fractalSide * size;
        if (plain) {
          std::memcpy(out, in, count * size);
        } else if (toHalf) {
          storeRow(reinterpret_cast<const float*>(in), reinterpret_cast<Half*>(out), count);
        } else {
          for (uint32_t k = 0; k < count; ++k) {
            uint64_t bits = i.quantScale;
            if (perChannel)
              std::memcpy(&bits, scales + (n1 * fractalSide + k) * sizeof bits, sizeof bits);
            storeConverted(i, out + k * size, in + k * sourceBytes, scaleOf(bits));
          }
        }
      }
      auto store = [&](uint8_t* to, const uint8_t* data, uint64_t bytes) {
        if (i.atomic == AtomicOp::None)
          std::memcpy(to, data, bytes);
        else
          context.atomics->store(i.atomic, i.atomicType, to, data, bytes);
      };
      if (i.rowMajor) {
        store(context.at(i.dst) +
                  (uint64_t{nd} * i.dstNdStride + uint64_t{m} * i.fixDstStride) * size,
              row.data(), row.size());
        continue;
      }
      uint64_t piece = uint64_t{dstColumns(i)} * size;
      for (uint64_t at = 0; at < row.size(); at += piece)
        store(context.at(i.dst) + at / piece * i.fixDstStride * rowBytes + m * piece,
              row.data() + at, std::min<uint64_t>(piece, row.size() - at));
    }
}

} // namespace tilewright::ascend::isa
