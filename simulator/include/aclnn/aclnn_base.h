/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_ACLNN_ACLNN_BASE_H
#define TILEWRIGHT_ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"
#include "opdev/op_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Optional here: the operators need no preparation. `configPath` as in aclInit. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize();

#ifdef __cplusplus
}
#endif
#endif
