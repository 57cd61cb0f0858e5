/* SPDX-License-Identifier: Apache-2.0 */
/** Offline models (aclmdl*) are not offered: this header exists so that programs which include it
 * compile. */
#ifndef TILEWRIGHT_ACL_ACL_MDL_H
#define TILEWRIGHT_ACL_ACL_MDL_H
#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#endif
