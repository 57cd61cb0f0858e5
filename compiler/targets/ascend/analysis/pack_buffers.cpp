// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/pack_buffers.h"

#include <algorithm>
#include <numeric>

namespace tilewright::ascend::model {
namespace {

int64_t nextAligned(int64_t number, int64_t alignment) {
  return (number + alignment - 1) / alignment * alignment;
}

bool meet(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

enum class Sharing : uint8_t { None, Temporaries, All };

bool mayShare(const Buffer& a, const Buffer& b, Sharing sharing) {
  return !meet(a, b) && (sharing == Sharing::All ||
                         (sharing == Sharing::Temporaries && a.isTemporary && b.isTemporary));
}

/// Places `order` one after the other at the lowest address that is free while each is live.
Packing place(const std::vector<Buffer>& buffers, const std::vector<size_t>& order,
              int64_t alignment, Sharing sharing) {
  Packing packing;
  packing.addresses.assign(buffers.size(), 0);
  std::vector<size_t> placed;
  const auto put = [&](size_t index, int64_t address) {
    packing.addresses[index] = address;
    packing.end = std::max(packing.end, address + buffers[index].bytes);
    placed.push_back(index);
  };
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].pinned)
      put(i, *buffers[i].pinned);
  for (const size_t index : order) {
    const Buffer& buffer = buffers[index];
    if (buffer.pinned)
      continue;
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t other : placed)
      if (!mayShare(buffers[other], buffer, sharing))
        taken.emplace_back(packing.addresses[other],
                           packing.addresses[other] + buffers[other].bytes);
    std::sort(taken.begin(), taken.end());
    int64_t address = 0;
    for (const auto& [begin, end] : taken) {
      if (address + buffer.bytes <= begin)
        break;
      address = std::max(address, nextAligned(end, alignment));
    }
    put(index, address);
  }
  return packing;
}

std::vector<size_t> textOrder(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> temporariesLast(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order;
  for (const bool isTemporary : {false, true})
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].isTemporary == isTemporary)
        order.push_back(i);
  return order;
}

} // namespace

Packing packInOrder(const std::vector<Buffer>& buffers, int64_t alignment) {
  return place(buffers, temporariesLast(buffers), alignment, Sharing::None);
}

Packing packWithTemporaries(const std::vector<Buffer>& buffers, int64_t alignment) {
  return place(buffers, temporariesLast(buffers), alignment, Sharing::Temporaries);
}

Packing packByLife(const std::vector<Buffer>& buffers, int64_t alignment) {
  const auto life = [&](size_t i) { return buffers[i].last - buffers[i].first; };
  const auto sorted = [&](auto key) {
    std::vector<size_t> order = textOrder(buffers);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    return place(buffers, order, alignment, Sharing::All);
  };
  Packing best = sorted([&](size_t i) { return -buffers[i].bytes; });
  for (const Packing& other : {sorted([&](size_t i) { return -life(i); }),
                               sorted([&](size_t i) { return buffers[i].first; }),
                               sorted([&](size_t i) { return -buffers[i].bytes * (life(i) + 1); })})
    if (other.end < best.end)
      best = other;
  return best;
}

Packing pack(const std::vector<Buffer>& buffers, int64_t alignment, int64_t capacity,
             bool mayShare) {
  Packing inOrder = packInOrder(buffers, alignment);
  if (inOrder.end <= capacity)
    return inOrder;
  return mayShare ? packByLife(buffers, alignment) : packWithTemporaries(buffers, alignment);
}

std::vector<size_t> liveAtPeak(const std::vector<Buffer>& buffers) {
  std::vector<size_t> best;
  int64_t most = -1;
  for (const Buffer& at : buffers) {
    std::vector<size_t> live;
    int64_t bytes = 0;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].first <= at.first && at.first <= buffers[i].last) {
        live.push_back(i);
        bytes += buffers[i].bytes;
      }
    if (bytes > most) {
      most = bytes;
      best = std::move(live);
    }
  }
  std::sort(best.begin(), best.end(), [&](size_t a, size_t b) {
    return std::pair(-buffers[a].bytes, a) < std::pair(-buffers[b].bytes, b);
  });
  return best;
}

} // namespace tilewright::ascend::model
