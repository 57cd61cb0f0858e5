/* SPDX-License-Identifier: Apache-2.0 */
/** The acl C interface: initialisation, and all of acl_rt.h. */
#ifndef TILEWRIGHT_ACL_ACL_H
#define TILEWRIGHT_ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Starts the use of acl. `configPath` may be null; a path that cannot be read is an error, its
 * content is ignored. A further call is counted and returns ACL_ERROR_REPEAT_INITIALIZE. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
/** Ends it: the last of as many calls as aclInit releases every device. */
ACL_FUNC_VISIBILITY aclError aclFinalize();
/** What the calling thread's last failed call said, or null; the text is cleared and stays readable
 * until the thread's next failure. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg();

#ifdef __cplusplus
}
#endif
#endif
