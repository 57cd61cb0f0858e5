// SPDX-License-Identifier: Apache-2.0
/// Lists of arguments for kernels found by name. A kernel's parameters are known, so that each value is checked when it
/// is appended.
#include "simulator/acl/kernel_binary.h"

#include <algorithm>
#include <cstring>

namespace tilewright::acl {

namespace {

/// Values stand at multiples of 8.
size_t inSlots(size_t bytes) {
  constexpr size_t slot = 8;
  return (bytes + slot - 1) / slot * slot;
}

} // namespace

char* KernelArguments::take(size_t bytes) {
  bytes = inSlots(bytes);
  if (!memory)
    return own.emplace_back(std::make_unique<char[]>(bytes)).get();
  if (bytes > room)
    return nullptr;
  room -= bytes;
  return std::exchange(memory, memory + bytes);
}

namespace {

// The caller's memory for a list is only its name.
constexpr size_t handleBytes = 64;

std::shared_ptr<KernelArguments> findArguments(const Call& call, const void* handle,
                                               aclError& code) {
  KernelTables& tables = KernelTables::instance();
  std::shared_ptr<KernelArguments> list = tables.arguments.find(handle);
  if (!list)
    code = call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     tables.arguments.complaint("argsHandle", handle, "kernel arguments"));
  return list;
}

aclError complainOfRoom(const Call& call, const KernelArguments& list, size_t bytes) {
  return call.fail(ACL_ERROR_STORAGE_OVER_LIMIT, "userHostMem has ", list.room, " bytes left, but ",
                   inSlots(bytes), " are needed");
}

/// `bytes`: of the value.
aclError checkNext(const Call& call, const KernelArguments& list, size_t bytes) {
  const ascend::KernelSignature& signature = *list.function->signature;
  size_t index = list.values.size();
  if (index >= signature.count)
    return call.invalid(joined("kernel '", list.function->name, "' has ", signature.count,
                               " parameters, and all have a value already"));
  if (size_t wanted = signature.parameters[index].size; wanted != bytes)
    return call.invalid(joined("argument ", index, " of kernel '", list.function->name, "' has ",
                               wanted, " bytes, but ", bytes, " were given"));
  return ACL_SUCCESS;
}

aclError append(const Call& call, KernelArguments& list, const void* param, size_t size,
                aclrtParamHandle* made) {
  std::lock_guard lock(list.mutex);
  if (aclError code = checkNext(call, list, size))
    return code;
  KernelArguments::Value value;
  value.size = size;
  value.isPlaceHolder = !param;
  if (param) {
    value.bytes = list.take(size);
    if (!value.bytes)
      return complainOfRoom(call, list, size);
    std::memcpy(value.bytes, param, size);
  }
  list.isFinal = false;
  *made = &list.values.emplace_back(value);
  return ACL_SUCCESS;
}

/// The value that `handle` names; null with the failure noted in `code`.
KernelArguments::Value* findValue(const Call& call, KernelArguments& list, const void* handle,
                                  aclError& code) {
  for (KernelArguments::Value& value : list.values)
    if (&value == handle)
      return &value;
  code = call.fail(ACL_ERROR_RT_INVALID_HANDLE, "paramHandle is no parameter of this argsHandle");
  return nullptr;
}

aclError getBuffer(const Call& call, KernelArguments& list, aclrtParamHandle paramHandle,
                   size_t dataSize, void** bufferAddr) {
  std::lock_guard lock(list.mutex);
  aclError code = ACL_SUCCESS;
  KernelArguments::Value* value = findValue(call, list, paramHandle, code);
  if (!value)
    return code;
  if (!value->isPlaceHolder)
    return call.invalid("paramHandle is a value, not a place holder");
  if (value->bytes)
    return call.invalid("paramHandle has a buffer already");
  value->bytes = list.take(dataSize);
  if (!value->bytes)
    return complainOfRoom(call, list, dataSize);
  std::memset(value->bytes, 0, dataSize);
  value->size = dataSize;
  *bufferAddr = value->bytes;
  return ACL_SUCCESS;
}

aclError update(const Call& call, KernelArguments& list, aclrtParamHandle paramHandle,
                const void* param, size_t size) {
  std::lock_guard lock(list.mutex);
  aclError code = ACL_SUCCESS;
  KernelArguments::Value* value = findValue(call, list, paramHandle, code);
  if (!value)
    return code;
  if (value->isPlaceHolder)
    return call.invalid("paramHandle is a place holder; write to its buffer");
  if (value->size != size)
    return call.invalid(
        joined("the argument has ", value->size, " bytes, but ", size, " were given"));
  std::memcpy(value->bytes, param, size);
  list.isFinal = false;
  return ACL_SUCCESS;
}

aclError finalize(const Call& call, KernelArguments& list) {
  std::lock_guard lock(list.mutex);
  if (size_t wanted = list.function->signature->count; list.values.size() != wanted)
    return call.invalid(joined("kernel '", list.function->name, "' has ", wanted,
                               " parameters, but ", list.values.size(), " were appended"));
  for (size_t i = 0; i < list.values.size(); ++i)
    if (!list.values[i].bytes)
      return call.invalid(joined(
          "argument ", i,
          " is a place holder without a buffer; aclrtKernelArgsGetPlaceHolderBuffer gives it one"));
  list.isFinal = true;
  return ACL_SUCCESS;
}

std::shared_ptr<KernelArguments> makeList(aclrtFuncHandle handle,
                                          const std::shared_ptr<KernelFunction>& function) {
  auto list = std::make_shared<KernelArguments>();
  list->functionHandle = handle;
  list->function = function;
  return list;
}

void own(KernelBinary& binary, void* list) {
  std::lock_guard lock(binary.mutex);
  binary.argumentLists.push_back(list);
}

} // namespace
} // namespace tilewright::acl

