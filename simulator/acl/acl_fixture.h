// SPDX-License-Identifier: Apache-2.0
/// For tests of the C interface: a device that is set, a stream, and what a refused call says.
#pragma once

#include "acl/acl.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::acl::testing {

/// The thread's recent message; clears it.
inline std::string message() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

#define EXPECT_FAILS(call, code, text)                                                             \
  do {                                                                                             \
    EXPECT_EQ(call, code);                                                                         \
    EXPECT_EQ(message(), text);                                                                    \
  } while (false)

class Acl : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("TILEWRIGHT_ACL_WAIT_SECONDS", "0.1", 1);
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    message();
  }
  void TearDown() override {
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  void* allocate(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    return memory;
  }
  aclrtStream stream = nullptr;
};

} // namespace tilewright::acl::testing
