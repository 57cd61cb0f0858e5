/* SPDX-License-Identifier: Apache-2.0 */
/** Operators by name (aclop*) are not offered; operators are called through aclnnop/. */
#ifndef TILEWRIGHT_ACL_ACL_OP_H
#define TILEWRIGHT_ACL_ACL_OP_H
#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#endif
