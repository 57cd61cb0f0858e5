// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/error_report.h"

#include "acl/acl.h"

#include <utility>

namespace tilewright::acl {
namespace {

struct ThreadErrors {
  std::string text;
  bool isFresh = false;
  aclError code = ACL_SUCCESS;
};

ThreadErrors& threadErrors() {
  static thread_local ThreadErrors errors;
  return errors;
}

} // namespace

aclError noteError(aclError code, const char* call, const std::string& text) {
  ThreadErrors& errors = threadErrors();
  errors.text = joined(call, ": ", text, " [", code, "]");
  errors.isFresh = true;
  errors.code = code;
  return code;
}

const char* takeErrorMessage() {
  ThreadErrors& errors = threadErrors();
  return std::exchange(errors.isFresh, false) ? errors.text.c_str() : nullptr;
}

const std::string& lastErrorText() {
  return threadErrors().text;
}

aclError lastError(bool clear) {
  ThreadErrors& errors = threadErrors();
  return clear ? std::exchange(errors.code, ACL_SUCCESS) : errors.code;
}

} // namespace tilewright::acl

const char* aclGetRecentErrMsg() {
  return tilewright::acl::takeErrorMessage();
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  return level == ACL_RT_THREAD_LEVEL ? tilewright::acl::lastError(true) : ACL_SUCCESS;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return level == ACL_RT_THREAD_LEVEL ? tilewright::acl::lastError(false) : ACL_SUCCESS;
}
