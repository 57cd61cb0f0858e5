// SPDX-License-Identifier: Apache-2.0
// Numbers the synchronisations of a kernel, so that one can be switched off when it runs.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H
#define TILEWRIGHT_SIMULATOR_MACHINE_SYNC_SITES_H

#include "simulator/launch.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// A site is a line of the kernel, the call, and its event id (or pipe); or both ends of a flag.
/// Numbers follow the order of the first calls, so a random order of execution changes them: there,
/// a site is muted by its text. The launch has one host thread while sites are counted.
class SyncSites {
public:
  explicit SyncSites(const LaunchOptions& options)
      : muted(options.mutedSync), mutedText(options.mutedSyncText),
        counting(options.countSyncs || muted >= 0 || !mutedText.empty()) {}

  bool isCounting() const {
    return counting;
  }
  /// Notes a call of the site `text`; true if it shall do nothing.
  bool isMuted(const std::string& text) {
    auto [it, isNew] = numbers.try_emplace(text, static_cast<int64_t>(numbers.size()));
    if (isNew)
      texts.push_back(text);
    bool isIt = it->second == muted || (!mutedText.empty() && text == mutedText);
    found = found || isIt;
    return isIt;
  }
  const std::vector<std::string>& all() const {
    return texts;
  }
  /// Why nothing was muted although something should be; empty if all is well.
  std::string complaint() const {
    if (found || (muted < 0 && mutedText.empty()))
      return {};
    return "mute=" + (mutedText.empty() ? std::to_string(muted) : mutedText) +
           " names no synchronisation of this launch, which has " + std::to_string(texts.size()) +
           "; list-syncs prints them";
  }

private:
  std::map<std::string, int64_t> numbers;
  std::vector<std::string> texts;
  int64_t muted;
  std::string mutedText;
  bool counting;
  bool found = false;
};

} // namespace tilewright::ascend

#endif
