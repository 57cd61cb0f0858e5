// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/fault_place.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

constexpr uint64_t usualAlignment = 16;
constexpr uint8_t margin = 0xA5; ///< the bytes around a piece, in its own pages

struct Piece {
  uint64_t bytes = 0;                   ///< asked for
  uint64_t mapping = 0, end = 0;        ///< with the pages around it that fault
  uint64_t firstPage = 0, pagesEnd = 0; ///< between these two lies the piece with its margins
  bool isFree = false;
};

/// Lives as long as the process, outside of the heap that kernels might damage.
class KernelHeap {
public:
  static KernelHeap& instance() {
    alignas(KernelHeap) static std::byte place[sizeof(KernelHeap)];
    static auto* heap = new (place) KernelHeap;
    return *heap;
  }

  /// Null if there is no room.
  void* take(uint64_t bytes, uint64_t alignment) {
    const uint64_t page = pageBytes();
    std::lock_guard lock(mutex);
    if (bytes > mostBytes || alignment > page || taken + bytes > mostBytes ||
        pieces.size() - freed.size() >= mostPieces)
      return nullptr;
    uint64_t room = std::max(roundUp(bytes, alignment), alignment);
    Piece piece;
    piece.bytes = bytes;
    uint64_t pages = roundUp(room, page);
    void* mapping = mmap(nullptr, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      return nullptr;
    piece.mapping = reinterpret_cast<uint64_t>(mapping);
    piece.firstPage = piece.mapping + page;
    piece.pagesEnd = piece.firstPage + pages;
    piece.end = piece.pagesEnd + page;
    auto* first = reinterpret_cast<uint8_t*>(piece.firstPage);
    if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapping, pages + 2 * page);
      return nullptr;
    }
    uint64_t start = piece.pagesEnd - room;
    std::memset(first, margin, start - piece.firstPage);
    std::memset(reinterpret_cast<void*>(start + bytes), margin, room - bytes);
    pieces[start] = piece;
    taken += bytes;
    return reinterpret_cast<void*>(start);
  }

  enum class Given { Well, NotOurs, Twice, Inner, PastEnd, BeforeStart };
  /// `bytes` gets the size of the piece, if it is one.
  Given give(void* pointer, uint64_t& bytes) {
    std::lock_guard lock(mutex);
    auto address = reinterpret_cast<uint64_t>(pointer);
    auto found = around(address);
    if (found == pieces.end())
      return Given::NotOurs;
    Piece& piece = found->second;
    bytes = piece.bytes;
    if (piece.isFree)
      return Given::Twice;
    if (found->first != address)
      return Given::Inner;
    Given how = isMargin(address + piece.bytes, piece.pagesEnd)
                    ? isMargin(piece.firstPage, address) ? Given::Well : Given::BeforeStart
                    : Given::PastEnd;
    auto* first = reinterpret_cast<void*>(piece.firstPage);
    uint64_t pages = piece.pagesEnd - piece.firstPage;
    madvise(first, pages, MADV_DONTNEED);
    mprotect(first, pages, PROT_NONE);
    piece.isFree = true;
    taken -= piece.bytes;
    freed.push_back(address);
    if (freed.size() > mostFreed) {
      auto oldest = pieces.find(freed.front());
      munmap(reinterpret_cast<void*>(oldest->second.mapping),
             oldest->second.end - oldest->second.mapping);
      pieces.erase(oldest);
      freed.pop_front();
    }
    return how;
  }

  /// 0 if it is none.
  uint64_t sizeOf(void* pointer) {
    std::lock_guard lock(mutex);
    auto found = pieces.find(reinterpret_cast<uint64_t>(pointer));
    return found == pieces.end() || found->second.isFree ? 0 : found->second.bytes + 1;
  }

  std::string sentenceOfFault(uint64_t address) {
    std::lock_guard lock(mutex);
    auto found = around(address);
    if (found == pieces.end())
      return {};
    if (found->second.isFree)
      return "the kernel touched memory that it has freed";
    return "the kernel touched byte " + std::to_string(int64_t(address - found->first)) + " of " +
           std::to_string(found->second.bytes) + " that it took from the heap";
  }

  uint64_t fingerprint() {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock)
      return 0;
    uint64_t state = 1;
    for (const auto& [start, piece] : pieces)
      if (!piece.isFree)
        state = fingerprintOf(reinterpret_cast<void*>(start),
                              reinterpret_cast<void*>(start + piece.bytes), state);
    return state;
  }

