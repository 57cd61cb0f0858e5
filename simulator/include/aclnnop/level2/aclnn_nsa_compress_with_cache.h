/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_ACLNNOP_LEVEL2_ACLNN_NSA_COMPRESS_WITH_CACHE_H
#define TILEWRIGHT_ACLNNOP_LEVEL2_ACLNN_NSA_COMPRESS_WITH_CACHE_H
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#endif
