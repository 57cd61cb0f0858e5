// SPDX-License-Identifier: Apache-2.0
// TPipe, TQue, TBuf: local memory and the flags between producer and consumer.
#ifndef TILEWRIGHT_ASCENDC_QUEUES_H
#define TILEWRIGHT_ASCENDC_QUEUES_H

#include "sync.h"

#include <algorithm>
#include <utility>

namespace AscendC {

constexpr int32_t twMostBuffers = 16;

/// The events between who fills a buffer and who empties it.
struct TwQueueEvents {
  HardEvent full, free;
};
constexpr TwQueueEvents twEventsOf(TPosition src, TPosition dst) {
  TwSpace to = twSpaceOf(dst), from = twSpaceOf(src);
  if (src == TPosition::VECIN && dst == TPosition::VECOUT)
    return {HardEvent::MTE2_MTE3, HardEvent::MTE3_MTE2};
  if (dst == TPosition::TSCM)
    return from == TwSpace::GM ? TwQueueEvents{HardEvent::MTE2_MTE1, HardEvent::MTE1_MTE2}
                               : TwQueueEvents{HardEvent::MTE3_MTE1, HardEvent::MTE1_MTE3};
  if (src == TPosition::VECOUT || dst == TPosition::GM)
    return from == TwSpace::L0C ? TwQueueEvents{HardEvent::M_FIX, HardEvent::FIX_M}
                                : TwQueueEvents{HardEvent::V_MTE3, HardEvent::MTE3_V};
  if (src == TPosition::CO1)
    return {HardEvent::M_FIX, HardEvent::FIX_M};
  if (to == TwSpace::L1)
    return {HardEvent::MTE2_MTE1, HardEvent::MTE1_MTE2};
  if (to == TwSpace::L0A || to == TwSpace::L0B || to == TwSpace::BT)
    return {HardEvent::MTE1_M, HardEvent::M_MTE1};
  if (to == TwSpace::FB)
    return {HardEvent::MTE1_FIX, HardEvent::FIX_MTE1};
  if (src == TPosition::VECCALC && dst == TPosition::VECCALC)
    return {HardEvent::V_V, HardEvent::V_V};
  return {HardEvent::MTE2_V, HardEvent::V_MTE2};
}

enum class BufferState : uint8_t { Free, Occupied, Enqueued, Dequeued };

/// One buffer of a queue.
struct TwQueueBuffer {
  uint32_t address = 0;
  BufferState state = BufferState::Free;
  int8_t fullEvent = -1; ///< id set by EnQue, waited for by DeQue
  int8_t freeEvent = -1; ///< id set by FreeTensor, waited for by AllocTensor
};

class TPipe;
TPipe* GetTPipePtr();

/// The pipe that settles a queue's flags at its end. It does not know the copies of a queue.
struct TwPipeOfQueue {
  TwPipeOfQueue() = default;
  TwPipeOfQueue(const TwPipeOfQueue&) {}
  TwPipeOfQueue& operator=(const TwPipeOfQueue&) { // NOLINT(bugprone-unhandled-self-assignment)
    return *this;
  }
  TPipe* pipe = nullptr;
};

/// Event ids: bits of those in use, per event.
inline int32_t twAllocateEventId(HardEvent event, TwPlace place) {
  uint64_t& used = twHost::agentView().eventIdsInUse[static_cast<int>(event)];
  for (int32_t id = 0; id < 8; ++id)
    if (!(used >> id & 1)) {
      used |= uint64_t{1} << id;
      return id;
    }
  twHost::failKernel("all 8 event ids of this HardEvent are in use; use fewer buffers, or "
                     "call TPipe::Reset before InitBuffer of the same queues again",
                     place);
}
inline void twReleaseEventId(HardEvent event, int32_t id) {
  twHost::agentView().eventIdsInUse[static_cast<int>(event)] &= ~(uint64_t{1} << id);
}

/// The part of a queue that doesn't depend on its template arguments.
class TwQueueCore {
public:
  explicit TwQueueCore(TPosition positionIn = TPosition::VECCALC) : position(positionIn) {}
  TwQueueCore(const TwQueueCore&) = default;
  TwQueueCore& operator=(const TwQueueCore&) = default;
  ~TwQueueCore();

