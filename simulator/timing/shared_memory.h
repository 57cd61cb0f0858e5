// SPDX-License-Identifier: Apache-2.0
/// HBM and L2, shared by all cores: transfers as flows whose rates change as others start and end.
#pragma once

#include "compiler/chips/ascend_chip.h"
#include "compiler/chips/ascend_timing.h"

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace tilewright::ascend {

/// What a flow loads: HBM (a read that misses), L2 (a read that hits), or the write-back buffer (a
/// write).
enum class FlowKind : uint8_t { Miss, Hit, Write };

struct Flow {
  FlowKind kind = FlowKind::Miss;
  bool isReadPastL2 = false;
  double bytesLeft = 0;
  double path = 0;  ///< bytes per cycle of its path
  double limit = 0; ///< its part of the path, which other transfers of the pipe share
  double rate = 0;
  uint32_t core = 0;
  uint8_t pipe = 0;
  uint32_t operation = 0;
};

/// Which parts of memory L2 holds: least recently used parts go first. A part is what one copy
/// moves, by its address: kernels read the same tiles again.
class L2Directory {
public:
  explicit L2Directory(uint64_t capacity) : capacity(capacity) {}
  /// Notes the use; true if the part was there.
  bool use(uint64_t address, uint64_t bytes);
  bool holds(uint64_t address, uint64_t bytes) const;

private:
  struct Part {
    uint64_t address;
    uint64_t bytes;
  };
  uint64_t capacity;
  uint64_t held = 0;
  std::list<Part> order; ///< most recent first
  std::unordered_map<uint64_t, std::list<Part>::iterator> parts;
};

/// The flows of one launch. Time in cycles only goes forward.
class SharedMemory {
public:
  SharedMemory(const chips::AscendChip& chip, const chips::AscendTiming& timing);

  /// Notes a read; true if L2 has it. One that bypasses L2 brings nothing into it.
  bool read(uint64_t address, uint64_t bytes, bool bypassesL2);
  /// Notes a write: L2 has it now.
  void write(uint64_t address, uint64_t bytes) {
    directory.use(address, bytes);
  }
  void start(const Flow& flow);
  /// The flows of a pipe share its path among `parts`.
  void divideLimit(uint32_t core, uint8_t pipe, double parts);
  /// When the next flow ends or rates change by themselves; infinity if none flows.
  double nextChange();
  /// Moves time to `now`; appends the flows that have ended.
  void advance(double now, std::vector<Flow>& ended);
  /// Bytes per cycle that this pipe of the core moves now.
  double rateOf(uint32_t core, uint8_t pipe) const;

  double missBytes() const {
    return totalMissBytes;
  }
  /// What has been written back from L2.
  double writtenBytes() const {
    return totalWrittenBytes - backlog;
  }
  double hitBytes() const {
    return totalHitBytes;
  }
  double l2BytesPerCycle() const {
    return l2Rate;
  }
  double memoryBytesPerCycle() const {
    return memoryRate;
  }

private:
  void updateRates();
  /// Divides `capacity` among flows of a kind; none gets more than `part` of its limit. Returns
  /// what they use.
  double share(FlowKind kind, double capacity, double part = 1);
  /// What is left of the rate of writes to L2 while reads past L2 wait for HBM, which uses `read`.
  double writePart(double read) const;

  double memoryRate; ///< bytes per cycle
  double l2Rate;
  double dirtyShare;
  double readLatency;
  double readBytesInFlight; ///< that a core has asked HBM for and not yet got
  double l2Bytes;
  double dirtyLimit; ///< bytes of written data that L2 holds at most
  L2Directory directory;
  std::vector<Flow> flows;
  double time = 0;
  double backlog = 0; ///< bytes in L2 that wait to be written back
  double backlogRate = 0;
  bool isFull = false; ///< until there is room to speak of
  double totalMissBytes = 0;
  double totalHitBytes = 0;
  double totalWrittenBytes = 0;
  bool ratesAreOld = false;
};

} // namespace tilewright::ascend
