// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/handle_table.h"

#include <array>

namespace tilewright::acl {
namespace {

// The top byte makes the value no valid address on any 64-bit machine that we run on.
constexpr uint64_t topByte = 0x5A;
constexpr int topShift = 56;
constexpr int kindShift = 48;
constexpr int numberShift = 4;

constexpr std::array<const char*, 18> names = {"",
                                               "a context",
                                               "a stream",
                                               "an event",
                                               "a tensor",
                                               "a scalar",
                                               "an int array",
                                               "a float array",
                                               "a bool array",
                                               "an fp16 array",
                                               "a bf16 array",
                                               "a tensor list",
                                               "a scalar list",
                                               "an executor",
                                               "a kernel binary",
                                               "a kernel function",
                                               "kernel arguments",
                                               "data of a kernel binary"};

} // namespace

void* detail::encodeHandle(HandleKind kind, uint64_t number) {
  return reinterpret_cast<void*>(topByte << topShift | uint64_t(kind) << kindShift |
                                 number << numberShift);
}

std::string describeHandle(const void* handle) {
  auto value = reinterpret_cast<uint64_t>(handle);
  uint64_t kind = value >> kindShift & 0xFF;
  if (value >> topShift != topByte || kind == 0 || kind >= names.size() || (value & 0xF) != 0)
    return {};
  return names[kind];
}

} // namespace tilewright::acl
