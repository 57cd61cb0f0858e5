// SPDX-License-Identifier: Apache-2.0
// Tensors, arrays, lists and executors of aclnn.
#include "aclnn/aclnn_base.h"

#include "simulator/acl/acl_fixture.h"
#include "simulator/acl/aclnn_objects.h"

#include <limits>

namespace tilewright::acl {
namespace {

using testing::message;

aclTensor* makeTensor(const std::vector<int64_t>& dims, const int64_t* strides = nullptr,
                      int64_t offset = 0, const std::vector<int64_t>& storage = {},
                      void* data = nullptr) {
  return aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT16, strides, offset, ACL_FORMAT_ND,
                         storage.data(), storage.size(), data);
}

TEST(AclTensor, KeepsWhatItWasMadeFrom) {
  const int64_t strides[] = {40, 2};
  aclTensor* tensor = makeTensor({3, 5}, strides, 7, {200});
  ASSERT_NE(tensor, nullptr);
  int64_t* values = nullptr;
  uint64_t number = 0;
  ASSERT_EQ(aclGetViewShape(tensor, &values, &number), 0);
  EXPECT_EQ(std::vector<int64_t>(values, values + number), (std::vector<int64_t>{3, 5}));
  delete[] values;
  ASSERT_EQ(aclGetViewStrides(tensor, &values, &number), 0);
  EXPECT_EQ(std::vector<int64_t>(values, values + number), (std::vector<int64_t>{40, 2}));
  delete[] values;
  ASSERT_EQ(aclGetStorageShape(tensor, &values, &number), 0);
  EXPECT_EQ(std::vector<int64_t>(values, values + number), (std::vector<int64_t>{200}));
  delete[] values;
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType type = ACL_DT_UNDEFINED;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), 0);
  EXPECT_EQ(aclGetFormat(tensor, &format), 0);
  EXPECT_EQ(aclGetDataType(tensor, &type), 0);
  EXPECT_EQ(offset, 7);
  EXPECT_EQ(format, ACL_FORMAT_ND);
  EXPECT_EQ(type, ACL_FLOAT16);
  std::shared_ptr<Tensor> object = AclnnObjects::instance().tensors.find(tensor);
  EXPECT_EQ(object->reach(), 7 + 80 + 8 + 1);
  EXPECT_FAILS(aclGetViewOffset(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR,
               "aclGetViewOffset: a pointer for a result is null [161001]");
  EXPECT_FALSE(object->isContiguous());
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(), "aclDestroyTensor: tensor is a tensor that was destroyed already [161002]");
}

