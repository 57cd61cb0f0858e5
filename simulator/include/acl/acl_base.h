/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_ACL_ACL_BASE_H
#define TILEWRIGHT_ACL_ACL_BASE_H
#include "acl/acl_base_mdl.h"
#include "acl/acl_base_rt.h"
#endif
