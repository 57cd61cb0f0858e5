/* SPDX-License-Identifier: Apache-2.0 */
/** What host code that starts mixed kernels asks for: the address by which cores set flags for each other. */
#ifndef TILEWRIGHT_RUNTIME_RT_FFTS_H
#define TILEWRIGHT_RUNTIME_RT_FFTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t rtError_t;
static const int32_t RT_ERROR_NONE = 0;

/** An address for kernels to pass on (AscendC::SetSyncBaseAddr), and its length in bytes. The host's kernels need
 *  neither, as their flags have no address, and may not read or write there. ACL_ERROR_RT_PARAM_INVALID if one is null. */
__attribute__((visibility("default"))) rtError_t rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len);

#ifdef __cplusplus
}
#endif

#endif
