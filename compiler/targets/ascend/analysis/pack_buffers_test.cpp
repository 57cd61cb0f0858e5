// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/pack_buffers.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::ascend::model {
namespace {

std::vector<Buffer> randomBuffers(unsigned seed, bool isPinned) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  };
  std::vector<Buffer> buffers(static_cast<size_t>(1 + below(12)));
  for (Buffer& buffer : buffers) {
    buffer.bytes = 1 + below(5000);
    buffer.first = below(100);
    buffer.last = buffer.first + below(30);
    buffer.isTemporary = below(2) == 0;
    if (isPinned && below(6) == 0)
      buffer.pinned = 32 * below(200);
  }
  return buffers;
}

bool areTemporary(const Buffer& a, const Buffer& b) {
  return a.isTemporary && b.isTemporary;
}

/// No two that are live at once, or may not share, have a byte in common, but for two pinned ones.
void expectApart(const std::vector<Buffer>& buffers, const Packing& packing,
                 bool (*mayShare)(const Buffer&, const Buffer&)) {
  for (size_t a = 0; a < buffers.size(); ++a) {
    if (!buffers[a].pinned) {
      EXPECT_EQ(packing.addresses[a] % 32, 0);
    } else {
      EXPECT_EQ(packing.addresses[a], *buffers[a].pinned);
    }
    EXPECT_LE(packing.addresses[a] + buffers[a].bytes, packing.end);
    for (size_t b = 0; b < a; ++b) {
      const bool meet = !mayShare(buffers[a], buffers[b]) || (buffers[a].first <= buffers[b].last &&
                                                              buffers[b].first <= buffers[a].last);
      if (!meet || (buffers[a].pinned && buffers[b].pinned))
        continue;
      EXPECT_TRUE(packing.addresses[a] + buffers[a].bytes <= packing.addresses[b] ||
                  packing.addresses[b] + buffers[b].bytes <= packing.addresses[a]);
    }
  }
}

TEST(PackBuffers, RandomOnesStayApart) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::vector<Buffer> buffers = randomBuffers(seed, seed % 2);
    expectApart(buffers, packInOrder(buffers, 32), [](auto&, auto&) { return false; });
    expectApart(buffers, packWithTemporaries(buffers, 32), areTemporary);
    expectApart(buffers, packByLife(buffers, 32), [](auto&, auto&) { return true; });
  }
}

/// Temporaries don't change where the kernel's own buffers lie, and share bytes only if all don't fit.
TEST(PackBuffers, Temporaries) {
  std::vector<Buffer> buffers(4);
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i] = {"", 64, int64_t(i), int64_t(i), std::nullopt, i == 0 || i == 2};
  using Addresses = std::vector<int64_t>;
  EXPECT_EQ(pack(buffers, 32, 256, false).addresses, (Addresses{128, 0, 192, 64}));
  EXPECT_EQ(pack(buffers, 32, 200, false).addresses, (Addresses{128, 0, 128, 64}));
  EXPECT_EQ(pack(buffers, 32, 64, true).addresses, (Addresses{0, 0, 0, 0}));
}

/// Not far from the bytes that are live at once, below which no plan can get.
TEST(PackBuffers, IsTight) {
  int64_t used = 0, least = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::vector<Buffer> buffers = randomBuffers(seed, false);
    used += packByLife(buffers, 32).end;
    for (const size_t live : liveAtPeak(buffers))
      least += buffers[live].bytes;
  }
  EXPECT_LE(used, least + least / 20);
}

/// Bytes are shared only where they must be.
TEST(PackBuffers, SharesNothingThatFits) {
  const std::vector<Buffer> buffers = {{"a", 64, 0, 1, {}}, {"b", 64, 2, 3, {}}};
  EXPECT_EQ(pack(buffers, 32, 128, true).addresses, (std::vector<int64_t>{0, 64}));
  EXPECT_EQ(pack(buffers, 32, 64, true).addresses, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(pack(buffers, 32, 64, false).end, 128);
}

} // namespace
} // namespace tilewright::ascend::model
