// SPDX-License-Identifier: Apache-2.0
// The address of the cross-core flags, which generated host code hands to its kernels.
#include "runtime/rt_ffts.h"

#include "acl/acl.h"
#include "simulator/acl/error_report.h"

using namespace tilewright::acl;

namespace {
/// No allocation of a device, so a kernel that takes it for memory is told so.
alignas(64) uint8_t flags[64];
} // namespace

rtError_t rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len) {
  return guarded("rtGetC2cCtrlAddr", [&](const Call& call) -> rtError_t {
    if (!addr || !len)
      return call.fail(ACL_ERROR_RT_PARAM_INVALID, addr ? "len" : "addr", " is null");
    *addr = reinterpret_cast<uint64_t>(flags);
    *len = sizeof flags;
    return RT_ERROR_NONE;
  });
}
