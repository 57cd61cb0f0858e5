// SPDX-License-Identifier: Apache-2.0
// Numbers the synchronisations of a kernel, so that some can be switched off when it runs.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H
#define TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H

#include "simulator/launch.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// A site is a line of the kernel, the call, and its event id (or pipe); or both ends of a flag.
/// Numbers follow the order of the first calls, so a random order of execution changes them: there,
/// a site is muted by its text. The launch has one host thread while sites are counted.
class SyncSites {
public:
  explicit SyncSites(const LaunchOptions& options)
      : muted(options.mutedSync),
        mutedTexts(options.mutedSyncTexts.begin(), options.mutedSyncTexts.end()),
        unfound(mutedTexts), counting(options.countSyncs || muted >= 0 || !mutedTexts.empty()) {
    if (muted >= 0)
      unfound.insert(std::to_string(muted));
  }

  bool isCounting() const {
    return counting;
  }
  /// Notes a call of the site `text`; true if it shall do nothing.
  bool isMuted(const std::string& text) {
    auto [it, isNew] = numbers.try_emplace(text, static_cast<int64_t>(numbers.size()));
    if (isNew)
      texts.push_back(text);
    const bool isNumber = it->second == muted;
    if (!isNumber && !mutedTexts.contains(text))
      return false;
    unfound.erase(isNumber ? std::to_string(muted) : text);
    return true;
  }
  const std::vector<std::string>& all() const {
    return texts;
  }
  /// Why nothing was muted although something should be; empty if all is well.
  std::string complaint() const {
    if (unfound.empty())
      return {};
    return "mute=" + *unfound.begin() + " names no synchronisation of this launch, which has " +
           std::to_string(texts.size()) + "; list-syncs prints them";
  }

private:
  std::map<std::string, int64_t> numbers;
  std::vector<std::string> texts;
  int64_t muted;
  std::set<std::string> mutedTexts;
  std::set<std::string> unfound;
  bool counting;
};

} // namespace tilewright::ascend

#endif
