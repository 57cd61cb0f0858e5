// SPDX-License-Identifier: Apache-2.0
/// Launches of kernels found by name.
#include "simulator/acl/device_memory.h"
#include "simulator/acl/devices.h"
#include "simulator/acl/kernel_binary.h"
#include "simulator/acl/kernel_run.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

namespace tilewright::acl {
namespace {

/// The arguments of one launch, and what they point at: kernels may read it for as long as this lives.
struct LoadedCall {
  explicit LoadedCall(const std::shared_ptr<KernelFunction>& function) : function(function) {
    ++function->binary->launches;
  }
  LoadedCall(const LoadedCall&) = delete;
  LoadedCall& operator=(const LoadedCall&) = delete;
  ~LoadedCall() {
    for (void* block : blocks) {
      ascend::removeGlobalMemory(block);
      std::free(block);
    }
    --function->binary->launches;
  }

  void add(const void* value, size_t bytes) {
    constexpr size_t unit = sizeof(std::max_align_t);
    auto& copy = storage.emplace_back((bytes + unit - 1) / unit);
    std::memcpy(copy.data(), value, bytes);
    values.push_back(copy.data());
  }
  /// A copy in memory that the kernel may read.
  void* addBlock(const void* data, size_t bytes) {
    constexpr size_t alignment = 512;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, (bytes + alignment - 1) / alignment * alignment) != 0)
      throw std::bad_alloc();
    std::memcpy(block, data, bytes);
    ascend::addGlobalMemory(block, bytes);
    blocks.push_back(block);
    return block;
  }
  /// The values of a block, which has been checked.
  void addAll(const char* block, const std::vector<size_t>& offsets) {
    for (size_t i = 0; i < offsets.size(); ++i)
      add(block + offsets[i], function->signature->parameters[i].size);
  }

  std::shared_ptr<KernelFunction> function;
  std::vector<std::vector<std::max_align_t>> storage;
  std::vector<const void*> values;
  std::vector<void*> blocks;
};

aclError checkAttribute(const Call& call, size_t index, const aclrtLaunchKernelAttr& attribute,
                        const KernelFunction& function) {
  switch (attribute.id) {
  case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
  case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
  case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
  case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT: // of a device's time; the host has a time-limit of its own
  case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
    return ACL_SUCCESS;
  case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
    if (attribute.value.dynUBufSize)
      return call.fail(ACL_ERROR_FEATURE_UNSUPPORTED, "cfg->attrs[", index,
                       "].value.dynUBufSize is ", attribute.value.dynUBufSize,
                       "; arch 2201 has no such memory");
    return ACL_SUCCESS;
  case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
    if (attribute.value.blockDimOffset)
      return call.fail(ACL_ERROR_FEATURE_UNSUPPORTED, "cfg->attrs[", index,
                       "].value.blockDimOffset is ", attribute.value.blockDimOffset,
                       "; blocks begin at 0 here");
    return ACL_SUCCESS;
  case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE: {
    bool wantsVector = attribute.value.engineType == ACL_RT_ENGINE_TYPE_AIV;
    if (wantsVector && function.kernel->type == ascend::KernelType::AicOnly)
      return call.invalid(joined("cfg->attrs[", index, "].value.engineType is AIV, but kernel '",
                                 function.name, "' is for cube cores"));
    return ACL_SUCCESS;
  }
  }
  return call.invalid(
      joined("cfg->attrs[", index, "].id is ", int(attribute.id), ", which is none"));
}

/// What all launches check: the function, the blocks, the stream and the settings.
struct Target {
  std::shared_ptr<KernelFunction> function;
  std::shared_ptr<Stream> stream;
};
aclError findTarget(const Call& call, const void* funcHandle, uint32_t numBlocks,
                    aclrtStream stream, const aclrtLaunchKernelCfg* cfg, Target& target) {
  aclError code = ACL_SUCCESS;
  target.function = findFunction(call, funcHandle, code);
  if (!target.function)
    return code;
  constexpr uint32_t mostBlocks = 65535;
  if (numBlocks == 0 || numBlocks > mostBlocks)
    return call.invalid(joined("numBlocks is ", numBlocks, ", but a launch has 1 to 65535"));
  if (cfg && cfg->numAttrs && !cfg->attrs)
    return call.null("cfg->attrs");
  for (size_t i = 0; cfg && i < cfg->numAttrs; ++i)
    if (aclError wrong = checkAttribute(call, i, cfg->attrs[i], *target.function))
      return wrong;
  target.stream = findStream(call, stream, code);
  return code;
}

