// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/core_meetings.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

constexpr int64_t kBetweenKinds = 2;

void join(StepsOver& known, const StepsOver& other) {
  for (size_t core = 0; core < kBlockCores; ++core)
    known[core] = std::max(known[core], other[core]);
}

class Replay {
public:
  explicit Replay(const std::array<CoreSteps, kBlockCores>& steps) : steps(steps) {}

  std::array<std::vector<StepsOver>, kBlockCores> run() {
    bool goesOn = true;
    while (goesOn) {
      goesOn = meet();
      for (size_t core = 0; core < kBlockCores; ++core)
        while (!isOver(core) && next(core).kind != CoreStep::Meet && step(core))
          goesOn = true;
    }
    return std::move(known);
  }

private:
  bool isOver(size_t core) const {
    return known[core].size() == steps[core].size();
  }
  const CoreStep& next(size_t core) const {
    return steps[core][known[core].size()];
  }

  /// False where the core must wait.
  bool step(size_t core) {
    const CoreStep& step = next(core);
    if (step.kind == CoreStep::Wait) {
      const size_t number = waits[{core, step.flag}];
      const StepsOver* told = setFor(core, step.flag, number);
      if (!told)
        return false;
      join(now[core], *told);
      ++waits[{core, step.flag}];
    }
    goOn(core);
    if (step.kind == CoreStep::Set)
      set(core, step);
    return true;
  }

  void goOn(size_t core) {
    known[core].push_back(now[core]);
    now[core][core] = static_cast<int64_t>(known[core].size());
  }

  void tell(bool isCube, int64_t flag, const StepsOver& what) {
    if (isCube) {
      told[{kCubeCore, flag}].push_back(what);
      return;
    }
    for (const size_t vector : {0, 1})
      told[{vector, flag}].push_back(what);
  }

  /// Who waits for vector cores waits for both.
  void set(size_t core, const CoreStep& step) {
    const bool isCube = core == kCubeCore, isBetween = step.mode == kBetweenKinds;
    if (isCube) {
      tell(!isBetween, step.flag, now[core]);
      return;
    }
    auto& half = halves[{step.flag, isBetween}];
    half[core].push_back(now[core]);
    const size_t number = half[core].size() - 1;
    if (half[1 - core].size() <= number)
      return;
    StepsOver both = now[core];
    join(both, half[1 - core][number]);
    tell(isBetween, step.flag, both);
  }

  const StepsOver* setFor(size_t core, int64_t flag, size_t number) {
    const std::vector<StepsOver>& all = told[{core, flag}];
    return number < all.size() ? &all[number] : nullptr;
  }

  /// All go on together that have come to it. A cube core that has no more meetings isn't waited for.
  bool meet() {
    StepsOver all{};
    std::vector<size_t> cores;
    for (size_t core = 0; core < kBlockCores; ++core) {
      if (core == kCubeCore && !hasMeeting(core))
        continue;
      if (isOver(core) || next(core).kind != CoreStep::Meet)
        return false;
      join(all, now[core]);
      cores.push_back(core);
    }
    for (const size_t core : cores) {
      join(now[core], all);
      goOn(core);
    }
    return true;
  }

  bool hasMeeting(size_t core) const {
    return std::any_of(steps[core].begin() + static_cast<int64_t>(known[core].size()),
                       steps[core].end(),
                       [](const CoreStep& step) { return step.kind == CoreStep::Meet; });
  }

  const std::array<CoreSteps, kBlockCores>& steps;
  std::array<std::vector<StepsOver>, kBlockCores> known;
  std::array<StepsOver, kBlockCores> now{};
  std::map<std::pair<size_t, int64_t>, std::vector<StepsOver>> told; ///< by core and flag
  std::map<std::pair<size_t, int64_t>, size_t> waits;
  /// By flag, and whether it is for the cube core: what each vector core has set.
  std::map<std::pair<int64_t, bool>, std::array<std::vector<StepsOver>, 2>> halves;
};

} // namespace

std::array<std::vector<StepsOver>, kBlockCores>
knownInSteps(const std::array<CoreSteps, kBlockCores>& steps) {
  return Replay(steps).run();
}

} // namespace tilewright::ascend::model
