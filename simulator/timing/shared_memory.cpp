// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/shared_memory.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright::ascend {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Less than a byte is nothing; keeps rounding from making endless tiny steps.
constexpr double bytesEpsilon = 1e-6;
constexpr double rateEpsilon = 1e-9;
// When L2 was full of written data, this much room makes it take writes at full speed again.
constexpr double roomBytes = 64 * 1024;

} // namespace

bool L2Directory::use(uint64_t address, uint64_t bytes) {
  auto found = parts.find(address);
  bool isThere = found != parts.end() && found->second->bytes >= bytes;
  if (found != parts.end()) {
    held -= found->second->bytes;
    order.erase(found->second);
    parts.erase(found);
  }
  order.push_front({address, bytes});
  parts[address] = order.begin();
  held += bytes;
  while (held > capacity && order.size() > 1) {
    held -= order.back().bytes;
    parts.erase(order.back().address);
    order.pop_back();
  }
  return isThere;
}

bool L2Directory::holds(uint64_t address, uint64_t bytes) const {
  auto found = parts.find(address);
  return found != parts.end() && found->second->bytes >= bytes;
}

bool SharedMemory::read(uint64_t address, uint64_t bytes, bool bypassesL2) {
  if (bypassesL2)
    return directory.holds(address, bytes);
  dirtyLimit = dirtyShare * l2Bytes; // what streams through L2 pushes out what was written
  return directory.use(address, bytes);
}

SharedMemory::SharedMemory(const chips::AscendChip& chip, const chips::AscendTiming& timing)
    : memoryRate(timing.memoryBytesPerSecond / (chip.clockMHz * 1e6)),
      l2Rate(timing.l2BytesPerSecond / (chip.clockMHz * 1e6)), dirtyShare(timing.dirtyShare),
      readLatency(timing.readLatencyCycles),
      readBytesInFlight(timing.copiesInFlight * timing.requestBytes), l2Bytes(double(chip.l2Bytes)),
      dirtyLimit(l2Bytes), directory(chip.l2Bytes) {}

void SharedMemory::start(const Flow& flow) {
  flows.push_back(flow);
  if (flow.kind == FlowKind::Miss)
    totalMissBytes += flow.bytesLeft;
  if (flow.kind == FlowKind::Hit)
    totalHitBytes += flow.bytesLeft;
  if (flow.kind == FlowKind::Write)
    totalWrittenBytes += flow.bytesLeft;
  ratesAreOld = true;
}

double SharedMemory::share(FlowKind kind, double capacity, double part) {
  double used = 0;
  std::vector<Flow*> open;
  for (Flow& flow : flows)
    if (flow.kind == kind)
      open.push_back(&flow);
  std::sort(open.begin(), open.end(),
            [](const Flow* a, const Flow* b) { return a->limit < b->limit; });
  for (size_t i = 0; i < open.size(); ++i) {
    double fair = std::max(capacity / double(open.size() - i), 0.0);
    open[i]->rate = std::min(fair, part * open[i]->limit);
    capacity -= open[i]->rate;
    used += open[i]->rate;
  }
  return used;
}

double SharedMemory::writePart(double read) const {
  if (read < memoryRate * (1 - rateEpsilon))
    return 1; // nothing waits
  // Little's law: what is in flight is throughput times latency. The reads have no place in L2 to
  // wait, so that they hold up the writes behind them, and a write takes as much longer as a read.
  std::set<uint32_t> cores;
  double throughput = 0;
  for (const Flow& flow : flows)
    if (flow.isReadPastL2) {
      cores.insert(flow.core);
      throughput += flow.rate;
    }
  if (cores.empty())
    return 1;
  double latency = double(cores.size()) * readBytesInFlight / throughput;
  return std::min(1.0, readLatency / latency);
}

void SharedMemory::updateRates() {
  ratesAreOld = false;
  share(FlowKind::Hit, l2Rate);
  if (isFull) { // a write needs room first, so it goes at the pace of HBM, before reads
    double written = share(FlowKind::Write, memoryRate);
    double read = share(FlowKind::Miss, memoryRate - written);
    backlogRate = -(memoryRate - written - read);
    return;
  }
  double read = share(FlowKind::Miss, memoryRate);
  double written = share(FlowKind::Write, never, writePart(read));
  double left = memoryRate - read; // what reads leave is used for writing back
  backlogRate = backlog >= 1 ? written - left : std::max(0.0, written - left);
}

double SharedMemory::nextChange() {
  if (ratesAreOld)
    updateRates();
  double next = never;
  for (const Flow& flow : flows)
    if (flow.rate > rateEpsilon)
      next = std::min(next, time + flow.bytesLeft / flow.rate);
  if (flows.empty())
    return next;
  // Until nothing is left to write back or, when L2 was full, until there is room to speak of.
  double until = isFull ? std::max(backlog - dirtyLimit + roomBytes, 1.0) : backlog;
  if (backlogRate < -rateEpsilon)
    next = std::min(next, time + until / -backlogRate);
  if (backlogRate > rateEpsilon && !isFull)
    next = std::min(next, time + std::max(dirtyLimit - backlog, 1.0) / backlogRate);
  return next;
}

void SharedMemory::advance(double now, std::vector<Flow>& ended) {
  if (ratesAreOld)
    updateRates();
  double passed = now - time;
  time = now;
  if (passed > 0) {
    for (Flow& flow : flows)
      flow.bytesLeft -= flow.rate * passed;
    bool hadBacklog = backlog >= 1;
    bool wasFull = isFull;
    backlog = std::max(0.0, backlog + backlogRate * passed);
    if (backlog >= dirtyLimit - 1)
      isFull = true;
    else if (backlog <= dirtyLimit - roomBytes + 1)
      isFull = false;
    ratesAreOld |= hadBacklog != (backlog >= 1) || wasFull != isFull;
  }
  auto isOver = [&](const Flow& flow) {
    return flow.bytesLeft <= bytesEpsilon * std::max(1.0, flow.rate);
  };
  for (const Flow& flow : flows)
    if (isOver(flow))
      ended.push_back(flow);
  if (std::erase_if(flows, isOver) > 0)
    ratesAreOld = true;
}

void SharedMemory::divideLimit(uint32_t core, uint8_t pipe, double parts) {
  for (Flow& flow : flows)
    if (flow.core == core && flow.pipe == pipe && flow.limit != flow.path / parts) {
      flow.limit = flow.path / parts;
      ratesAreOld = true;
    }
}

double SharedMemory::rateOf(uint32_t core, uint8_t pipe) const {
  double rate = 0;
  for (const Flow& flow : flows)
    if (flow.core == core && flow.pipe == pipe)
      rate += flow.rate;
  return rate;
}

} // namespace tilewright::ascend