  int16_t allocate(TwQueueEvents by, TwPlace place) {
    if (!count)
      fail("the queue has no buffers; call TPipe::InitBuffer first [ErrorBuffer0]", nullptr, place);
    for (uint8_t k = 0; k < count; ++k) {
      auto index = static_cast<uint8_t>((next + k) % count);
      TwQueueBuffer& b = buffers[index];
      if (b.state != BufferState::Free)
        continue;
      next = static_cast<uint8_t>((index + 1) % count);
      if (b.freeEvent >= 0) {
        twWaitFlag(by.free, b.freeEvent, place);
        twReleaseEventId(by.free, b.freeEvent);
        b.freeEvent = -1;
      }
      b.state = BufferState::Occupied;
      twHost::noteUsedBuffer(memoryOf(b));
      return index;
    }
    fail("AllocTensor: all buffers of the queue are in use; free one with FreeTensor or give "
         "InitBuffer a larger number",
         nullptr, place);
  }
  void enqueue(int16_t index, uint32_t address, TwQueueEvents by, TwPlace place) {
    TwQueueBuffer& b = check(index, address, "EnQue", place);
    if (b.state != BufferState::Occupied && b.state != BufferState::Dequeued)
      fail("EnQue: the tensor is already in the queue or was freed", &b, place);
    b.fullEvent = static_cast<int8_t>(twAllocateEventId(by.full, place));
    twSetFlag(by.full, b.fullEvent, place);
    b.state = BufferState::Enqueued;
    order[(head + length++) % twMostBuffers] = static_cast<uint8_t>(index);
  }
  int16_t dequeue(TwQueueEvents by, TwPlace place) {
    if (!length)
      fail("DeQue: the queue holds no tensor; EnQue one first", nullptr, place);
    uint8_t index = order[head];
    head = static_cast<uint8_t>((head + 1) % twMostBuffers);
    --length;
    TwQueueBuffer& b = buffers[index];
    twWaitFlag(by.full, b.fullEvent, place);
    twReleaseEventId(by.full, b.fullEvent);
    b.fullEvent = -1;
    b.state = BufferState::Dequeued;
    return index;
  }
  void free(int16_t index, uint32_t address, TwQueueEvents by, TwPlace place) {
    TwQueueBuffer& b = check(index, address, "FreeTensor", place);
    if (b.state == BufferState::Free)
      fail("FreeTensor: the tensor is already free [ErrorFree]", &b, place);
    if (b.state == BufferState::Enqueued)
      fail("FreeTensor: the tensor is still in the queue; DeQue it first", &b, place);
    b.freeEvent = static_cast<int8_t>(twAllocateEventId(by.free, place));
    twSetFlag(by.free, b.freeEvent, place);
    b.state = BufferState::Free;
    twHost::noteFreeBuffer(memoryOf(b), place);
  }
  /// Waits for what FreeTensor left behind.
  void settle(TwQueueEvents by, TwPlace place) {
    for (uint8_t k = 0; k < count; ++k) {
      TwQueueBuffer& b = buffers[k];
      if (b.freeEvent >= 0) {
        twWaitFlag(by.free, b.freeEvent, place);
        twReleaseEventId(by.free, b.freeEvent);
        b.freeEvent = -1;
      }
    }
  }
  /// The kernel gives the queue up.
  void warnOfLeaks() const {
    for (uint8_t k = 0; k < count; ++k)
      if (buffers[k].state != BufferState::Free) {
        char text[mostText];
        describe(text,
                 "a tensor of this queue is still in use when the kernel gives the queue up; "
                 "FreeTensor it [ErrorLeak]",
                 &buffers[k]);
        twHost::reportKernel(text, false, initialised);
        return;
      }
  }

