// SPDX-License-Identifier: Apache-2.0
/// How long a launch would have taken on the chip: an event simulation of all cores' pipes over the
/// records of a launch, with HBM and L2 shared by all cores. Every constant is in
/// compiler/chips/ascend_timing.h.
#pragma once

#include "compiler/chips/ascend_chip.h"
#include "compiler/chips/ascend_timing.h"
#include "simulator/machine/trace.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// What a site of a trace names: the kernel's line and the call on it.
struct TimedLine {
  std::string file;
  uint32_t line = 0;
  std::string what;
};

/// One core of a launch. `trace` and `lines` must outlive the estimate.
struct TimedCore {
  std::string name; ///< "AIV 3"
  bool isCube = false;
  uint32_t block = 0;
  uint32_t subBlock = 0;
  const Trace* trace = nullptr;
  const std::vector<TimedLine>* lines = nullptr;
};

/// An operation of a core of the report; `none` of no core.
struct OperationRef {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t core = none;
  uint32_t operation = 0;
  bool isSet() const {
    return core != none;
  }
};

/// One instruction as it would have run. Times are in cycles from the launch.
struct TimedOperation {
  uint32_t event = 0; ///< index into the core's trace
  Pipe pipe = Pipe::S;
  bool isCritical = false;
  double start = 0;
  double end = 0;
  OperationRef cause; ///< the operation, of any core, that it had to wait for
};

struct PipeTime {
  double busyCycles = 0;
  uint64_t operations = 0;
  std::map<std::string, double> stallCycles; ///< idle time by what was waited for
};

/// What one core does for one block. Where there are more blocks than the chip has room for, a block
/// begins when another has ended; both then have the same `place`.
struct CoreTime {
  std::string name;
  bool isCube = false;
  uint32_t place = 0;
  double startCycle = 0;
  double endCycle = 0;
  PipeTime pipes[numPipes];
  std::map<std::string, uint64_t> bytesByPath; ///< "GM->UB"
  /// Cycles that these bytes take at the path's limit; only paths of which one is known.
  std::map<std::string, double> leastCyclesByPath;
  std::vector<TimedOperation> operations;

  /// Achieved share of the path's limit over the core's time, or -1 if no limit is known.
  double shareOfPath(const std::string& path) const;
};

/// A pipe of one kind of core.
struct PipeUse {
  size_t users = 0;            ///< cores of the chip that use it at all
  double busyMicroseconds = 0; ///< mean over these
  double share = 0;            ///< of the time of these
  /// Idle time of the one that ends last, in all that it runs in turn, by what it waited for.
  std::map<std::string, double> waitMicroseconds;
};

/// What the cores of one kind did.
struct KindTime {
  bool isCube = false;
  size_t launched = 0, ofChip = 0; ///< cores of the chip that had something to do, and all of them
  double microseconds = 0;         ///< mean over those launched
  size_t last = 0;                 ///< of the report's cores the one of this kind that ends last
  PipeUse pipes[numPipes];

  const char* name() const {
    return isCube ? "cube" : "vector";
  }
};

struct TimingReport {
  std::string kernel; ///< as the linker knows it
  std::string chip;
  double clockMHz = 0;
  size_t cubeCores = 0, vectorCores = 0; ///< of the chip
  std::vector<CoreTime> cores;
  double taskMicroseconds = 0;
  /// Achieved share of a limit of the chip: "HBM", "L2" (reads that hit), and of the time of all its "cube" and
  /// "vector" units, also of those that were not launched.
  std::map<std::string, double> limitShares;
  /// Not empty if the records wait for each other for ever: which pipe of which core waits for
  /// what.
  std::string stuck;

  /// As the source names the kernel.
  std::string kernelName() const;
  double microseconds(double cycles) const {
    return cycles / clockMHz;
  }
  /// Of each kind of core that was launched, cubes first. The kinds have pipes of the same name.
  std::vector<KindTime> kinds() const;
  /// Idle time of a pipe of one core of the chip in us, by what it waited for.
  std::map<std::string, double> waitsAt(uint32_t place, Pipe pipe) const;
  /// Busy time of a pipe in us, as profilers show it: mean over the chip's cores, of either kind, that use it at all.
  double meanBusyMicroseconds(Pipe pipe) const;
  /// Mean of the times of the chip's cores, in us.
  double coreMicroseconds() const;
};

/// `startsWarm`: L2 holds what an earlier launch of the same kernel left, as when a profiler repeats it.
TimingReport estimateTime(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
                          const chips::AscendTiming& timing, bool startsWarm = false);

const char* pipeLabel(Pipe pipe);
const char* spaceLabel(Space space);

} // namespace tilewright::ascend
