// SPDX-License-Identifier: Apache-2.0
/// How flags and meetings order the cores of one block, one step after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tilewright::ascend::model {

/// The cores of a block: two vector cores and the cube core.
inline constexpr size_t kBlockCores = 3, kCubeCore = 2;

/// How many steps of each core are over.
using StepsOver = std::array<int64_t, kBlockCores>;

/// What a core does that others may wait for; a use is anything that doesn't.
struct CoreStep {
  enum Kind { Use, Set, Wait, Meet } kind = Use;
  int64_t flag = 0;
  int64_t mode = 0; ///< of a set: between the kinds of core, else among those of one kind
};

using CoreSteps = std::vector<CoreStep>;

/// For each step of each core that it comes to: what it knows by then of all of them. What follows a wait that nothing ends isn't
/// there.
std::array<std::vector<StepsOver>, kBlockCores>
knownInSteps(const std::array<CoreSteps, kBlockCores>& steps);

} // namespace tilewright::ascend::model
