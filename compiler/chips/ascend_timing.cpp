// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_timing.h"

#include <array>

namespace tilewright::chips {

std::string_view provenanceName(Provenance provenance) {
  constexpr std::array<std::string_view, 5> names = {"documented", "measured", "derived", "fitted",
                                                     "assumed"};
  return names[size_t(provenance)];
}

AscendTiming arch2201Timing() {
  using enum Provenance;
  AscendTiming t;
  t.issueCycles = {
      3.5, Fitted,
      "scalar time of add case 1: 26.1 cycles per tile of 12 flags and 4 instructions"};
  t.flagIssueCycles = {1, Measured,
                       "published cost model: set and wait take about one cycle to issue"};
  t.scalarAccessCycles = {11, Derived,
                          "34 cycles per element of a scalar loop of two loads and a store"};
  t.queueDepth = {32, Documented, "MTE1 and M; taken for all pipes"};

  t.vectorStartCycles = {
      22, Derived, "86.0 cycles for 32 repeats, 278.5 for 128, 149.6 for 127 without conflicts"};
  t.readConflictFactor = {2, Measured, "4096 floats 1000 times: 4167 against 2390 ticks"};
  t.writeConflictFactor = {1.77, Measured, "4096 floats 1000 times: 3751 against 2390 ticks"};

  t.cubeIssueCycles = {6, Measured, "published cost model (PTO)"};
  t.cubeLatencyCycles = {
      56, Derived,
      "125.0 cycles for 64x64x64 and 575.0 for 128x256x64, each alone: 62 over the "
      "volume, of which 6 are for its issue"};
  t.loadIssueCycles = {9.5, Derived,
                       "143.0 cycles for 96 of transfer and 367.0 for 320: 47 for two loads, of "
                       "which 28 are the latency of the second"};
  t.loadLatencyCycles = {28, Documented, "table of data paths"};
  t.l1ToL0aBytes = {256, Documented, "table of data paths"};
  t.l1ToL0bBytes = {128, Documented, "table of data paths"};
  t.l1PortBytes = {256, Assumed,
                   "L1 is read and written through one port as wide as its widest path"};
  t.l1ToBiasBytes = {32, Documented, "table of data paths"};
  t.ubToUbBytes = {256, Documented, "table of data paths"};
  t.fixpipeElements = {64, Documented, "table of data paths"};
  t.fixpipeLatencyCycles = {20, Documented, "table of data paths"};

  t.readLatencyCycles = {189, Fitted,
                         "add case 1: 701 cycles for two copies of 8 KiB at 32 bytes per cycle"};
  t.hitLatencyCycles = {1, Fitted, "matmul cases 0 and 1: none is seen"};
  t.copyIssueCycles = {21, Derived, "48 cores, 128-byte copies of 12288^2 halves: 564.8 us"};
  t.requestBytes = {512, Documented, "copies are split into requests of 128, 256 or 512 bytes"};
  t.copiesInFlight = {16, Derived,
                      "48 cores, 128-byte copies of 12288^2 halves: one each 21.26 cycles, of "
                      "which 14.6 or 16.5 fit "
                      "into the 311 or 351 cycles of read latency of a published cost model "
                      "(PyPTO); add case 1 needs 11.8"};
  t.gmToUbBytes = {32, Fitted, "add case 1, with readLatencyCycles"};
  t.gmToL1Bytes = {40.2, Fitted, "matmul cases 0 and 1: rows of 128 and of 512 bytes"};
  t.gmToL1TotalBytes = {110, Documented, "platform file: bytes per cycle and core from L2"};
  t.gmToL1RowCycles = {0.83, Fitted, "matmul cases 0 and 1: rows of 128 and of 512 bytes"};
  t.ubToGmBytes = {27.2, Fitted, "add cases 1 and 3: 295 cycles for 8 KiB, 1243 for 32 KiB"};
  t.l0cToGmBytes = {67.5, Derived, "970 cycles for a tile of 128x256 halves"};
  t.memoryBytesPerSecond = {1.53e12, Fitted,
                            "add case 3: 3998 cycles for 64 KiB on 48 cores (1.6e12 documented)"};
  t.l2BytesPerSecond = {5.0e12, Documented, "5 to 5.2 TB/s"};
  t.dirtyShare = {
      0.125, Assumed,
      "nothing is published; reads that stream through L2 leave written data little room"};

  t.coreStartCycles = {1000, Assumed, "nothing is published"};
  t.launchMicroseconds = {0.5, Measured, "task less core time with one core"};
  t.launchPerCoreMicroseconds = {
      0.138, Fitted,
      "add case 3: task less core time is 7.0 us with 48 cores, and 0.5 us with one"};
  t.crossCoreFlagCycles = {500, Assumed, "nothing is published"};
  return t;
}

std::span<const NamedConstant> timingConstants() {
  using T = AscendTiming;
  static constexpr NamedConstant all[] = {
      {"issueCycles", "cycles", &T::issueCycles},
      {"flagIssueCycles", "cycles", &T::flagIssueCycles},
      {"scalarAccessCycles", "cycles", &T::scalarAccessCycles},
      {"queueDepth", "instructions", &T::queueDepth},
      {"vectorStartCycles", "cycles", &T::vectorStartCycles},
      {"readConflictFactor", "", &T::readConflictFactor},
      {"writeConflictFactor", "", &T::writeConflictFactor},
      {"cubeIssueCycles", "cycles", &T::cubeIssueCycles},
      {"cubeLatencyCycles", "cycles", &T::cubeLatencyCycles},
      {"loadIssueCycles", "cycles", &T::loadIssueCycles},
      {"loadLatencyCycles", "cycles", &T::loadLatencyCycles},
      {"l1ToL0aBytes", "bytes/cycle", &T::l1ToL0aBytes},
      {"l1ToL0bBytes", "bytes/cycle", &T::l1ToL0bBytes},
      {"l1PortBytes", "bytes/cycle", &T::l1PortBytes},
      {"l1ToBiasBytes", "bytes/cycle", &T::l1ToBiasBytes},
      {"ubToUbBytes", "bytes/cycle", &T::ubToUbBytes},
      {"fixpipeElements", "elements/cycle", &T::fixpipeElements},
      {"fixpipeLatencyCycles", "cycles", &T::fixpipeLatencyCycles},
      {"readLatencyCycles", "cycles", &T::readLatencyCycles},
      {"hitLatencyCycles", "cycles", &T::hitLatencyCycles},
      {"copyIssueCycles", "cycles", &T::copyIssueCycles},
      {"requestBytes", "bytes", &T::requestBytes},
      {"copiesInFlight", "copies", &T::copiesInFlight},
      {"gmToUbBytes", "bytes/cycle", &T::gmToUbBytes},
      {"gmToL1Bytes", "bytes/cycle", &T::gmToL1Bytes},
      {"gmToL1TotalBytes", "bytes/cycle", &T::gmToL1TotalBytes},
      {"gmToL1RowCycles", "cycles/row", &T::gmToL1RowCycles},
      {"ubToGmBytes", "bytes/cycle", &T::ubToGmBytes},
      {"l0cToGmBytes", "bytes/cycle", &T::l0cToGmBytes},
      {"memoryBytesPerSecond", "bytes/s", &T::memoryBytesPerSecond},
      {"l2BytesPerSecond", "bytes/s", &T::l2BytesPerSecond},
      {"dirtyShare", "", &T::dirtyShare},
      {"coreStartCycles", "cycles", &T::coreStartCycles},
      {"launchMicroseconds", "us", &T::launchMicroseconds},
      {"launchPerCoreMicroseconds", "us/core", &T::launchPerCoreMicroseconds},
      {"crossCoreFlagCycles", "cycles", &T::crossCoreFlagCycles},
  };
  return all;
}

} // namespace tilewright::chips
