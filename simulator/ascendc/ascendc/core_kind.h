// SPDX-License-Identifier: Apache-2.0
// All that differs between the passes of a source: nothing else here may ask for a kind of core, because the driver
// precompiles the rest once for all of them (tools/tilewright-ascendc/precompiled.h) and has this read behind it.
#ifndef TILEWRIGHT_ASCENDC_CORE_KIND_H
#define TILEWRIGHT_ASCENDC_CORE_KIND_H

// The driver compiles a kernel once per kind of core; the host pass knows neither.
#if defined(__DAV_CUBE__)
constexpr int g_coreType = AscendC::AIC;
#elif defined(__DAV_VEC__)
constexpr int g_coreType = AscendC::AIV;
#else
constexpr int g_coreType = AscendC::MIX;
#endif

#if defined(__DAV_CUBE__) || defined(__DAV_VEC__)
#define KERNEL_TASK_TYPE_DEFAULT(type) TW_MARK_KIND(false, 0, type)
#define KERNEL_TASK_TYPE(key, type) TW_MARK_KIND(true, static_cast<uint64_t>(key), type)
#else
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert(true, "")
#define KERNEL_TASK_TYPE(key, type) static_assert(true, "")
#endif

#endif
