// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/kernel_run.h"

#include "simulator/acl/devices.h"

#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <utility>

namespace tilewright::acl {
namespace {

void appendToStream(void* handle, ascend::LaunchRequest request) {
  guarded("kernel<<<>>>", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> stream = findStream(call, handle, code);
    if (!stream) { // a launch returns nothing that the program could look at
      ascend::printHostError(lastErrorText(), request.place);
      return code;
    }
    Task task;
    task.what = request.kernel ? request.kernel->name : "a kernel";
    task.run = [request = std::move(request)] { return runKernel(request); };
    Scheduler::instance().submit(*stream, std::move(task));
    return ACL_SUCCESS;
  });
}

} // namespace

std::string sourceName(const char* symbol) {
  if (std::strncmp(symbol, "_Z", 2) != 0) // else `a` is taken for the code of a type
    return symbol;
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}

TaskOutcome runKernel(const ascend::LaunchRequest& request) {
  static std::mutex oneAtATime;
  std::lock_guard lock(oneAtATime);
  ascend::LaunchOptions options = ascend::launchOptionsFromEnvironment();
  options.device = DeviceOfTask::current();
  ascend::LaunchReport report = ascend::launch(request, options);
  if (request.tell) {
    for (const ascend::Finding& finding : std::exchange(report.findings, {}))
      request.tell(request.tellTo, finding.text.c_str(), finding.isError);
  }
  ascend::printFindings(report);
  TaskOutcome outcome;
  if (report.modelledMicroseconds > 0)
    outcome.modelledMs = report.modelledMicroseconds / 1000;
  if (report.status == 0)
    return outcome;
  outcome.code = report.status;
  outcome.text =
      joined("kernel '", request.kernel ? sourceName(request.kernel->name) : "?", "' failed");
  for (const ascend::Finding& finding : report.findings)
    if (finding.isError) {
      outcome.text += ": " + finding.text;
      break;
    }
  return outcome;
}

void installStreamHook() {
  ascend::setStreamHook(appendToStream);
}

} // namespace tilewright::acl
