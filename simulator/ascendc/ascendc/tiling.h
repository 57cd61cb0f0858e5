// SPDX-License-Identifier: Apache-2.0
// Tiling data, workspaces, tiling keys, and the older ways to launch a kernel.
#ifndef TILEWRIGHT_ASCENDC_TILING_H
#define TILEWRIGHT_ASCENDC_TILING_H

#include "letters_begin.h"

#include "launch.h"
#include "tensors.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

/// A struct of a kernel's tiling, copied from GM.
#define GET_TILING_DATA_WITH_STRUCT(Struct, name, address)                                         \
  Struct name;                                                                                     \
  std::memcpy(&name,                                                                               \
              ::AscendC::twHost::scalarAccess(                                                     \
                  {reinterpret_cast<uint64_t>(address), 0, ::tilewright::ascend::Space::GM,        \
                   ::tilewright::ascend::DType::U8},                                               \
                  sizeof(Struct), false, ::tilewright::ascend::Place::here()),                     \
              sizeof(Struct))
/// The struct that REGISTER_TILING_DEFAULT named.
#define REGISTER_TILING_DEFAULT(Struct) using TilingDataOfKernel = Struct
#define GET_TILING_DATA(name, address)                                                             \
  GET_TILING_DATA_WITH_STRUCT(TilingDataOfKernel, name, address)
#define TILING_KEY_IS(key) (::AscendC::twHost::agentView().tilingKey == static_cast<uint64_t>(key))

namespace AscendC {

inline void SetSysWorkspace(GM_ADDR workspace) {
  twHost::agentView().systemWorkspace = workspace;
}
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) {
  return workspace;
}
inline GM_ADDR GetSysWorkSpacePtr() {
  return static_cast<GM_ADDR>(twHost::agentView().systemWorkspace);
}

/// GM for host programs without a runtime; zeros. Null if there is not as much.
inline void* GmAlloc(size_t bytes) {
  size_t rounded = (bytes + 511) / 512 * 512;
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(512, rounded);
  if (!memory)
    return nullptr;
  std::memset(memory, 0, rounded);
  twHost::addGlobalMemory(memory, bytes);
  return memory;
}
inline void GmFree(void* memory) {
  if (twHost::removeGlobalMemory(memory))
    std::free(memory);
  else if (memory)
    std::fprintf(stderr, "error: GmFree of %p, which GmAlloc did not give or which is free\n",
                 memory);
}
enum class KernelMode { AIV_MODE, AIC_MODE, MIX_MODE, MIX_AIC_1_1 };
inline void SetKernelMode(KernelMode) {} // the kernel's source tells

/// Scalar access to GM beside the data cache.
template <class T> T ReadGmByPassDCache(__gm__ T* address, TwPlace place = TwPlace::here()) {
  return *static_cast<const T*>(twHost::uncachedScalarAccess(
      {reinterpret_cast<uint64_t>(address), 0, TwSpace::GM, TwDTypeOf<T>::value}, sizeof(T), false,
      place));
}
template <class T>
void WriteGmByPassDCache(__gm__ T* address, T value, TwPlace place = TwPlace::here()) {
  *static_cast<T*>(twHost::uncachedScalarAccess(
      {reinterpret_cast<uint64_t>(address), 0, TwSpace::GM, TwDTypeOf<T>::value}, sizeof(T), true,
      place)) = value;
}

} // namespace AscendC

namespace tilewright::ascend {

inline uint64_t& tilingKeyOfNextLaunch() {
  static uint64_t key = 0;
  return key;
}
/// ICPU_RUN_KF: runs the kernel and waits.
template <class... Parameters, class... Arguments>
void runKernelNow(Place place, void (*kernel)(Parameters...), uint32_t blocks,
                  Arguments... arguments) {
  PreparedLaunch<Parameters...> prepared(kernel, blocks, nullptr, place);
  prepared.runNow(tilingKeyOfNextLaunch(), static_cast<std::decay_t<Parameters>>(arguments)...);
}
/// An argument as older hosts hand it over: of pointers, they know only that they are some.
template <class T>
using LegacyArgument =
    std::conditional_t<std::is_pointer_v<std::decay_t<T>>, const volatile void*, std::decay_t<T>>;
template <class T> std::decay_t<T> fromLegacyArgument(LegacyArgument<T> argument) {
  if constexpr (std::is_pointer_v<std::decay_t<T>>)
    return const_cast<std::decay_t<T>>(
        static_cast<const volatile std::remove_pointer_t<std::decay_t<T>>*>(argument));
  else
    return argument;
}
/// ACLRT_LAUNCH_KERNEL(k)(blocks, stream, arguments...).
template <class... Parameters>
auto legacyLaunch(void (*kernel)(Parameters...), Place place = Place::here()) {
  return [kernel, place](uint32_t blocks, void* stream, LegacyArgument<Parameters>... arguments) {
    PreparedLaunch<Parameters...>(kernel, blocks, stream,
                                  place)(fromLegacyArgument<Parameters>(arguments)...);
    return uint32_t{0};
  };
}

} // namespace tilewright::ascend

// Sources that don't say `using namespace AscendC` find these all the same.
using AscendC::GetSysWorkSpacePtr;
using AscendC::KernelMode;

#define ICPU_RUN_KF(kernel, blocks, ...)                                                           \
  ::tilewright::ascend::runKernelNow(::tilewright::ascend::Place::here(), kernel, blocks,          \
                                     __VA_ARGS__)
#define ICPU_SET_TILING_KEY(key) (::tilewright::ascend::tilingKeyOfNextLaunch() = (key))
#define ACLRT_LAUNCH_KERNEL(kernel) ::tilewright::ascend::legacyLaunch(kernel)

#include "letters_end.h"

#endif
