// SPDX-License-Identifier: Apache-2.0
// What the driver makes of `kernel<<<blocks, l2, stream>>>(arguments)`.
#ifndef TILEWRIGHT_ASCENDC_LAUNCH_H
#define TILEWRIGHT_ASCENDC_LAUNCH_H

#include "../../launch.h"

#include <memory>
#include <tuple>
#include <utility>

namespace tilewright::ascend {

template <class... Parameters> class PreparedLaunch {
public:
  PreparedLaunch(void (*kernel)(Parameters...), uint32_t blocks, void* stream)
      : kernel(kernel), blocks(blocks), stream(stream) {}

  void operator()(std::decay_t<Parameters>... arguments) const {
    enqueueLaunch(stream, requestOf(std::move(arguments)...));
  }
  /// Runs the kernel on this thread's time and prints what is found.
  void runNow(uint64_t tilingKey, std::decay_t<Parameters>... arguments) const {
    LaunchRequest request = requestOf(std::move(arguments)...);
    request.tilingKey = tilingKey;
    printFindings(launch(request, launchOptionsFromEnvironment()));
  }

private:
  LaunchRequest requestOf(std::decay_t<Parameters>... arguments) const {
    using Arguments = std::tuple<std::decay_t<Parameters>...>;
    LaunchRequest request;
    request.kernel = findKernel(reinterpret_cast<const void*>(kernel));
    request.blocks = blocks;
    request.arguments = std::make_shared<const Arguments>(std::move(arguments)...);
    request.invoke = [](void* entry, const void* packed) {
      auto function = reinterpret_cast<void (*)(Parameters...)>(entry);
      Arguments copy = *static_cast<const Arguments*>(packed);
      std::apply(function, copy);
    };
    return request;
  }

  void (*kernel)(Parameters...);
  uint32_t blocks;
  void* stream;
};

template <class... Parameters, class L2>
PreparedLaunch<Parameters...> prepareLaunch(void (*kernel)(Parameters...), uint32_t blocks,
                                            const L2&, void* stream = nullptr) {
  return {kernel, blocks, stream};
}
template <class... Parameters>
PreparedLaunch<Parameters...> prepareLaunch(void (*kernel)(Parameters...), uint32_t blocks) {
  return {kernel, blocks, nullptr};
}

} // namespace tilewright::ascend

#endif