using namespace tilewright::acl;

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle) {
  return guarded("aclrtKernelArgsInit", [&](const Call& call) -> aclError {
    if (!argsHandle)
      return call.null("argsHandle");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, funcHandle, code);
    if (!function)
      return code;
    *argsHandle = KernelTables::instance().arguments.insert(makeList(funcHandle, function));
    own(*function->binary, *argsHandle);
    return ACL_SUCCESS;
  });
}

aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle,
                                      void* userHostMem, size_t actualArgsSize) {
  return guarded("aclrtKernelArgsInitByUserMem", [&](const Call& call) -> aclError {
    if (!argsHandle)
      return call.null("argsHandle");
    if (!userHostMem)
      return call.null("userHostMem");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, funcHandle, code);
    if (!function)
      return code;
    std::shared_ptr<KernelArguments> list = makeList(funcHandle, function);
    list->memory = static_cast<char*>(userHostMem);
    list->room = actualArgsSize;
    KernelTables::instance().arguments.insertAs(argsHandle, std::move(list));
    own(*function->binary, argsHandle);
    return ACL_SUCCESS;
  });
}

aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle funcHandle, size_t userArgsSize,
                                   size_t* actualArgsSize) {
  return guarded("aclrtKernelArgsGetMemSize", [&](const Call& call) -> aclError {
    if (!actualArgsSize)
      return call.null("actualArgsSize");
    aclError code = ACL_SUCCESS;
    if (!findFunction(call, funcHandle, code))
      return code;
    *actualArgsSize = inSlots(userArgsSize);
    return ACL_SUCCESS;
  });
}

aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle, size_t* memSize) {
  return guarded("aclrtKernelArgsGetHandleMemSize", [&](const Call& call) -> aclError {
    if (!memSize)
      return call.null("memSize");
    aclError code = ACL_SUCCESS;
    if (findFunction(call, funcHandle, code))
      *memSize = handleBytes;
    return code;
  });
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                               aclrtParamHandle* paramHandle) {
  return guarded("aclrtKernelArgsAppend", [&](const Call& call) -> aclError {
    if (!param)
      return call.null("param");
    if (!paramHandle)
      return call.null("paramHandle");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelArguments> list = findArguments(call, argsHandle, code);
    return list ? append(call, *list, param, paramSize, paramHandle) : code;
  });
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle,
                                          aclrtParamHandle* paramHandle) {
  return guarded("aclrtKernelArgsAppendPlaceHolder", [&](const Call& call) -> aclError {
    if (!paramHandle)
      return call.null("paramHandle");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelArguments> list = findArguments(call, argsHandle, code);
    return list ? append(call, *list, nullptr, sizeof(void*), paramHandle) : code;
  });
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
                                             aclrtParamHandle paramHandle, size_t dataSize,
                                             void** bufferAddr) {
  return guarded("aclrtKernelArgsGetPlaceHolderBuffer", [&](const Call& call) -> aclError {
    if (dataSize == 0)
      return call.invalid("dataSize is 0");
    if (!bufferAddr)
      return call.null("bufferAddr");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelArguments> list = findArguments(call, argsHandle, code);
    return list ? getBuffer(call, *list, paramHandle, dataSize, bufferAddr) : code;
  });
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                   void* param, size_t paramSize) {
  return guarded("aclrtKernelArgsParaUpdate", [&](const Call& call) -> aclError {
    if (!param)
      return call.null("param");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelArguments> list = findArguments(call, argsHandle, code);
    return list ? update(call, *list, paramHandle, param, paramSize) : code;
  });
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
  return guarded("aclrtKernelArgsFinalize", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelArguments> list = findArguments(call, argsHandle, code);
    return list ? finalize(call, *list) : code;
  });
}
