// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"
#include "simulator/machine/kernel_heap.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

namespace tilewright::ascend {

namespace {
thread_local Agent* runningAgent = nullptr;

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}
} // namespace

Agent* currentAgent() {
  return runningAgent;
}
void setCurrentAgent(Agent* agent) {
  runningAgent = agent;
}

Agent::Agent(CoreGroup& group, AgentView newView, uint32_t index, const LaunchOptions& options)
    : view(newView), hazards(newView.cube, options.check, options.relaxed,
                             std::string(newView.cube ? "cube core " : "vector core ") +
                                 std::to_string(newView.blockIdx)),
      index(index), group(group), options(options), memory(takeLocalMemory(newView.cube)),
      randomState(options.randomOrderSeed * 1000003 + index) {
  for (unsigned s = 0; s < numSpaces; ++s)
    view.memory[s] = context.base[s] = memory->base(static_cast<Space>(s));
  if (options.randomOrderSeed)
    drawHabits();
  context.results = &results;
  context.atomics = this;
}

constexpr std::align_val_t allocationUnit{512};

Agent::~Agent() {
  endHeap(heap, state == State::Done);
  for (void* memory : allocated) {
    removeGlobalMemory(memory);
    ::operator delete(memory, allocationUnit);
  }
}

uint64_t Agent::allocate(uint64_t bytes) {
  void* memory = ::operator new(bytes, allocationUnit);
  std::memset(memory, 0, bytes);
  addGlobalMemory(memory, bytes);
  allocated.push_back(memory);
  return reinterpret_cast<uint64_t>(memory);
}

void Agent::release() {
  giveLocalMemory(std::move(memory));
  live.reset();
  fiber.release();
  endHeap(heap, state == State::Done);
  hazards.end();
  repetition = {};
  freeBuffers = {};
  late = {};
}

void Agent::start(Fiber::Body body, void* argument) {
  std::memcpy(viewAtStart, &view, sizeof viewAtStart);
  fiber.start(body, argument);
}

void Agent::resume() {
  setCurrentAgent(this);
  state = State::Ready;
  fiber.enter();
  setCurrentAgent(nullptr);
}

bool Agent::canRun() const {
  switch (state) {
  case State::WaitsCross:
    if (waitingFor == noticeWait)
      return live && (arrivedKey() >= 0 || (awaited.untilGroupEnds && isGroupEnding()));
    return live && !live->tokens[waitingFor].empty();
  case State::Done:
  case State::Failed:
    return false;
  default:
    return true;
  }
}

void Agent::leave() {
  late.landAll(); // another core may poll for it
  fiber.leave();
}

void Agent::abandon() {
  for (;;)
    fiber.leave();
}

void Agent::complain(const std::string& sentence, bool isError, Place place,
                     std::vector<ReportNote> notes) {
  ReportItem item;
  item.place = place;
  item.sentence = sentence + " (" + name() + ")";
  item.notes = std::move(notes);
  item.isError = isError;
  // One report per place: the numbers in the sentence may differ from block to block.
  hazards.report.add("at " + std::string(place.file) + ":" + std::to_string(place.line) +
                         sentence.substr(0, sentence.find_first_of("0123456789")),
                     std::move(item));
}

int32_t Agent::faultStatus() const {
  return group.faultStatus;
}

void Agent::fail(std::string sentence, Place place, int32_t newStatus,
                 std::vector<ReportNote> notes) {
  ReportItem item;
  item.place = place;
  std::string key = "fail " + std::string(place.file) + ":" + std::to_string(place.line) +
                    sentence.substr(0, sentence.find_first_of("0123456789"));
  item.sentence = std::move(sentence) + " (" + name() + ")";
  item.notes = std::move(notes);
  hazards.report.add(key, std::move(item));
  stop(newStatus);
}

void Agent::stop(int32_t newStatus) {
  endWith(newStatus);
  inside = 0;
  abandon();
}

void Agent::failOutside(std::string sentence, int32_t newStatus, const FaultPlace& place) {
  ReportItem item;
  item.sentence = std::move(sentence) + " (" + name() + ")";
  item.place = placeOrLast(place);
  if (place.file.empty()) {
    item.notes.push_back({{}, "the place is that of the last instruction before it"});
  } else {
    if (lastPlace.line)
      item.notes.push_back({lastPlace, "the last instruction before it"});
  }
  std::string key =
      "outside " + item.sentence.substr(0, 24) + item.place.file + std::to_string(item.place.line);
  hazards.report.add(key, std::move(item));
  endWith(newStatus);
  inside = 0;
  setCurrentAgent(nullptr);
}

const char* Agent::keptText(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> all;
  std::lock_guard lock(mutex);
  return all.insert(text).first->c_str();
}

// --- scalar accesses ----------------------------------------------------------------------------

void Agent::cleanCache(uint64_t address, Place place) {
  lastPlace = place;
  ++quietCalls;
  const bool isOfLastRead = cacheLineOf(lastRead.address) == cacheLineOf(address);
  if (lastRead.progress == progress() && lastRead.site != ~0u && isOfLastRead)
    return; // between two reads of a loop that polls
  hazards.begin(Pipe::S, hazards.clock(Pipe::S), remote,
                hazards.siteOf(place, "DataCacheCleanAndInvalid"));
  hazards.cleanCache(cacheLineOf(address));
}

