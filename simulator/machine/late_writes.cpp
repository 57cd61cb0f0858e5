// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/late_writes.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend {

void LateWrites::Write::add(const uint8_t* from, uint8_t* address, size_t length) {
  runs.push_back({address, static_cast<uint32_t>(length), static_cast<uint32_t>(bytes.size())});
  bytes.insert(bytes.end(), from, from + length);
}

void LateWrites::Write::put() const {
  for (const Run& run : runs)
    std::memcpy(run.address, bytes.data() + run.offset, run.length);
}

void LateWrites::watch(const isa::AccessList& accesses, const isa::Context& context) {
  before.runs.clear();
  before.bytes.clear();
  for (unsigned i = 0; i < accesses.count; ++i) {
    const Access& access = accesses.items[i];
    // Atomic stores are one step of memory itself.
    if (access.kind != AccessKind::Write || access.region.empty())
      continue;
    intervals.clear();
    access.region.intervals(intervals);
    for (Interval at : intervals) {
      uint8_t* from = context.at(access.space, at.begin);
      before.add(from, from, at.end - at.begin);
    }
  }
}

void LateWrites::hold(Pipe pipe, uint32_t epoch) {
  Write write;
  write.pipe = pipe;
  write.epoch = epoch;
  for (const Run& old : before.runs) {
    // Only bytes that have changed: an access may name more than the instruction writes.
    const uint8_t* was = before.bytes.data() + old.offset;
    for (size_t i = 0; i < old.length;) {
      size_t end = i;
      while (end < old.length && old.address[end] != was[end])
        ++end;
      if (end > i)
        write.add(old.address + i, old.address + i, end - i);
      i = end + 1;
    }
  }
  before.put();
  if (!write.runs.empty())
    held.push_back(std::move(write));
}

void LateWrites::watchScalar(uint8_t* address, uint32_t bytes, uint32_t epoch) {
  before.runs.clear();
  before.bytes.clear();
  before.add(address, address, bytes);
  scalarEpoch = epoch;
}

void LateWrites::holdScalar() {
  uint32_t epoch = scalarEpoch;
  scalarEpoch = 0;
  hold(Pipe::S, epoch);
}

void LateWrites::land(const Clock& known) {
  std::erase_if(held, [&](const Write& write) {
    if (known[write.pipe] < write.epoch)
      return false;
    write.put();
    return true;
  });
}

void LateWrites::landAll() {
  for (const Write& write : held)
    write.put();
  held.clear();
}

void LateWrites::landOne(uint64_t number) {
  if (held.empty())
    return;
  auto chosen = held.begin() + static_cast<std::ptrdiff_t>(number % held.size());
  // The stores of these pipes keep their order.
  if (Pipe pipe = chosen->pipe; pipe == Pipe::FIX || pipe == Pipe::S)
    chosen = std::find_if(held.begin(), held.end(),
                          [&](const Write& write) { return write.pipe == pipe; });
  chosen->put();
  held.erase(chosen);
}

} // namespace tilewright::ascend
