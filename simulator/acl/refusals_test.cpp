// SPDX-License-Identifier: Apache-2.0
// Calls of the C interface with one wrong argument each, and what they say.
#include "simulator/acl/acl_fixture.h"
#include "simulator/acl/error_report.h"

#include <pthread.h>

using namespace tilewright::acl::testing;

namespace {

TEST_F(Acl, CallbacksWithWrongArguments) {
  auto self = uint64_t(pthread_self());
  auto nothing = [](void*) {};
  EXPECT_FAILS(aclrtLaunchCallback(nothing, nullptr, aclrtCallbackBlockType(7), stream),
               ACL_ERROR_INVALID_PARAM,
               "aclrtLaunchCallback: blockType is 7 but may be 0 or 1 [100000]");
  EXPECT_FAILS(aclrtProcessReport(-2), ACL_ERROR_INVALID_PARAM,
               "aclrtProcessReport: timeout is -2 ms but may be -1 or more [100000]");
  EXPECT_FAILS(aclrtUnSubscribeReport(77, stream), ACL_ERROR_STREAM_NOT_SUBSCRIBE,
               "aclrtUnSubscribeReport: thread 77 is not subscribed to the stream [100034]");
  ASSERT_EQ(aclrtSubscribeReport(self, stream), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSubscribeReport(77, stream), ACL_ERROR_REPEAT_SUBSCRIBE,
               "aclrtSubscribeReport: stream has a subscribed thread already [100033]");
  EXPECT_FAILS(aclrtUnSubscribeReport(77, stream), ACL_ERROR_THREAD_NOT_SUBSCRIBE,
               "aclrtUnSubscribeReport: thread 77 is not subscribed to the stream [100035]");
  EXPECT_FAILS(aclrtProcessReport(1), ACL_ERROR_WAIT_CALLBACK_TIMEOUT,
               "aclrtProcessReport: no callback came [100036]");
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream), ACL_SUCCESS);
}

TEST_F(Acl, MemoryThatIsNotThere) {
  char host[64] = {};
  void* device = allocate(64);
  EXPECT_FAILS(aclrtMemcpy2d(device, 8, host, 6, 7, 2, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "aclrtMemcpy2d: width is 7 bytes but spitch is 6 [100000]");
  EXPECT_FAILS(aclrtMemset(device, 8, 0, 9), ACL_ERROR_INVALID_PARAM,
               "aclrtMemset: count is 9 bytes but maxCount is 8 [100000]");
  auto* config = reinterpret_cast<aclrtMallocConfig*>(host); // only its address matters
  EXPECT_FAILS(aclrtMallocWithCfg(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST, config),
               ACL_ERROR_API_NOT_SUPPORT,
               "aclrtMallocWithCfg: cfg is not null: allocation attributes are not offered "
               "[200001]");
  void* huge = nullptr;
  EXPECT_FAILS(aclrtMallocHost(&huge, size_t(1) << 62), ACL_ERROR_RT_MEMORY_ALLOCATION,
               "aclrtMallocHost: size is 4611686018427387904 bytes, which the host has not "
               "[207001]");
  size_t free = 0, total = 0;
  EXPECT_FAILS(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_ERROR_INVALID_PARAM,
               "aclrtGetMemInfo: attr is 0 but the chip has only HBM (1, 4, 5) [100000]");
}

TEST_F(Acl, StreamsAndEventsWithWrongArguments) {
  aclrtStream other = nullptr;
  EXPECT_FAILS(aclrtCreateStreamWithConfig(&other, 8, 0), ACL_ERROR_INVALID_PARAM,
               "aclrtCreateStreamWithConfig: priority is 8 but may be 0 to 7 [100000]");
  EXPECT_FAILS(aclrtCreateStreamWithConfig(&other, 0, 64), ACL_ERROR_INVALID_PARAM,
               "aclrtCreateStreamWithConfig: flag is 64, which is no union of ACL_STREAM_* flags "
               "[100000]");
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_INVALID_PARAM,
               "aclrtSynchronizeStreamWithTimeout: timeout is -2 ms but may be -1 or more "
               "[100000]");
  aclrtEvent event = nullptr;
  EXPECT_FAILS(aclrtCreateEventWithFlag(&event, 0), ACL_ERROR_INVALID_PARAM,
               "aclrtCreateEventWithFlag: flag is 0, which is no union of ACL_EVENT_* flags "
               "[100000]");
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_INVALID_PARAM,
               "aclrtSynchronizeEventWithTimeout: timeout is -2 ms but may be -1 or more "
               "[100000]");
  // The stream waits for an event that nothing records, and so never comes to `event`.
  aclrtEvent never = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&never), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, never), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_FAILS(aclrtSynchronizeEventWithTimeout(event, 5), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
               "aclrtSynchronizeEventWithTimeout: event is not recorded after 5 ms [507047]");
}

TEST_F(Acl, AStreamThatItsOwnHostFunctionDestroys) {
  auto destroy = [](void* itself) { EXPECT_EQ(aclrtDestroyStreamForce(itself), ACL_SUCCESS); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, destroy, stream), ACL_SUCCESS);
  EXPECT_FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE,
               "aclrtDestroyStream: stream is a stream that was destroyed already [107017]");
}

TEST(AclCall, NoExceptionLeavesIt) {
  using tilewright::acl::Call;
  EXPECT_FAILS(
      tilewright::acl::guarded("aclFull", [](const Call&) -> aclError { throw std::bad_alloc(); }),
      ACL_ERROR_BAD_ALLOC, "aclFull: the host has not enough memory [200000]");
  EXPECT_FAILS(
      tilewright::acl::guarded(
          "aclOdd", [](const Call&) -> aclError { throw std::runtime_error("an odd thing"); }),
      ACL_ERROR_INTERNAL_ERROR, "aclOdd: internal error: an odd thing [500000]");
}

} // namespace
