// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/compilation.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace nb = nanobind;

namespace tilewright {
namespace {

using namespace std::chrono_literals;

/// It outlives the call that started it if a signal ends that call.
struct Compilation {
  std::shared_ptr<KernelModule> kernel;
  CompileOptions options;
  std::atomic<bool> cancel = false;
  std::pair<std::optional<Artifact>, std::vector<Diagnostic>> result;
  bool isDone = false; // guarded by the mutex below
};

std::mutex mutex;
std::condition_variable ended;
int liveCount = 0; // guarded by the mutex

void run(Compilation& job) {
  job.result.first = compile(*job.kernel, job.options, job.result.second);
  job.kernel.reset(); // before the process may end: its MLIR context goes with it
  std::lock_guard lock(mutex);
  job.isDone = true;
  --liveCount;
  ended.notify_all();
}

void start(const std::shared_ptr<Compilation>& job) {
  std::lock_guard lock(mutex);
  std::thread([job] { run(*job); }).detach();
  ++liveCount;
}

/// As an exit handler it runs before the destructors of all globals that exist by now.
void endProcess(int status, void* /*unused*/) {
  std::unique_lock lock(mutex);
  // Long enough for most passes, and for the linker to remove its files.
  if (ended.wait_for(lock, 200ms, [] { return liveCount == 0; }))
    return;
  std::fflush(nullptr);
  _exit(status);
}

} // namespace

std::pair<std::optional<Artifact>, std::vector<Diagnostic>>
compileWatchingSignals(std::shared_ptr<KernelModule> kernel, const CompileOptions& options,
                       const std::function<bool()>& isCancelled) {
  auto job = std::make_shared<Compilation>();
  job->kernel = std::move(kernel);
  job->options = options;
  job->options.cancel = &job->cancel;
  start(job);
  // What ends the call, whoever throws it, ends the compilation.
  struct Guard {
    std::atomic<bool>& cancel;
    ~Guard() {
      cancel = true;
    }
  } guard{job->cancel};
  for (;;) {
    {
      nb::gil_scoped_release release;
      std::unique_lock lock(mutex);
      if (ended.wait_for(lock, 50ms, [&] { return job->isDone; }))
        return std::move(job->result);
    }
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    if (isCancelled && isCancelled())
      throw std::runtime_error("the compilation was cancelled");
  }
}

void endWithoutCompilations() {
  std::lock_guard lock(mutex);
  if (liveCount != 0)
    on_exit(&endProcess, nullptr);
}

} // namespace tilewright