/// `prepare` gives the call its values when the launch's turn comes; it may fail then.
void submit(const Target& target, uint32_t blocks, std::shared_ptr<LoadedCall> loaded,
            std::function<void(LoadedCall&)> prepare = {}) {
  Task task;
  task.what = "kernel '" + target.function->name + "'";
  task.run = [blocks, loaded = std::move(loaded), prepare = std::move(prepare)] {
    if (prepare)
      prepare(*loaded);
    ascend::LaunchRequest request;
    request.kernel = loaded->function->kernel;
    request.tilingKey = loaded->function->tilingKey;
    request.blocks = blocks;
    request.arguments = loaded;
    request.invoke = [](void* entry, const void* arguments) {
      const auto* call = static_cast<const LoadedCall*>(arguments);
      call->function->signature->invoke(entry, call->values.data());
    };
    return runKernel(request);
  };
  Scheduler::instance().submit(*target.stream, std::move(task));
}

/// Where the arguments stand in a block of that size; `bytes` is what they take. Nothing, with the failure noted, if no
/// such block has them.
std::optional<std::vector<size_t>> placesIn(const Call& call, const KernelFunction& function,
                                            size_t size, bool mayBeLonger, const char* parameter) {
  size_t packed = 0, slots = 0;
  std::vector<size_t> asStruct = function.offsets(false, packed),
                      inSlots = function.offsets(true, slots);
  size_t padded = (packed + 7) / 8 * 8;
  if (size == packed || size == padded)
    return asStruct;
  if (size == slots || (mayBeLonger && size > slots))
    return inSlots;
  std::string wanted = joined(packed, " bytes");
  if (padded != packed)
    wanted += joined(" (", padded, " with padding)");
  if (slots != padded)
    wanted += joined(", or ", slots, " where each stands at a multiple of 8");
  call.invalid(joined(parameter, " is ", size, ", but the ", function.signature->count,
                      " parameters of kernel '", function.name, "' take ", wanted));
  return std::nullopt;
}

aclError launchWithDeviceArgs(const Call& call, const Target& target, uint32_t blocks,
                              const void* data, size_t size) {
  if (!data && target.function->signature->count)
    return call.null("argsData");
  auto offsets = placesIn(call, *target.function, size, false, "argsSize");
  if (!offsets)
    return ACL_ERROR_INVALID_PARAM;
  if (std::string wrong = DeviceMemory::instance().rangeComplaint(data, size);
      size && !wrong.empty())
    return call.invalid("argsData " + wrong +
                        "; aclrtLaunchKernelWithHostArgs takes arguments in host memory");
  submit(target, blocks, std::make_shared<LoadedCall>(target.function),
         [data, offsets = *offsets](LoadedCall& loaded) {
           loaded.addAll(static_cast<const char*>(data), offsets);
         });
  return ACL_SUCCESS;
}

aclError launchWithList(const Call& call, const Target& target, uint32_t blocks,
                        aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle) {
  KernelTables& tables = KernelTables::instance();
  std::shared_ptr<KernelArguments> list = tables.arguments.find(argsHandle);
  if (!list)
    return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     tables.arguments.complaint("argsHandle", argsHandle, "kernel arguments"));
  std::lock_guard lock(list->mutex);
  if (list->functionHandle != funcHandle)
    return call.invalid(joined("argsHandle has the arguments of kernel '", list->function->name,
                               "', not of this funcHandle ('", target.function->name, "')"));
  if (!list->isFinal)
    return call.invalid(
        "argsHandle was changed after its last aclrtKernelArgsFinalize, or has had none");
  auto loaded = std::make_shared<LoadedCall>(target.function);
  for (const KernelArguments::Value& value : list->values) {
    if (!value.isPlaceHolder) {
      loaded->add(value.bytes, value.size);
      continue;
    }
    void* block = loaded->addBlock(value.bytes, value.size);
    loaded->add(static_cast<const void*>(&block), sizeof block);
  }
  submit(target, blocks, std::move(loaded));
  return ACL_SUCCESS;
}

