// SPDX-License-Identifier: Apache-2.0
// aclnnNsaCompressWithCache: both phases.
#include "aclnnop/aclnn_nsa_compress_with_cache.h"

#include "compiler/chips/ascend_chip.h"
#include "operators/nsa_compress_with_cache/ascend/arguments.h"
#include "simulator/acl/kernel_run.h"
#include "simulator/acl/modelled_chip.h"

#include <cstring>

namespace tilewright::operators {
namespace {

using acl::TaskOutcome;
using acl::Tensor;

constexpr const char* operatorName = "aclnnNsaCompressWithCache";
constexpr const char* kernelName = "nsa_compress_with_cache";

/// The kernel's arguments, as it takes them.
struct KernelArguments {
  uint8_t *input, *weight, *slots, *table, *cache, *sequences;
  NsaCompressTiling tiling;
};

void invokeKernel(void* entry, const void* arguments) {
  using Entry =
      void (*)(uint8_t*, uint8_t*, uint8_t*, uint8_t*, uint8_t*, uint8_t*, NsaCompressTiling);
  const auto& all = *static_cast<const KernelArguments*>(arguments);
  reinterpret_cast<Entry>(entry)(all.input, all.weight, all.slots, all.table, all.cache,
                                 all.sequences, all.tiling);
}

uint8_t* bytes(const Tensor& tensor) {
  return static_cast<uint8_t*>(tensor.data);
}

/// The second phase's work. The order of tensors is that of `nameTensors`.
TaskOutcome runCompress(const NsaCompressTiling& tiling,
                        const std::vector<NsaCompressSequence>& sequences,
                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                        void* workspace) {
  if (sequences.empty())
    return {};
  uint8_t* table = tiling.hasBlockTable ? bytes(inputs[3]) : nullptr;
  std::string complaint =
      checkTables(sequences, tiling, static_cast<const int32_t*>(inputs[2].data),
                  reinterpret_cast<const int32_t*>(table));
  if (!complaint.empty())
    return {ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, acl::joined(operatorName, ": ", complaint)};
  const ascend::Kernel* kernel = ascend::findKernelByName(kernelName);
  if (!kernel)
    return {ACL_ERROR_KERNEL_NOT_FOUND,
            acl::joined("kernel '", kernelName, "' is not linked into this program")};
  std::memcpy(workspace, sequences.data(), sequences.size() * sizeof(NsaCompressSequence));
  auto arguments = std::make_shared<KernelArguments>();
  *arguments = {bytes(inputs[0]),
                bytes(inputs[1]),
                bytes(inputs[2]),
                table,
                bytes(outputs[0]),
                static_cast<uint8_t*>(workspace),
                tiling};
  ascend::LaunchRequest request;
  request.kernel = kernel;
  request.blocks = uint32_t(std::min<int64_t>(tiling.taskCount, acl::modelledChip().vectorCores));
  request.invoke = invokeKernel;
  request.arguments = arguments;
  return acl::runKernel(request);
}

aclnnStatus firstPhase(const acl::Call& call, const NsaCompressArguments& arguments,
                       uint64_t* workspaceSize, aclOpExecutor** handle) {
  if (!workspaceSize)
    return call.fail(ACLNN_ERR_PARAM_NULLPTR, "workspaceSize is null");
  if (!handle)
    return call.fail(ACLNN_ERR_PARAM_NULLPTR, "executor is null");
  NsaCompressObjects objects;
  if (NsaCompressFault fault = checkNsaCompress(arguments, objects))
    return call.fail(fault.code, fault.text);
  std::vector<NsaCompressSequence> sequences =
      firingSequences(*objects.lengths, arguments.compressBlockSize, arguments.compressStride,
                      objects.blockTable == nullptr);
  NsaCompressTiling tiling =
      makeTiling(arguments, objects, int64_t(sequences.size()), acl::modelledChip().vectorCores);
  acl::Executor executor;
  executor.operatorName = operatorName;
  executor.inputNames = {"input", "weight", "slotMapping"};
  executor.inputs = {*objects.input, *objects.weight, *objects.slotMapping};
  if (objects.blockTable) {
    executor.inputNames.emplace_back("blockTableOptional");
    executor.inputs.push_back(*objects.blockTable);
  }
  executor.outputNames = {"outputCache"};
  executor.outputs = {*objects.outputCache};
  executor.workspaceBytes = sequences.size() * sizeof(NsaCompressSequence);
  executor.body = [tiling, sequences](const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& outputs, void* workspace) {
    return runCompress(tiling, sequences, inputs, outputs, workspace);
  };
  return acl::finishFirstPhase(std::move(executor), workspaceSize, handle);
}

} // namespace
} // namespace tilewright::operators

aclnnStatus aclnnNsaCompressWithCacheGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* slotMapping,
    const aclIntArray* actSeqLenOptional, const aclTensor* blockTableOptional, char* layoutOptional,
    int64_t compressBlockSize, int64_t compressStride, int64_t actSeqLenType, int64_t pageBlockSize,
    aclTensor* outputCache, uint64_t* workspaceSize, aclOpExecutor** executor) {
  using namespace tilewright;
  return acl::guarded(
      "aclnnNsaCompressWithCacheGetWorkspaceSize", [&](const acl::Call& call) -> aclnnStatus {
        return operators::firstPhase(call,
                                     {input, weight, slotMapping, actSeqLenOptional,
                                      blockTableOptional, layoutOptional, compressBlockSize,
                                      compressStride, actSeqLenType, pageBlockSize, outputCache},
                                     workspaceSize, executor);
      });
}

aclnnStatus aclnnNsaCompressWithCache(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream) {
  return tilewright::acl::runSecondPhase("aclnnNsaCompressWithCache",
                                         tilewright::operators::operatorName, workspace,
                                         workspaceSize, executor, stream);
}