private:
  static uint64_t pageBytes() {
    static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
  }
  static uint64_t roundUp(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
  }
  static bool isMargin(uint64_t begin, uint64_t end) {
    return std::all_of(reinterpret_cast<uint8_t*>(begin), reinterpret_cast<uint8_t*>(end),
                       [](uint8_t byte) { return byte == margin; });
  }
  /// The piece whose mapping holds the address.
  std::map<uint64_t, Piece>::iterator around(uint64_t address) {
    auto behind = pieces.upper_bound(address);
    if (behind != pieces.end() && behind->second.mapping <= address)
      return behind;
    if (behind == pieces.begin() || std::prev(behind)->second.end <= address)
      return pieces.end();
    return std::prev(behind);
  }

  /// So that a loop that only takes doesn't take the computer; a process may have 65,530 mappings.
  static constexpr uint64_t mostBytes = uint64_t{1} << 30;
  static constexpr size_t mostPieces = 16000, mostFreed = 512;
  std::mutex mutex;
  std::map<uint64_t, Piece> pieces;
  std::deque<uint64_t> freed;
  uint64_t taken = 0;
};

/// While it lives, a signal must not abandon the fiber: somebody may hold the lock.
class HeapCall {
public:
  explicit HeapCall(Agent& a) : a(a), outer(a.inside) {
    a.inside = 1;
  }
  ~HeapCall() {
    a.inside = outer;
  }

private:
  Agent& a;
  int outer;
};

void* take(uint64_t bytes, uint64_t alignment) {
  HeapCall call(*currentAgent());
  return KernelHeap::instance().take(bytes, std::max(alignment, usualAlignment));
}

void give(void* pointer) {
  Agent& agent = *currentAgent();
  uint64_t bytes = 0;
  auto how = KernelHeap::Given::NotOurs;
  {
    HeapCall call(agent);
    how = KernelHeap::instance().give(pointer, bytes);
  }
  const std::string size = std::to_string(bytes) + " bytes that it took from the heap";
  switch (how) {
  case KernelHeap::Given::Well:
    return;
  case KernelHeap::Given::NotOurs:
    if (agent.fiber.holds(pointer) || reinterpret_cast<uint64_t>(pointer) % usualAlignment != 0)
      failKernelHere("the kernel freed what it didn't take from the heap");
    free(pointer);
    return;
  case KernelHeap::Given::Twice:
    failKernelHere("the kernel freed the same memory twice");
  case KernelHeap::Given::Inner:
    failKernelHere("the kernel freed an address inside or beside of " + size);
  case KernelHeap::Given::PastEnd:
    failKernelHere("the kernel has written past the end of " + size);
  case KernelHeap::Given::BeforeStart:
    failKernelHere("the kernel has written before the start of " + size);
  }
}

} // namespace

std::string sentenceOfHeapFault(const void* address) {
  return KernelHeap::instance().sentenceOfFault(reinterpret_cast<uint64_t>(address));
}

uint64_t fingerprintOfKernelHeap() {
  return KernelHeap::instance().fingerprint();
}

// Without an agent, it is host code in the kernel's source that calls.
void* tilewrightKernelMalloc(size_t bytes) {
  return currentAgent() ? take(bytes, usualAlignment) : malloc(bytes);
}

void* tilewrightKernelCalloc(size_t count, size_t bytes) {
  if (!currentAgent())
    return calloc(count, bytes);
  return bytes && count > SIZE_MAX / bytes ? nullptr : take(count * bytes, usualAlignment);
}

void* tilewrightKernelRealloc(void* piece, size_t bytes) {
  if (!currentAgent())
    return realloc(piece, bytes);
  if (!piece)
    return take(bytes, usualAlignment);
  uint64_t known = 0;
  {
    HeapCall call(*currentAgent());
    known = KernelHeap::instance().sizeOf(piece);
  }
  if (known == 0)
    failKernelHere("the kernel reallocates what it didn't take from the heap");
  void* moved = take(bytes, usualAlignment);
  if (!moved)
    return nullptr;
  std::memcpy(moved, piece, std::min<uint64_t>(known - 1, bytes));
  give(piece);
  return moved;
}

void* tilewrightKernelAligned(size_t alignment, size_t bytes) {
  return currentAgent() ? take(bytes, alignment) : aligned_alloc(alignment, bytes);
}

int tilewrightKernelMemalign(void** piece, size_t alignment, size_t bytes) {
  if (!currentAgent())
    return posix_memalign(piece, alignment, bytes);
  *piece = take(bytes, alignment);
  return *piece ? 0 : ENOMEM;
}

void* tilewrightKernelNew(size_t bytes) {
  return tilewrightKernelNewAligned(bytes, usualAlignment);
}

void* tilewrightKernelNewAligned(size_t bytes, size_t alignment) {
  if (!currentAgent())
    return ::operator new(bytes, std::align_val_t(alignment));
  if (void* piece = take(bytes, alignment))
    return piece;
  throw std::bad_alloc();
}

void tilewrightKernelFree(void* piece) {
  if (!currentAgent())
    free(piece);
  else if (piece)
    give(piece);
}

} // namespace tilewright::ascend
