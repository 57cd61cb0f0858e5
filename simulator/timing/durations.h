// SPDX-License-Identifier: Apache-2.0
/// How long one instruction occupies its pipe, apart from what is shared between cores.
#pragma once

#include "compiler/chips/ascend_timing.h"
#include "simulator/machine/trace.h"

namespace tilewright::ascend {

/// In cycles: for how long the pipe takes no other instruction, and how much later the result is
/// there.
struct Duration {
  double occupied = 0;
  double latency = 0;
};

/// Of Vector, and of Cube but for what moves to or from GM. `l1WriteRate`: bytes per cycle that
/// MTE2 writes to L1.
Duration durationOf(const TraceEvent& event, const chips::AscendTiming& timing, double l1WriteRate);

/// True for what moves to or from GM: its rate depends on what else moves.
bool isTransfer(const TraceEvent& event);

/// A copy from or to GM: its own highest rate in bytes per cycle, and cycles that no rate shortens.
struct TransferLimit {
  double bytesPerCycle = 0;
  double fixedCycles = 0;
};
TransferLimit transferLimit(const TraceEvent& event, const chips::AscendTiming& timing);

/// Cycles that the bytes of a copy or load take at the limit of their path; 0 if none is known.
double leastPathCycles(const TraceEvent& event, const chips::AscendTiming& timing);

/// Factor on a vector instruction's repeats: 1 without bank conflicts.
double bankFactor(const TraceEvent& event, const chips::AscendTiming& timing);

} // namespace tilewright::ascend
