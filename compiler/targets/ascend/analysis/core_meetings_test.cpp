// SPDX-License-Identifier: Apache-2.0
// What cores know of each other, against a search for ways from step to step.
#include "compiler/targets/ascend/analysis/core_meetings.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>

namespace tilewright::ascend::model {
namespace {

using Steps = std::array<CoreSteps, kBlockCores>;
using Place = std::pair<size_t, size_t>; ///< a core and one of its steps

/// All places of the k-th (from 0) step of a core for which `isAsked` holds; nothing if it has fewer.
template <typename Asked>
std::set<Place> nth(const Steps& steps, size_t core, size_t k, Asked isAsked) {
  for (size_t at = 0; at < steps[core].size(); ++at)
    if (isAsked(steps[core][at]) && k-- == 0)
      return {{core, at}};
  return {};
}

template <typename Asked> size_t countBefore(const CoreSteps& steps, size_t end, Asked isAsked) {
  size_t count = 0;
  for (size_t at = 0; at < end; ++at)
    count += isAsked(steps[at]);
  return count;
}

/// What must be over before a step is; false if something of that isn't there at all. Flags have one mode each.
bool neededBy(const Steps& steps, Place place, std::set<Place>& needed) {
  const auto [core, at] = place;
  const CoreStep& step = steps[core][at];
  if (at > 0)
    needed.insert({core, at - 1});
  const auto require = [&](const std::set<Place>& found) {
    needed.insert(found.begin(), found.end());
    return !found.empty();
  };
  if (step.kind == CoreStep::Meet) {
    const auto isMeet = [](const CoreStep& other) { return other.kind == CoreStep::Meet; };
    const size_t number = countBefore(steps[core], at, isMeet);
    for (size_t other = 0; other < kBlockCores; ++other) {
      const std::set<Place> theirs = nth(steps, other, number, isMeet);
      // What stands right before a meeting is over when all go on.
      for (const auto& [who, where] : theirs)
        if (where > 0)
          needed.insert({who, where - 1});
      if (theirs.empty() && other != kCubeCore)
        return false;
    }
    return true;
  }
  if (step.kind != CoreStep::Wait)
    return true;
  const auto isWait = [&](const CoreStep& other) {
    return other.kind == CoreStep::Wait && other.flag == step.flag;
  };
  const size_t number = countBefore(steps[core], at, isWait);
  const bool isBetween = step.flag < 4; // see below
  const auto isSet = [&](const CoreStep& other) {
    return other.kind == CoreStep::Set && other.flag == step.flag;
  };
  const bool fromVectors = isBetween == (core == kCubeCore);
  if (!fromVectors)
    return require(nth(steps, kCubeCore, number, isSet));
  return require(nth(steps, 0, number, isSet)) && require(nth(steps, 1, number, isSet));
}

/// All that leads to a step; nothing where the core never comes to it.
std::optional<std::set<Place>> before(const Steps& steps, Place place) {
  std::set<Place> all{place};
  std::vector<Place> open{place};
  while (!open.empty()) {
    const Place next = open.back();
    open.pop_back();
    std::set<Place> needed;
    if (!neededBy(steps, next, needed) || needed.contains(place))
      return std::nullopt; // or it waits for itself
    for (const Place& each : needed)
      if (all.insert(each).second)
        open.push_back(each);
  }
  all.erase(place);
  return all;
}

/// Cores 0 and 1 do alike what cores of a kernel do, but for what they use.
Steps randomSteps(std::mt19937& random) {
  const auto upTo = [&](int64_t high) {
    return std::uniform_int_distribution<int64_t>(0, high)(random);
  };
  Steps steps;
  const auto add = [&](size_t core, const CoreStep& step) {
    for (int64_t uses = upTo(2); uses > 0; --uses)
      steps[core].push_back({});
    steps[core].push_back(step);
  };
  for (int64_t count = upTo(8); count > 0; --count) {
    const int64_t flag = upTo(3);
    switch (upTo(4)) {
    case 0:
      for (size_t core = 0; core < kBlockCores; ++core)
        add(core, {CoreStep::Meet});
      break;
    case 1:
      for (const size_t core : {0, 1})
        add(core, {CoreStep::Set, 4 + flag, upTo(1)});
      for (const size_t core : {0, 1})
        add(core, {CoreStep::Wait, 4 + flag});
      break;
    case 2:
      add(kCubeCore, {CoreStep::Set, flag % 2, 2});
      for (const size_t core : {0, 1})
        add(core, {CoreStep::Wait, flag % 2});
      break;
    case 3:
      for (const size_t core : {0, 1})
        add(core, {CoreStep::Set, 2 + flag % 2, 2});
      add(kCubeCore, {CoreStep::Wait, 2 + flag % 2});
      break;
    default: // one that may lack another
      add(static_cast<size_t>(upTo(2)), {upTo(3) == 0 ? CoreStep::Wait : CoreStep::Use, 8});
    }
  }
  return steps;
}

TEST(CoreMeetings, AreWaysFromStepToStep) {
  std::mt19937 random(11);
  size_t waited = 0, stopped = 0;
  for (int number = 0; number < 600; ++number) {
    const Steps steps = randomSteps(random);
    const auto known = knownInSteps(steps);
    for (size_t core = 0; core < kBlockCores; ++core) {
      ASSERT_LE(known[core].size(), steps[core].size());
      for (size_t at = 0; at < steps[core].size(); ++at) {
        const std::optional<std::set<Place>> all = before(steps, {core, at});
        ASSERT_EQ(all.has_value(), at < known[core].size()) << number << ": " << core << ", " << at;
        stopped += !all;
        for (size_t other = 0; all && other < kBlockCores; ++other) {
          int64_t count = 0;
          for (const auto& [who, where] : *all)
            count += who == other;
          EXPECT_EQ(known[core][at][other], count) << number << ": " << core << ", " << at;
          waited += other != core && count > 0;
        }
      }
    }
  }
  EXPECT_GT(waited, 2000U);
  EXPECT_GT(stopped, 60U);
}

} // namespace
} // namespace tilewright::ascend::model
