// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/fault_place.h"
#include "simulator/machine/heap_slabs.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <link.h>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sys/mman.h>

namespace tilewright::ascend {

namespace {

constexpr uint64_t usualAlignment = 16;

/// A piece with pages of its own.
struct Piece {
  uint64_t bytes = 0; ///< asked for
  GuardedPages pages; ///< in which it lies with its margins
  bool isFree = false;
  CoreHeap* core = nullptr; ///< that has taken it; null: has ended
};

/// Lives as long as the process, outside of the heap that kernels might damage.
class KernelHeap {
public:
  static KernelHeap& instance() {
    alignas(KernelHeap) static std::byte place[sizeof(KernelHeap)];
    static auto* heap = new (place) KernelHeap;
    return *heap;
  }

  /// Null if there is no room. `isSpoilt` says that the kernel has written to what it had freed.
  void* take(CoreHeap*& core, uint64_t bytes, uint64_t alignment, bool& isSpoilt) {
    std::lock_guard lock(mutex);
    if (!core)
      core = new CoreHeap;
    if (bytes > mostBytes || alignment > mostAlignment || taken + bytes > mostBytes)
      return nullptr;
    const uint64_t before = core->bytes;
    const bool wantsPages = ++core->pieces <= firstPieces || bytes > largePiece;
    const bool getsPages =
        (wantsPages && pieces.size() < mostPieces) || bytes + alignment > HeapSlabs::mostBytes;
    void* piece = getsPages ? takePages(*core, bytes, alignment)
                            : slabs.take(*core, bytes, alignment, isSpoilt);
    taken += core->bytes - before;
    return piece;
  }

  /// `bytes` gets the size of the piece, if it is one.
  Given give(void* pointer, uint64_t& bytes) {
    std::lock_guard lock(mutex);
    auto address = reinterpret_cast<uint64_t>(pointer);
    auto found = around(address);
    if (found == pieces.end())
      return slabs.give(address, bytes);
    Piece& piece = found->second;
    bytes = piece.bytes;
    if (piece.isFree)
      return Given::Twice;
    if (found->first != address)
      return Given::Inner;
    const GuardedPages& pages = piece.pages;
    Given how = !heap::isFilledWith(heap::margin, address + bytes, pages.pagesEnd) ? Given::PastEnd
                : !heap::isFilledWith(heap::margin, pages.first, address) ? Given::BeforeStart
                                                                          : Given::Well;
    madvise(reinterpret_cast<void*>(pages.first), pages.bytes(), MADV_DONTNEED);
    mprotect(reinterpret_cast<void*>(pages.first), pages.bytes(), PROT_NONE);
    piece.isFree = true;
    disown(piece);
    freed.push_back(address);
    if (freed.size() > mostFreed) {
      auto oldest = pieces.find(freed.front());
      oldest->second.pages.unmap();
      pieces.erase(oldest);
      freed.pop_front();
    }
    return how;
  }

  /// The bytes of the piece that starts there, if one does.
  std::optional<uint64_t> sizeOf(void* pointer) {
    std::lock_guard lock(mutex);
    auto address = reinterpret_cast<uint64_t>(pointer);
    if (const uint32_t* bytes = slabs.sizeOf(address))
      return *bytes;
    auto found = pieces.find(address);
    if (found == pieces.end() || found->second.isFree)
      return std::nullopt;
    return found->second.bytes;
  }

  std::string sentenceOfFault(uint64_t address) {
    std::lock_guard lock(mutex);
    auto found = around(address);
    if (found == pieces.end())
      return slabs.sentenceOfFault(address);
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
    return slabs.fingerprint(state);
  }

  void end(CoreHeap& core, bool keeps) {
    std::lock_guard lock(mutex);
    taken -= core.bytes;
    for (auto at = pieces.begin(); at != pieces.end();) {
      auto entry = at++;
      Piece& piece = entry->second;
      if (piece.core != &core)
        continue;
      piece.core = nullptr;
      if (keeps)
        continue;
      piece.pages.unmap();
      pieces.erase(entry);
    }
    slabs.end(core, keeps);
  }

private:
  /// The piece ends where the pages do.
  void* takePages(CoreHeap& core, uint64_t bytes, uint64_t alignment) {
    const uint64_t room = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
    Piece piece;
    piece.bytes = bytes;
    piece.core = &core;
    if (!piece.pages.map(room))
      return nullptr;
    core.bytes += piece.pages.bytes();
    const uint64_t start = piece.pages.pagesEnd - room;
    std::memset(reinterpret_cast<void*>(piece.pages.first), heap::margin,
                start - piece.pages.first);
    std::memset(reinterpret_cast<void*>(start + bytes), heap::margin, room - bytes);
    pieces[start] = piece;
    return reinterpret_cast<void*>(start);
  }
  /// Its bytes count no longer.
  void disown(Piece& piece) {
    if (!piece.core)
      return;
    piece.core->bytes -= piece.pages.bytes();
    taken -= piece.pages.bytes();
    piece.core = nullptr;
  }
  /// The piece whose mapping holds the address.
  std::map<uint64_t, Piece>::iterator around(uint64_t address) {
    auto behind = pieces.upper_bound(address);
    if (behind != pieces.end() && behind->second.pages.mapping <= address)
      return behind;
    if (behind == pieces.begin() || std::prev(behind)->second.pages.end <= address)
      return pieces.end();
    return std::prev(behind);
  }