  TwQueueBuffer buffers[twMostBuffers];
  uint8_t order[twMostBuffers] = {};
  uint8_t count = 0, next = 0, head = 0, length = 0;
  TPosition position;
  uint32_t bufferBytes = 0;
  TwPlace initialised;
  TwQueueEvents events{};
  TwPipeOfQueue owner;

private:
  TwQueueBuffer& check(int16_t index, uint32_t address, const char* what, TwPlace place) {
    bool isOwn = index >= 0 && index < count && address >= buffers[index].address &&
                 address - buffers[index].address < std::max(bufferBytes, 1u);
    if (!isOwn)
      fail(what[0] == 'E' ? "EnQue: the tensor doesn't come from this queue"
                          : "FreeTensor: the tensor doesn't come from this queue",
           nullptr, place);
    return buffers[index];
  }
  twHost::Operand memoryOf(const TwQueueBuffer& b) const {
    return {b.address, bufferBytes, twSpaceOf(position)};
  }

  static constexpr uint64_t mostText = 256;
  /// `sentence`, and which queue it means; with its buffer, if it is about one.
  void describe(char (&text)[mostText], const char* sentence, const TwQueueBuffer* b) const {
    static const char* const names[] = {
        "GM",  "A1",    "A2",     "B1",      "B2",  "C1",   "C2",        "CO1",
        "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
    static_assert(sizeof names / sizeof *names == static_cast<size_t>(TPosition::MAX));
    const char* name = names[static_cast<int>(position)];
    if (b)
      twHost::formatText(text, sizeof text, "%s; queue of %s, buffer %d at byte %u", sentence, name,
                         static_cast<int>(b - buffers), b->address);
    else
      twHost::formatText(text, sizeof text, "%s; queue of %s with %u buffers of %u bytes", sentence,
                         name, unsigned{count}, bufferBytes);
  }
  [[noreturn]] void fail(const char* sentence, const TwQueueBuffer* b, TwPlace place) const {
    char text[mostText];
    describe(text, sentence, b);
    twHost::failKernel(text, place);
  }
};

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0> class TQueBind;
template <TPosition position = TPosition::LCM> class TBuf;
template <TPosition position, uint32_t bufIDSize = 4> class TBufPool;

class TPipe {
public:
  explicit TPipe(TwPlace place = TwPlace::here()) {
    if (twHost::agentView().livePipes)
      twHost::reportKernel(
          "a kernel has one TPipe, but another one is still there; both give away the "
          "same memory from byte 0 on",
          false, place);
    Init();
  }
  ~TPipe() {
    if (live)
      Destroy();
  }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  void Init() {
    twHost::agentView().livePipes += !live;
    live = true;
    twHost::agentView().pipe = this;
    InitSocState();
  }
  void Destroy(TwPlace place = TwPlace::here()) {
    twHost::agentView().livePipes -= live;
    live = false;
    for (int32_t q = 0; q < numQueues; ++q) {
      settle(q, place);
      if (queues[q])
        queues[q]->owner.pipe = nullptr;
    }
    numQueues = 0;
    twHost::issueBarrierAll(place);
  }
  void Reset(TwPlace place = TwPlace::here()) {
    Destroy(place);
    ++twHost::agentView().livePipes;
    live = true;
    for (uint32_t& u : used)
      u = 0;
  }
  template <TPosition src, TPosition dst, int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t num, uint32_t len,
                  TwPlace place = TwPlace::here()) {
    initQueue(queue.core, twEventsOf(src, dst), twSpaceOf(queue.bufferPosition), num, len, place);
    return true;
  }
  template <TPosition position>
  bool InitBuffer(TBuf<position>& buffer, uint32_t len, TwPlace place = TwPlace::here()) {
    buffer.address = twBump(twSpaceOf(position), rounded(len), place);
    buffer.bytes = static_cast<uint32_t>(rounded(len));
    buffer.ready = true;
    return true;
  }
  template <TPosition position, uint32_t ids>
  bool InitBufPool(TBufPool<position, ids>& pool, uint32_t len, TwPlace place = TwPlace::here()) {
    pool.first = twBump(twSpaceOf(position), rounded(len), place);
    pool.bytes = static_cast<uint32_t>(rounded(len));
    pool.used = 0;
    return true;
  }
  /// `pool` stands for the memory of `shared`.
  template <TPosition position, uint32_t ids, class Pool>
  bool InitBufPool(TBufPool<position, ids>& pool, uint32_t len, Pool& shared,
                   TwPlace place = TwPlace::here()) {
    if (len > shared.bytes)
      twHost::failKernel("InitBufPool: the pool is larger than the one it shares", place);
    pool.bytes = len;
    pool.first = shared.first;
    pool.used = 0;
    return true;
  }
  template <HardEvent event> TEventID AllocEventID(TwPlace place = TwPlace::here()) {
    return static_cast<TEventID>(twAllocateEventId(event, place));
  }
  template <HardEvent event> void ReleaseEventID(TEventID id) {
    twReleaseEventId(event, id);
  }
  template <HardEvent event> TEventID FetchEventID() {
    return FetchEventID(event);
  }
  TEventID FetchEventID(HardEvent event) {
    uint64_t inUse = twHost::agentView().eventIdsInUse[static_cast<int>(event)];
    for (TEventID id = 0; id < 8; ++id)
      if (!(inUse >> id & 1))
        return id;
    return 0;
  }
  template <TPosition position, class T> LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size) {
    return LocalTensor<T>(position, static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
  }
  /// UB bytes that InitBuffer has not given away: temporary memory of advanced functions.
  uint32_t firstFree(TwSpace space) const {
    return used[static_cast<int>(space)];
  }

private:
  /// In 64 bits, so that a huge size doesn't come out as a small one.
  static uint64_t rounded(uint32_t bytes) {
    return (uint64_t{bytes} + 31) / 32 * 32;
  }
  uint32_t twBump(TwSpace space, uint64_t bytes, TwPlace place);
  void initQueue(TwQueueCore& queue, TwQueueEvents events, TwSpace space, uint8_t num, uint32_t len,
                 TwPlace place) {
    if (num == 0 || num > twMostBuffers)
      twHost::failKernel("InitBuffer: a queue has 1 to 16 buffers", place);
    uint32_t base = twBump(space, rounded(len) * num, place);
    auto each = static_cast<uint32_t>(rounded(len));
    outlive(queue); // if it has been a queue of this pipe before
    queue = TwQueueCore{queue.position};
    queue.count = num;
    queue.bufferBytes = each;
    twHost::noteUsedBuffer({base, uint64_t{each} * num, space});
    queue.initialised = place;
    queue.events = events;
    for (uint8_t k = 0; k < num; ++k)
      queue.buffers[k].address = base + k * each;
    constexpr int32_t most = 64;
    if (numQueues == most)
      twHost::failKernel("InitBuffer: a kernel has at most 64 queues", place);
    queue.owner.pipe = this;
    queues[numQueues++] = &queue;
  }
  void settle(int32_t q, TwPlace place) {
    if (queues[q]) {
      queues[q]->warnOfLeaks();
      queues[q]->settle(queues[q]->events, place);
      return;
    }
    for (int8_t& id : left[q].ids) {
      if (id < 0)
        continue;
      twWaitFlag(left[q].event, id, place);
      twReleaseEventId(left[q].event, id);
      id = -1;
    }
  }
  /// A queue that stands behind its pipe dies before it: its flags are settled later all the same.
  void outlive(TwQueueCore& queue) {
    for (int32_t q = 0; q < numQueues; ++q) {
      if (queues[q] != &queue)
        continue;
      queue.warnOfLeaks();
      queues[q] = nullptr;
      left[q].event = queue.events.free;
      for (int32_t k = 0; k < twMostBuffers; ++k)
        left[q].ids[k] = std::exchange(queue.buffers[k].freeEvent, int8_t{-1});
    }
  }
  friend class TwQueueCore;

  /// What FreeTensor left behind in a queue that is gone.
  struct LeftFlags {
    HardEvent event;
    int8_t ids[twMostBuffers];
  };

  TwQueueCore* queues[64] = {};
  LeftFlags left[64];
  int32_t numQueues = 0;
  uint32_t used[twHost::numSpaces] = {};
  bool live = false;
};

/// How much of each memory a kernel may use.
constexpr uint32_t twUsableBytes[twHost::numSpaces] = {0,         192 * 1024, 512 * 1024, 64 * 1024,
                                                       64 * 1024, 128 * 1024, 1024,       8 * 1024};

inline uint32_t TPipe::twBump(TwSpace space, uint64_t bytes, TwPlace place) {
  auto s = static_cast<int>(space);
  uint32_t address = used[s];
  if (uint64_t{address} + bytes > twUsableBytes[s]) {
    static const char* const names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    char text[160];
    twHost::formatText(text, sizeof text,
                       "InitBuffer needs %llu bytes of %s at byte %u, but %s has %u bytes; "
                       "use smaller or fewer buffers [ErrorBuffer3]",
                       static_cast<unsigned long long>(bytes), names[s], address, names[s],
                       twUsableBytes[s]);
    twHost::failKernel(text, place);
  }
  used[s] = address + static_cast<uint32_t>(bytes);
  constexpr uint32_t keptBytes = 256; // of UB and L1, by newer toolkits
  if ((space == TwSpace::UB || space == TwSpace::L1) && used[s] > twUsableBytes[s] - keptBytes)
    twHost::reportKernel(
        space == TwSpace::UB
            ? "InitBuffer takes UB up to its end, but newer toolkits keep the last "
              "256 bytes (ASC_UB_SIZE is 196352); use smaller or fewer buffers"
            : "InitBuffer takes L1 up to its end, but newer toolkits keep the last "
              "256 bytes (ASC_L1_SIZE is 524032); use smaller or fewer buffers",
        false, place);
  return address;
}

inline TwQueueCore::~TwQueueCore() {
  if (owner.pipe)
    owner.pipe->outlive(*this);
}

inline TPipe* GetTPipePtr() {
  return static_cast<TPipe*>(twHost::agentView().pipe);
}

template <TPosition src, TPosition dst, int32_t depth, auto mask> class TQueBind {
public:
  static constexpr TPosition srcPosition = src, dstPosition = dst;
  /// Where the buffers are: the local end of the pair.
  static constexpr TPosition bufferPosition = twSpaceOf(src) == TwSpace::GM   ? dst
                                              : twSpaceOf(dst) == TwSpace::GM ? src
                                                                              : dst;

  template <class T> LocalTensor<T> AllocTensor(TwPlace place = TwPlace::here()) {
    return tensor<T>(core.allocate(twEventsOf(src, dst), place));
  }
  template <class T> void AllocTensor(LocalTensor<T>& out, TwPlace place = TwPlace::here()) {
    out = AllocTensor<T>(place);
  }
  template <class T> void FreeTensor(const LocalTensor<T>& t, TwPlace place = TwPlace::here()) {
    core.free(t.buffer, t.address, twEventsOf(src, dst), place);
  }
  template <class T> bool EnQue(const LocalTensor<T>& t, TwPlace place = TwPlace::here()) {
    core.enqueue(t.buffer, t.address, twEventsOf(src, dst), place);
    return true;
  }
  template <class T> LocalTensor<T> DeQue(TwPlace place = TwPlace::here()) {
    return tensor<T>(core.dequeue(twEventsOf(src, dst), place));
  }
  template <class T> void DeQue(LocalTensor<T>& out, TwPlace place = TwPlace::here()) {
    out = DeQue<T>(place);
  }
  template <TPosition from, TPosition to, class T>
  bool EnQue(const LocalTensor<T>& t, TwPlace place = TwPlace::here()) {
    core.enqueue(t.buffer, t.address, twEventsOf(from, to), place);
    return true;
  }
  template <TPosition from, TPosition to, class T>
  LocalTensor<T> DeQue(TwPlace place = TwPlace::here()) {
    return tensor<T>(core.dequeue(twEventsOf(from, to), place));
  }
  bool VacantInQue() const {
    return core.length < core.count;
  }
  bool HasTensorInQue() const {
    return core.length != 0;
  }
  int32_t GetTensorCountInQue() const {
    return core.length;
  }
  bool HasIdleBuffer() const {
    for (uint8_t k = 0; k < core.count; ++k)
      if (core.buffers[k].state == BufferState::Free)
        return true;
    return false;
  }
  void FreeAllEvent(TwPlace place = TwPlace::here()) {
    core.settle(twEventsOf(src, dst), place);
  }
  void InitBufHandle() {}

  TwQueueCore core{bufferPosition}; ///< for TPipe

private:
  template <class T> LocalTensor<T> tensor(int16_t index) const {
    LocalTensor<T> t;
    t.address = core.buffers[index].address;
    t.bytes = core.bufferBytes;
    t.pastEnd = t.bytes == 0; // 0 bytes would count as a size that isn't known
    t.position = bufferPosition;
    t.buffer = index;
    return t;
  }
};

constexpr TPosition twNaturalSource(TPosition p) {
  return p == TPosition::A2          ? TPosition::A1
         : p == TPosition::B2        ? TPosition::B1
         : p == TPosition::C2        ? TPosition::C1
         : p == TPosition::VECOUT    ? TPosition::VECOUT
         : p == TPosition::CO1       ? TPosition::CO1
         : p == TPosition::CO2       ? TPosition::CO1
         : p == TPosition::VECCALC   ? TPosition::VECCALC
         : p == TPosition::C2PIPE2GM ? TPosition::B1
                                     : TPosition::GM;
}
constexpr TPosition twNaturalTarget(TPosition p) {
  return p == TPosition::VECOUT ? TPosition::GM : p == TPosition::CO1 ? TPosition::CO2 : p;
}

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<twNaturalSource(position), twNaturalTarget(position), depth, mask> {};

template <TPosition position> class TBuf {
public:
  template <class T> LocalTensor<T> Get(TwPlace place = TwPlace::here()) const {
    check(place);
    return make<T>(0, bytes);
  }
  template <class T> LocalTensor<T> Get(uint32_t len, TwPlace place = TwPlace::here()) const {
    check(place);
    if (twBytesIn<T>(len) > bytes)
      twHost::failKernel("Get: the tensor is longer than the buffer [ErrorBuffer3]", place);
    return make<T>(0, static_cast<uint32_t>(twBytesIn<T>(len)));
  }
  template <class T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t offset,
                               TwPlace place = TwPlace::here()) const {
    check(place);
    if (offset + twBytesIn<T>(size) > bytes)
      twHost::failKernel("GetWithOffset: the tensor ends behind the buffer [ErrorBuffer3]", place);
    return make<T>(offset, static_cast<uint32_t>(twBytesIn<T>(size)));
  }
  uint32_t GetBufLen() const {
    return bytes;
  }
  template <class T> void EnQue(const LocalTensor<T>&) {}
  template <class T> LocalTensor<T> DeQue() {
    return Get<T>();
  }
  template <class T> LocalTensor<T> AllocTensor() {
    return Get<T>();
  }
  template <class T> void FreeTensor(LocalTensor<T>&) {}

