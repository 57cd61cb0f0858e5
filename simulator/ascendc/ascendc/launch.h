// SPDX-License-Identifier: Apache-2.0
// What the driver makes of `kernel<<<blocks, l2, stream>>>(arguments)`.
#ifndef TILEWRIGHT_ASCENDC_LAUNCH_H
#define TILEWRIGHT_ASCENDC_LAUNCH_H

#include "../../launch.h"

#include <utility>

#include "letters_begin.h"

// The linker names the line that takes the address of a kernel, which may be nowhere.
#ifdef __clang__
#define TILEWRIGHT_USERS_LINE [[gnu::nodebug]]
#else
#define TILEWRIGHT_USERS_LINE
#endif

namespace tilewright::ascend {

template <class... Parameters> class PreparedLaunch {
public:
  TILEWRIGHT_USERS_LINE PreparedLaunch(void (*kernel)(Parameters...), uint32_t blocks, void* stream,
                                       Place place)
      : kernel(kernel), blocks(blocks), stream(stream), place(place) {}

  TILEWRIGHT_USERS_LINE void operator()(std::decay_t<Parameters>... arguments) const {
    enqueueCall(stream, callOf(std::move(arguments)...));
  }
  /// Runs the kernel on this thread's time and prints what is found.
  TILEWRIGHT_USERS_LINE void runNow(uint64_t tilingKey,
                                    std::decay_t<Parameters>... arguments) const {
    runCall(tilingKey, callOf(std::move(arguments)...));
  }

private:
  /// Plain closures and pointers: each kernel of a program instantiates this, and tuples would cost
  /// its build a tenth more.
  TILEWRIGHT_USERS_LINE KernelCall callOf(std::decay_t<Parameters>... arguments) const {
    auto call = [arguments...](void (*function)(Parameters...)) mutable { function(arguments...); };
    using Call = decltype(call);
    return {reinterpret_cast<const void*>(kernel),
            blocks,
            place,
            new Call(std::move(call)),
            [](const void* packed) { delete static_cast<const Call*>(packed); },
            [](void* entry, const void* packed) {
              Call copy = *static_cast<const Call*>(packed);
              copy(reinterpret_cast<void (*)(Parameters...)>(entry));
            }};
  }

  void (*kernel)(Parameters...);
  uint32_t blocks;
  void* stream;
  Place place;
};

template <class... Parameters> struct SignatureOf {
  static constexpr KernelParameter parameters[sizeof...(Parameters) + 1] = {
      {sizeof(Parameters), alignof(Parameters)}..., {0, 1}};

  static void invoke(void* entry, const void* const* values) {
    call(entry, values, std::index_sequence_for<Parameters...>());
  }

private:
  template <size_t... I>
  static void call(void* entry, [[maybe_unused]] const void* const* values,
                   std::index_sequence<I...>) {
    reinterpret_cast<void (*)(Parameters...)>(entry)(
        *static_cast<const std::decay_t<Parameters>*>(values[I])...);
  }
};
/// For the table that `tilewright-ascendc build --kernel` adds.
template <class... Parameters> KernelSignature signatureOf(void (*kernel)(Parameters...)) {
  using Signature = SignatureOf<Parameters...>;
  return {reinterpret_cast<const void*>(kernel), Signature::parameters, sizeof...(Parameters),
          Signature::invoke};
}

template <class... Parameters, class L2>
TILEWRIGHT_USERS_LINE PreparedLaunch<Parameters...>
prepareLaunch(void (*kernel)(Parameters...), uint32_t blocks, const L2&, void* stream = nullptr,
              Place place = Place::here()) {
  return {kernel, blocks, stream, place};
}
template <class... Parameters>
TILEWRIGHT_USERS_LINE PreparedLaunch<Parameters...>
prepareLaunch(void (*kernel)(Parameters...), uint32_t blocks, Place place = Place::here()) {
  return {kernel, blocks, nullptr, place};
}

} // namespace tilewright::ascend

#undef TILEWRIGHT_USERS_LINE
#include "letters_end.h"

#endif
