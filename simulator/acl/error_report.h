// SPDX-License-Identifier: Apache-2.0
/// How calls of the C interface fail: a code for the caller, a sentence for aclGetRecentErrMsg().
#pragma once

#include "acl/acl_base.h"
#include "simulator/launch.h"

#include <new>
#include <sstream>
#include <string>

namespace tilewright::acl {

/// The text of all arguments, one after the other.
template <class... Args> std::string joined(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

/// Notes `call: text` as the calling thread's recent error and returns `code`.
__attribute__((visibility("default"))) aclError noteError(aclError code, const char* call,
                                                          const std::string& text);

/// The thread's recent message (null if there is none); clears it, and keeps the text until the
/// next failure.
const char* takeErrorMessage();
/// The same, and it stays.
const std::string& lastErrorText();
/// The code of the thread's last failure, 0 if none since the last clearing.
aclError lastError(bool clear);

/// One call of the C interface: its name, for messages.
class Call {
public:
  explicit Call(const char* name) : name(name) {}
  template <class... Args> aclError fail(aclError code, const Args&... args) const {
    return noteError(code, name, joined(args...));
  }
  aclError invalid(const std::string& text) const {
    return noteError(ACL_ERROR_INVALID_PARAM, name, text);
  }
  aclError null(const char* parameter) const {
    return noteError(ACL_ERROR_INVALID_PARAM, name, joined(parameter, " is null"));
  }
  const char* const name;
};

/// Runs `body(call)`; no exception leaves the C interface.
template <class Body> auto guarded(const char* name, Body&& body) -> decltype(body(Call(name))) {
  ascend::refuseInKernel(name);
  Call call(name);
  try {
    return body(call);
  } catch (const std::bad_alloc&) {
    return call.fail(ACL_ERROR_BAD_ALLOC, "the host has not enough memory");
  } catch (const std::exception& error) {
    return call.fail(ACL_ERROR_INTERNAL_ERROR, "internal error: ", error.what());
  }
}

} // namespace tilewright::acl
