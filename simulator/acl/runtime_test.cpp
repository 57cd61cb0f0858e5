// SPDX-License-Identifier: Apache-2.0
// Devices, memory, copies, streams, events and callbacks, as a program sees them.
#include "simulator/acl/acl_fixture.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <pthread.h>
#include <random>
#include <thread>
#include <vector>

using namespace tilewright::acl::testing;

namespace {

TEST(AclInit, CallsAreCounted) {
  EXPECT_FAILS(aclInit("/no/such/file"), ACL_ERROR_INVALID_FILE,
               "aclInit: configPath '/no/such/file' cannot be read [100003]");
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_FAILS(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE,
               "aclInit: acl is initialised already (call 2) [100002]");
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_FAILS(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE,
               "aclFinalize: acl is finalised already [100037]");
}

TEST_F(Acl, MessageIsGivenOnceAndPerThread) {
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  std::thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }).join();
  EXPECT_EQ(message(), "aclrtFree: devPtr is null [100000]");
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST_F(Acl, DevicesAndContexts) {
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_FAILS(
      aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID,
      "aclrtSetDevice: deviceId is 1 but there are 1 devices (TILEWRIGHT_ASCEND_DEVICES) [107001]");
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B2");

  std::thread([] {
    int32_t none = 0;
    EXPECT_FAILS(aclrtGetDevice(&none), ACL_ERROR_RT_CONTEXT_NULL,
                 "aclrtGetDevice: this thread has no device; call aclrtSetDevice first [107002]");
  }).join();

  aclrtContext primary = nullptr, own = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT,
               "aclrtSynchronizeStream: stream was created in another context (device 0) than this "
               "thread's (device "
               "0) [107003]");
  EXPECT_FAILS(
      aclrtDestroyContext(primary), ACL_ERROR_INVALID_PARAM,
      "aclrtDestroyContext: context is the device's own; it ends with aclrtResetDevice [100000]");
  EXPECT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSetCurrentContext(own), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtSetCurrentContext: context is a context that was destroyed already [107017]");
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL,
               "aclrtSynchronizeStream: the context of this thread was destroyed; call "
               "aclrtSetDevice [107002]");
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(Acl, ResetIsCounted) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL);
  message();
  EXPECT_FAILS(aclrtResetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID,
               "aclrtResetDevice: device 0 is not set [107001]");
}