void* Agent::scalarAccess(const Operand& operand, uint32_t bytes, bool write, Place place,
                          bool pastCache) {
  lastPlace = place;
  if (operand.space != Space::GM && isCubeSpace(operand.space) != view.cube) {
    leaveToOtherCore(write ? "SetValue" : "GetValue", place);
    return live->nowhere;
  }
  checkNotFreed(operand, write, write ? "SetValue" : "GetValue", Pipe::S, place);
  Access access;
  access.space = operand.space;
  access.kind = write ? AccessKind::Write : AccessKind::Read;
  access.region.begin = operand.address;
  access.region.length = bytes;
  access.tensor = operand.tensor;
  access.operand = &operand;
  uint32_t site = hazards.siteOf(place, write ? "SetValue" : "GetValue");
  if (options.randomOrderSeed)
    pumpSome();
  if (options.relaxed && !view.cube && queued)
    drainAll();
  working = {Pipe::S, {}};
  if (operand.isWithoutMemory)
    failWithoutMemory(write ? "SetValue" : "GetValue", write, place);
  const bool isBeyond = operand.space != Space::GM && operand.bytes && bytes > operand.bytes;
  if (isBeyond)
    failBeyond(operand.space, operand.tensor, {operand.address, operand.address + bytes}, write,
               place);
  if (isBeyond)
    fail(std::string(write ? "SetValue writes " : "GetValue reads ") +
             spaceNames[static_cast<unsigned>(operand.space)] + " byte " +
             std::to_string(operand.address) + ", behind the end of the tensor [" +
             (write ? "ErrorWrite2" : "ErrorRead3") + "]",
         place, faultStatus(),
         workingNotes("use an index below the tensor's size, or a larger tensor"));
  if (uint32_t element = bytesOf(operand.type); element > 1 && operand.address % element)
    fail(std::string(write ? "SetValue writes " : "GetValue reads ") +
             spaceNames[static_cast<unsigned>(operand.space)] + " at " + hex(operand.address) +
             ", which is no multiple of the element's " + std::to_string(element) + " bytes [" +
             (write ? "ErrorWrite4" : "ErrorRead4") + "]",
         place, faultStatus(),
         workingNotes("let the tensor start at a multiple of its element's bytes"));
  hazards.begin(Pipe::S, hazards.clock(Pipe::S), remote, site);
  late.land(hazards.completed(Pipe::S));
  if (operand.space == Space::GM) {
    checkGlobal(access, site);
    checkGivenSize(operand, access, site, false);
    // A kernel may poll GM: let the other cores go on.
    constexpr uint64_t patience = 4096;
    if (!write && ++spins % patience == 0) {
      state = State::Spins;
      leave();
    }
  } else {
    checkLocal(access, site);
  }
  if (!write) {
    ++quietCalls;
    recurrence.readsData();
  }
  struct {
    uint64_t address, value;
  } seen = {operand.address, 0};
  if (!write && bytes <= sizeof seen.value)
    memcpy(&seen.value, context.at(operand), bytes);
  bool isLikeEarlier =
      isRepeated(site, seen.address, &seen, sizeof seen) && !write && repetition.isRepeating();
  if (operand.space == Space::GM) {
    bool isAgain =
        isLikeEarlier || (!write && lastRead.site == site && lastRead.address == operand.address &&
                          lastRead.progress == progress());
    if (!isAgain)
      hazards.noteScalarGlobal(access, pastCache);
    lastRead = {operand.address, progress(), write ? ~0u : site};
  } else
    hazards.note(Pipe::S, access);
  if (options.trace)
    trace.push_back(scalarTrace(operand, bytes, write, site));
  if (write && lateness != Lateness::Never)
    late.watchScalar(context.at(operand), bytes, hazards.epoch(Pipe::S));
  return context.at(operand);
}

// --- GM atomics -----------------------------------------------------------------------------

namespace {
std::mutex& atomicMutex() {
  static std::mutex mutex;
  return mutex;
}
} // namespace

void Agent::store(AtomicOp op, DType type, uint8_t* address, const uint8_t* data, uint64_t bytes) {
  bool floating = type == DType::F32 || type == DType::F16 || type == DType::BF16;
  if (op != AtomicOp::Add || !floating) { // any order gives the same bits
    std::lock_guard lock(atomicMutex());
    isa::combine(op, type, address, data, bytes);
    return;
  }
  auto at = reinterpret_cast<uint64_t>(address);
  pending.push_back({address, type, std::vector<uint8_t>(data, data + bytes)});
  pendingHull.begin = std::min(pendingHull.begin, at);
  pendingHull.end = std::max(pendingHull.end, at + bytes);
}

void Agent::commitAtomics() {
  if (pending.empty())
    return;
  std::lock_guard lock(atomicMutex());
  for (const PendingAtomic& p : pending)
    isa::combine(AtomicOp::Add, p.type, p.address, p.data.data(), p.data.size());
  pending.clear();
  pendingHull = {~0ull, 0};
}

} // namespace tilewright::ascend
