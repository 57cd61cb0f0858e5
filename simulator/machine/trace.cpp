// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/agent.h"

namespace tilewright::ascend {

TraceEvent traceOf(const VectorInstr& i, Pipe pipe, uint32_t site) {
  TraceEvent e;
  e.kind = TraceKind::Vector;
  e.pipe = pipe;
  e.op = static_cast<uint8_t>(i.op);
  e.type = i.dst.type;
  e.from = e.to = Space::UB;
  e.site = site;
  uint32_t widest = std::max(bytesOf(i.dst.type), bytesOf(i.src0.type));
  e.bytes = i.form == VectorForm::Count ? i.count * widest : 256ull * i.repeat;
  e.repeats = i.form == VectorForm::Count ? static_cast<uint32_t>((e.bytes + 255) / 256) : i.repeat;
  e.banks[0] = static_cast<uint32_t>(i.dst.address);
  e.banks[1] = static_cast<uint32_t>(i.src0.address);
  e.banks[2] = static_cast<uint32_t>(i.src1.address);
  return e;
}

TraceEvent traceOf(const CopyInstr& i, Pipe pipe, uint32_t site) {
  TraceEvent e;
  e.kind = TraceKind::Copy;
  e.pipe = pipe;
  e.op = static_cast<uint8_t>(i.kind);
  e.type = i.dst.type;
  e.from = i.src.space;
  e.to = i.dst.space;
  e.site = site;
  e.rows = i.kind == CopyKind::Burst ? i.count : i.ndNum * i.nValue;
  e.bytes = i.kind == CopyKind::Burst
                ? i.count * i.length
                : uint64_t{i.ndNum} * i.nValue * i.dValue * bytesOf(i.src.type);
  e.address = i.src.space == Space::GM ? i.src.address : i.dst.address;
  e.mode = i.src.space == Space::GM ? i.src.l2Bypass & 1 : i.dst.l2Bypass >> 1;
  return e;
}

TraceEvent traceOf(const CubeInstr& i, Pipe pipe, uint32_t site) {
  TraceEvent e;
  e.kind = TraceKind::Cube;
  e.pipe = pipe;
  e.op = static_cast<uint8_t>(i.op);
  e.type = i.op == CubeOp::Mmad ? i.a.type : i.dst.type;
  e.from = i.a.space;
  e.to = i.dst.space;
  e.site = site;
  e.m = i.m;
  e.n = i.n;
  e.k = i.k;
  e.id = i.unitFlag;
  constexpr uint64_t fractal = 512;
  switch (i.op) {
  case CubeOp::Load2D:
  case CubeOp::Load2DTranspose:
    e.bytes = fractal * i.repeat;
    break;
  case CubeOp::Load3D:
    e.bytes = uint64_t{i.mExtension} * i.kExtension * bytesOf(i.dst.type);
    break;
  case CubeOp::Fixpipe:
    e.bytes = uint64_t{i.m} * i.n * bytesOf(i.dst.type) * i.ndNum;
    e.address = i.dst.address;
    break;
  default:
    break;
  }
  return e;
}

TraceEvent syncTrace(TraceKind kind, Pipe pipe, Pipe other, unsigned id, uint32_t site) {
  TraceEvent e;
  e.kind = kind;
  e.pipe = pipe;
  e.other = other;
  e.id = static_cast<uint8_t>(id);
  e.site = site;
  return e;
}

TraceEvent scalarTrace(const Operand& operand, uint32_t bytes, bool write, uint32_t site) {
  TraceEvent e;
  e.kind = TraceKind::Scalar;
  e.op = write;
  e.from = e.to = operand.space;
  e.bytes = bytes;
  e.address = operand.address;
  e.site = site;
  return e;
}

} // namespace tilewright::ascend