  /// So that a loop that only takes doesn't take the computer: of the cores that run.
  static constexpr uint64_t mostBytes = uint64_t{1} << 30;
  static constexpr uint64_t mostAlignment = 4096;
  /// The first pieces of a core have pages of their own, and so have large ones, but not more than this at a time: a
  /// process may have 65,530 mappings.
  static constexpr uint64_t firstPieces = 128, largePiece = 16384;
  static constexpr size_t mostPieces = 8000, mostFreed = 512;
  std::mutex mutex;
  std::map<uint64_t, Piece> pieces;
  std::deque<uint64_t> freed;
  HeapSlabs slabs;
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
  Agent& agent = *currentAgent();
  bool isSpoilt = false;
  void* piece = nullptr;
  {
    HeapCall call(agent);
    piece = KernelHeap::instance().take(agent.heap, bytes, std::max(alignment, usualAlignment),
                                        isSpoilt);
  }
  if (isSpoilt)
    failKernelHere("the kernel has written to memory that it had freed");
  return piece;
}

/// It is in the program or a library of it.
bool isVariable(const void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  auto look = [](dl_phdr_info* module, size_t, void* sought) {
    auto covers = [&](const ElfW(Phdr) & part) {
      const uint64_t begin = module->dlpi_addr + part.p_vaddr;
      return part.p_type == PT_LOAD && *static_cast<uint64_t*>(sought) - begin < part.p_memsz;
    };
    return static_cast<int>(
        std::any_of(module->dlpi_phdr, module->dlpi_phdr + module->dlpi_phnum, covers));
  };
  return dl_iterate_phdr(look, &address) != 0;
}

/// What it is where it can't be memory that a library has made with malloc; else null.
const char* whatIsNoPiece(const Agent& agent, const void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  void* base = nullptr;
  size_t bytes = 0;
  if (findGlobalMemory(pointer, &base, &bytes))
    return "it lies in GM";
  for (unsigned space = 1; space < numSpaces; ++space)
    if (const uint8_t* own = agent.localMemory().base(static_cast<Space>(space));
        own && address - reinterpret_cast<uint64_t>(own) < spaceBytes[space])
      return "it lies in a memory of the core";
  if (agent.fiber.holds(pointer))
    return "it lies on the stack";
  if (isVariable(pointer))
    return "it is a static variable";
  return address % usualAlignment != 0 ? "its address is that of no piece" : nullptr;
}

void give(void* pointer) {
  Agent& agent = *currentAgent();
  uint64_t bytes = 0;
  auto how = Given::NotOurs;
  const char* noPiece = nullptr;
  {
    HeapCall call(agent);
    how = KernelHeap::instance().give(pointer, bytes);
    if (how == Given::NotOurs)
      noPiece = whatIsNoPiece(agent, pointer);
  }
  if (how == Given::Well)
    return;
  const std::string size = std::to_string(bytes) + " bytes that it took from the heap";
  switch (how) {
  case Given::Well:
    return;
  case Given::NotOurs:
    if (noPiece)
      failKernelHere(std::string("the kernel freed what it didn't take from the heap: ") + noPiece);
    free(pointer);
    return;
  case Given::Twice:
    failKernelHere("the kernel freed the same memory twice");
  case Given::Inner:
    failKernelHere("the kernel freed an address inside or beside of " + size);
  case Given::PastEnd:
    failKernelHere("the kernel has written past the end of " + size);
  case Given::BeforeStart:
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

void endHeap(CoreHeap*& heap, bool keeps) {
  if (!heap)
    return;
  KernelHeap::instance().end(*heap, keeps);
  delete heap;
  heap = nullptr;
}

// Without an agent, it is host code in the kernel's source that calls.
void* tilewrightKernelMalloc(size_t bytes) {
  return currentAgent() ? take(bytes, usualAlignment) : malloc(bytes);
}

void* tilewrightKernelCalloc(size_t count, size_t bytes) {
  if (!currentAgent())
    return calloc(count, bytes);
  if (bytes && count > SIZE_MAX / bytes)
    return nullptr;
  void* piece = take(count * bytes, usualAlignment);
  return piece ? std::memset(piece, 0, count * bytes) : nullptr;
}

void* tilewrightKernelRealloc(void* piece, size_t bytes) {
  if (!currentAgent())
    return realloc(piece, bytes);
  if (!piece)
    return take(bytes, usualAlignment);
  std::optional<uint64_t> known;
  {
    HeapCall call(*currentAgent());
    known = KernelHeap::instance().sizeOf(piece);
  }
  if (!known)
    failKernelHere("the kernel reallocates what it didn't take from the heap");
  void* moved = take(bytes, usualAlignment);
  if (!moved)
    return nullptr;
  std::memcpy(moved, piece, std::min<uint64_t>(*known, bytes));
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
