// SPDX-License-Identifier: Apache-2.0
// The name under which older host programs find GmAlloc, GmFree and ICPU_RUN_KF.
#ifndef TILEWRIGHT_ASCENDC_TIKICPULIB_H
#define TILEWRIGHT_ASCENDC_TIKICPULIB_H
#include "kernel_operator.h"
#endif
