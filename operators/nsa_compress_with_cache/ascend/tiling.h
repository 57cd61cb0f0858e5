// SPDX-License-Identifier: Apache-2.0
// What the host side tells the kernel. C++17: the kernel's compiler reads it too.
#pragma once

#include <cstdint>

/// How the kernel reads a row of elements.
enum class NsaCompressRead : int32_t {
  Dense,   ///< weight: heads next to each other; input: rows of D, heads next to each other
  Rows,    ///< input only: elements of a row next to each other, heads anywhere
  Elements ///< any strides, element by element
};

/// Strides and offsets count elements; sizes too.
struct NsaCompressTiling {
  int64_t taskCount;    ///< firing sequences * head tiles
  int64_t firingCount;  ///< sequences that have just completed a block
  int64_t heads;        ///< N
  int64_t headDim;      ///< D
  int64_t headsPerTask; ///< at most 8
  int64_t blockTokens;  ///< compressBlockSize
  int64_t cacheRows;    ///< of outputCache

  int64_t hasBlockTable;
  int64_t pageTokens; ///< pageBlockSize
  int64_t pageCount;  ///< blockNum
  int64_t tableSequenceStride, tablePageStride, tableOffset;

  int64_t inputOffset;
  int64_t inputPageStride; ///< 0 without a block table
  int64_t inputTokenStride, inputHeadStride, inputElementStride;
  int64_t weightOffset, weightTokenStride, weightHeadStride;
  int64_t slotOffset, cacheOffset;

  NsaCompressRead inputRead;
  NsaCompressRead weightRead;
  int32_t isBfloat16;
  int32_t reserved;
};

/// One firing sequence, as the kernel finds it in the workspace.
struct NsaCompressSequence {
  int64_t sequence; ///< its row in slotMapping and blockTable
  int64_t
      firstToken; ///< of its last block: in the sequence, or (without a block table) in the input
};
