// SPDX-License-Identifier: Apache-2.0
/// Records for the tests of the timing model.
#pragma once

#include "simulator/timing/timing_model.h"

namespace tilewright::ascend::timing_test {

inline chips::AscendTiming timing() {
  return chips::arch2201Timing();
}
inline const chips::AscendChip& chip() {
  return *chips::findAscendChip("910B1");
}

inline TraceEvent vectorEvent(VectorOp op, DType type, uint32_t repeats, uint32_t dst = 0x20000,
                              uint32_t src0 = 0, uint32_t src1 = 0x100) {
  TraceEvent e;
  e.kind = TraceKind::Vector;
  e.pipe = Pipe::V;
  e.op = uint8_t(op);
  e.type = type;
  e.from = e.to = Space::UB;
  e.repeats = repeats;
  e.bytes = 256ull * repeats;
  e.banks[0] = dst;
  e.banks[1] = src0;
  e.banks[2] = src1;
  return e;
}

inline TraceEvent copyEvent(Pipe pipe, uint64_t address, uint64_t bytes) {
  TraceEvent e;
  e.kind = TraceKind::Copy;
  e.pipe = pipe;
  e.from = pipe == Pipe::MTE2 ? Space::GM : Space::UB;
  e.to = pipe == Pipe::MTE2 ? Space::UB : Space::GM;
  e.address = address;
  e.bytes = bytes;
  return e;
}

inline TraceEvent flagEvent(TraceKind kind, Pipe from, Pipe to, uint8_t id) {
  TraceEvent e;
  e.kind = kind;
  e.pipe = kind == TraceKind::SetFlag ? from : to;
  e.other = kind == TraceKind::SetFlag ? to : from;
  e.id = id;
  return e;
}
inline TraceEvent set(Pipe from, Pipe to, uint8_t id = 0) {
  return flagEvent(TraceKind::SetFlag, from, to, id);
}
inline TraceEvent await(Pipe from, Pipe to, uint8_t id = 0) {
  return flagEvent(TraceKind::WaitFlag, from, to, id);
}

inline TimingReport estimate(const std::vector<Trace>& traces, bool isCube = false) {
  std::vector<TimedCore> cores;
  cores.reserve(traces.size());
  for (size_t i = 0; i < traces.size(); ++i)
    cores.push_back({"core " + std::to_string(i), isCube, uint32_t(i), 0, &traces[i], nullptr});
  return estimateTime(cores, chip(), timing());
}

inline TraceEvent crossEvent(TraceKind kind, Pipe pipe, uint8_t id, uint8_t mode) {
  TraceEvent e;
  e.kind = kind;
  e.pipe = pipe;
  e.id = id;
  e.mode = mode;
  return e;
}

} // namespace tilewright::ascend::timing_test
