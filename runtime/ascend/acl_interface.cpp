// SPDX-License-Identifier: Apache-2.0
#include "runtime/ascend/acl_interface.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace tilewright::runtime {

static constexpr int32_t kInitializedBefore = 100002;

template <typename Function>
static bool find(void* library, const char* name, Function& function, std::string& error) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    error = std::string("the Ascend runtime has no function '") + name + "'";
  return function != nullptr;
}

bool AclInterface::load(void* library, std::string& error) {
  setStopFlag = reinterpret_cast<decltype(setStopFlag)>(dlsym(library, "tilewrightAscendStopFlag"));
  setListener = reinterpret_cast<decltype(setListener)>(dlsym(library, "tilewrightAscendTell"));
  setRelaxed = reinterpret_cast<decltype(setRelaxed)>(dlsym(library, "tilewrightAscendRelaxed"));
  return find(library, "aclInit", init, error) &&
         find(library, "aclrtSetDevice", setDevice, error) &&
         find(library, "aclrtMalloc", allocate, error) &&
         find(library, "aclrtFree", release, error) && find(library, "aclrtMemcpy", copy, error) &&
         find(library, "aclrtCreateStream", createStream, error) &&
         find(library, "aclrtDestroyStream", destroyStream, error) &&
         find(library, "aclrtSynchronizeStream", synchronize, error) &&
         find(library, "aclGetRecentErrMsg", lastError, error);
}

bool AclInterface::prepare(std::string& error) const {
  static std::once_flag once;
  static int32_t code = 0;
  std::call_once(once, [this] {
    code = init(nullptr);
    if (code == kInitializedBefore)
      code = 0;
  });
  if (code == 0) {
    const char* device = std::getenv("TILEWRIGHT_ASCEND_DEVICE");
    const bool isNamed = device && *device;
    char* end = nullptr;
    const long number = isNamed ? std::strtol(device, &end, 10) : 0;
    if (isNamed && (end == device || *end)) {
      error = std::string("TILEWRIGHT_ASCEND_DEVICE is '") + device +
              "' but must be the number of a device";
      return false;
    }
    code = setDevice(static_cast<int32_t>(number));
  }
  if (code != 0)
    error = "no Ascend device can be used: " + reason(code);
  return code == 0;
}

std::string AclInterface::reason(int32_t code) const {
  const char* text = lastError();
  return (text && *text ? std::string(text) + ", " : "") + "error " + std::to_string(code);
}

} // namespace tilewright::runtime
