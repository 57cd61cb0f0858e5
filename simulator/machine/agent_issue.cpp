// SPDX-License-Identifier: Apache-2.0
// An instruction's way: it is looked at as it is issued, waits in its pipe's queue, and has its effect.
#include "simulator/isa/elementwise.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"
#include "simulator/machine/operands_text.h"

#include <algorithm>

namespace tilewright::ascend {

namespace {
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
    if (const Access& access = accesses.items[i]; access.space != Space::GM)
      failBeyond(access.space, access.tensor, access.region.hull(), access.kind != AccessKind::Read,
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
      checkVersion(access, site);
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

} // namespace tilewright::ascend