  uint32_t address = 0, bytes = 0;
  bool ready = false;

private:
  void check(TwPlace place) const {
    if (!ready)
      twHost::failKernel("the TBuf has no memory; call TPipe::InitBuffer first [ErrorBuffer0]",
                         place);
  }
  template <class T> LocalTensor<T> make(uint32_t offset, uint32_t length) const {
    LocalTensor<T> t;
    t.address = address + offset;
    t.bytes = length;
    t.pastEnd = length == 0;
    t.position = position;
    t.buffer = LocalTensor<T>::ofNoQueue;
    return t;
  }
};

/// A pair of flags between two pipes, by hand.
template <pipe_t src, pipe_t dst> class TQueSync {
public:
  void SetFlag(TEventID id, TwPlace place = TwPlace::here()) {
    twHost::issueSetFlag(twPipeOf(src), twPipeOf(dst), id, place);
  }
  void WaitFlag(TEventID id, TwPlace place = TwPlace::here()) {
    twHost::issueWaitFlag(twPipeOf(src), twPipeOf(dst), id, place);
  }
};

template <Hardware hardware = Hardware::UB> class LocalMemAllocator {
public:
  template <TPosition position, class T, uint32_t tileSize>
  LocalTensor<T> Alloc(TwPlace place = TwPlace::here()) {
    return take<T>(position, tileSize, place);
  }
  template <TPosition position, class T>
  LocalTensor<T> Alloc(uint32_t tileSize, TwPlace place = TwPlace::here()) {
    return take<T>(position, tileSize, place);
  }
  template <class T, uint32_t tileSize> LocalTensor<T> Alloc(TwPlace place = TwPlace::here()) {
    return take<T>(natural, tileSize, place);
  }
  template <class T> LocalTensor<T> Alloc(uint32_t tileSize, TwPlace place = TwPlace::here()) {
    return take<T>(natural, tileSize, place);
  }
  uint32_t GetCurAddr() const {
    return head;
  }

private:
  static constexpr TPosition natural = hardware == Hardware::UB     ? TPosition::VECCALC
                                       : hardware == Hardware::L1   ? TPosition::A1
                                       : hardware == Hardware::L0A  ? TPosition::A2
                                       : hardware == Hardware::L0B  ? TPosition::B2
                                       : hardware == Hardware::L0C  ? TPosition::CO1
                                       : hardware == Hardware::BIAS ? TPosition::C2
                                                                    : TPosition::C2PIPE2GM;
  template <class T> LocalTensor<T> take(TPosition position, uint32_t tileSize, TwPlace place) {
    uint64_t end = head + (twBytesIn<T>(tileSize) + 31) / 32 * 32;
    if (end > twUsableBytes[static_cast<int>(twSpaceOf(position))])
      twHost::failKernel("Alloc: the memory is full [ErrorBuffer3]", place);
    LocalTensor<T> t(position, head, tileSize);
    head = static_cast<uint32_t>(end);
    return t;
  }
  uint32_t head = 0;
};

