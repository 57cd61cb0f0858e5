// SPDX-License-Identifier: Apache-2.0
// Qualifiers of functions and pointers, kernel kinds, and macros of the build.
#ifndef TILEWRIGHT_ASCENDC_QUALIFIERS_H
#define TILEWRIGHT_ASCENDC_QUALIFIERS_H

#include <cmath>
#include <cstdint>
#include <type_traits>

// `queue.template FreeTensor(tensor)`: the compilers of the chip, and g++, take it without arguments of the template.
#if defined(__clang__)
#if __has_warning("-Wmissing-template-arg-list-after-template-kw")
#pragma clang diagnostic ignored "-Wmissing-template-arg-list-after-template-kw"
#endif
#endif

#define __global__
#define __aicore__
#define __host_aicore__
#ifndef __forceinline__ // a library's own may stand before
#define __forceinline__ inline
#endif
#ifndef __host__
#define __host__
#endif
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

#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(g_coreType != AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(g_coreType != AscendC::AIV)

/// The kind of a kernel: which cores one block of it takes.
enum KernelMetaType {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
};
namespace AscendC {
template <int cubes, int vectors> constexpr KernelMetaType twKindOfMix() {
  static_assert((cubes == 1 && vectors >= 0 && vectors <= 2) || (cubes == 0 && vectors == 1),
                "__mix__ has other numbers than (1, 2), (1, 1), (1, 0) and (0, 1)");
  return cubes == 0     ? KERNEL_TYPE_MIX_AIV_1_0
         : vectors == 2 ? KERNEL_TYPE_MIX_AIC_1_2
         : vectors == 1 ? KERNEL_TYPE_MIX_AIC_1_1
                        : KERNEL_TYPE_MIX_AIC_1_0;
}
} // namespace AscendC
// A mark in the kernel's object, in which the driver finds it wherever it came from: macros, templates, branches of the
// preprocessor, other functions (tools/tilewright-ascendc/object_file.h). The code around it names its address: a
// kernel that calls such a function has it after inlining, too. One declaration, for any place that may have one.
#define TW_MARK_KIND(isKeyed, key, type) TW_MARK_KIND_AS(isKeyed, key, type, __COUNTER__)
#define TW_MARK_KIND_AS(isKeyed, key, type, number)                                                \
  TW_MARK_KIND_NUMBERED(isKeyed, key, type, number)
#define TW_MARK_KIND_NUMBERED(isKeyed, key, type, number)                                          \
  TW_MARK_KIND_NAMED(isKeyed, key, type, tilewrightKind##number, tilewrightSaid##number)
#define TW_MARK_KIND_NAMED(isKeyed, key, type, name, said)                                         \
  [[maybe_unused]] const bool said = [] {                                                          \
    static const struct {                                                                          \
      uint64_t twKeyed, twKey, twKind, twLine;                                                     \
      char twFile[sizeof __FILE__];                                                                \
    } name __attribute__((used)) = {isKeyed, key, type, __LINE__, __FILE__};                       \
    asm volatile("" : : "r"(&name));                                                               \
    return true;                                                                                   \
  }()
#ifndef TILEWRIGHT_KINDS_LATER
#include "core_kind.h"
#endif
/// The driver writes these for a `__mix__` whose numbers only the preprocessor knows: the kind of the body around it,
/// and the section of a kernel whose head comes from a macro.
#define TW_KIND_OF_MIX(cubes, vectors) (::AscendC::twKindOfMix<(cubes), (vectors)>())
#define TW_MIX_SECTION(cubes, vectors)                                                             \
  __attribute__((section(".text.tilewrightKindM" TW_TEXT(cubes) "_" TW_TEXT(vectors))))
#define TW_TEXT(words) TW_TEXT_OF(words)
#define TW_TEXT_OF(words) #words
#define ENABLE_PRINTF() static_assert(true, "")

// Built into the compilers of the chip. No macros, so that a kernel's own may have these names.
template <class T> constexpr bool likely(const T& condition) {
  return __builtin_expect(static_cast<bool>(condition), true);
}
template <class T> constexpr bool unlikely(const T& condition) {
  return __builtin_expect(static_cast<bool>(condition), false);
}

// So are these, of scalars that may have two types. The packs make them the last choice where there are others: those of
// <algorithm>, or a kernel's own.
template <class Left, class Right, class... None>
constexpr std::enable_if_t<sizeof...(None) == 0, std::common_type_t<Left, Right>>
min(Left left, Right right, None...) {
  const auto a = static_cast<std::common_type_t<Left, Right>>(left);
  const auto b = static_cast<std::common_type_t<Left, Right>>(right);
  return b < a ? b : a;
}
template <class Left, class Right, class... None>
constexpr std::enable_if_t<sizeof...(None) == 0, std::common_type_t<Left, Right>>
max(Left left, Right right, None...) {
  const auto a = static_cast<std::common_type_t<Left, Right>>(left);
  const auto b = static_cast<std::common_type_t<Left, Right>>(right);
  return a < b ? b : a;
}

#endif
