// SPDX-License-Identifier: Apache-2.0
/// Handles of the C interface. A handle is a number, not an address: it is never reused, so that a
/// handle which was destroyed, or which is of another kind, is always recognised; and reading
/// through it faults at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::acl {

enum class HandleKind : uint8_t {
  Context = 1,
  Stream,
  Event,
  Tensor,
  Scalar,
  IntArray,
  FloatArray,
  BoolArray,
  Fp16Array,
  Bf16Array,
  TensorList,
  ScalarList,
  Executor,
  Binary,
  Function,
  KernelArgs,
  BinaryData,
};

/// "a stream", "an event", ... or nothing where `handle` was never a handle.
__attribute__((visibility("default"))) std::string describeHandle(const void* handle);

namespace detail {
__attribute__((visibility("default"))) void* encodeHandle(HandleKind kind, uint64_t number);
} // namespace detail

/// The live objects of one kind. All members may be called from any thread.
template <class Object> class HandleTable {
public:
  explicit HandleTable(HandleKind kind) : kind(kind) {}

  void* insert(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex);
    void* handle = detail::encodeHandle(kind, ++lastNumber);
    objects.emplace(handle, std::move(object));
    return handle;
  }
  /// Under a handle of the caller's choice: memory of his. What it was before ends.
  void insertAs(const void* handle, std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex);
    objects[handle] = std::move(object);
  }
  /// Null where `handle` is not live.
  std::shared_ptr<Object> find(const void* handle) const {
    std::lock_guard lock(mutex);
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second;
  }
  /// Ends the handle's life; returns its object, or null where it was not live.
  std::shared_ptr<Object> remove(const void* handle) {
    std::lock_guard lock(mutex);
    auto found = objects.find(handle);
    if (found == objects.end())
      return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects.erase(found);
    return object;
  }
  /// All live handles, in no order.
  std::vector<const void*> handles() const {
    std::lock_guard lock(mutex);
    std::vector<const void*> all;
    all.reserve(objects.size());
    for (const auto& [handle, object] : objects)
      all.push_back(handle);
    return all;
  }
  /// Why `handle` is refused as parameter `parameter`.
  std::string complaint(const char* parameter, const void* handle, const char* noun) const {
    if (!handle)
      return std::string(parameter) + " is null";
    std::string actual = describeHandle(handle);
    if (actual.empty())
      return std::string(parameter) + " was not made by this runtime";
    return std::string(parameter) + (actual == noun
                                         ? " is " + actual + " that was destroyed already"
                                         : " is " + actual + ", not " + noun);
  }

private:
  const HandleKind kind;
  mutable std::mutex mutex;
  uint64_t lastNumber = 0;
  std::unordered_map<const void*, std::shared_ptr<Object>> objects;
};

} // namespace tilewright::acl
