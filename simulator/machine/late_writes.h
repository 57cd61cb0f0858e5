// SPDX-License-Identifier: Apache-2.0
// In a random order, what a pipe writes reaches memory late: at any time until a flag or barrier
// orders it before somebody. That is what the chip may do, and what a missing barrier shows in.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_LATE_WRITES_H
#define TILEWRIGHT_SIMULATOR_MACHINE_LATE_WRITES_H

#include "simulator/isa/effects.h"
#include "simulator/sync/clock.h"

#include <vector>

namespace tilewright::ascend {

class LateWrites {
public:
  /// Before an instruction runs: remembers the bytes that it will write.
  void watch(const isa::AccessList& accesses, const isa::Context& context);
  /// After it has run as record `epoch` of `pipe`: takes its writes out of memory again.
  void hold(Pipe pipe, uint32_t epoch);
  /// The scalar unit is about to write; its code does so before it calls again.
  void watchScalar(uint8_t* address, uint32_t bytes, uint32_t epoch);
  /// At that next call.
  void holdScalar();
  bool scalarWrites() const {
    return scalarEpoch != 0;
  }
  /// Puts those writes into memory that `known` says are complete.
  void land(const Clock& known);
  void landAll();
  /// Puts the write that `number` chooses into memory.
  void landOne(uint64_t number);
  bool empty() const {
    return held.empty();
  }

private:
  /// Bytes of memory; what stands (or stood) there is in `bytes` of the owner, from `offset` on.
  struct Run {
    uint8_t* address;
    uint32_t length, offset;
  };
  struct Write {
    Pipe pipe = Pipe::S;
    uint32_t epoch = 0;
    std::vector<Run> runs;
    std::vector<uint8_t> bytes;

    void add(const uint8_t* from, uint8_t* address, size_t length);
    void put() const;
  };

  Write before;
  uint32_t scalarEpoch = 0; ///< not 0: the write that is watched is one of the scalar unit
  std::vector<Interval> intervals;
  std::vector<Write> held; ///< in the order of execution
};

} // namespace tilewright::ascend

#endif
