// SPDX-License-Identifier: Apache-2.0
// Qualifiers of functions and pointers, kernel kinds, and macros of the build.
#ifndef TILEWRIGHT_ASCENDC_QUALIFIERS_H
#define TILEWRIGHT_ASCENDC_QUALIFIERS_H

#include <cmath>
#include <cstdint>
#include <type_traits>

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __ssbuf__
#define __vector__
#define __cube__
#define __mix__(...)
#define __inout_pipe__(...)
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __sync_alias__
#ifndef __WORKGROUP__
#define __WORKGROUP__
#endif
#define GM_ADDR __gm__ uint8_t*
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif

namespace AscendC {
constexpr int AIC = 0;
constexpr int AIV = 1;
constexpr int MIX = 2;
} // namespace AscendC

// The driver compiles a kernel once per kind of core; the host pass knows neither.
#if defined(__DAV_CUBE__)
constexpr int g_coreType = AscendC::AIC;
#elif defined(__DAV_VEC__)
constexpr int g_coreType = AscendC::AIV;
#else
constexpr int g_coreType = AscendC::MIX;
#endif
#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(g_coreType != AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(g_coreType != AscendC::AIV)

// The driver reads the kind of a kernel from its source.
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert(true, "")
#define KERNEL_TASK_TYPE(key, type) static_assert(true, "")
#define ENABLE_PRINTF() static_assert(true, "")

#endif
