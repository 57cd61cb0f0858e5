// SPDX-License-Identifier: Apache-2.0
// Numbers the synchronisations of a kernel, so that one can be switched off when it runs.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H
#define TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H

#include "simulator/isa/instruction.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::ascend {

/// A site is a line of the kernel, the call, and its event id (or pipe). Numbers follow the order
/// of the first calls; with one host thread they are the same in each run.
class SyncSites {
public:
  /// `muted` is the number of the site that does nothing; -1: none. `count` false: don't number.
  SyncSites(int64_t muted, bool count) : muted(muted), counting(count || muted >= 0) {}

  bool isMuted(Place place, const char* what, int detail) {
    if (!counting)
      return false;
    std::lock_guard lock(mutex);
    auto key = std::make_tuple(std::string(place.file), place.line, std::string(what), detail);
    auto [it, isNew] = numbers.try_emplace(key, static_cast<int64_t>(numbers.size()));
    if (isNew)
      names.push_back(std::get<0>(key) + ":" + std::to_string(place.line) + " " + what + " " +
                      std::to_string(detail));
    return it->second == muted;
  }
  bool isCounting() const {
    return counting;
  }
  const std::vector<std::string>& all() const {
    return names;
  }

private:
  std::mutex mutex;
  std::map<std::tuple<std::string, uint32_t, std::string, int>, int64_t> numbers;
  std::vector<std::string> names;
  int64_t muted;
  bool counting;
};

} // namespace tilewright::ascend

#endif
