// SPDX-License-Identifier: Apache-2.0
// Ascend C for arch 2201 on the host. Written from the documented interface. C++17.
#ifndef TILEWRIGHT_ASCENDC_KERNEL_OPERATOR_H
#define TILEWRIGHT_ASCENDC_KERNEL_OPERATOR_H

#include "ascendc/letters_begin.h"

#include "ascendc/advanced.h"
#include "ascendc/constants.h"
#include "ascendc/copies.h"
#include "ascendc/cube.h"
#include "ascendc/debug.h"
#include "ascendc/enums.h"
#include "ascendc/global_memory.h"
#include "ascendc/launch.h"
#include "ascendc/numbers.h"
#include "ascendc/qualifiers.h"
#include "ascendc/queues.h"
#include "ascendc/row_functions.h"
#include "ascendc/scalar.h"
#include "ascendc/selections.h"
#include "ascendc/sync.h"
#include "ascendc/tensors.h"
#include "ascendc/tiling.h"
#include "ascendc/transposes.h"
#include "ascendc/vector.h"

#include "ascendc/letters_end.h"

#endif
