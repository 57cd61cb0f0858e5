// SPDX-License-Identifier: Apache-2.0
// How findings name bytes of global memory: by the kernel's tensor and its elements where it has such names, else by
// the allocation.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_GLOBAL_NAMES_H
#define TILEWRIGHT_SIMULATOR_SYNC_GLOBAL_NAMES_H

#include "simulator/sync/core_hazards.h"

namespace tilewright::ascend {

/// "'C'[0, 0] to [15, 63]", or "GM bytes 0 to 4095 of an allocation of 16384 bytes": of `region`, in what `access` of
/// that core touches.
std::string globalBytes(const CoreHazards& core, const GlobalAccess& access, const Region& region);

/// The first of these alone; empty where the kernel has no name for it.
std::string globalElements(const CoreHazards& core, const GlobalAccess& access,
                           const Region& region);

/// The same beside a tensor that was told already: "[0, 0] to [15, 63]", or "bytes 0 to 4095".
std::string moreGlobalBytes(const CoreHazards& core, const GlobalAccess& access,
                            const Region& region);

/// Whether both say what they touch by the same tensor, or by none.
bool nameTheSame(const CoreHazards& core, const GlobalAccess& access, const CoreHazards& otherCore,
                 const GlobalAccess& other);

} // namespace tilewright::ascend

#endif
