// SPDX-License-Identifier: Apache-2.0
// The cores of one block: an AIC with its AIVs, or one of them alone. They share a host thread.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_CORE_GROUP_H
#define TILEWRIGHT_SIMULATOR_MACHINE_CORE_GROUP_H

#include "simulator/machine/agent.h"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace tilewright::ascend {

/// A flag set for all cores of a kind (mode 0) or all cores (mode 3, SyncAll<false>), or a notice.
struct GlobalSet {
  static constexpr uint32_t noticeMode = 4;
  Agent* from;
  uint32_t mode, flag;
  RemoteClockRef clock;
  Place place;
  uint64_t key = 0; ///< of a notice
};

/// Of a launch.
struct RunState {
  std::atomic<bool> takesTooLong{false}; ///< cores are being ended
  std::atomic<bool> someHaveFailed{
      false}; ///< with an error: if it takes too long, no further core starts
  std::atomic<bool> isStopped{false}; ///< no core goes on
};

class CoreGroup {
public:
  CoreGroup(SyncSites& sites, uint32_t block, KernelType type)
      : block(block), faultStatus(faultStatusOf(type)), syncSites(sites) {}

  /// Runs the cores in turn until each has ended or waits for another group.
  void run(const RunState& launch);
  bool isFinished() const;
  /// A cross-core flag of one of the group's cores. Modes 1 and 2 stay in the group.
  void crossSet(Agent& from, uint32_t mode, uint32_t flag, const Clock& clock,
                const RemoteClockRef& remote, uint32_t site);
  /// Between rounds, when atomic additions have reached memory: the flags that come after them.
  void deliverHeld();
  /// At the end of the launch: flags that one vector core has set but not the other.
  void checkHalves();
  void notify(Agent& from, uint64_t key, const Clock& clock, const RemoteClockRef& remote);
  SyncSites& sites() {
    return syncSites;
  }

  const uint32_t block;
  const int32_t faultStatus;
  std::vector<std::unique_ptr<Agent>> agents; ///< the AIC first
  std::vector<GlobalSet> globalSets;          ///< of this round, in order
  bool ranSomething = false;
  void* mail[4] = {}; ///< messages among the group's cores

private:
  /// How often the flag has arrived at one of the cores without a wait.
  size_t mostArrivals(bool cube, uint32_t flag) const;
  void reach(Agent& from, uint32_t mode, uint32_t flag, const RemoteClockRef& clock, uint32_t site);

  SyncSites& syncSites;
  struct HeldSet {
    Agent* from;
    uint32_t mode, flag, site;
    RemoteClockRef clock;
  };
  std::vector<HeldSet> held;
  /// Sets by each AIV that still wait for the other AIV.
  struct Half {
    RemoteClockRef clock;
    Place place;
  };
  std::map<std::tuple<uint32_t, uint32_t>, std::vector<Half>[2]>
      halves; ///< of mode and flag, by sub-block
};

} // namespace tilewright::ascend

#endif
