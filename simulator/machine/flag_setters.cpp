// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/flag_setters.h"

#include <algorithm>
#include <set>

namespace tilewright::ascend {

namespace {

using Groups = std::vector<std::unique_ptr<CoreGroup>>;
using Cores = std::vector<const Agent*>;
constexpr uint32_t noMode = 3;

Cores coresOf(const CoreGroup& group, bool cube) {
  Cores cores;
  for (const auto& agent : group.agents)
    if (agent->view.cube == cube)
      cores.push_back(agent.get());
  return cores;
}

/// The cores whose sets of this mode reach a core of that kind of the group.
Cores settersOf(const Groups& groups, const CoreGroup& group, bool cube, uint32_t mode) {
  if (mode == 1)
    return cube ? Cores{} : coresOf(group, false);
  if (mode == 2)
    return coresOf(group, !cube);
  Cores cores;
  for (const auto& other : groups)
    for (const Agent* agent : coresOf(*other, cube))
      cores.push_back(agent);
  return cores;
}

std::string rule(bool cube, uint32_t mode, size_t numSetters) {
  const char* who = mode == 0 ? (cube ? "all cube cores" : "all vector cores")
                    : numSetters == 1
                        ? (cube ? "the vector core of the block" : "the cube core of the block")
                        : "both vector cores of the block";
  return "with mode " + std::to_string(mode) + ", each wait needs a set by " + who;
}

class Notes {
public:
  Notes(const Groups& groups, ReportItem& item) : groups(groups), item(item) {}

  void addAll() {
    for (const auto& group : groups)
      for (const auto& agent : group->agents)
        if (int flag = agent->awaitedFlag(); flag >= 0)
          add(*group, *agent, static_cast<uint32_t>(flag));
    constexpr size_t mostShown = 8;
    for (size_t k = 0; k < std::min(mostShown, found.size()); ++k)
      item.notes.push_back(std::move(found[k]));
    if (found.size() > mostShown)
      item.notes.push_back(
          {{}, "so it is with " + std::to_string(found.size() - mostShown) + " other sets"});
  }

private:
  void add(const CoreGroup& group, const Agent& waits, uint32_t flag) {
    bool cube = waits.view.cube, isSet = false;
    for (uint32_t mode = 0; mode < noMode; ++mode) {
      Cores setters = settersOf(groups, group, cube, mode);
      auto sets = [&](const Agent* a) {
        return a->setsOf(flag).count > 0 && a->setsOf(flag).mode == mode;
      };
      if (std::none_of(setters.begin(), setters.end(), sets))
        continue;
      isSet = true;
      addLeast(setters, flag, cube, mode);
    }
    if (!isSet)
      addNever(group, waits, flag);
    addOther(waits, flag);
  }

  /// Those that have set it least often.
  void addLeast(const Cores& setters, uint32_t flag, bool cube, uint32_t mode) {
    uint32_t least = UINT32_MAX;
    for (const Agent* a : setters)
      least = std::min(least, a->setsOf(flag).count);
    for (const Agent* a : setters)
      if (a->setsOf(flag).count == least)
        addSetter(*a, flag, "; " + rule(cube, mode, setters.size()));
  }

  void addSetter(const Agent& core, uint32_t flag, const std::string& why) {
    if (!told.insert({core.index, flag}).second)
      return;
    const Agent::CrossSets sets = core.setsOf(flag);
    std::string text = core.name(), number = std::to_string(flag);
    if (sets.count == 0)
      text += " has never set cross-core flag " + number;
    else if (sets.count == 1)
      text += " has set cross-core flag " + number + " once, here";
    else
      text += " has set cross-core flag " + number + " " + std::to_string(sets.count) +
              " times, the last time here";
    if (core.state == Agent::State::Done)
      text += ", and has ended";
    else if (core.state == Agent::State::WaitsCross)
      text += ", and waits itself";
    found.push_back({sets.last, text + core.describeQueuedSet(flag) + why});
  }

  /// Most flags without a set are those between the kinds.
  void addNever(const CoreGroup& group, const Agent& waits, uint32_t flag) {
    Cores setters = settersOf(groups, group, waits.view.cube, 2);
    uint32_t mode = setters.empty() ? 0 : 2;
    if (setters.empty())
      setters = settersOf(groups, group, waits.view.cube, mode);
    const std::string needed = rule(waits.view.cube, mode, setters.size());
    for (const Agent* a : setters)
      addSetter(*a, flag,
                a->setsOf(flag).count ? inMode(a->setsOf(flag).mode) + needed
                                      : "; no core has: " + needed);
  }
  /// Of a set that doesn't come to the core that waits.
  static std::string inMode(uint32_t mode) {
    return "; in mode " + std::to_string(mode) + " it reaches only " +
           (mode == 0   ? "cores of its own kind"
            : mode == 1 ? "the vector cores of its block"
                        : "the other kind of core") +
           ": ";
  }

  /// A set of another number.
  void addOther(const Agent& waits, uint32_t flag) {
    uint32_t other = waits.arrivedFlag();
    if (other < Agent::numUserFlags && other != flag && arrived.insert({waits.index, other}).second)
      found.push_back({waits.arrivedAt(other), "cross-core flag " + std::to_string(other) +
                                                   ", set here, has arrived at " + waits.name() +
                                                   " instead, where nothing has waited for it"});
  }

  const Groups& groups;
  ReportItem& item;
  std::vector<ReportNote> found;
  std::set<std::pair<uint32_t, uint32_t>> told, arrived; ///< core and flag
};

} // namespace

void noteSetters(const std::vector<std::unique_ptr<CoreGroup>>& groups, ReportItem& item) {
  Notes(groups, item).addAll();
}

} // namespace tilewright::ascend
