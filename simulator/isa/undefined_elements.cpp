// SPDX-License-Identifier: Apache-2.0
// What becomes of elements that nothing has written where each element of a result comes of its own operands: vector code
// computes both sides of a choice and takes one, so that only what is taken counts.
#include "simulator/isa/elementwise.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <cstring>
#include <set>

namespace tilewright::ascend::isa {

namespace {

constexpr uint8_t allBits = 0xFF;

bool comparesToMemory(VectorOp op) {
  return op == VectorOp::Compare || op == VectorOp::CompareScalar;
}

/// Of each byte of UB the bits that come of what nothing has written, and which read that was. Zeros between
/// instructions.
struct UndefinedBytes {
  std::vector<uint8_t> bits;
  std::vector<uint16_t> origins;
  std::set<uint16_t> dropped;
  std::set<std::pair<uint16_t, uint16_t>> joined;

  void resize() {
    bits.resize(spaceBytes[static_cast<unsigned>(Space::UB)]);
    origins.resize(bits.size());
  }
  void set(uint64_t at, uint8_t which, uint16_t origin) {
    bits[at] = which;
    origins[at] = which ? origin : uint16_t{0};
  }
  /// Which read the first of the undefined bytes comes of; 0 if all are defined.
  uint16_t originOf(uint64_t begin, uint32_t size) const {
    for (uint64_t at = begin; at < begin + size; ++at)
      if (bits[at])
        return origins[at];
    return 0;
  }
  void setAll(uint64_t begin, uint32_t size, uint16_t origin) {
    for (uint64_t at = begin; at < begin + size; ++at)
      set(at, origin ? allBits : uint8_t{0}, origin);
  }
  void drop(uint16_t origin) {
    if (origin)
      dropped.insert(origin);
  }
  /// The origin of what comes of both.
  uint16_t join(uint16_t a, uint16_t b) {
    if (a && b && a != b)
      joined.insert({b, a});
    return a ? a : b;
  }
};
UndefinedBytes& undefinedBytes() {
  static thread_local UndefinedBytes all;
  return all;
}

/// An active lane: its number, and where its elements begin in UB.
struct Lane {
  uint64_t number, dst, a, b;
};

/// The lanes in the order of the hardware; `size` of the widest element. Of a comparison `dst` means nothing.
std::vector<Lane> lanesOf(const VectorInstr& i, uint32_t size) {
  const VectorShape shape = shapeOf(i, size);
  std::vector<Lane> lanes;
  forEachNumbered(
      shape, stepsOf(bytesOf(i.dst.type), i.dstBlk, i.dstRep),
      [&](uint64_t at, uint64_t number) { lanes.push_back({number, i.dst.address + at, 0, 0}); });
  auto fill = [&](const Operand& operand, Steps steps, uint64_t Lane::* where) {
    size_t next = 0;
    forEachNumbered(shape, steps,
                    [&](uint64_t at, uint64_t) { lanes[next++].*where = operand.address + at; });
  };
  fill(i.src0, stepsOf(bytesOf(i.src0.type), i.src0Blk, i.src0Rep), &Lane::a);
  fill(i.src1, stepsOf(bytesOf(i.src1.type), i.src1Blk, i.src1Rep), &Lane::b);
  return lanes;
}

bool isBitwise(VectorOp op) {
  return op == VectorOp::And || op == VectorOp::Or || op == VectorOp::Xor || op == VectorOp::Not ||
         op == VectorOp::Copy || op == VectorOp::Ands || op == VectorOp::Ors;
}

/// The undefined bits of a byte of a bitwise result: `a` and `b` are the operands' undefined bits, `x` and `y` what they
/// hold.
uint8_t openBits(VectorOp op, uint8_t a, uint8_t x, uint8_t b, uint8_t y) {
  unsigned open = a | b;
  if (op == VectorOp::And || op == VectorOp::Ands)
    open = (a & b) | (a & y) | (b & x);
  else if (op == VectorOp::Or || op == VectorOp::Ors)
    open = (a & b) | (a & ~y) | (b & ~x);
  return static_cast<uint8_t>(open);
}

void bitwise(const VectorInstr& i, const Context& context, const Lane& lane, UndefinedBytes& all) {
  const uint8_t* memory = context.base[static_cast<unsigned>(Space::UB)];
  const bool two = hasTwoSources(i.op);
  uint8_t scalar[sizeof i.scalar];
  std::memcpy(scalar, &i.scalar, sizeof scalar);
  for (uint32_t byte = 0; byte < bytesOf(i.dst.type); ++byte) {
    const uint64_t x = lane.a + byte, y = lane.b + byte;
    const uint8_t a = all.bits[x], b = two ? all.bits[y] : uint8_t{0};
    const uint8_t open = openBits(i.op, a, memory[x], b, two ? memory[y] : scalar[byte]);
    if (a & ~open)
      all.drop(all.origins[x]);
    if (b & ~open)
      all.drop(all.origins[y]);
    all.set(
        lane.dst + byte, open,
        all.join(a & open ? all.origins[x] : uint16_t{0}, b & open ? all.origins[y] : uint16_t{0}));
  }
}

void elementwise(const VectorInstr& i, const Context& context, UndefinedBytes& all) {
  const uint32_t to = bytesOf(i.dst.type), from = bytesOf(i.src0.type);
  for (const Lane& lane : lanesOf(i, std::max(to, from))) {
    if (isBitwise(i.op)) {
      bitwise(i, context, lane, all);
      continue;
    }
    uint16_t origin = all.originOf(lane.a, from);
    if (hasTwoSources(i.op))
      origin = all.join(origin, all.originOf(lane.b, bytesOf(i.src1.type)));
    if (readsDestination(i.op))
      origin = all.join(origin, all.originOf(lane.dst, to));
    all.setAll(lane.dst, to, origin);
  }
}

void compare(const VectorInstr& i, UndefinedBytes& all) {
  const uint32_t size = bytesOf(i.src0.type);
  for (const Lane& lane : lanesOf(i, size)) {
    uint16_t origin = all.originOf(lane.a, size);
    if (i.op != VectorOp::CompareScalar)
      origin = all.join(origin, all.originOf(lane.b, size));
    if (!origin)
      continue;
    const uint64_t at = i.dst.address + lane.number / 8;
    all.set(at, static_cast<uint8_t>(all.bits[at] | 1u << lane.number % 8),
            all.join(all.origins[at], origin));
  }
}

void select(const VectorInstr& i, const Context& context, UndefinedBytes& all) {
  const uint32_t size = bytesOf(i.src0.type);
  const bool isOnce = i.mode == static_cast<uint8_t>(SelectMode::MaskRegister);
  const bool isRegister = i.validBits != 0;
  const auto* bits = isRegister ? reinterpret_cast<const uint8_t*>(context.results->compareMask)
                                : context.at(i.aux);
  for (const Lane& lane : lanesOf(i, size)) {
    const uint64_t index = isOnce ? lane.number % (repeatBytes / size) : lane.number;
    const uint64_t byte = index / 8;
    const unsigned bit = 1u << index % 8;
    const uint64_t maskAt = i.aux.address + byte;
    const uint16_t first = all.originOf(lane.a, size);
    const uint16_t second = i.flag ? uint16_t{0} : all.originOf(lane.b, size);
    if (!isRegister && (all.bits[maskAt] & bit)) {
      all.setAll(lane.dst, size, all.join(all.origins[maskAt], all.join(first, second)));
      continue;
    }
    const bool takesFirst = bits[byte] & bit;
    all.drop(takesFirst ? second : first);
    all.setAll(lane.dst, size, takesFirst ? first : second);
  }
}

/// What is undefined in the bytes that the instruction writes.
void collectUndefined(const AccessList& accesses, const UndefinedBytes& all, Unwritten& result) {
  std::vector<Interval> written;
  for (unsigned k = 0; k < accesses.count; ++k)
    if (accesses.items[k].kind == AccessKind::Write)
      accesses.items[k].region.intervals(written);
  for (const Interval& bytes : written)
    for (uint64_t at = bytes.begin; at < bytes.end; ++at) {
      if (!all.bits[at])
        continue;
      const MovedFrom from = {.space = Space::UB, .origin = all.origins[at]};
      if (!result.moved.empty() && result.moved.back().end == at &&
          result.moved.back().from == from)
        ++result.moved.back().end;
      else
        result.moved.push_back({Space::UB, at, at + 1, from});
      if (all.bits[at] != allBits)
        result.knownBits.emplace_back(static_cast<uint32_t>(at),
                                      static_cast<uint8_t>(~all.bits[at]));
    }
}

} // namespace

bool isByElements(const VectorInstr& i) {
  if (i.src0.type == DType::I4 || i.dst.type == DType::I4)
    return false;
  return (isElementwise(i.op) && hasSource(i.op)) || i.op == VectorOp::Cast ||
         comparesToMemory(i.op) || i.op == VectorOp::Select;
}

Unwritten throughElements(const VectorInstr& instr, const AccessList& accesses,
                          const Context& context, const std::vector<LocalBytes>& before,
                          const std::vector<uint8_t>& knownBits) {
  UndefinedBytes& all = undefinedBytes();
  all.resize();
  for (const LocalBytes& bytes : before)
    for (uint64_t at = bytes.begin; at < bytes.end; ++at)
      all.set(at, knownBits.empty() ? allBits : static_cast<uint8_t>(~knownBits[at]),
              bytes.from.origin);
  if (instr.op == VectorOp::Select)
    select(instr, context, all);
  else if (comparesToMemory(instr.op))
    compare(instr, all);
  else
    elementwise(instr, context, all);
  Unwritten result;
  collectUndefined(accesses, all, result);
  result.dropped.assign(all.dropped.begin(), all.dropped.end());
  result.joined.assign(all.joined.begin(), all.joined.end());
  for (const LocalBytes& bytes : before)
    all.setAll(bytes.begin, static_cast<uint32_t>(bytes.end - bytes.begin), 0);
  for (const LocalBytes& bytes : result.moved)
    all.setAll(bytes.begin, static_cast<uint32_t>(bytes.end - bytes.begin), 0);
  all.dropped.clear();
  all.joined.clear();
  return result;
}

} // namespace tilewright::ascend::isa
