// SPDX-License-Identifier: Apache-2.0
// aclOpExecutor and the two phases of an operator.
#include "simulator/acl/aclnn_objects.h"

#include "aclnn/aclnn_base.h"
#include "simulator/acl/device_memory.h"
#include "simulator/acl/devices.h"

#include <algorithm>
#include <fstream>

using namespace tilewright::acl;

namespace {

std::shared_ptr<Executor> findExecutor(const Call& call, const aclOpExecutor* handle,
                                       aclnnStatus& code) {
  AclnnObjects& objects = AclnnObjects::instance();
  std::shared_ptr<Executor> executor = objects.executors.find(handle);
  if (executor)
    return executor;
  std::string text = objects.executors.complaint("executor", handle, "an executor");
  if (describeHandle(handle) == "an executor")
    text += "; it was run (and not made repeatable by aclSetAclOpExecutorRepeatable) or destroyed";
  code = call.fail(handle ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR, text);
  return nullptr;
}

/// What is wrong with the address of a tensor, or nothing.
std::string addressComplaint(const std::string& name, const Tensor& tensor) {
  if (tensor.isEmpty())
    return {};
  if (!tensor.data)
    return name + " has no address (null)";
  std::string complaint = DeviceMemory::instance().rangeComplaint(
      tensor.data, size_t(tensor.reach()) * aclDataTypeSize(tensor.dataType));
  return complaint.empty() ? complaint : name + " " + complaint;
}

std::string checkAddresses(const Executor& executor) {
  for (size_t i = 0; i < executor.inputs.size(); ++i)
    if (std::string text = addressComplaint(executor.inputNames[i], executor.inputs[i]);
        !text.empty())
      return text;
  for (size_t i = 0; i < executor.outputs.size(); ++i)
    if (std::string text = addressComplaint(executor.outputNames[i], executor.outputs[i]);
        !text.empty())
      return text;
  return {};
}

enum class Side { Input, Output, Both };

aclnnStatus setAddress(const char* name, Side side, aclOpExecutor* handle, size_t index,
                       aclTensor* tensor, void* addr) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    aclnnStatus code = ACLNN_SUCCESS;
    std::shared_ptr<Executor> executor = findExecutor(call, handle, code);
    if (!executor)
      return code;
    if (!executor->isRepeatable)
      return call.fail(ACLNN_ERR_PARAM_INVALID,
                       "executor is not repeatable; call aclSetAclOpExecutorRepeatable first");
    std::vector<Tensor>& inputs = executor->inputs;
    std::vector<Tensor>& outputs = executor->outputs;
    size_t count =
        (side != Side::Output ? inputs.size() : 0) + (side != Side::Input ? outputs.size() : 0);
    if (index >= count)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "index is ", index, " but ", executor->operatorName,
                       " has ", count, " such tensors");
    std::shared_ptr<Tensor> object = AclnnObjects::instance().tensors.find(tensor);
    if (!object)
      return call.fail(tensor ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                       AclnnObjects::instance().tensors.complaint("tensor", tensor, "a tensor"));
    Tensor& slot = side == Side::Output    ? outputs[index]
                   : index < inputs.size() ? inputs[index]
                                           : outputs[index - inputs.size()];
    if (slot.dims != object->dims || slot.dataType != object->dataType)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "tensor is ", object->shape(), " of dataType ",
                       int(object->dataType), " but the executor was made for ", slot.shape(),
                       " of dataType ", int(slot.dataType), " at index ", index);
    slot.data = addr;
    object->data = addr;
    return ACLNN_SUCCESS;
  });
}

/// The same for a tensor of a list. Nulls have another code here, as documented.
aclnnStatus setListAddress(const char* name, Side side, aclOpExecutor* handle, size_t irIndex,
                           size_t relativeIndex, const aclTensorList* tensors, void* addr) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    if (!handle || !tensors)
      return call.fail(ACLNN_ERR_INNER_NULLPTR, handle ? "tensors" : "executor", " is null");
    aclnnStatus code = ACLNN_SUCCESS;
    std::shared_ptr<Executor> executor = findExecutor(call, handle, code);
    if (!executor)
      return code;
    AclnnObjects& objects = AclnnObjects::instance();
    std::shared_ptr<TensorList> list = objects.tensorLists.find(tensors);
    if (!list)
      return call.fail(ACLNN_ERR_PARAM_INVALID,
                       objects.tensorLists.complaint("tensors", tensors, "a tensor list"));
    if (relativeIndex >= list->elements.size())
      return call.fail(ACLNN_ERR_PARAM_INVALID, "relativeIndex is ", relativeIndex,
                       " but tensors has ", list->elements.size());
    auto find = [&](const std::vector<ListOfTensors>& lists) {
      auto has = [&](const ListOfTensors& l) { return l.irIndex == irIndex; };
      auto found = std::find_if(lists.begin(), lists.end(), has);
      return found == lists.end() ? nullptr : &*found;
    };
    const ListOfTensors* place = side == Side::Output ? nullptr : find(executor->inputLists);
    Side found = place ? Side::Input : Side::Output;
    if (!place && side != Side::Input)
      place = find(executor->outputLists);
    if (!place)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "irIndex is ", irIndex, " but there ",
                       executor->operatorName, " has no list of tensors");
    if (relativeIndex >= place->count)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "relativeIndex is ", relativeIndex,
                       " but the executor was made for a list of ", place->count);
    auto* tensor = const_cast<aclTensor*>(list->elements[relativeIndex]);
    return setAddress(name, found, handle, place->first + relativeIndex, tensor, addr);
  });
}

} // namespace