/// A stretch of memory that queues and buffers share out among themselves. Several pools may stand
/// for the same memory, one after the other.
template <TPosition position, uint32_t bufIDSize> class TBufPool {
public:
  template <TPosition src, TPosition dst, int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t num, uint32_t len,
                  TwPlace place = TwPlace::here()) {
    if (num == 0 || num > twMostBuffers)
      twHost::failKernel("InitBuffer: a queue has 1 to 16 buffers", place);
    uint64_t whole = (uint64_t{len} + 31) / 32 * 32;
    uint32_t at = take(whole * num, place);
    auto each = static_cast<uint32_t>(whole);
    queue.core = TwQueueCore{queue.bufferPosition};
    queue.core.count = num;
    queue.core.bufferBytes = each;
    queue.core.initialised = place;
    twHost::noteUsedBuffer({at, uint64_t{each} * num, twSpaceOf(queue.bufferPosition)});
    queue.core.events = twEventsOf(src, dst);
    for (uint8_t k = 0; k < num; ++k)
      queue.core.buffers[k].address = at + k * each;
    return true;
  }
  template <TPosition kind>
  bool InitBuffer(TBuf<kind>& buffer, uint32_t len, TwPlace place = TwPlace::here()) {
    uint64_t whole = (uint64_t{len} + 31) / 32 * 32;
    buffer.address = take(whole, place);
    buffer.bytes = static_cast<uint32_t>(whole);
    buffer.ready = true;
    return true;
  }
  template <class Pool>
  bool InitBufPool(Pool& pool, uint32_t len, TwPlace place = TwPlace::here()) {
    pool.first = take(len, place);
    pool.bytes = len;
    return true;
  }
  /// All buffers of this pool are given up.
  void Reset() {
    used = 0;
  }

  uint32_t first = 0, bytes = 0, used = 0;

private:
  /// In 64 bits, so that a huge size doesn't come out as a small one.
  uint32_t take(uint64_t length, TwPlace place) {
    if (bytes == 0)
      twHost::failKernel("the TBufPool has no memory; call InitBufPool first [ErrorBuffer4]",
                         place);
    if (used + length > bytes)
      twHost::failKernel("InitBuffer: the TBufPool is full [ErrorBuffer3]", place);
    uint32_t at = first + used;
    used += static_cast<uint32_t>(length);
    return at;
  }
};

/// The UB that InitBuffer has not given away.
template <class T, TPosition position> bool PopStackBuffer(LocalTensor<T>& out) {
  TPipe* pipe = GetTPipePtr();
  uint32_t first = pipe ? pipe->firstFree(twSpaceOf(position)) : 0;
  uint32_t end = twUsableBytes[static_cast<int>(twSpaceOf(position))];
  out = LocalTensor<T>(position, first, static_cast<uint32_t>(twElementsIn<T>(end - first)));
  return first < end;
}

} // namespace AscendC

/// Documented without a namespace.
using AscendC::GetTPipePtr;

#endif