TEST(AclTensor, DefaultStridesAreRowMajor) {
  aclTensor* tensor = makeTensor({2, 3, 4});
  std::shared_ptr<Tensor> object = AclnnObjects::instance().tensors.find(tensor);
  EXPECT_EQ(object->strides, (std::vector<int64_t>{12, 4, 1}));
  EXPECT_TRUE(object->isContiguous());
  EXPECT_EQ(object->storageDims, object->dims);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(AclTensor, WrongArgumentsGiveNullAndAMessage) {
  EXPECT_EQ(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr),
            nullptr);
  EXPECT_EQ(message(), "aclCreateTensor: viewDims is null but viewDimsNum is 2 [161002]");
  EXPECT_EQ(makeTensor({2, -3}), nullptr);
  EXPECT_EQ(message(),
            "aclCreateTensor: viewDims is [2, -3], which is negative or too large [161002]");
  EXPECT_EQ(makeTensor({int64_t(1) << 40, int64_t(1) << 40}), nullptr);
  EXPECT_EQ(
      message(),
      "aclCreateTensor: viewDims is [1099511627776, 1099511627776], which is negative or too large "
      "[161002]");
  EXPECT_EQ(makeTensor({4}, nullptr, -1), nullptr);
  EXPECT_EQ(message(), "aclCreateTensor: offset is -1, which is negative or too large [161002]");
  const int64_t negative[] = {-1};
  EXPECT_EQ(makeTensor({4}, negative), nullptr);
  EXPECT_EQ(message(), "aclCreateTensor: stride is [-1] but may not be negative [161002]");
  const int64_t huge[] = {std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(makeTensor({4}, huge), nullptr);
  EXPECT_EQ(message(),
            "aclCreateTensor: stride [9223372036854775807] of dims [4] is too large [161002]");
  const int64_t two[] = {2};
  EXPECT_EQ(makeTensor({4}, two, 0, {6}), nullptr);
  EXPECT_EQ(
      message(),
      "aclCreateTensor: the view reaches element 6 but storageDims [6] has 6 elements [161002]");
  int64_t dim = 1;
  EXPECT_EQ(aclCreateTensor(&dim, 1000, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr),
            nullptr);
  EXPECT_EQ(message(), "aclCreateTensor: viewDimsNum is 1000 but may be at most 25 [161002]");
}

TEST(AclArrays, SizesListsAndDoubleFrees) {
  const int64_t values[] = {1, 2, 3};
  aclIntArray* array = aclCreateIntArray(values, 3);
  uint64_t size = 0;
  EXPECT_EQ(aclGetIntArraySize(array, &size), 0);
  EXPECT_EQ(size, 3U);
  EXPECT_FAILS(aclGetIntArraySize(array, nullptr), ACLNN_ERR_PARAM_NULLPTR,
               "aclGetIntArraySize: size is null [161001]");
  EXPECT_EQ(aclDestroyIntArray(array), 0);
  EXPECT_EQ(aclDestroyIntArray(array), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(),
            "aclDestroyIntArray: array is an int array that was destroyed already [161002]");
  EXPECT_EQ(aclCreateIntArray(nullptr, 3), nullptr);
  EXPECT_EQ(message(), "aclCreateIntArray: value is null but size is 3 [161001]");
  EXPECT_EQ(aclCreateIntArray(values, UINT64_MAX), nullptr);
  EXPECT_EQ(message(),
            "aclCreateIntArray: size is 18446744073709551615, which is too large [161002]");

  aclTensor* elements[] = {makeTensor({1}), makeTensor({2})};
  aclTensorList* list = aclCreateTensorList(elements, 2);
  EXPECT_EQ(aclGetTensorListSize(list, &size), 0);
  EXPECT_EQ(size, 2U);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(aclDestroyTensor(elements[0]), ACLNN_ERR_PARAM_INVALID); // the list owned it
  message();
  EXPECT_EQ(aclCreateTensorList(elements, 2), nullptr);
  EXPECT_EQ(message(),
            "aclCreateTensorList: value[0] is a tensor that was destroyed already [161002]");
  float number = 1.5F;
  aclScalar* scalar = aclCreateScalar(&number, ACL_FLOAT);
  EXPECT_NE(scalar, nullptr);
  EXPECT_EQ(aclDestroyTensor(reinterpret_cast<aclTensor*>(scalar)), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(), "aclDestroyTensor: tensor is a scalar, not a tensor [161002]");
  EXPECT_EQ(aclDestroyScalar(scalar), 0);
  EXPECT_EQ(aclCreateScalar(&number, ACL_STRING), nullptr);
  EXPECT_EQ(message(), "aclCreateScalar: dataType is 13, which no scalar can have [161002]");
}

/// An operator that doubles one float: input "x", output "y".
class AclExecutor : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), 0);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    for (void** memory : {&x, &y, &z})
      ASSERT_EQ(aclrtMalloc(memory, 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    int64_t dim = 1;
    tensor = aclCreateTensor(&dim, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &dim, 1, x);
    put(x, 3);
  }
  void TearDown() override {
    aclDestroyTensor(tensor);
    aclFinalize();
    message();
  }
  void put(void* memory, float value) {
    ASSERT_EQ(aclrtMemcpy(memory, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  }
  float get(void* memory) {
    float value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return value;
  }
  aclOpExecutor* firstPhase(uint64_t workspaceBytes = 0, aclError code = 0) {
    Executor executor;
    executor.operatorName = "aclnnDouble";
    executor.inputNames = {"x"};
    executor.outputNames = {"y"};
    Tensor in = *AclnnObjects::instance().tensors.find(tensor);
    Tensor out = in;
    out.data = y;
    executor.inputs = {in};
    executor.outputs = {out};
    executor.workspaceBytes = workspaceBytes;
    executor.body = [code](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                           void*) {
      *static_cast<float*>(outputs[0].data) = 2 * *static_cast<const float*>(inputs[0].data);
      return TaskOutcome{code, code ? "the kernel failed" : ""};
    };
    uint64_t size = 0;
    aclOpExecutor* handle = nullptr;
    EXPECT_EQ(finishFirstPhase(executor, &size, &handle), 0);
    EXPECT_EQ(size, workspaceBytes);
    return handle;
  }
  aclnnStatus secondPhase(aclOpExecutor* executor, void* workspace = nullptr, uint64_t size = 0) {
    return runSecondPhase("aclnnDouble", "aclnnDouble", workspace, size, executor, nullptr);
  }
  void *x = nullptr, *y = nullptr, *z = nullptr;
  aclTensor* tensor = nullptr;
};

TEST_F(AclExecutor, IsConsumedByTheSecondPhase) {
  aclOpExecutor* executor = firstPhase();
  EXPECT_EQ(secondPhase(executor), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(get(y), 6);
  EXPECT_EQ(secondPhase(executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      message(),
      "aclnnDouble: executor is an executor that was destroyed already; it was run (and not made "
      "repeatable by aclSetAclOpExecutorRepeatable) or destroyed [161002]");
  EXPECT_EQ(secondPhase(nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(message(), "aclnnDouble: executor is null [161001]");
}

TEST_F(AclExecutor, RepeatableRunsAgainWithOtherAddresses) {
  aclOpExecutor* executor = firstPhase();
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, tensor, z), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      message(),
      "aclSetInputTensorAddr: executor is not repeatable; call aclSetAclOpExecutorRepeatable first "
      "[161002]");
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  EXPECT_EQ(secondPhase(executor), 0);
  put(z, 10);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, tensor, z), 0); // the run above keeps x
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(get(y), 6);
  EXPECT_EQ(secondPhase(executor), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(get(y), 20);
  EXPECT_EQ(aclSetOutputTensorAddr(executor, 1, tensor, z), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(),
            "aclSetOutputTensorAddr: index is 1 but aclnnDouble has 1 such tensors [161002]");
  aclTensor* longer = makeTensor({2});
  EXPECT_FAILS(
      aclSetInputTensorAddr(executor, 0, longer, z), ACLNN_ERR_PARAM_INVALID,
      "aclSetInputTensorAddr: tensor is [2] of dataType 1 but the executor was made for [1] "
      "of dataType 0 at index 0 [161002]");
  EXPECT_EQ(aclDestroyTensor(longer), 0);
  EXPECT_FAILS(runSecondPhase("aclnnHalve", "aclnnHalve", nullptr, 0, executor, nullptr),
               ACLNN_ERR_PARAM_INVALID, "aclnnHalve: executor was made for aclnnDouble [161002]");
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclExecutor, TensorsOfListsGetOtherAddresses) {
  Executor made;
  made.operatorName = "aclnnSum";
  made.inputNames = {"a", "list[0]", "list[1]"};
  made.outputNames = {"y"};
  Tensor one = *AclnnObjects::instance().tensors.find(tensor);
  Tensor out = one;
  out.data = y;
  made.inputs = {one, one, one};
  made.outputs = {out};
  made.inputLists = {{1, 1, 2}};
  made.outputLists = {{0, 0, 1}};
  made.body = [](const std::vector<Tensor>& in, const std::vector<Tensor>& result, void*) {
    auto value = [&](size_t i) { return *static_cast<const float*>(in[i].data); };
    *static_cast<float*>(result[0].data) = value(0) + 10 * value(1) + 100 * value(2);
    return TaskOutcome{};
  };
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(finishFirstPhase(made, &size, &executor), 0);
  int64_t dims[] = {1};
  const aclTensor* elements[2] = {};
  for (const aclTensor*& element : elements)
    element = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, x);
  aclTensorList* list = aclCreateTensorList(elements, 2);
  auto set = aclSetDynamicInputTensorAddr;
  EXPECT_FAILS(set(executor, 1, 0, list, z), ACLNN_ERR_PARAM_INVALID,
               "aclSetDynamicInputTensorAddr: executor is not repeatable; call "
               "aclSetAclOpExecutorRepeatable first [161002]");
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  put(z, 7);
  EXPECT_EQ(set(executor, 1, 1, list, z), 0);
  auto run = [&] { return runSecondPhase("aclnnSum", "aclnnSum", nullptr, 0, executor, nullptr); };
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(get(y), 3 + 30 + 700);
  EXPECT_EQ(AclSetDynamicInputTensorAddr(executor, 1, 0, list, z), 0);
  EXPECT_EQ(AclSetDynamicTensorAddr(executor, 1, 1, list, x), 0);
  EXPECT_EQ(AclSetTensorAddr(executor, 0, tensor, z), 0);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(get(y), 7 + 70 + 300);
  EXPECT_EQ(aclSetDynamicOutputTensorAddr(executor, 0, 0, list, z), 0);
  EXPECT_EQ(AclSetDynamicOutputTensorAddr(executor, 0, 0, list, y), 0);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor, 0, 0, list, y), 0); // no list of inputs: the output
  EXPECT_FAILS(set(executor, 0, 0, list, z), ACLNN_ERR_PARAM_INVALID,
               "aclSetDynamicInputTensorAddr: irIndex is 0 but there aclnnSum has no list of "
               "tensors [161002]");
  EXPECT_FAILS(set(executor, 1, 2, list, z), ACLNN_ERR_PARAM_INVALID,
               "aclSetDynamicInputTensorAddr: relativeIndex is 2 but tensors has 2 [161002]");
  EXPECT_FAILS(aclSetDynamicOutputTensorAddr(executor, 0, 1, list, z), ACLNN_ERR_PARAM_INVALID,
               "aclSetDynamicOutputTensorAddr: relativeIndex is 1 but the executor was made for a "
               "list of 1 [161002]");
  EXPECT_FAILS(set(nullptr, 0, 0, list, z), ACLNN_ERR_INNER_NULLPTR,
               "aclSetDynamicInputTensorAddr: executor is null [561103]");
  EXPECT_FAILS(set(executor, 0, 0, nullptr, z), ACLNN_ERR_INNER_NULLPTR,
               "aclSetDynamicInputTensorAddr: tensors is null [561103]");
  EXPECT_FAILS(set(executor, 0, 0, reinterpret_cast<aclTensorList*>(executor), z),
               ACLNN_ERR_PARAM_INVALID,
               "aclSetDynamicInputTensorAddr: tensors is an executor, not a tensor list [161002]");
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

TEST_F(AclExecutor, SecondPhaseChecksWorkspaceAndAddresses) {
  aclOpExecutor* executor = firstPhase(64);
  EXPECT_EQ(secondPhase(executor, nullptr, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(), "aclnnDouble: workspaceSize is 0 but the first phase asked for 64 [161002]");
  EXPECT_EQ(secondPhase(executor, nullptr, 64), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(message(), "aclnnDouble: workspace is null [161001]");
  EXPECT_EQ(secondPhase(executor, x, 64), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      message(),
      "aclnnDouble: workspace has 32 bytes left in its allocation of 4 but 64 are needed [161002]");
  void* old = x;
  EXPECT_EQ(aclrtFree(old), 0);
  EXPECT_EQ(secondPhase(firstPhase()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(message(), "aclnnDouble: x is no device memory [161002]");
}

TEST_F(AclExecutor, AFailureReachesTheThreadThatSynchronises) {
  EXPECT_EQ(secondPhase(firstPhase(0, ACL_ERROR_RT_VECTOR_CORE_EXCEPTION)), 0);
  // A blocking copy waits for the default stream, and so meets the failure.
  float value = 0;
  EXPECT_EQ(aclrtMemcpy(z, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  EXPECT_EQ(message(), "aclrtMemcpy: the kernel failed [507035]");
}

TEST_F(AclExecutor, FailedStreamSkipsWhatFollowsAndRecovers) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  auto* bad = firstPhase(0, ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  ASSERT_EQ(runSecondPhase("aclnnDouble", "aclnnDouble", nullptr, 0, bad, stream), 0);
  int ran = 0;
  auto increment = [](void* args) { ++*static_cast<int*>(args); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, increment, &ran), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  EXPECT_EQ(message(), "aclrtSynchronizeStream: the kernel failed [507035]");
  EXPECT_EQ(ran, 0);
  ASSERT_EQ(aclrtLaunchHostFunc(stream, increment, &ran), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(ran, 1);
}

} // namespace
} // namespace tilewright::acl
