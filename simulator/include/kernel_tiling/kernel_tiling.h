// SPDX-License-Identifier: Apache-2.0
/// Tiling structures as kernels take them.
#ifndef TILEWRIGHT_KERNEL_TILING_H
#define TILEWRIGHT_KERNEL_TILING_H

#include "ascendc/tiling_structures.h"

#endif
