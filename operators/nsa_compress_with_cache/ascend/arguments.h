// SPDX-License-Identifier: Apache-2.0
/// The first phase: what is checked, and what the kernel is told.
#pragma once

#include "operators/nsa_compress_with_cache/ascend/tiling.h"
#include "simulator/acl/aclnn_objects.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::operators {

/// The arguments of aclnnNsaCompressWithCacheGetWorkspaceSize, as they came.
struct NsaCompressArguments {
  const aclTensor* input;
  const aclTensor* weight;
  const aclTensor* slotMapping;
  const aclIntArray* actSeqLen;
  const aclTensor* blockTable;
  const char* layout;
  int64_t compressBlockSize;
  int64_t compressStride;
  int64_t actSeqLenType;
  int64_t pageBlockSize;
  const aclTensor* outputCache;
};

/// The objects behind the handles.
struct NsaCompressObjects {
  std::shared_ptr<acl::Tensor> input, weight, slotMapping, blockTable, outputCache;
  std::shared_ptr<acl::Array<int64_t>> lengths;
};

/// A status and the sentence that says which parameter is wrong.
struct NsaCompressFault {
  aclnnStatus code = 0;
  std::string text;
  explicit operator bool() const {
    return code != 0;
  }
};

/// Every documented constraint, in the order: null, dtype and format, shape and attributes.
NsaCompressFault checkNsaCompress(const NsaCompressArguments& arguments,
                                  NsaCompressObjects& objects);

/// The sequences whose length has just completed a block. Lengths were checked.
std::vector<NsaCompressSequence> firingSequences(const std::vector<int64_t>& lengths,
                                                 int64_t blockSize, int64_t stride, bool isPacked);

/// How the kernel divides the work over `cores` vector cores.
NsaCompressTiling makeTiling(const NsaCompressArguments& arguments,
                             const NsaCompressObjects& objects, int64_t firingCount, int64_t cores);

/// What is wrong with the tables in device memory, for the firing sequences; empty if nothing. A
/// slot of -1 is allowed: the sequence is skipped.
std::string checkTables(const std::vector<NsaCompressSequence>& sequences,
                        const NsaCompressTiling& tiling, const int32_t* slots,
                        const int32_t* table);

} // namespace tilewright::operators
