// SPDX-License-Identifier: Apache-2.0
/// The constants of the timing model. Each says where it comes from; none depends on a kernel.
/// Cycles are those of the core's clock.
#pragma once

#include <span>
#include <string_view>

namespace tilewright::chips {

enum class Provenance {
  Documented, ///< in the vendor's documentation
  Measured,   ///< a published measurement
  Derived,    ///< computed from published numbers
  Fitted,     ///< fitted by us to published profiles (which: in `source`)
  Assumed,    ///< nothing is public
};

std::string_view provenanceName(Provenance provenance);

struct TimingConstant {
  double value = 0;
  Provenance provenance = Provenance::Assumed;
  const char* source = "";
  operator double() const {
    return value;
  }
};

struct AscendTiming {
  // Scalar unit: cycles to issue.
  TimingConstant issueCycles;        ///< an instruction of another pipe
  TimingConstant flagIssueCycles;    ///< SetFlag, WaitFlag, PipeBarrier
  TimingConstant scalarAccessCycles; ///< GetValue or SetValue
  TimingConstant queueDepth;         ///< instructions that a pipe's queue holds

  // Vector: a repeat takes 256 bytes / (elements per cycle), times a factor for bank conflicts.
  TimingConstant vectorStartCycles;   ///< latency of an instruction; hidden behind a successor
  TimingConstant readConflictFactor;  ///< both sources in the same bank groups
  TimingConstant writeConflictFactor; ///< a source in the bank that is being written

  // Cube.
  TimingConstant cubeIssueCycles;   ///< per Mmad, over its volume
  TimingConstant cubeLatencyCycles; ///< until the result can be read, over volume and issue
  TimingConstant loadIssueCycles;   ///< per LoadData, over its bytes
  TimingConstant loadLatencyCycles; ///< of a LoadData; hidden behind a successor
  TimingConstant l1ToL0aBytes;      ///< per cycle
  TimingConstant l1ToL0bBytes;
  TimingConstant l1PortBytes; ///< per cycle: what MTE2 writes is taken from what MTE1 reads
  TimingConstant l1ToBiasBytes;
  TimingConstant ubToUbBytes;
  TimingConstant fixpipeElements; ///< per cycle, L0C to L1 or GM
  TimingConstant fixpipeLatencyCycles;

  // Global memory.
  TimingConstant readLatencyCycles; ///< until the first byte; hidden while earlier copies run
  TimingConstant hitLatencyCycles;  ///< the same, if L2 has the data
  TimingConstant copyIssueCycles;   ///< between the starts of two copies
  TimingConstant requestBytes;      ///< the longest that a copy asks memory for at once
  TimingConstant copiesInFlight;    ///< and requests: those that a core has made and not yet got
  TimingConstant gmToUbBytes;       ///< per cycle and core
  TimingConstant gmToL1Bytes;       ///< of one copy
  TimingConstant gmToL1TotalBytes;  ///< of all copies of a core that are in flight
  TimingConstant gmToL1RowCycles;   ///< per row of a copy that changes the layout
  TimingConstant ubToGmBytes;
  TimingConstant l0cToGmBytes;
  TimingConstant memoryBytesPerSecond; ///< HBM, reads and writes together
  TimingConstant l2BytesPerSecond;     ///< reads that hit
  TimingConstant dirtyShare; ///< of L2 that may hold data which still has to be written back

  // Start and end.
  TimingConstant coreStartCycles;
  TimingConstant launchMicroseconds; ///< of a task, over its slowest core
  TimingConstant launchPerCoreMicroseconds;
  TimingConstant crossCoreFlagCycles;
};

/// What a chip's cores need; all chips of an architecture share it, but for memory bandwidth.
AscendTiming arch2201Timing();

/// For tables: every constant with its name and unit.
struct NamedConstant {
  const char* name;
  const char* unit;
  const TimingConstant AscendTiming::* member;
};
std::span<const NamedConstant> timingConstants();

} // namespace tilewright::chips
