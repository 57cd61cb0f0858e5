// SPDX-License-Identifier: Apache-2.0
// For tests of kernels: global memory with the lifetime of an object, and launches whose report the
// test can read.
#ifndef TILEWRIGHT_ASCENDC_DEVICE_BUFFER_H
#define TILEWRIGHT_ASCENDC_DEVICE_BUFFER_H

#include "ascendc/launch.h"

#include <cstring>
#include <string>
#include <vector>

namespace tilewright::ascend::testing {

template <class T> class DeviceBuffer {
public:
  explicit DeviceBuffer(size_t n) : data(n) {
    addGlobalMemory(data.data(), n * sizeof(T));
  }
  explicit DeviceBuffer(const std::vector<T>& values) : data(values) {
    addGlobalMemory(data.data(), data.size() * sizeof(T));
  }
  ~DeviceBuffer() {
    removeGlobalMemory(data.data());
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  uint8_t* gm() {
    return reinterpret_cast<uint8_t*>(data.data());
  }
  T& operator[](size_t i) {
    return data[i];
  }
  size_t size() const {
    return data.size();
  }

  std::vector<T> data;
};

inline LaunchOptions& nextOptions() {
  static LaunchOptions options;
  return options;
}
inline LaunchReport& lastReport() {
  static LaunchReport report;
  return report;
}

/// From now on launches run at once, with nextOptions(), and leave lastReport().
inline void catchLaunches() {
  setStreamHook(
      // NOLINTNEXTLINE(performance-unnecessary-value-param): a StreamHook is given the request.
      [](void*, LaunchRequest request) { lastReport() = launch(request, nextOptions()); });
}

inline std::string allFindings() {
  std::string text;
  for (const Finding& f : lastReport().findings)
    text += f.text;
  return text;
}

} // namespace tilewright::ascend::testing

#endif
