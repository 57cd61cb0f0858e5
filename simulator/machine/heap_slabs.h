// SPDX-License-Identifier: Apache-2.0
// Where the heap of kernels has the many small pieces that a kernel takes: slabs of places of one size, between two
// pages that fault, of one core each. A system call is made for each slab and not for each piece. What a kernel writes
// beside a piece, or to one that it has freed, is found when the piece is freed, or its place is used again.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_HEAP_SLABS_H
#define TILEWRIGHT_SIMULATOR_MACHINE_HEAP_SLABS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// Memory between two pages that fault.
struct GuardedPages {
  uint64_t mapping = 0, first = 0, pagesEnd = 0, end = 0;
  /// False if there is no room.
  bool map(uint64_t bytes);
  void unmap() const;
  uint64_t bytes() const {
    return pagesEnd - first;
  }
};

/// How a kernel has given back a piece.
enum class Given : uint8_t { Well, NotOurs, Twice, Inner, PastEnd, BeforeStart };

namespace heap {
constexpr uint8_t margin = 0xA5,
                  freed = 0xDD; ///< the bytes around a piece, and those of a freed one
bool isFilledWith(uint8_t value, uint64_t begin, uint64_t end);
} // namespace heap

struct Slab;

/// What the kernel of one core has taken.
struct CoreHeap {
  uint64_t bytes = 0;  ///< of its pages
  uint64_t pieces = 0; ///< taken so far
  /// Of the places with 1 << i bytes.
  struct Places {
    Slab* open = nullptr; ///< has places that nothing has used
    std::deque<uint64_t> freed;
  };
  Places places[18];
};

/// Not for several threads at a time.
class HeapSlabs {
public:
  static constexpr uint64_t mostBytes = 65536;

  /// Null if there is no room. `isSpoilt` says that the kernel has written to what it had freed.
  void* take(CoreHeap& core, uint64_t bytes, uint64_t alignment, bool& isSpoilt);
  Given give(uint64_t address, uint64_t& bytes);
  /// Null if no piece starts there; else its bytes.
  const uint32_t* sizeOf(uint64_t address);
  /// Empty if it lies in no slab.
  std::string sentenceOfFault(uint64_t address);
  /// Of all that has been in use.
  uint64_t fingerprint(uint64_t seed) const;
  /// `keeps` what is still in use.
  void end(CoreHeap& core, bool keeps);

private:
  /// The slab whose mapping holds the address.
  Slab* around(uint64_t address);
  void drop(Slab& slab);

  std::map<uint64_t, Slab> slabs; ///< by the start of the mapping
};

struct Slab {
  struct Place {
    uint32_t start = 0, bytes = 0; ///< of the piece in it
    bool isFree = false;
  };
  GuardedPages pages;
  uint64_t stride = 0;
  size_t used = 0, live = 0;
  CoreHeap* core = nullptr; ///< null: has ended
  std::vector<Place> places;

  uint64_t begin(size_t place) const {
    return pages.first + place * stride;
  }
  /// Of those in use, the one at the address or the nearest to it.
  size_t placeNear(uint64_t address) const;
};

} // namespace tilewright::ascend

#endif
