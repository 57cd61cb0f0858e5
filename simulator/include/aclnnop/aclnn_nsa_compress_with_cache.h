/* SPDX-License-Identifier: Apache-2.0 */
/** NsaCompressWithCache: compresses the last block of tokens of each sequence that has just
 * completed one. Meaning, every check and its code: operators/nsa_compress_with_cache/README.md. */
#ifndef TILEWRIGHT_ACLNNOP_ACLNN_NSA_COMPRESS_WITH_CACHE_H
#define TILEWRIGHT_ACLNNOP_ACLNN_NSA_COMPRESS_WITH_CACHE_H

#include "acl/acl_rt.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Checks the arguments and prepares an executor.
 *  input:        float16 or bfloat16, [blockNum, pageBlockSize, N, D]; without a block table [T, N,
 * D] weight:       the same dtype, [compressBlockSize, N] slotMapping:  int32, [B]: the row of
 * outputCache that a sequence's compressed token goes to actSeqLen:    B lengths, in tokens
 *  blockTable:   int32, [B, blocks per sequence], or null
 *  outputCache:  the same dtype, [rows, N, D]; rows that no sequence writes keep their values
 *  Returns 161001 (null), 161002 (dtype, format, empty, strided where it may not be), 561002
 * (shape, attribute). */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNsaCompressWithCacheGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* slotMapping,
    const aclIntArray* actSeqLenOptional, const aclTensor* blockTableOptional, char* layoutOptional,
    int64_t compressBlockSize, int64_t compressStride, int64_t actSeqLenType, int64_t pageBlockSize,
    aclTensor* outputCache, uint64_t* workspaceSize, aclOpExecutor** executor);
/** Enqueues the operator on `stream`; the result stands in outputCache after the stream is
 * synchronised. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnNsaCompressWithCache(void* workspace, uint64_t workspaceSize,
                                                          aclOpExecutor* executor,
                                                          aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
