// SPDX-License-Identifier: Apache-2.0
// Tiling structures of the advanced functions: what the host computes and a kernel hands on. Only the
// shapes matter here; how the chip would split the work does not.
#ifndef TILEWRIGHT_ASCENDC_TILING_STRUCTURES_H
#define TILEWRIGHT_ASCENDC_TILING_STRUCTURES_H

#include <cstdint>

#include "letters_begin.h"

struct SoftMaxTiling {
  uint32_t srcM = 0, srcK = 0, srcSize = 0;
  uint32_t outMaxM = 0, outMaxK = 0, outMaxSize = 0;
  uint32_t splitM = 0, splitK = 0, splitSize = 0;
  uint32_t reduceM = 0, reduceK = 0, reduceSize = 0;
  uint32_t rangeM = 0, tailM = 0, tailSplitSize = 0, tailReduceSize = 0;
};
struct LayerNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
struct LayerNormSeparateTiling {
  uint32_t aLength = 0, rLength = 0;
};
struct RmsNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
};
struct PadTiling {
  uint32_t srcHeight = 0, srcWidth = 0, srcOriWidth = 0, dstWidth = 0;
};
struct UnPadTiling {
  uint32_t srcHeight = 0, srcWidth = 0;
};
struct TopkTiling {
  uint32_t tmpLocalSize = 0;
};
/// Of Matmul. Sizes in elements; `single...` of one core's part, `base...` of one tile.
struct TCubeTiling {
  int32_t usedCoreNum = 1;
  int32_t M = 0, N = 0, Ka = 0, Kb = 0;
  int32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0;
  int32_t baseM = 0, baseN = 0, baseK = 0;
  int32_t depthA1 = 1, depthB1 = 1, stepM = 1, stepN = 1, stepKa = 1, stepKb = 1;
  int32_t isBias = 0, transLength = 0, iterateOrder = 0;
  int32_t shareMode = 0, shareL1Size = 0, shareL0CSize = 0, shareUbSize = 0;
  int32_t batchM = 0, batchN = 0, dbL0A = 1, dbL0B = 1, dbL0C = 1;
};

#include "letters_end.h"

#endif
