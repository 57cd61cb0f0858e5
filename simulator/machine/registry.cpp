// SPDX-License-Identifier: Apache-2.0
// Registered kernels, options from the environment, and launches without a runtime.
#include "simulator/launch.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/damage.h"
#include "simulator/machine/kernel_api.h"
#include "simulator/machine/loaded_kernels.h"

#include "compiler/chips/ascend_chip.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <set>
#include <sstream>
#include <sys/auxv.h>
#include <unistd.h>
#include <utility>

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
thread_local LoadedKernels* collecting = nullptr;
thread_local bool isRefused = false; ///< what registers itself next
thread_local const volatile int32_t* stopFlag = nullptr;
thread_local const char* namesOfNext = nullptr;
thread_local bool areRelaxed = false;
struct Listener {
  void (*tell)(void* to, const char* text, bool isError) = nullptr;
  void* to = nullptr;
};
thread_local Listener listener;

} // namespace

void registerKernels(const Kernel* first, const Kernel* last) {
  if (std::exchange(isRefused, false))
    return;
  Ranges& r = ranges();
  std::lock_guard lock(r.mutex);
  r.all.emplace_back(first, last);
  if (collecting)
    collecting->kernels.emplace_back(first, last);
}

void checkInterface(uint64_t digestOfHeaders) {
  if (digestOfHeaders == interfaceDigest())
    return;
  isRefused = true;
  if (collecting) {
    collecting->isOfOtherHeaders = true;
    return;
  }
  Dl_info library = {}, caller = {};
  dladdr(reinterpret_cast<void*>(&checkInterface), &library);
  dladdr(__builtin_return_address(0), &caller);
  const auto* program = reinterpret_cast<const char*>(getauxval(AT_PHDR)) - sizeof(ElfW(Ehdr));
  fprintf(stderr,
          "error: %s was built with the headers of another version of the Ascend host than its "
          "library %s; build it again with the tilewright-ascendc of that library, or let it find "
          "its own (LD_LIBRARY_PATH)\n",
          caller.dli_fname, library.dli_fname);
  if (caller.dli_fbase == program)
    _exit(1);
}

void registerSignatures(const KernelSignature* first, const KernelSignature* last) {
  if (collecting)
    collecting->signatures.emplace_back(first, last);
}

LoadedKernels collectKernels(const std::function<void()>& load) {
  LoadedKernels loaded;
  LoadedKernels* outer = std::exchange(collecting, &loaded);
  load();
  collecting = outer;
  return loaded;
}

void unregisterKernels(const LoadedKernels& loaded) {
  Ranges& r = ranges();
  std::lock_guard lock(r.mutex);
  std::erase_if(r.all, [&](const auto& range) {
    return std::find(loaded.kernels.begin(), loaded.kernels.end(), range) != loaded.kernels.end();
  });
  forgetLaunchTexts();
}

const Kernel* findKernel(const void* host) {
  return findIf([&](const Kernel& k) { return k.host == host; });
}

const Kernel& kernelForKey(const Kernel& kernel, uint64_t tilingKey) {
  const Kernel* keyed = findIf([&](const Kernel& k) {
    return k.host == kernel.host && k.isKeyed && k.tilingKey == tilingKey;
  });
  return keyed ? *keyed
               : kernel; // NOLINT(bugprone-return-const-ref-from-parameter): it is registered
}

const Kernel* findKernelByName(const char* name) {
  return findIf([&](const Kernel& k) { return std::strcmp(k.name, name) == 0; });
}

void setStreamHook(StreamHook hook) {
  ranges().hook = hook;
}

void enqueueLaunch(void* stream, LaunchRequest request) {
  if (currentAgent())
    failKernelHere("a kernel was launched from inside a kernel");
  request.stop = stopFlag;
  request.tensorNames = std::exchange(namesOfNext, nullptr);
  request.relaxed = areRelaxed;
  request.tell = listener.tell;
  request.tellTo = listener.to;
  StreamHook hook = ranges().hook;
  if (hook)
    hook(stream, std::move(request));
  else
    runAtOnce(request);
}

