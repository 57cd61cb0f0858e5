// SPDX-License-Identifier: Apache-2.0
/// The functions of the `acl` C interface that a launch needs, found at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::runtime {

struct AclInterface {
  int32_t (*init)(const char* config);
  int32_t (*setDevice)(int32_t device);
  int32_t (*allocate)(void** memory, size_t bytes, int32_t policy);
  int32_t (*release)(void* memory);
  int32_t (*copy)(void* to, size_t room, const void* from, size_t bytes, int32_t kind);
  int32_t (*createStream)(void** stream);
  int32_t (*destroyStream)(void* stream);
  int32_t (*synchronize)(void* stream);
  const char* (*lastError)();
  /// Only our host has it, else null: what this thread launches ends once the flag is not 0.
  void (*setStopFlag)(const volatile int32_t* flag);
  /// Of the host: who is told what a launch does wrong; it prints that otherwise.
  void (*setListener)(void (*tell)(void* to, const char* text, bool isError), void* to);
  /// Of the host: whether what this thread launches has the orderings of the vendor's compiler.
  void (*setRelaxed)(bool isRelaxed);

  static constexpr int32_t kHostToDevice = 1, kDeviceToHost = 2;

  /// Finds all functions through a library that was linked with the runtime. False, with `error`
  /// set, if one is missing.
  bool load(void* library, std::string& error);
  /// Initialises the device, once per process. False, with `error` set, if that fails.
  bool prepare(std::string& error) const;
  /// What the runtime says of the call that failed last.
  std::string reason(int32_t code) const;
};

} // namespace tilewright::runtime
