// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/heap_slabs.h"
#include "simulator/machine/recurrence.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

constexpr uint64_t leastMargin = 16;

uint64_t bytesOfPage() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void fillBytes(uint8_t value, uint64_t begin, uint64_t end) {
  std::memset(reinterpret_cast<void*>(begin), value, end - begin);
}

} // namespace

bool heap::isFilledWith(uint8_t value, uint64_t begin, uint64_t end) {
  return std::all_of(reinterpret_cast<uint8_t*>(begin), reinterpret_cast<uint8_t*>(end),
                     [value](uint8_t byte) { return byte == value; });
}

bool GuardedPages::map(uint64_t bytes) {
  const uint64_t page = bytesOfPage(), room = (bytes + page - 1) / page * page;
  void* at = mmap(nullptr, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return false;
  mapping = reinterpret_cast<uint64_t>(at);
  first = mapping + page;
  pagesEnd = first + room;
  end = pagesEnd + page;
  if (mprotect(reinterpret_cast<void*>(first), room, PROT_READ | PROT_WRITE) == 0)
    return true;
  unmap();
  return false;
}

void GuardedPages::unmap() const {
  munmap(reinterpret_cast<void*>(mapping), end - mapping);
}

size_t Slab::placeNear(uint64_t address) const {
  return address < pages.first ? 0 : std::min((address - pages.first) / stride, used - 1);
}

void* HeapSlabs::take(CoreHeap& core, uint64_t bytes, uint64_t alignment, bool& isSpoilt) {
  constexpr uint64_t leastSlab = 65536, placesOfLargeSlabs = 4, keptFree = 262144; // bytes
  const uint64_t forAlignment = alignment > leastMargin ? alignment : 0;
  const uint64_t stride = std::bit_ceil(leastMargin + forAlignment + bytes + leastMargin);
  CoreHeap::Places& ofStride = core.places[std::countr_zero(stride)];
  Slab* slab = ofStride.open;
  size_t place = 0;
  if (ofStride.freed.size() * stride > keptFree) { // what was freed is used again late
    const uint64_t begin = ofStride.freed.front();
    ofStride.freed.pop_front();
    slab = around(begin);
    place = slab->placeNear(begin);
    isSpoilt = !heap::isFilledWith(heap::freed, begin, begin + stride);
  } else {
    if (!slab || slab->used == slab->places.size()) {
      GuardedPages pages;
      if (!pages.map(std::max(leastSlab, placesOfLargeSlabs * stride)))
        return nullptr;
      core.bytes += pages.bytes();
      slab = ofStride.open = &slabs[pages.mapping];
      *slab = {pages, stride, 0, 0, &core, std::vector<Slab::Place>(pages.bytes() / stride)};
    }
    place = slab->used++;
  }
  ++slab->live;
  const uint64_t begin = slab->begin(place);
  const uint64_t least = begin + leastMargin;
  const uint64_t start = (least + alignment - 1) / alignment * alignment;
  fillBytes(heap::margin, begin, start);
  fillBytes(heap::margin, start + bytes, begin + stride);
  slab->places[place] = {static_cast<uint32_t>(start - begin), static_cast<uint32_t>(bytes)};
  return reinterpret_cast<void*>(start);
}

Given HeapSlabs::give(uint64_t address, uint64_t& bytes) {
  Slab* slab = around(address);
  if (!slab)
    return Given::NotOurs;
  const size_t at = slab->placeNear(address);
  Slab::Place& place = slab->places[at];
  bytes = place.bytes;
  if (place.isFree)
    return Given::Twice;
  const uint64_t begin = slab->begin(at), start = begin + place.start, end = begin + slab->stride;
  if (start != address)
    return Given::Inner;
  const Given how = !heap::isFilledWith(heap::margin, start + bytes, end) ? Given::PastEnd
                    : !heap::isFilledWith(heap::margin, begin, start)     ? Given::BeforeStart
                                                                          : Given::Well;
  place.isFree = true;
  fillBytes(heap::freed, begin, end);
  if (slab->core)
    slab->core->places[std::countr_zero(slab->stride)].freed.push_back(begin);
  if (--slab->live == 0 && !slab->core)
    drop(*slab);
  return how;
}

const uint32_t* HeapSlabs::sizeOf(uint64_t address) {
  Slab* slab = around(address);
  if (!slab)
    return nullptr;
  const size_t at = slab->placeNear(address);
  const Slab::Place& place = slab->places[at];
  return place.isFree || slab->begin(at) + place.start != address ? nullptr : &place.bytes;
}

std::string HeapSlabs::sentenceOfFault(uint64_t address) {
  const Slab* slab = around(address);
  if (!slab)
    return {};
  const size_t at = slab->placeNear(address);
  const Slab::Place& place = slab->places[at];
  return "the kernel touched byte " +
         std::to_string(static_cast<int64_t>(address - slab->begin(at) - place.start)) + " of " +
         std::to_string(place.bytes) + " that it took from the heap";
}

uint64_t HeapSlabs::fingerprint(uint64_t seed) const {
  for (const auto& [mapping, slab] : slabs)
    seed = fingerprintOf(reinterpret_cast<const void*>(slab.pages.first),
                         reinterpret_cast<const void*>(slab.begin(slab.used)), seed);
  return seed;
}

void HeapSlabs::end(CoreHeap& core, bool keeps) {
  for (auto at = slabs.begin(); at != slabs.end();) {
    Slab& slab = (at++)->second;
    if (slab.core != &core)
      continue;
    slab.core = nullptr;
    if (!keeps || slab.live == 0)
      drop(slab);
  }
}

Slab* HeapSlabs::around(uint64_t address) {
  auto behind = slabs.upper_bound(address);
  if (behind == slabs.begin() || std::prev(behind)->second.pages.end <= address)
    return nullptr;
  return &std::prev(behind)->second;
}

void HeapSlabs::drop(Slab& slab) {
  slab.pages.unmap();
  slabs.erase(slab.pages.mapping);
}

} // namespace tilewright::ascend