namespace {
LaunchRequest requestOf(const KernelCall& call) {
  LaunchRequest request;
  request.kernel = findKernel(call.host);
  request.blocks = call.blocks;
  request.place = call.place;
  request.arguments = {call.arguments, call.drop};
  request.invoke = call.invoke;
  return request;
}
} // namespace

void enqueueCall(void* stream, const KernelCall& call) {
  enqueueLaunch(stream, requestOf(call));
}

void runCall(uint64_t tilingKey, const KernelCall& call) {
  LaunchRequest request = requestOf(call);
  request.tilingKey = tilingKey;
  printFindings(launch(request, launchOptionsFromEnvironment()));
}

void tilewrightAscendStopFlag(const volatile int32_t* flag) {
  stopFlag = flag;
}

void tilewrightAscendTensorNames(const char* names) {
  namesOfNext = names;
}

void tilewrightAscendTell(void (*tell)(void* to, const char* text, bool isError), void* to) {
  listener = {tell, to};
}

void tilewrightAscendRelaxed(bool isRelaxed) {
  areRelaxed = isRelaxed;
}

void printFindings(const LaunchReport& report) {
  fflush(stdout);
  for (size_t i = 0; i < report.syncSites.size(); ++i)
    fprintf(stderr, "synchronisation %zu: %s\n", i, report.syncSites[i].c_str());
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

void printHostError(const std::string& sentence, Place place) {
  LaunchReport report;
  report.findings.push_back({render({place, sentence, {}}), true});
  printFindings(report);
}

void callKernelAsFunction(const char* kernel, Place definition) {
  printHostError("kernel '" + std::string(kernel) +
                     "' was called as a plain function, so nothing runs; launch it with " + kernel +
                     "<<<blocks, nullptr, stream>>>(...)",
                 definition);
}

void refuseInKernel(const char* function) {
  if (currentAgent())
    failKernelHere(std::string("the kernel called ") + function +
                   "(), which is for host code; call it before or after the launch");
}

void setLaunchDefaults(const char* list) {
  ranges().defaults = list;
}

namespace {

/// Each text once in a process: every launch reads the options.
void warnOnce(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(text).second)
    fprintf(stderr, "warning: TILEWRIGHT_ASCEND %s\n", text.c_str());
}

/// Keeps the default, with a warning, if the value is no number from `least` on.
template <class Number>
void readNumber(const std::string& name, const std::string& value, Number least, Number& into) {
  Number number{};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !(number >= least))
    warnOnce("has " + name + "='" + value + "', which is no number that it takes");
  else
    into = number;
}

} // namespace

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
      readNumber(name, value, 0u, options.threads);
    else if (name == "seed")
      readNumber(name, value, decltype(options.randomOrderSeed){0}, options.randomOrderSeed);
    else if (name == "mute" && value.find(' ') != std::string::npos)
      options.mutedSyncTexts.push_back(value);
    else if (name == "mute")
      readNumber(name, value, decltype(options.mutedSync){-1}, options.mutedSync);
    else if (name == "list-syncs")
      options.countSyncs = true;
    else if (name == "time-limit")
      readNumber(name, value, 0.0, options.timeLimitSeconds);
    else if (name == "idle-limit")
      readNumber(name, value, 0.0, options.idleLimitSeconds);
    else if (name == "repeat-limit")
      readNumber(name, value, 0.0, options.repeatLimitSeconds);
    else if (name == "print-limit")
      readNumber(name, value, 0.0, options.printLimit);
    else if (name == "trace")
      options.trace = true;
    else if (name == "time")
      options.trace = options.printTime = true;
    else if (name == "warm-l2")
      options.warmL2 = true;
    else if (name == "time-only")
      options.trace = options.timeOnly = true;
    else if (name == "time-json") {
      options.timeJson = value;
      options.trace = true;
    } else if (name == "timeline") {
      options.timeline = value;
      options.trace = true;
    } else if (name == "chrome-trace") {
      options.chromeTrace = value;
      options.trace = true;
    } else if (name == "chip") {
      if (chips::findAscendChip(value))
        options.chip = value;
      else
        warnOnce("has the unknown chip '" + value + "'; the chip is " + options.chip);
    } else if (!name.empty())
      warnOnce("has an unknown option '" + name + "'");
  }
  return options;
}

} // namespace tilewright::ascend