aclError launchWithHostArgs(const Call& call, const Target& target, uint32_t blocks,
                            const void* hostArgs, size_t size,
                            const aclrtPlaceHolderInfo* placeHolders, size_t count) {
  if (!hostArgs && target.function->signature->count)
    return call.null("hostArgs");
  if (!placeHolders && count)
    return call.null("placeHolderArray");
  auto offsets = placesIn(call, *target.function, size, count > 0, "argsSize");
  if (!offsets)
    return ACL_ERROR_INVALID_PARAM;
  auto loaded = std::make_shared<LoadedCall>(target.function);
  std::vector<char> copy(static_cast<const char*>(hostArgs),
                         static_cast<const char*>(hostArgs) + size);
  // What pointers point at stands in the same block, which the kernel gets as a whole.
  char* onDevice = count ? static_cast<char*>(loaded->addBlock(copy.data(), size)) : nullptr;
  for (size_t i = 0; i < count; ++i) {
    const aclrtPlaceHolderInfo& holder = placeHolders[i];
    if (holder.addrOffset > size || size - holder.addrOffset < sizeof(void*) ||
        holder.dataOffset >= size)
      return call.invalid(joined("placeHolderArray[", i, "] has the offsets ", holder.addrOffset,
                                 " and ", holder.dataOffset, ", but argsSize is ", size));
    char* address = onDevice + holder.dataOffset;
    std::memcpy(copy.data() + holder.addrOffset, static_cast<const void*>(&address),
                sizeof address);
  }
  loaded->addAll(copy.data(), *offsets);
  submit(target, blocks, std::move(loaded));
  return ACL_SUCCESS;
}

aclError launchWithArray(const Call& call, const Target& target, uint32_t blocks, void** args) {
  const ascend::KernelSignature& signature = *target.function->signature;
  if (!args && signature.count)
    return call.null("args");
  auto loaded = std::make_shared<LoadedCall>(target.function);
  for (size_t i = 0; i < signature.count; ++i) {
    if (!args[i])
      return call.null(joined("args[", i, "]").c_str());
    loaded->add(args[i], signature.parameters[i].size);
  }
  submit(target, blocks, std::move(loaded));
  return ACL_SUCCESS;
}

} // namespace
} // namespace tilewright::acl

using namespace tilewright::acl;

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                           size_t argsSize, aclrtStream stream) {
  return guarded("aclrtLaunchKernel", [&](const Call& call) -> aclError {
    Target target;
    if (aclError code = findTarget(call, funcHandle, numBlocks, stream, nullptr, target))
      return code;
    return launchWithDeviceArgs(call, target, numBlocks, argsData, argsSize);
  });
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                             size_t argsSize, aclrtLaunchKernelCfg* cfg, aclrtStream stream) {
  return guarded("aclrtLaunchKernelV2", [&](const Call& call) -> aclError {
    Target target;
    if (aclError code = findTarget(call, funcHandle, numBlocks, stream, cfg, target))
      return code;
    return launchWithDeviceArgs(call, target, numBlocks, argsData, argsSize);
  });
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                     aclrtStream stream, aclrtLaunchKernelCfg* cfg,
                                     aclrtArgsHandle argsHandle, void* reserve) {
  return guarded("aclrtLaunchKernelWithConfig", [&](const Call& call) -> aclError {
    if (reserve)
      return call.invalid("reserve is not null");
    Target target;
    if (aclError code = findTarget(call, funcHandle, numBlocks, stream, cfg, target))
      return code;
    return launchWithList(call, target, numBlocks, funcHandle, argsHandle);
  });
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                       aclrtStream stream, aclrtLaunchKernelCfg* cfg,
                                       void* hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo* placeHolderArray,
                                       size_t placeHolderNum) {
  return guarded("aclrtLaunchKernelWithHostArgs", [&](const Call& call) -> aclError {
    Target target;
    if (aclError code = findTarget(call, funcHandle, numBlocks, stream, cfg, target))
      return code;
    return launchWithHostArgs(call, target, numBlocks, hostArgs, argsSize, placeHolderArray,
                              placeHolderNum);
  });
}

aclError aclrtLaunchKernelWithArgsArray(void* func, uint32_t numBlocks, aclrtStream stream,
                                        aclrtLaunchKernelCfg* cfg, void** args) {
  return guarded("aclrtLaunchKernelWithArgsArray", [&](const Call& call) -> aclError {
    Target target;
    if (aclError code = findTarget(call, func, numBlocks, stream, cfg, target))
      return code;
    return launchWithArray(call, target, numBlocks, args);
  });
}