namespace tilewright::acl {

aclnnStatus finishFirstPhase(Executor executor, uint64_t* workspaceSize, aclOpExecutor** handle) {
  *workspaceSize = executor.workspaceBytes;
  *handle = static_cast<aclOpExecutor*>(
      AclnnObjects::instance().executors.insert(std::make_shared<Executor>(std::move(executor))));
  return ACLNN_SUCCESS;
}

aclnnStatus runSecondPhase(const char* name, const char* operatorName, void* workspace,
                           uint64_t workspaceSize, aclOpExecutor* handle,
                           aclrtStream streamHandle) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    aclnnStatus code = ACLNN_SUCCESS;
    std::shared_ptr<Executor> executor = findExecutor(call, handle, code);
    if (!executor)
      return code;
    if (executor->operatorName != operatorName)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "executor was made for ", executor->operatorName);
    if (workspaceSize < executor->workspaceBytes)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "workspaceSize is ", workspaceSize,
                       " but the first phase asked for ", executor->workspaceBytes);
    if (executor->workspaceBytes > 0) {
      if (!workspace)
        return call.fail(ACLNN_ERR_PARAM_NULLPTR, "workspace is null");
      std::string text =
          DeviceMemory::instance().rangeComplaint(workspace, executor->workspaceBytes);
      if (!text.empty())
        return call.fail(ACLNN_ERR_PARAM_INVALID, "workspace ", text);
    }
    if (std::string text = checkAddresses(*executor); !text.empty())
      return call.fail(ACLNN_ERR_PARAM_INVALID, text);
    aclError streamCode = ACL_SUCCESS;
    std::shared_ptr<Stream> stream = findStream(call, streamHandle, streamCode);
    if (!stream)
      return ACLNN_ERR_RUNTIME_ERROR;
    if (!executor->isRepeatable && !AclnnObjects::instance().executors.remove(handle)) {
      findExecutor(call, handle, code); // another thread ran it meanwhile
      return code;
    }
    Task task;
    task.what = executor->operatorName;
    // The addresses are those of now: a repeatable executor may get others before the stream comes
    // to this.
    task.run = [body = executor->body, inputs = executor->inputs, outputs = executor->outputs,
                workspace] { return body(inputs, outputs, workspace); };
    Scheduler::instance().submit(*stream, std::move(task));
    return ACLNN_SUCCESS;
  });
}

} // namespace tilewright::acl

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return guarded("aclSetAclOpExecutorRepeatable", [&](const Call& call) -> aclnnStatus {
    aclnnStatus code = ACLNN_SUCCESS;
    std::shared_ptr<Executor> object = findExecutor(call, executor, code);
    if (!object)
      return code;
    object->isRepeatable = true;
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return guarded("aclDestroyAclOpExecutor", [&](const Call& call) -> aclnnStatus {
    aclnnStatus code = ACLNN_SUCCESS;
    if (!findExecutor(call, executor, code))
      return code;
    AclnnObjects::instance().executors.remove(executor);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return setAddress("aclSetTensorAddr", Side::Both, executor, index, tensor, addr);
}
aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor,
                                  void* addr) {
  return setAddress("aclSetInputTensorAddr", Side::Input, executor, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor,
                                   void* addr) {
  return setAddress("aclSetOutputTensorAddr", Side::Output, executor, index, tensor, addr);
}
aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor,
                                  void* addr) {
  return setAddress("AclSetInputTensorAddr", Side::Input, executor, index, tensor, addr);
}
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor,
                                   void* addr) {
  return setAddress("AclSetOutputTensorAddr", Side::Output, executor, index, tensor, addr);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void* addr) {
  return setListAddress("aclSetDynamicInputTensorAddr", Side::Input, executor, irIndex,
                        relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void* addr) {
  return setListAddress("aclSetDynamicOutputTensorAddr", Side::Output, executor, irIndex,
                        relativeIndex, tensors, addr);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors,
                                    void* addr) {
  return setListAddress("aclSetDynamicTensorAddr", Side::Both, executor, irIndex, relativeIndex,
                        tensors, addr);
}
aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                         const size_t relativeIndex, aclTensorList* tensors,
                                         void* addr) {
  return setListAddress("AclSetDynamicInputTensorAddr", Side::Input, executor, irIndex,
                        relativeIndex, tensors, addr);
}
aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                          const size_t relativeIndex, aclTensorList* tensors,
                                          void* addr) {
  return setListAddress("AclSetDynamicOutputTensorAddr", Side::Output, executor, irIndex,
                        relativeIndex, tensors, addr);
}
aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                    const size_t relativeIndex, aclTensorList* tensors,
                                    void* addr) {
  return setListAddress("AclSetDynamicTensorAddr", Side::Both, executor, irIndex, relativeIndex,
                        tensors, addr);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return setAddress("AclSetTensorAddr", Side::Both, executor, index, tensor, addr);
}

aclnnStatus aclnnInit(const char* configPath) {
  return guarded("aclnnInit", [&](const Call& call) -> aclnnStatus {
    if (configPath && *configPath && !std::ifstream(configPath))
      return call.fail(ACLNN_ERR_PARAM_INVALID, "configPath '", configPath, "' cannot be read");
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclnnFinalize() {
  return ACLNN_SUCCESS;
}
