// SPDX-License-Identifier: Apache-2.0
// What is known of each byte of one local memory: who wrote it last, who has read it since. Kept as
// intervals, because cells would cost more than the instructions themselves.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_SHADOW_H
#define TILEWRIGHT_SIMULATOR_SYNC_SHADOW_H

#include "simulator/memory/region.h"
#include "simulator/sync/clock.h"

#include <vector>

namespace tilewright::ascend {

/// A record in the past: its number on its pipe, and the index of its place.
struct Stamp {
  uint32_t epoch = 0;
  uint32_t site = 0;
  bool operator==(const Stamp&) const = default;
};

/// Bytes with one history.
struct Segment {
  uint32_t begin = 0, end = 0;
  Stamp write;
  Pipe writer = Pipe::S;
  bool written = false;
  bool undefined = false;
  MovedFrom movedFrom{};  ///< of undefined bytes that are no padding
  uint8_t readerMask = 0; ///< pipes with a read since the write
  uint32_t spoiledBy = 0; ///< one more than the place of an instruction that needed these bytes
  std::array<Stamp, numPipes> reads;

  bool sameHistory(const Segment& other) const;
};

/// Called for each segment that an access meets, before the access is noted.
class ShadowVisitor {
public:
  virtual void meet(const Segment& segment, Interval overlap) = 0;

protected:
  ~ShadowVisitor() = default;
};

class Shadow {
public:
  explicit Shadow(uint32_t bytes);
  /// Forgets everything: all bytes unwritten.
  void reset();
  /// Notes an access inside the memory, after showing what it meets to `visitor`.
  void note(const Access& access, Pipe pipe, Stamp stamp, ShadowVisitor& visitor);
  /// What is written from `begin` on may be lost to an instruction at `site` that works there.
  void spoil(uint32_t begin, uint32_t site);
  size_t numSegments() const {
    return segments.size();
  }

private:
  void noteInterval(Interval at, const Access& access, Pipe pipe, Stamp stamp,
                    ShadowVisitor& visitor);
  void noteMany(const Access& access, Pipe pipe, Stamp stamp, ShadowVisitor& visitor);
  size_t find(uint64_t address) const;

  uint32_t bytes;
  std::vector<Segment> segments; ///< sorted, covers all bytes
  std::vector<Segment> scratch;
  std::vector<Interval> intervals;
};

} // namespace tilewright::ascend

#endif
