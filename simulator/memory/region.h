// SPDX-License-Identifier: Apache-2.0
// The bytes that an operand of an instruction touches.
#ifndef TILEWRIGHT_SIMULATOR_MEMORY_REGION_H
#define TILEWRIGHT_SIMULATOR_MEMORY_REGION_H

#include "simulator/isa/instruction.h"

#include <cstdint>
#include <vector>

namespace tilewright::ascend {

struct Interval {
  uint64_t begin, end;
};
/// Where an instruction had bytes from that nothing had written; GM: it has moved none.
struct MovedFrom {
  Space space = Space::GM;
  bool isOutside = false; ///< rows and columns of whole fractals behind m and n of a product
  bool isLeft = false; ///< the same, where it has moved nothing: no value that anybody may rely on
  bool isScratch = false; ///< an advanced function has worked there
  /// Which read took them first, where element-wise instructions have computed with them: 1 is the first of a core.
  uint16_t origin = 0;
  bool operator==(const MovedFrom&) const = default;
};
/// Bytes of one of a core's memories.
struct LocalBytes {
  Space space;
  uint64_t begin, end;
  MovedFrom from{}; ///< which of the memories that an instruction takes them from lacks them
};
/// What becomes of bytes that nothing has written and that an instruction has taken all the same.
struct Unwritten {
  std::vector<LocalBytes> moved; ///< where they, or what comes of them, are now
  std::vector<LocalBytes> used;  ///< which of them it needed
  /// Of bytes in `moved` that have such bits: those that don't come of what nothing has written.
  std::vector<std::pair<uint32_t, uint8_t>> knownBits;
  std::vector<uint16_t> dropped; ///< origins of which a choice has left out elements
  /// Elements come of both origins of a pair, and have the second one from now on.
  std::vector<std::pair<uint16_t, uint16_t>> joined;
};

/// Runs of `length` bytes: `inner` of them `innerStride` bytes apart, and that `outer` times,
/// `outerStride` apart.
struct Region {
  uint64_t begin = 0;
  uint64_t length = 0;
  uint32_t inner = 1, outer = 1;
  int64_t innerStride = 0, outerStride = 0;

  bool empty() const {
    return length == 0 || inner == 0 || outer == 0;
  }
  /// Merges levels that leave no gap; call it once after filling.
  void normalise();
  /// Lowest byte and the byte behind the highest.
  Interval hull() const;
  /// Appends the runs, sorted and merged.
  void intervals(std::vector<Interval>& out) const;
  /// True if a byte belongs to both.
  bool overlaps(const Region& other) const;
  bool operator==(const Region&) const = default;
};

/// Bytes that belong to both: the first of them in a row, and whether there are more behind them.
struct Overlap {
  Interval first{0, 0};
  bool more = false;
};
Overlap overlapOf(const Region& a, const Region& b);

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// One operand's effect on memory.
struct Access {
  Region region;
  Space space = Space::UB;
  AccessKind kind = AccessKind::Read;
  /// A write of bytes that nobody may rely on (padding without a value).
  bool undefined = false;
  /// Reads that may see never-written bytes without harm (lanes that the result ignores).
  bool mayBeUninitialised = false;
  bool isWithoutMemory = false; ///< as its operand
  /// A read that only moves what is there, and takes all of it: what nothing has written is so behind it, too.
  bool isMoved = false;
  /// A read of what something has written, of which not all need count: undefined bytes are looked at one by one.
  bool takesMoved = false;
  /// A read by an instruction that computes each element apart: what nothing has written is told where it gets used.
  bool isByElements = false;
  /// Of an undefined write of what was moved.
  MovedFrom movedFrom{};
  uint16_t tensor = 0; ///< as its operand: among the kernel's names for its tensors
  /// Whose bytes these are; only to compare with members of the instruction that was inspected, as others may be gone.
  const Operand* operand = nullptr;
};

} // namespace tilewright::ascend

#endif
