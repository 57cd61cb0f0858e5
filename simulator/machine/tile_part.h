// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/machine/kernel_api.h"

#include <string>

namespace tilewright::ascend {

/// "'x' is read at [5, 0] to [8, 23], but its shape is (8, 24)"; empty if the part lies within, or nothing of it is moved.
std::string outsideOf(const TilePart& part);

} // namespace tilewright::ascend
