/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel library of run_test.cpp: y[n] = f * x[n], one block per element; and
 * whether the scratch memory begins a page of 2 MB. */
#include "tilewright/kernel_abi.h"

#include <string.h>

void scale_grid(const uint64_t* slots, int64_t grid[3]) {
  grid[0] = (int64_t)slots[3];
  grid[1] = grid[2] = 1;
}

void scale_blocks(const uint64_t* slots, char* scratch, int64_t begin, int64_t end,
                  TwLaunch* launch) {
  const float* x = (const float*)slots[0];
  float* y = (float*)slots[1];
  float factor;
  memcpy(&factor, &slots[2], sizeof factor);
  (void)scratch;
  for (int64_t block = begin; block < end; ++block) {
    if (launch->stop)
      launch->leave(launch);
    y[block] = x[block] * factor;
  }
}

void aligned_grid(const uint64_t* slots, int64_t grid[3]) {
  scale_grid(slots, grid);
}

void aligned_blocks(const uint64_t* slots, char* scratch, int64_t begin, int64_t end,
                    TwLaunch* launch) {
  (void)launch;
  for (int64_t block = begin; block < end; ++block)
    ((float*)slots[1])[block] = (uintptr_t)scratch % (2u << 20) == 0;
}
