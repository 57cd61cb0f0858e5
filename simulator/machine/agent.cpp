// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/agent.h"
#include "simulator/isa/elementwise.h"
#include "simulator/machine/core_group.h"
#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/operands_text.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <sstream>

namespace tilewright::ascend {

namespace {
thread_local Agent* runningAgent = nullptr;

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Pipe pipeOf(const CubeInstr& instr) {
  switch (instr.op) {
  case CubeOp::Mmad:
    return Pipe::M;
  case CubeOp::Fixpipe:
    return Pipe::FIX;
  case CubeOp::Fill:
    return instr.dst.space == Space::L1 ? Pipe::MTE2 : Pipe::MTE1;
  case CubeOp::LoadBias:
    return instr.dst.space == Space::FB ? Pipe::FIX : Pipe::MTE1;
  default:
    return instr.a.space == Space::GM ? Pipe::MTE2 : Pipe::MTE1;
  }
}
const char* nameOf(const VectorInstr& instr) {
  return isa::nameOf(instr.op);
}
const char* nameOf(const CopyInstr& instr) {
  return isa::nameOf(instr);
}
const char* nameOf(const CubeInstr& instr) {
  return isa::nameOf(instr.op);
}

/// Of operands that no instruction may go without.
bool readsWithoutMemory(const VectorInstr& i) {
  return i.src0.isWithoutMemory || (i.src1.isWithoutMemory && i.op < VectorOp::Gather);
}
bool readsWithoutMemory(const CopyInstr& i) {
  return i.src.isWithoutMemory;
}
bool readsWithoutMemory(const CubeInstr& i) {
  return i.a.isWithoutMemory || i.b.isWithoutMemory;
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

// --- instructions ---------------------------------------------------------------------------

void Agent::leaveToOtherCore(const char* what, Place place) {
  if (!view.mixed)
    fail(std::string(what) + " is for " + (view.cube ? "vector" : "cube") +
             " cores, of which this kernel has none; KERNEL_TYPE_MIX_AIC_1_2 gives it both",
         place, faultStatus());
}

namespace {
constexpr unsigned lanesPerWord = 64; // of a mask

/// Lanes of a repeat of 256 bytes: by the widest element, which fills have in dst only.
unsigned lanesOf(const VectorInstr& i) {
  constexpr unsigned repeatBytes = 256;
  return repeatBytes /
         std::max(bytesOf(i.dst.type), isa::hasSource(i.op) ? bytesOf(i.src0.type) : 1);
}

bool hasRows(VectorOp op) {
  return op == VectorOp::RowFunction || op == VectorOp::Broadcast || op == VectorOp::ReduceRows;
}

/// Bits of lanes that a repeat hasn't. A mask of ones alone asks for all there are.
bool hasBitsBeyond(const VectorInstr& i) {
  return lanesOf(i) <= lanesPerWord && i.mask[1] != 0 && (i.mask[0] & i.mask[1]) != ~0ull;
}
} // namespace

/// `fromRegister`: the mask register is meant for elements of any size.
void Agent::warnOfLanes(const VectorInstr& i, bool fromRegister, Place place) {
  if (!options.check)
    return;
  const bool hasBits = i.form == VectorForm::Mask && i.maskLength == 0;
  const std::string name = nameOf(i);
  if (hasBits && i.mask[0] == 0 && (i.mask[1] == 0 || lanesOf(i) <= lanesPerWord))
    return complain(name + ": mask is 0, but a mask must have a lane; leave the call out where no "
                           "elements are left",
                    false, place, {{{}, operandsText(Pipe::V, &i, hazards.tensorNames)}});
  if (hasBits && !fromRegister && hasBitsBeyond(i))
    return complain(name + ": mask[1] has bits, but a repeat of these elements has " +
                        std::to_string(lanesOf(i)) +
                        " lanes, which are those of mask[0]; set mask[1] to 0",
                    false, place, {{{}, operandsText(Pipe::V, &i, hazards.tensorNames)}});
  if (isa::overlapsItself(i))
    return complain(name + ": " + isa::itsRepeats(i) +
                        ", so that repeats overwrite the results of earlier ones; make it at least "
                        "that",
                    false, place, {{{}, operandsText(Pipe::V, &i, hazards.tensorNames)}});
  if (i.repeat == 0 && i.form != VectorForm::Register && !hasRows(i.op))
    complain(name + ": repeatTime is 0, so that nothing is computed; it has 8 bits, in which 256 "
                    "is 0 as well; split the call, or leave it out",
             false, place, {{{}, operandsText(Pipe::V, &i, hazards.tensorNames)}});
}

void Agent::issue(const VectorInstr& given, Place place) {
  lastPlace = place;
  if (view.cube)
    return leaveToOtherCore(nameOf(given), place);
  checkNotFreed(given, place);
  useRegisters(given, place);
  uint32_t site = hazards.siteOf(place, nameOf(given));
  if (auto count = static_cast<int64_t>(given.count); given.form == VectorForm::Count && count < 0)
    fail(std::string(nameOf(given)) + ": count is " + std::to_string(count) +
             ", but it must not be negative",
         place, faultStatus(),
         {{{}, operandsText(Pipe::V, &given, hazards.tensorNames)},
          {{}, "leave the call out where no elements are left"}});
  if (given.form != VectorForm::Register) {
    warnOfLanes(given, false, place);
    issueOn(Pipe::V, given, site);
    return;
  }
  VectorInstr instr = given;
  instr.mask[0] = mask.mask[0];
  instr.mask[1] = mask.mask[1];
  instr.maskLength = 0;
  instr.form = mask.counterMode ? VectorForm::Register : VectorForm::Mask;
  warnOfLanes(instr, true, place);
  issueOn(Pipe::V, instr, site);
}

void Agent::issue(const CopyInstr& given, Place place) {
  lastPlace = place;
  Space local = given.dst.space == Space::GM ? given.src.space : given.dst.space;
  if (local != Space::GM && isCubeSpace(local) != view.cube &&
      !(given.src.space == Space::UB && !view.cube)) {
    working = {given.pipe, &given};
    const bool lacksMemory = given.dst.isWithoutMemory || given.src.isWithoutMemory;
    if (lacksMemory && !view.mixed) // nor a memory that it would be in
      failWithoutMemory(nameOf(given), given.dst.isWithoutMemory, place);
    return leaveToOtherCore(nameOf(given), place);
  }
  checkNotFreed(given, place);
  uint32_t site = hazards.siteOf(place, nameOf(given));
  if (given.dst.space != Space::GM || storeState.atomic == AtomicOp::None) {
    issueOn(given.pipe, given, site);
    return;
  }
  CopyInstr instr = given;
  instr.atomic = storeState.atomic;
  instr.atomicType = storeState.atomicType;
  issueOn(instr.pipe, instr, site);
}

void Agent::issue(const CubeInstr& given, Place place) {
  lastPlace = place;
  if (!view.cube)
    return leaveToOtherCore(nameOf(given), place);
  checkNotFreed(given, place);
  uint32_t site = hazards.siteOf(place, nameOf(given));
  Pipe pipe = pipeOf(given);
  if (given.dst.space == Space::GM && storeState.atomic != AtomicOp::None) {
    CubeInstr instr = given;
    instr.atomic = storeState.atomic;
    instr.atomicType = storeState.atomicType;
    issueOn(pipe, instr, site);
    return;
  }
  issueOn(pipe, given, site);
}

void Agent::noteFreeBuffer(const Operand& buffer, Place freedAt) {
  noteUsedBuffer(buffer);
  if (options.check)
    freeBuffers.push_back({buffer.space, {buffer.address, buffer.address + buffer.bytes}, freedAt});
}
void Agent::noteUsedBuffer(const Operand& buffer) {
  std::erase_if(freeBuffers, [&](const FreeBuffer& f) {
    return f.space == buffer.space && f.bytes.begin < buffer.address + buffer.bytes &&
           buffer.address < f.bytes.end;
  });
}

void Agent::checkNotFreed(const Operand& operand, bool isWrite, const char* what, Pipe pipe,
                          Place place) {
  if (!operand.isOfQueue)
    return;
  for (const FreeBuffer& f : freeBuffers)
    if (f.space == operand.space && f.bytes.begin <= operand.address &&
        operand.address < f.bytes.end)
      complain(
          std::string(what) + (isWrite ? " writes " : " reads ") +
              spaceNames[static_cast<unsigned>(f.space)] + " from byte " +
              std::to_string(operand.address) +
              " on, in a buffer that FreeTensor has given back; free it later, or AllocTensor "
              "a new one [" +
              (isWrite ? "ErrorWrite1" : "ErrorRead1") + "]",
          true, place,
          {{f.freedAt, "it was freed here"}, {{}, operandsText(pipe, {}, hazards.tensorNames)}});
}
void Agent::checkNotFreed(const VectorInstr& i, Place place) {
  if (freeBuffers.empty())
    return;
  for (const Operand* source : {&i.src0, &i.src1, &i.aux, &i.extra})
    checkNotFreed(*source, false, nameOf(i), Pipe::V, place);
  checkNotFreed(i.dst, true, nameOf(i), Pipe::V, place);
}
void Agent::checkNotFreed(const CopyInstr& i, Place place) {
  checkNotFreed(i.src, false, nameOf(i), i.pipe, place);
  checkNotFreed(i.dst, true, nameOf(i), i.pipe, place);
}
void Agent::checkNotFreed(const CubeInstr& i, Place place) {
  for (const Operand* source : {&i.a, &i.b, &i.c})
    checkNotFreed(*source, false, nameOf(i), pipeOf(i), place);
  checkNotFreed(i.dst, true, nameOf(i), pipeOf(i), place);
}

uint64_t Agent::random() { // splitmix64
  uint64_t z = randomState += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

template <class Instr> void Agent::issueOn(Pipe pipe, const Instr& instr, uint32_t site) {
  auto p = static_cast<unsigned>(pipe);
  if (queued == 0 && options.randomOrderSeed == 0) {
    hazards.begin(pipe, hazards.clock(Pipe::S), remote, site);
    ++issuedCount[p];
    execute(pipe, instr, site);
    ++executedCount[p];
    return;
  }
  Record record;
  record.site = site;
  record.what = instr;
  if constexpr (std::is_same_v<Instr, CubeInstr>) {
    if (instr.unitFlag) {
      record.needPipe = pipe == Pipe::FIX ? Pipe::M : Pipe::FIX;
      record.needCount = issuedCount[static_cast<unsigned>(record.needPipe)];
    }
  }
  push(pipe, std::move(record));
}

void Agent::drawHabits() {
  // What the vendor's compiler orders by itself has no place in the clocks.
  if (!options.relaxed)
    lateness = static_cast<Lateness>(random() % 3);
  constexpr uint32_t paces[] = {1, 8, 1u << 30};
  pumpOnceIn = paces[random() % 3];
  for (uint8_t& priority : priorities)
    priority = static_cast<uint8_t>(random());
}

void Agent::mayYield() {
  constexpr unsigned turn = 24; // records, on average
  if (random() % turn)
    return;
  state = State::Ready;
  leave();
}

void Agent::push(Pipe pipe, Record record) {
  constexpr size_t hardwareDepth = 32;
  auto p = static_cast<unsigned>(pipe);
  record.dispatch = hazards.clock(Pipe::S);
  record.remote = remote;
  live->queues[p].push_back(std::move(record));
  ++queued;
  ++issuedCount[p];
  if (options.randomOrderSeed) {
    pumpSome();
    while (live->queues[p].size() > hardwareDepth && pumpRandom(1)) {
    }
    mayYield();
  } else {
    pump();
  }
}

namespace {
constexpr uint32_t reservedBytes = 8 * 1024; // at the end of UB

const Operand& globalOperandOf(const VectorInstr& instr, const Access&) {
  return instr.dst; // none is in GM
}
const Operand& globalOperandOf(const CopyInstr& instr, const Access& access) {
  return access.kind == AccessKind::Read ? instr.src : instr.dst;
}
const Operand& globalOperandOf(const CubeInstr& instr, const Access& access) {
  return access.kind == AccessKind::Read ? instr.a : instr.dst;
}
} // namespace

template <class Instr> void Agent::execute(Pipe pipe, const Instr& instr, uint32_t site) {
  if (options.timeOnly) {
    TraceEvent e = traceOf(instr, pipe, site);
    addToTrace(e);
    uint64_t what[] = {e.address, e.bytes, e.repeats, e.banks[0], e.banks[1], e.banks[2]};
    isRepeated(site, e.address, what, sizeof what);
    return;
  }
  if (!late.empty())
    late.land(hazards.clock(pipe));
  static thread_local isa::AccessList accesses;
  accesses.count = 0;
  working = {pipe, &instr};
  std::string wrong = isa::inspect(instr, accesses, context);
  const bool lacksMemory = instr.dst.isWithoutMemory || readsWithoutMemory(instr);
  if (!wrong.empty() && lacksMemory) // which may be why
    failWithoutMemory(nameOf(instr), instr.dst.isWithoutMemory, hazards.site(site).place);
  // An offset may be wrong because nothing has written it: that is told instead.
  const uint64_t unwrittenBefore = hazards.unwrittenReads;
  for (unsigned i = 0; i < accesses.count && wrong.starts_with("offset "); ++i)
    if (accesses.items[i].kind == AccessKind::Read) {
      checkLocal(accesses.items[i], site);
      hazards.note(pipe, accesses.items[i]);
    }
  if (hazards.unwrittenReads != unwrittenBefore)
    stop(faultStatus());
  for (unsigned i = 0; i < accesses.count && !wrong.empty(); ++i)
    if (const Access& access = accesses.items[i]; access.operand && access.space != Space::GM)
      failBeyond(*access.operand, access.region.hull(), access.kind != AccessKind::Read,
                 hazards.site(site).place);
  if (!wrong.empty())
    fail(std::string(nameOf(instr)) + ": " + wrong, hazards.site(site).place, faultStatus(),
         workingNotes(adviceFor(wrong)));
  if constexpr (std::is_same_v<Instr, CubeInstr>) {
    if (instr.unitFlag && pipe == Pipe::FIX)
      hazards.learn(pipe, live->unitClock[0]);
    else if (instr.unitFlag && pipe == Pipe::M)
      hazards.learn(pipe, live->unitClock[1]);
  }
  // A read of GM that a loop repeats is noted once.
  bool notesReadsLater = repetition.isRepeating();
  auto isReadOfGm = [](const Access& access) {
    return access.space == Space::GM && access.kind == AccessKind::Read && !access.region.empty();
  };
  for (unsigned i = 0; i < accesses.count; ++i) {
    const Access& access = accesses.items[i];
    if (access.region.empty())
      continue;
    if (access.isWithoutMemory)
      failWithoutMemory(nameOf(instr), access.kind != AccessKind::Read, hazards.site(site).place);
    if (access.space == Space::GM) {
      checkGlobal(access, site);
      bool takesBlocks = true;
      if constexpr (std::is_same_v<Instr, CopyInstr>)
        takesBlocks = !instr.isPadded;
      checkGivenSize(globalOperandOf(instr, access), access, site, takesBlocks);
    } else {
      checkLocal(access, site);
    }
    if (!notesReadsLater || !isReadOfGm(access))
      hazards.note(pipe, access);
  }
  if constexpr (std::is_same_v<Instr, VectorInstr>)
    if (isa::worksInReservedBytes(instr))
      hazards.useReserved(pipe, spaceBytes[static_cast<unsigned>(Space::UB)] - reservedBytes);
  // The cube unit accumulates in order.
  bool isHeld = lateness != Lateness::Never && pipe != Pipe::M;
  if (isHeld)
    late.watch(accesses, context);
  if (!hazards.moved.empty()) {
    const std::vector<LocalBytes> before = std::exchange(hazards.moved, {});
    if constexpr (std::is_same_v<Instr, CopyInstr>)
      hazards.noteUnwritten(pipe, isa::behind(instr, before));
    else
      hazards.noteUnwritten(pipe, isa::behind(instr, accesses, context, before, hazards.knownBits));
  }
  isa::run(instr, context);
  if constexpr (std::is_same_v<Instr, VectorInstr>)
    isa::spoilScratch(instr, context);
  if (isHeld) {
    late.hold(pipe, hazards.epoch(pipe));
    if (lateness == Lateness::Sometimes && random() % 2)
      late.landOne(random());
  }
  if (!isRepeated(site, accesses) && notesReadsLater)
    for (unsigned i = 0; i < accesses.count; ++i)
      if (isReadOfGm(accesses.items[i]))
        hazards.note(pipe, accesses.items[i]);
  if constexpr (std::is_same_v<Instr, CubeInstr>)
    if (instr.unitFlag)
      live->unitClock[pipe == Pipe::FIX] = hazards.completed(pipe);
  if (options.trace)
    addToTrace(traceOf(instr, pipe, site));
}

/// Unit flags order Mmad and Fixpipe like a flag of their own behind the last Mmad, and one back. On the chip they do so
/// for each 512 bytes.
void Agent::addToTrace(const TraceEvent& event) {
  constexpr uint8_t unitFlagId = 15, lastOfTile = 3;
  bool isUnit = event.kind == TraceKind::Cube && event.id != 0;
  auto toggle = [&](TraceKind kind, Pipe from, Pipe to, bool& isSet) {
    if (isSet == (kind == TraceKind::SetFlag))
      return;
    isSet = !isSet;
    trace.push_back(isSet ? syncTrace(kind, from, to, unitFlagId, event.site)
                          : syncTrace(kind, to, from, unitFlagId, event.site));
  };
  bool isStore = event.pipe == Pipe::FIX;
  if (isUnit)
    toggle(TraceKind::WaitFlag, isStore ? Pipe::M : Pipe::FIX, event.pipe, unitFlagSet[isStore]);
  trace.push_back(event);
  if (isUnit && (isStore || event.id == lastOfTile))
    toggle(TraceKind::SetFlag, event.pipe, isStore ? Pipe::M : Pipe::FIX, unitFlagSet[!isStore]);
}

template void Agent::execute(Pipe, const VectorInstr&, uint32_t);
template void Agent::execute(Pipe, const CopyInstr&, uint32_t);
template void Agent::execute(Pipe, const CubeInstr&, uint32_t);

// --- endless waits --------------------------------------------------------------------------

bool Agent::isRepeated(uint32_t site, uint64_t place, const void* left, uint64_t bytes) {
  if (!watchesRepetition())
    return false;
  Fingerprint step;
  step.add(site);
  step.add(place);
  uint64_t there = step.value();
  step.add(left, bytes);
  return !repetition.note(there, step.value());
}

bool Agent::isRepeated(uint32_t site, const isa::AccessList& accesses) {
  if (!watchesRepetition())
    return false;
  constexpr uint64_t mostCompared = 65536; // bytes of a result
  Fingerprint place, step;
  place.add(site);
  for (unsigned i = 0; i < accesses.count; ++i) {
    const Access& access = accesses.items[i];
    if (access.region.empty())
      continue;
    Interval hull = access.region.hull();
    place.add(hull.begin);
    place.add(hull.end);
    if (access.kind == AccessKind::Write)
      step.add(context.at(access.space, hull.begin), std::min(hull.end - hull.begin, mostCompared));
    else if (access.kind == AccessKind::Atomic)
      step.add(calls.load(std::memory_order_relaxed)); // what it adds to changes each time
  }
  step.add(place.value());
  return !repetition.note(place.value(), step.value());
}

void Agent::noteText(const char* text) {
  isRepeated(~0u, 0, text, strlen(text));
}

void Agent::yieldTurn() {
  state = State::Spins;
  leave();
}

void Agent::noteState(uint64_t from) {
  const uint64_t* end = nullptr;
  const uint64_t* begin = fiber.wordsFrom(from, &end);
  uint64_t state = fingerprintOf(begin, end);
  state = fingerprintOf(&view, &view + 1, state);
  state = fingerprintOf(&mask, &mask + 1, state);
  recurrence.note(state, kernelCode, repetition.newResults(), repetition.isRepeating());
  if (!recurrence.wantsMemory())
    return;
  const uint64_t variables = fingerprintOfVariables(kernelCode);
  const uint64_t own = pending.empty() && variables != 0 ? fingerprintOfOwnMemory(*memory) : 0;
  recurrence.noteMemory(own != 0 ? fingerprintOf(&own, &own + 1, variables) : 0);
}

std::string Agent::sentenceOf(Ending ending) const {
  auto seconds = [](double limit) {
    std::ostringstream text;
    text << limit << " s";
    return text.str();
  };
  const std::string andOthers = ", and all other cores have ended, wait or repeat too";
  const std::string noProof =
      "; this is a limit of the host and no proof: if the kernel will end, set ";
  switch (ending) {
  case Ending::SameState:
    return "endless loop: the kernel is back in the very state that it was in before, and reads "
           "nothing new that could end it [507014]";
  case Ending::SameResults:
    return isProven()
               ? "endless wait: the kernel repeats the same instructions with the same results" +
                     andOthers + " [507014]"
               : "the kernel has repeated the same instructions with the same results for " +
                     seconds(patienceWithoutProof * options.repeatLimitSeconds) + andOthers +
                     noProof + "repeat-limit higher [507014]";
  case Ending::SameLoop:
    return "endless loop: the kernel is back in the state that it was in before, but for what is "
           "in "
           "memory" +
           andOthers + noProof + "repeat-limit higher [507014]";
  case Ending::NewResults:
    return "endless loop: the kernel repeats the same instructions at the same addresses with ever "
           "new results" +
           andOthers + noProof + "repeat-limit higher [507014]";
  case Ending::IdleLimit:
    return "the kernel's own code has run for " + seconds(options.idleLimitSeconds) +
           " without an instruction" + noProof + "idle-limit higher [507014]";
  case Ending::Blocked:
    return "the kernel has waited for " + seconds(options.blockedLimitSeconds()) +
           " in a call of the operating system, which a core has not [507014]";
  default:
    return "the kernel has run for " + seconds(options.timeLimitSeconds) + noProof +
           "time-limit higher [507014]";
  }
}

void Agent::endRepeating(Ending ending) {
  complain(sentenceOf(ending), true, lastPlace);
  endWith(507014);
}

void Agent::cleanCache(uint64_t address, Place place) {
  lastPlace = place;
  ++quietCalls;
  if (lastRead.progress == progress() && lastRead.site != ~0u)
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
    failBeyond(operand, {operand.address, operand.address + bytes}, write, place);
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
