/* SPDX-License-Identifier: Apache-2.0 */
/* The headers are C: this file only has to compile as C11. */
#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "aclnnop/level2/aclnn_nsa_compress_with_cache.h"

aclError tilewrightUseAclFromC(void);

aclError tilewrightUseAclFromC(void) {
  size_t bytes = aclDataTypeSize(ACL_FLOAT16);
  return bytes == 2 && ACLNN_ERR_PARAM_NULLPTR == 161001 ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
