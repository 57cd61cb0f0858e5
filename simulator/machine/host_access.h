// SPDX-License-Identifier: Apache-2.0
// Tells of host code that touches device memory through its pointer: on a chip it can't.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_HOST_ACCESS_H
#define TILEWRIGHT_SIMULATOR_MACHINE_HOST_ACCESS_H

#include "simulator/launch.h"

#include <cstddef>

namespace tilewright::ascend {

/// From now on, host code that touches the first pages of this memory is told of, once, and goes on; except while an
/// OpenDeviceMemory lives. `base` is the start of a page, and the pages are nobody else's. Only for so many blocks at a
/// time: false if there are too many.
TILEWRIGHT_EXPORT bool closeToHost(void* base, size_t bytes);
/// Before the memory is given back.
TILEWRIGHT_EXPORT void forgetClosed(void* base);

/// While one lives, in any thread, all memory is open: a kernel runs, or the runtime copies.
class TILEWRIGHT_EXPORT OpenDeviceMemory {
public:
  OpenDeviceMemory();
  ~OpenDeviceMemory();
  OpenDeviceMemory(const OpenDeviceMemory&) = delete;
  OpenDeviceMemory& operator=(const OpenDeviceMemory&) = delete;
};

} // namespace tilewright::ascend

#endif