TEST_F(Acl, MemoryIsAlignedZeroAndCounted) {
  size_t free = 0, total = 0, after = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(total, size_t(64) << 30);
  void* memory = allocate(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 512, 0U);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(free - after, 1024U);
  std::vector<char> host(1000, 1);
  EXPECT_EQ(aclrtMemcpy(host.data(), 1000, memory, 1000, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(std::count(host.begin(), host.end(), 0), 1000);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  void* large = nullptr;
  EXPECT_FAILS(aclrtMalloc(&large, (size_t(64) << 30) + 1, ACL_MEM_MALLOC_HUGE_FIRST),
               ACL_ERROR_RT_MEMORY_ALLOCATION,
               "aclrtMalloc: size is 68719476737 bytes but device 0 has 68719476736 left [207001]");
  EXPECT_EQ(large, nullptr);
  EXPECT_EQ(aclrtMalloc(&large, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
}

TEST_F(Acl, WrongFreesAreErrors) {
  void* memory = allocate(64);
  EXPECT_FAILS(aclrtFree(static_cast<char*>(memory) + 32), ACL_ERROR_INVALID_PARAM,
               "aclrtFree: devPtr lies 32 bytes behind the start of its allocation [100000]");
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_FAILS(aclrtFree(memory), ACL_ERROR_INVALID_PARAM,
               "aclrtFree: devPtr is no device memory, or was freed already [100000]");
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 100), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_FAILS(aclrtFreeHost(host), ACL_ERROR_INVALID_PARAM,
               "aclrtFreeHost: hostPtr is not from aclrtMallocHost, or was freed already [100000]");
  void* none = nullptr;
  EXPECT_FAILS(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM,
               "aclrtMalloc: devPtr is null [100000]");
  EXPECT_FAILS(aclrtMalloc(&none, 0, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM,
               "aclrtMalloc: size is 0 [100000]");
  EXPECT_FAILS(aclrtMalloc(&none, 1, aclrtMemMallocPolicy(99)), ACL_ERROR_INVALID_PARAM,
               "aclrtMalloc: policy is 99, which is none of aclrtMemMallocPolicy [100000]");
}

TEST_F(Acl, CopiesAreChecked) {
  char* device = static_cast<char*>(allocate(64));
  char host[128] = {};
  EXPECT_FAILS(aclrtMemcpy(device, 64, host, 65, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: dst has 64 bytes left in its allocation of 64 but 65 are needed (kind "
               "HOST_TO_DEVICE) "
               "[100000]");
  EXPECT_FAILS(aclrtMemcpy(device, 16, host, 32, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: count is 32 bytes but destMax is 16 [100000]");
  EXPECT_FAILS(aclrtMemcpy(host, 64, host, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: src is no device memory (kind DEVICE_TO_HOST) [100000]");
  EXPECT_FAILS(aclrtMemcpy(host, 64, device, 64, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: src is device memory but kind HOST_TO_HOST says host [100000]");
  EXPECT_FAILS(aclrtMemcpy(nullptr, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST),
               ACL_ERROR_INVALID_PARAM, "aclrtMemcpy: dst is null [100000]");
  EXPECT_FAILS(aclrtMemcpy(host, 64, device, 64, aclrtMemcpyKind(17)), ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: kind is 17, which is none of aclrtMemcpyKind [100000]");
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_FAILS(aclrtMemcpy(host, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST),
               ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy: src is no device memory (kind DEVICE_TO_HOST) [100000]");
  EXPECT_FAILS(aclrtMemset(device, 64, 0, 64), ACL_ERROR_INVALID_PARAM,
               "aclrtMemset: devPtr is no device memory [100000]");
}

TEST_F(Acl, CopiesOfAllKindsMoveTheBytes) {
  std::vector<unsigned char> host(300), back(300);
  std::iota(host.begin(), host.end(), 1);
  void* a = allocate(300);
  void* b = allocate(300);
  ASSERT_EQ(aclrtMemcpy(a, 300, host.data(), 300, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(b, 300, a, 300, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(back.data(), 300, b, 300, ACL_MEMCPY_DEVICE_TO_HOST, stream),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(back, host);
  // 5 rows of 7 bytes, 20 apart on the device and 10 apart on the host
  ASSERT_EQ(aclrtMemset(b, 300, 0xEE, 300), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy2d(b, 20, host.data(), 10, 7, 5, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(back.data(), 300, b, 300, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  for (size_t i = 0; i < 300; ++i) {
    bool isCopied = i < 100 && i % 20 < 7;
    EXPECT_EQ(back[i], isCopied ? host[i / 20 * 10 + i % 20] : 0xEE) << i;
  }
  EXPECT_FAILS(aclrtMemcpy2d(b, 6, host.data(), 10, 7, 5, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "aclrtMemcpy2d: width is 7 bytes but dpitch is 6 [100000]");
  EXPECT_FAILS(aclrtMemcpy2d(b, SIZE_MAX, host.data(), 10, 7, 5, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM,
               "aclrtMemcpy2d: height 5 times the pitch is more than the address space [100000]");
}

TEST_F(Acl, WorkIsLazyAndInOrder) {
  std::vector<int> order;
  auto append = [](void* args) {
    auto* pair = static_cast<std::pair<std::vector<int>*, int>*>(args);
    pair->first->push_back(pair->second);
  };
  std::pair<std::vector<int>*, int> one{&order, 1}, two{&order, 2}, three{&order, 3};
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  // Stream `other` waits for the second task of `stream`.
  ASSERT_EQ(aclrtLaunchHostFunc(stream, append, &one), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(other, append, &three), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(stream, append, &two), ACL_SUCCESS);
  EXPECT_TRUE(order.empty());
  ASSERT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 3, 2}));
}

TEST_F(Acl, QueriesMakeProgress) {
  std::atomic<int> count{0};
  auto increment = [](void* args) { ++*static_cast<std::atomic<int>*>(args); };
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(aclrtLaunchHostFunc(stream, increment, &count), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  int polls = 0;
  while (status == ACL_EVENT_RECORDED_STATUS_NOT_READY && ++polls < 100)
    ASSERT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(polls, 4);
  EXPECT_EQ(count, 3);
  aclrtStreamStatus streamStatus = ACL_STREAM_STATUS_NOT_READY;
  EXPECT_EQ(aclrtStreamQuery(stream, &streamStatus), ACL_SUCCESS);
  EXPECT_EQ(streamStatus, ACL_STREAM_STATUS_COMPLETE);
}

TEST_F(Acl, EndlessWaitsAreErrors) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "aclrtSynchronizeStream: the wait cannot end: a stream waits for an event that no "
               "stream records "
               "[507046]");
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "aclrtSynchronizeStreamWithTimeout: the stream is not done after 20 ms [507046]");
  // Another thread ends the wait.
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  setenv("TILEWRIGHT_ACL_WAIT_SECONDS", "20", 1);
  std::thread recorder([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  });
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  recorder.join();
}

TEST_F(Acl, EventTimes) {
  aclrtEvent start = nullptr, end = nullptr, plain = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&start), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&end), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC), ACL_SUCCESS);
  auto pause = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  float ms = 0;
  ASSERT_EQ(aclrtRecordEvent(start, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(stream, pause, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(end, stream), ACL_SUCCESS);
  EXPECT_FAILS(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "aclrtEventElapsedTime: start is not recorded yet; synchronise first [107006]");
  ASSERT_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GE(ms, 20);
  EXPECT_LT(ms, 5000);
  EXPECT_FAILS(aclrtEventElapsedTime(&ms, start, plain), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "aclrtEventElapsedTime: end was created without ACL_EVENT_TIME_LINE [107006]");
}

TEST_F(Acl, StaleAndForeignHandlesAreRecognised) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSynchronizeStream(event), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtSynchronizeStream: stream is an event, not a stream [107017]");
  int garbage = 0;
  EXPECT_FAILS(aclrtSynchronizeStream(&garbage), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtSynchronizeStream: stream was not made by this runtime [107017]");
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_FAILS(aclrtRecordEvent(event, stream), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtRecordEvent: event is an event that was destroyed already [107017]");
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtDestroyStream: stream is a stream that was destroyed already [107017]");
  EXPECT_FAILS(aclrtDestroyStream(nullptr), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtDestroyStream: stream is null [107017]");
}

TEST_F(Acl, CallbacksRunOnTheSubscribedThread) {
  struct State {
    std::thread::id ranOn;
    std::atomic<bool> stop{false};
  } state;
  auto note = [](void* data) { static_cast<State*>(data)->ranOn = std::this_thread::get_id(); };
  EXPECT_FAILS(aclrtLaunchCallback(note, &state, ACL_CALLBACK_BLOCK, stream),
               ACL_ERROR_RT_STREAM_NO_CB_REG,
               "aclrtLaunchCallback: no thread subscribed to the stream; call aclrtSubscribeReport "
               "[107015]");
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::atomic<bool> subscribed{false};
  std::thread reporter([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    while (!subscribed)
      std::this_thread::yield();
    while (!state.stop)
      aclrtProcessReport(10);
  });
  auto reporterId = reporter.get_id();
  ASSERT_EQ(aclrtSubscribeReport(uint64_t(reporter.native_handle()), stream), ACL_SUCCESS);
  subscribed = true;
  ASSERT_EQ(aclrtLaunchCallback(note, &state, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(state.ranOn, reporterId);
  state.stop = true;
  EXPECT_EQ(aclrtUnSubscribeReport(uint64_t(reporter.native_handle()), stream), ACL_SUCCESS);
  reporter.join();
  EXPECT_FAILS(aclrtProcessReport(0), ACL_ERROR_THREAD_NOT_SUBSCRIBE,
               "aclrtProcessReport: this thread is subscribed to no stream [100035]");
}

TEST(AclFloat16, IsExactBothWays) {
  // Every finite half survives; _Float16 of the compiler is the reference for rounding.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = aclFloat16ToFloat(aclFloat16(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0);
      continue;
    }
    ASSERT_EQ(aclFloatToFloat16(value), bits);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    uint32_t pattern = random();
    float value;
    std::memcpy(&value, &pattern, 4);
    if (i % 2)
      value = std::ldexp(float(random() % 8192) / 8192 + 1, int(random() % 45) - 27);
    if (std::isnan(value))
      continue;
    auto expected = _Float16(value);
    uint16_t bits;
    std::memcpy(&bits, &expected, 2);
    ASSERT_EQ(aclFloatToFloat16(value), bits) << value;
  }
}

TEST(AclDataType, Sizes) {
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_DOUBLE), 8U);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 0U);
  EXPECT_EQ(aclDataTypeSize(aclDataType(12345)), 0U);
}

} // namespace
