// SPDX-License-Identifier: Apache-2.0
// Printing and assertions in kernels.
#ifndef TILEWRIGHT_ASCENDC_DEBUG_H
#define TILEWRIGHT_ASCENDC_DEBUG_H

#include "tensors.h"

#include <cassert> // the interface has assert
#include <cstdarg>
#include <cstdio>
#include <initializer_list>
#include <string>

namespace AscendC {

inline void twPrintFormatted(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline void twPrintFormatted(const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  twHost::printKernel(text);
}
/// %f takes the small formats, too; as they are, they would not fit an argument list.
template <class T> auto twPrintable(T value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>)
    return static_cast<double>(static_cast<float>(value));
  else
    return value;
}
template <class... Args> void PRINTF(const char* format, Args... args) {
  char text[4096];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
  snprintf(text, sizeof text, format, twPrintable(args)...);
#pragma GCC diagnostic pop
  twHost::printKernel(text);
}
template <class... Args> void printf(const char* format, Args... args) {
  PRINTF(format, args...);
}

template <class Tensor>
void twDumpTensor(const char* name, const Tensor& tensor, uint32_t description, uint32_t count,
                  TwPlace place) {
  char text[128];
  snprintf(text, sizeof text, "%s %u: %u elements of block %lld\n", name, description, count,
           static_cast<long long>(GetBlockIdx()));
  // At once: other cores print, too.
  std::string all = text;
  for (uint32_t i = 0; i < count; ++i) {
    snprintf(text, sizeof text, "%g%s", static_cast<double>(tensor.GetValue(i, place)),
             i % 16 == 15 || i + 1 == count ? "\n" : " ");
    all += text;
  }
  twHost::printKernel(all.c_str());
}
template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count,
                TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpTensor", tensor, description, count, place);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t description, uint32_t count,
                TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpTensor", tensor, description, count, place);
}
template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count,
                const ShapeInfo&, TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpTensor", tensor, description, count, place);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t description, uint32_t count,
                const ShapeInfo&, TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpTensor", tensor, description, count, place);
}
/// Elements from `offset` on.
template <class T>
void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t offset, uint32_t count,
                     TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpAccChkPoint", tensor[offset], index, count, place);
}
template <class T>
void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t offset, uint32_t count,
                     TwPlace place = TwPlace::here()) {
  twDumpTensor("DumpAccChkPoint", tensor[offset], index, count, place);
}
inline void PrintTimeStamp(uint32_t description) {
  char text[64];
  snprintf(text, sizeof text, "time stamp %u: %lld\n", description,
           static_cast<long long>(twHost::systemCycle()));
  twHost::printKernel(text);
}
inline int64_t GetSystemCycle() {
  return twHost::systemCycle();
}
[[noreturn]] inline void Trap(TwPlace place = TwPlace::here()) {
  twHost::failKernel("Trap was called", place);
}

/// The user's words stand behind the condition; a macro adds a number to all that it is given.
template <class... Args>
[[noreturn]] void twFailAssertion(TwPlace place, const char* condition, const char* format,
                                  Args... args) {
  char words[1024], text[2048];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
  snprintf(words, sizeof words, format, twPrintable(args)...);
#pragma GCC diagnostic pop
  snprintf(text, sizeof text, "assertion failed: %s%s%s", condition, *words ? ": " : "", words);
  twHost::failKernel(text, place);
}
template <class... Args>
[[noreturn]] void twFailAssertion(TwPlace place, const char* condition, int, Args...) {
  twFailAssertion(place, condition, "", 0);
}

/// What the kernel of a tile language asks of its numbers, in a sentence of its compiler.
template <class... Args>
[[noreturn]] void twFailRequirement(TwPlace place, const char* format, Args... args) {
  char text[2048];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
  snprintf(text, sizeof text, format, twPrintable(args)...);
#pragma GCC diagnostic pop
  twHost::failKernel(text, place);
}

/// What a tile language's compiler can't prove of a part of a tile: that it lies within. Where it doesn't, the kernel ends.
inline void twRequirePart(TwPlace place, const char* tile, bool isWritten, bool isTransposed,
                          std::initializer_list<twHost::PartDim> part,
                          std::initializer_list<twHost::PartDim> tensor) {
  for (const twHost::PartDim& dim : part)
    if (dim.first < 0 || dim.first + dim.extent > dim.size) {
      twHost::requirePart(
          {tile, isWritten, isTransposed, part.begin(), part.size(), tensor.begin(), tensor.size()},
          place);
      return;
    }
}

} // namespace AscendC

#define TW_ASSERT(condition, ...)                                                                  \
  ((condition)                                                                                     \
       ? (void)0                                                                                   \
       : ::AscendC::twFailAssertion(::tilewright::ascend::Place::here(), #condition, __VA_ARGS__))
#define ascendc_assert(...) TW_ASSERT(__VA_ARGS__, 0)
#ifndef ASSERT
#define ASSERT(...) TW_ASSERT(__VA_ARGS__, 0)
#endif
#ifndef ASCENDC_ASSERT
#define ASCENDC_ASSERT(condition, behaviour) TW_ASSERT(condition, 0)
#endif
#define KERNEL_LOG(level, ...) ((void)0)
#define TRACE_START(id) ((void)0)
#define TRACE_STOP(id) ((void)0)

#endif
