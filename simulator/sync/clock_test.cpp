// SPDX-License-Identifier: Apache-2.0
// What cores know of each other, against a clock for each core of the launch.
#include "simulator/sync/clock.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::ascend {
namespace {

using AllClocks = std::vector<Clock>;

void expectSame(const RemoteClockRef& known, const AllClocks& all) {
  for (uint32_t i = 0; i < all.size(); ++i) {
    const Clock* clock = known ? known->of(i) : nullptr;
    EXPECT_EQ(clock ? *clock : Clock{}, all[i]) << i;
  }
}

TEST(RemoteClock, KnowsWhatWasJoinedAndCopiesStayAsTheyAre) {
  constexpr uint32_t numAgents = 700, numKnowing = 12;
  std::mt19937 random(3);
  std::vector<RemoteClockRef> known(numKnowing);
  std::vector<AllClocks> all(numKnowing, AllClocks(numAgents));
  std::vector<std::pair<RemoteClockRef, AllClocks>> kept;
  for (unsigned step = 0; step < 2000; ++step) {
    const auto who = random() % numKnowing, whom = random() % numKnowing;
    if (random() % 2) {
      known[who] = joined(known[who], known[whom]);
      for (uint32_t i = 0; i < numAgents; ++i)
        all[who][i].join(all[whom][i]);
    } else {
      // Each knows of a part of the launch at first.
      const uint32_t agent = (who * 60 + random() % (step < 200 ? 30 : numAgents)) % numAgents;
      Clock clock;
      clock.known[random() % 8] = static_cast<uint32_t>(random() % 100);
      auto next = std::make_shared<RemoteClock>(known[who] ? *known[who] : RemoteClock{});
      next->join(agent, clock);
      known[who] = next;
      all[who][agent].join(clock);
    }
    if (step % 100 == 0)
      kept.emplace_back(known[who], all[who]);
    if (step == 100) // most have nothing in common yet
      known[0].reset(), all[0] = AllClocks(numAgents);
  }
  for (uint32_t who = 0; who < numKnowing; ++who)
    expectSame(known[who], all[who]);
  for (const auto& [clock, expected] : kept)
    expectSame(clock, expected);
}

/// Each block knows of all before it: of 65,535, without shared parts, that would be 68 GB.
TEST(RemoteClock, AChainOfManyCoresSharesParts) {
  constexpr uint32_t numCores = 2000;
  std::vector<RemoteClockRef> known;
  RemoteClockRef last;
  for (uint32_t i = 0; i < numCores; ++i) {
    auto next = std::make_shared<RemoteClock>(last ? *last : RemoteClock{});
    Clock clock;
    clock.known[0] = i + 1;
    next->join(i, clock);
    known.push_back(last = std::move(next));
  }
  EXPECT_EQ(last->of(7)->known[0], 8u);
  EXPECT_EQ(last->of(7), known[100]->of(7));
  EXPECT_EQ(known[7]->of(8), nullptr);
  EXPECT_EQ(last->of(numCores - 1)->known[0], numCores);
}

} // namespace
} // namespace tilewright::ascend
