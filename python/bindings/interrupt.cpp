// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tilewright::bindings {

namespace {

constexpr long tickNanoseconds = 25'000'000;
constexpr int idleTicks = 40; // without a launch for so long, the watcher sleeps until it is woken

/// All of it trivially destructible: the watcher outlives static destructors.
/// A late signal may set `stop` of a launch that has just ended, so these are never freed; nesting
/// comes from signal handlers in Python that call kernels.
std::array<TwLaunch, 8> launches;
int depth = 0; // of the main thread only
std::atomic<TwLaunch*> active{nullptr};
std::atomic<uint32_t> launchCount{0};
std::atomic<bool> isStarted{false};
std::atomic<uint32_t> isAsleep{0};
std::atomic_flag installing = ATOMIC_FLAG_INIT; // held while `isInstalled` changes
std::atomic<bool> isInstalled{false};
struct sigaction pythonAction;

void stopLaunch(int signal, siginfo_t* info, void* context) {
  if (TwLaunch* launch = active.load())
    launch->stop = 1;
  if ((pythonAction.sa_flags & SA_SIGINFO) != 0)
    pythonAction.sa_sigaction(signal, info, context);
  else if (pythonAction.sa_handler != SIG_DFL && pythonAction.sa_handler != SIG_IGN)
    pythonAction.sa_handler(signal);
}

class Installing {
public:
  Installing() {
    while (installing.test_and_set())
      std::this_thread::yield();
  }
  ~Installing() {
    installing.clear();
  }
};

void installHandler(uint32_t forLaunch) {
  Installing lock;
  // The launch may have ended meanwhile; its end takes the lock, so it can't end between here and
  // below.
  if (!active.load() || launchCount.load() != forLaunch || isInstalled.load())
    return;
  struct sigaction action{};
  action.sa_sigaction = stopLaunch;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGINT, nullptr, &pythonAction) != 0)
    return;
  bool isHandled = (pythonAction.sa_flags & SA_SIGINFO) != 0 ||
                   (pythonAction.sa_handler != SIG_DFL && pythonAction.sa_handler != SIG_IGN);
  if (!isHandled)
    return; // as the user wants it: ignored, or the end of the process
  isInstalled = sigaction(SIGINT, &action, nullptr) == 0;
}

void removeHandler() {
  Installing lock;
  if (!isInstalled.exchange(false))
    return;
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
      now.sa_sigaction == stopLaunch)
    sigaction(SIGINT, &pythonAction, nullptr);
}

void watch() {
  uint32_t last = launchCount.load();
  for (int idle = 0;;) {
    timespec tick{0, tickNanoseconds};
    nanosleep(&tick, nullptr);
    uint32_t now = launchCount.load();
    bool isSame = now == last;
    last = now;
    if (active.load()) {
      idle = 0;
      if (isSame && !isInstalled.load())
        installHandler(now);
      continue;
    }
    idle = isSame ? idle + 1 : 0;
    if (idle < idleTicks)
      continue;
    idle = 0;
    isAsleep = 1;
    if (launchCount.load() == now)
      isAsleep.wait(1);
    isAsleep = 0;
  }
}

void wakeWatcher() {
  if (isAsleep.load() != 0) {
    isAsleep = 0;
    isAsleep.notify_one();
  }
  if (isStarted.load(std::memory_order_relaxed) || isStarted.exchange(true))
    return;
  // The watcher handles no signals: they are for Python's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {
    isStarted = false; // no thread can be made: this launch goes unwatched
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

thread_local int mainThreadKnown = -1;

bool isMainThread() {
  if (mainThreadKnown < 0) {
    static const bool prepared = [] {
      // In a forked child there is no watcher, and the thread that forked is the main one.
      pthread_atfork(nullptr, nullptr, [] {
        mainThreadKnown = -1;
        isStarted = false;
        isAsleep = 0;
        installing.clear();
        depth = 0;
        active = nullptr;
      });
      return true;
    }();
    (void)prepared;
    mainThreadKnown = syscall(SYS_gettid) == getpid() ? 1 : 0;
  }
  return mainThreadKnown == 1;
}

} // namespace

InterruptibleLaunch::InterruptibleLaunch() {
  if (!isMainThread() || depth >= int(launches.size()))
    return;
  current = &launches[depth++];
  *current = TwLaunch{};
  active = current;
  launchCount.fetch_add(1);
  wakeWatcher();
}

InterruptibleLaunch::~InterruptibleLaunch() {
  if (current == &own)
    return;
  active = --depth > 0 ? &launches[depth - 1] : nullptr;
  if (isInstalled.load() || installing.test())
    removeHandler();
}

} // namespace tilewright::bindings
