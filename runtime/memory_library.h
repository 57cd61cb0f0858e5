// SPDX-License-Identifier: Apache-2.0
/// Libraries that lie in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tilewright::runtime {

/// A path of an open file for dlopen, which knows libraries by their paths: it is another one each time, since a
/// file's number comes back when the file is closed, and its library may still be there then (that of an Ascend
/// kernel always is). Each bit of a counter is "/." or "/", which a path may have anywhere.
inline std::string freshPathOf(int file) {
  static std::atomic<uint64_t> calls{0};
  std::string path = "/proc/self";
  for (uint64_t number = ++calls; number != 0; number /= 2)
    path += number % 2 == 1 ? "/." : "/";
  return path + "/fd/" + std::to_string(file);
}

} // namespace tilewright::runtime
