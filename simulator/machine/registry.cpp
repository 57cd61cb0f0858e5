// SPDX-License-Identifier: Apache-2.0
// Registered kernels, options from the environment, and launches without a runtime.
#include "simulator/launch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

struct Ranges {
  std::mutex mutex;
  std::vector<std::pair<const Kernel*, const Kernel*>> all;
  StreamHook hook = nullptr;
  std::string defaults;
};
Ranges& ranges() {
  static auto* instance = new Ranges;
  return *instance;
}

template <class Predicate> const Kernel* findIf(Predicate predicate) {
  Ranges& r = ranges();
  std::lock_guard lock(r.mutex);
  for (auto [first, last] : r.all)
    for (const Kernel* k = first; k != last; ++k)
      if (predicate(*k))
        return k;
  return nullptr;
}

void runAtOnce(const LaunchRequest& request) {
  LaunchReport report = launch(request, launchOptionsFromEnvironment());
  printFindings(report);
}

bool exitCodeNeeded = false;

} // namespace

void registerKernels(const Kernel* first, const Kernel* last) {
  Ranges& r = ranges();
  std::lock_guard lock(r.mutex);
  r.all.emplace_back(first, last);
}

const Kernel* findKernel(const void* host) {
  return findIf([&](const Kernel& k) { return k.host == host; });
}

const Kernel* findKernelByName(const char* name) {
  return findIf([&](const Kernel& k) { return std::strcmp(k.name, name) == 0; });
}

void setStreamHook(StreamHook hook) {
  ranges().hook = hook;
}

void enqueueLaunch(void* stream, LaunchRequest request) {
  StreamHook hook = ranges().hook;
  if (hook)
    hook(stream, std::move(request));
  else
    runAtOnce(request);
}

void printFindings(const LaunchReport& report) {
  fflush(stdout);
  bool anyError = false;
  for (const Finding& finding : report.findings) {
    fputs(finding.text.c_str(), stderr);
    anyError = anyError || finding.isError;
  }
  if (!anyError || exitCodeNeeded)
    return;
  exitCodeNeeded = true;
  const char* chosen = std::getenv("TILEWRIGHT_ASCEND_EXIT");
  static int exitCode = chosen ? static_cast<int>(strtol(chosen, nullptr, 10)) : 66;
  if (exitCode)
    std::atexit([] {
      fflush(nullptr);
      _exit(exitCode);
    });
}

void setLaunchDefaults(const char* list) {
  ranges().defaults = list;
}

LaunchOptions launchOptionsFromEnvironment() {
  LaunchOptions options;
  const char* text = std::getenv("TILEWRIGHT_ASCEND");
  std::stringstream list(ranges().defaults + "," + (text ? text : ""));
  std::string item;
  while (std::getline(list, item, ',')) {
    size_t equals = item.find('=');
    std::string name = item.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (name == "no-check")
      options.check = false;
    else if (name == "relaxed")
      options.relaxed = true;
    else if (name == "threads")
      options.threads = static_cast<unsigned>(strtoul(value.c_str(), nullptr, 10));
    else if (name == "seed")
      options.randomOrderSeed = strtoull(value.c_str(), nullptr, 10);
    else if (name == "mute")
      options.mutedSync = strtoll(value.c_str(), nullptr, 10);
    else if (name == "list-syncs")
      options.countSyncs = true;
    else if (name == "time-limit")
      options.timeLimitSeconds = strtod(value.c_str(), nullptr);
    else if (name == "trace")
      options.trace = true;
    else if (name == "time")
      options.trace = options.printTime = true;
    else if (name == "warm-l2")
      options.warmL2 = true;
    else if (name == "time-only")
      options.trace = options.timeOnly = true;
    else if (name == "timeline") {
      options.timeline = value;
      options.trace = true;
    } else if (name == "chrome-trace") {
      options.chromeTrace = value;
      options.trace = true;
    } else if (name == "chip")
      options.chip = value;
    else if (!name.empty())
      fprintf(stderr, "warning: TILEWRIGHT_ASCEND has an unknown option '%s'\n", name.c_str());
  }
  return options;
}

} // namespace tilewright::ascend
