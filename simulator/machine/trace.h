// SPDX-License-Identifier: Apache-2.0
// What the timing model needs of a launch: every record of every core, in the order of execution,
// with the inputs of its duration and with what it waits for. Kept only if the launch asks for it.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_TRACE_H
#define TILEWRIGHT_SIMULATOR_MACHINE_TRACE_H

#include "simulator/isa/instruction.h"

#include <cstdint>
#include <vector>

namespace tilewright::ascend {

enum class TraceKind : uint8_t {
  Vector,
  Copy,
  Cube,
  SetFlag,
  WaitFlag,
  Barrier,
  BarrierAll,
  CrossSet,
  CrossWait,
  SyncAll,
  Notice,      ///< a word in GM that other cores poll
  AwaitNotice, ///< polls it
  Scalar,      ///< a scalar read or write of a tensor
};

/// One record. The fields below `site` depend on the kind.
struct TraceEvent {
  TraceKind kind = TraceKind::Scalar;
  Pipe pipe = Pipe::S;  ///< the pipe that executes it (WaitFlag: the one that waits)
  Pipe other = Pipe::S; ///< SetFlag: who waits; WaitFlag: who sets
  uint8_t op = 0;       ///< VectorOp, CopyKind or CubeOp
  uint8_t id = 0;       ///< event id or cross-core flag
  uint8_t mode = 0;     ///< CrossSet: mode; Copy: 1 if it goes past L2
  DType type = DType::F32;
  Space from = Space::GM, to = Space::GM;
  uint32_t site = 0;       ///< index into the core's sites
  uint64_t issueOrder = 0; ///< place in the scalar unit's program order
  uint64_t bytes = 0;      ///< Copy, LoadData, Fixpipe: bytes moved
  uint64_t address = 0;    ///< Copy: GM address (L2 model); notices: which word
  uint32_t rows = 1;       ///< Copy: bursts
  uint32_t repeats = 0;    ///< Vector; AwaitNotice: how many notices
  uint32_t m = 0, n = 0, k = 0;
  uint32_t banks[3] = {0, 0, 0}; ///< Vector: addresses of dst, src0, src1 (bank conflicts)
};

using Trace = std::vector<TraceEvent>;

} // namespace tilewright::ascend

#endif
