// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/guard.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/damage.h"
#include "simulator/machine/fault_place.h"
#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/system_calls.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cxxabi.h>
#include <exception>
#include <fcntl.h>
#include <iterator>
#include <mutex>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

struct Landing {
  sigjmp_buf place;
  volatile sig_atomic_t armed = 0;
  int signal = 0;
  const void* address = nullptr; ///< that faulted
  bool hasAddress = true;        ///< the processor says it
  bool isLookedAt = false;       ///< by its handler
  LibraryCall call = LibraryCall::None;
  CallChain chain;
};
thread_local Landing landing;
thread_local ThreadGuard* threadGuard = nullptr;

std::mutex handlerMutex;
int handlerUsers = 0;
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGTRAP};
constexpr unsigned numFaults = std::size(faults);
struct sigaction oldHandlers[numFaults + 1]; // the last: of the interrupt
struct sigaction oldOfSystemCalls;
std::terminate_handler oldTerminate = nullptr;
int interruptSignal() {
  return SIGRTMIN + 5;
}

[[noreturn]] void land(int signal, const void* address) {
  landing.signal = signal;
  landing.address = address;
  landing.armed = 0;
  SignalStack::here().depth = 0;
  siglongjmp(landing.place, 1);
}

/// Ours is what the kernel's code does; not the simulator's own abort(), nor a signal of another process.
bool isKernels(int signal, const siginfo_t& info) {
  return currentAgent() && landing.armed &&
         (signal != SIGABRT || (!currentAgent()->inside && info.si_pid == getpid()));
}

bool isOfThisThread(int signal, const siginfo_t& info) {
  return signal != SIGABRT ? info.si_code > 0 : info.si_pid == getpid();
}

void onFault(int signal, siginfo_t* info, void* context) {
  SignalStack& stack = SignalStack::here();
  constexpr int mostNested = 3;
  if (++stack.depth > mostNested) // whatever a handler looks at is damaged: the thread's variables
    endDamagedProgram(Damage::Machine);
  if (isKernels(signal, *info)) {
    if (landing.isLookedAt) // its stack is none: what looks at it has failed
      land(landing.signal, landing.address);
    landing.isLookedAt = true;
    landing.signal = signal;
    landing.address = info->si_addr;
    // Of an address that no memory can have, the processor doesn't say which it was.
    landing.hasAddress = signal != SIGSEGV || info->si_code != SI_KERNEL;
    landing.chain = CallChain::of(context, currentAgent()->fiber);
    if (signal == SIGTRAP)
      landing.chain.stepBack();
    landing.chain.caller = landing.chain.stackBegin ? 0 : currentAgent()->jumpsFrom;
    landing.call = libraryCallAt(context, landing.chain);
    if (landing.call == LibraryCall::Heap)
      endDamagedProgram(Damage::Heap, threadGuard->culprit(), landing.chain);
    land(signal, info->si_addr);
  }
  if (threadGuard && isOfThisThread(signal, *info))
    endDamagedProgram(Damage::Machine, threadGuard->culprit());
  const auto old = std::find(std::begin(faults), std::end(faults), signal) - std::begin(faults);
  if (oldHandlers[old].sa_handler == SIG_DFL)
    mayEndForHost(signal, *info, context);
  sigaction(signal, &oldHandlers[old],
            nullptr); // not ours: let it happen again with the handler of before
  --stack.depth;
}

void onSystemCall(int signal, siginfo_t* info, void* context) {
  constexpr int byDispatch = 2; // SYS_USER_DISPATCH; others come from filters of the program
  if (info->si_code != byDispatch) {
    sigaction(signal, &oldOfSystemCalls, nullptr);
    raise(signal);
    return;
  }
  const int errorBefore = errno;
  Agent* agent = currentAgent();
  if (agent && landing.armed && !agent->inside &&
      isInKernelsFile(info->si_call_addr, agent->kernelCode)) {
    landing.chain = CallChain::of(context, agent->fiber);
    landing.chain.stepBack();
    land(signal, nullptr);
  }
  passSystemCall(*info, context);
  errno = errorBefore;
}

} // namespace

void mayEndForHost(int signal, const siginfo_t& info, const void* context) {
  if (!mayBlameLaunch() || !isOfThisThread(signal, info))
    return;
  CallChain seen;
  const LibraryCall call = libraryCallAt(context, seen);
  const bool isHeap = call == LibraryCall::Heap;
  if (call == LibraryCall::None)
    seen.caller = programCounterOf(context);
  if (isHeap || signal != SIGABRT)
    endDamagedProgram(isHeap ? Damage::HostHeap : Damage::Host, {}, seen);
}

/// The handler of what other threads send.
struct SignalsOfGuard {
  static void onInterrupt(int signal, siginfo_t*, void* context) {
    ThreadGuard* guard = threadGuard;
    if (!guard)
      return;
    handle(*guard, signal, context);
    guard->isSignalled = false;
  }

private:
  static void handle(ThreadGuard& guard, int signal, const void* context) {
    Agent* agent = currentAgent();
    if (!agent || !landing.armed)
      return;
    if (guard.wantsSample.exchange(false) && guard.ending.load() == Ending::None) {
      sample(guard, *agent, signal, context);
      return;
    }
    agent->interrupted = guard.ending.load();
    if (agent->inside || agent->interrupted == Ending::None) // a second signal for one sample
      return;
    // In a library the kernel may hold a lock, that of malloc for one. The watchdog comes again soon; what waits
    // there for ever is left in the end.
    const unsigned mostDelays = agent->interrupted == Ending::Blocked ? 20 : 100;
    if (isInLibrary(programCounterOf(context)) && ++agent->delayedInterrupts < mostDelays) {
      // The signal ends the call that waits: the kernel may go on, but not far.
      if (agent->interrupted == Ending::Blocked && agent->delayedInterrupts == 1)
        libraryCallAt(context, agent->blockedAt);
      return;
    }
    leave(signal, context);
  }

  static void sample(ThreadGuard& guard, Agent& agent, int signal, const void* context) {
    if (agent.inside || !canSeeStates() || isInLibrary(programCounterOf(context)))
      return;
    IdleStates::Seen seen = guard.states.note(context, agent);
    if (seen != IdleStates::Seen::Often) {
      guard.comesBack = guard.comesBack && seen == IdleStates::Seen::Before;
      return;
    }
    guard.comesBack = true;
    if (!guard.isAlone)
      return; // another core may write what this one reads: the watchdog asks all
    agent.interrupted = Ending::SameState;
    guard.endedOne = true;
    leave(signal, context);
  }

  [[noreturn]] static void leave(int signal, const void* context) {
    landing.chain = CallChain::of(context, currentAgent()->fiber);
    landing.chain.stepBack();
    land(signal, nullptr);
  }
};

namespace {

/// A direct abort() in code that tilewright-ascendc has compiled doesn't come here: tilewrightKernelAbort stands for it.
const char* sentenceOfAbort(LibraryCall call) {
  switch (call) {
  case LibraryCall::OverflowCheck:
    return "the kernel wrote past the end of an array of its own, and the C library stopped it";
  case LibraryCall::Assertion:
    return "an assertion of a library failed in the kernel; its text stands above";
  case LibraryCall::OwnAbort:
    return "the kernel called abort(); a kernel ends by returning";
  case LibraryCall::LibraryAbort:
    return "a library that the kernel called ended with abort()";
  default:
    return "the kernel raised SIGABRT, but a core has no signals; a kernel ends by returning";
  }
}

/// An exception that nothing in the kernel catches: the stack still shows where it came from.
[[noreturn]] void onTerminate() {
  Agent* agent = currentAgent();
  if (!agent || !landing.armed) {
    if (oldTerminate)
      oldTerminate();
    abort();
  }
  agent->inside = 1;
  std::string sentence = "the kernel called std::terminate(); a kernel ends by returning";
  if (std::exception_ptr thrown = std::current_exception()) {
    sentence = "the kernel threw a C++ exception";
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      sentence += std::string(": ") + e.what();
    } catch (...) { // NOLINT(bugprone-empty-catch): nothing is known of it
    }
    abi::__cxa_end_catch(); // the fiber is left for ever, as if it had caught it
  }
  FaultPlace place = placeOf(CallChain::here());
  agent->fail(sentence, agent->placeOrLast(place), agent->faultStatus());
}

} // namespace

ThreadGuard::ThreadGuard(Place last)
    : last(last), thread(pthread_self()), threadNumber(gettid()), signalStack(SignalStack::take()) {
  threadGuard = this;
  leftProcessorNumber = watchProcessorNumber(false);
  watchSystemCalls(true);
  std::lock_guard lock(handlerMutex);
  if (handlerUsers++)
    return;
  oldTerminate = std::set_terminate(onTerminate);
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = onFault;
  for (unsigned i = 0; i < numFaults; ++i) {
    struct sigaction old{};
    sigaction(faults[i], &action, &old);
    if (old.sa_sigaction != onFault) // it stays
      oldHandlers[i] = old;
  }
  action.sa_sigaction = SignalsOfGuard::onInterrupt;
  sigaction(interruptSignal(), &action, &oldHandlers[numFaults]);
  struct sigaction old{};
  action.sa_sigaction = onSystemCall;
  sigaction(SIGSYS, &action, &old);
  if (old.sa_sigaction != onSystemCall) // it stays
    oldOfSystemCalls = old;
}

ThreadGuard::~ThreadGuard() {
  threadGuard = nullptr;
  watchSystemCalls(false);
  if (leftProcessorNumber)
    watchProcessorNumber(true);
  if (signalStack)
    signalStack->giveBack();
  std::lock_guard lock(handlerMutex);
  if (--handlerUsers)
    return;
  std::set_terminate(oldTerminate);
  // The interrupt's handler stays: a late signal must not end the program. What nobody else handles stays, too: what a
  // kernel has damaged may show later.
  for (unsigned i = 0; i < numFaults; ++i)
    if (oldHandlers[i].sa_handler != SIG_DFL)
      sigaction(faults[i], &oldHandlers[i], nullptr);
}

Culprit ThreadGuard::culprit(bool isNow) const {
  const Agent* agent = isNow ? running.load() : nullptr;
  Culprit culprit = core;
  culprit.last = agent ? agent->lastPlace : last;
  return culprit;
}

double ThreadGuard::processorSeconds() const {
  clockid_t clock = CLOCK_MONOTONIC;
  timespec time{};
  pthread_getcpuclockid(thread, &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Allocates nothing: a kernel may have damaged the heap, or hold its lock.
char ThreadGuard::stateInSystem() const {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", threadNumber);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return '?';
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = '\0';
  // "number (name) state": the name may hold brackets.
  const char* name = strrchr(text, ')');
  return name && name[1] == ' ' ? name[2] : '?';
}

bool ThreadGuard::isGone() const {
  if (syscall(SYS_tgkill, getpid(), threadNumber, 0) != 0 && errno == ESRCH)
    return true;
  return stateInSystem() == 'Z'; // the first thread stays until the others have ended
}

void ThreadGuard::look() {
  const Agent* agent = running.load();
  uint64_t calls = agent ? agent->calls.load(std::memory_order_relaxed) : 0;
  double now = processorSeconds();
  if (!agent || agent != seenAgent || calls != seenCalls) {
    seenAt = now;
    comesBack = false;
  }
  auto wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch());
  bool mayBlock = agent && agent == seenAgent && calls == seenCalls && !agent->inside;
  constexpr double forSignals = 0.001; // what our own interrupts take
  if (!mayBlock || now > processorAt + forSignals || stateInSystem() != 'S')
    awakeAt = wall.count();
  blocked = wall.count() - awakeAt;
  processorAt = now;
  seenAgent = agent;
  seenCalls = calls;
  idle = agent ? now - seenAt : 0;
}

void ThreadGuard::interrupt(Ending newEnding) {
  ending = newEnding;
  signal();
}

void ThreadGuard::sample(bool alone) {
  isAlone = alone;
  wantsSample = true;
  signal();
}

void ThreadGuard::signal() {
  if (!isSignalled.exchange(true))
    pthread_kill(thread, interruptSignal());
}

void guardedResume(Agent& agent) noexcept {
  threadGuard->running = &agent;
  threadGuard->last = agent.lastPlace;
  threadGuard->core = {true, agent.view.cube, agent.view.blockIdx, {}};
  landing.isLookedAt = false;
  if (sigsetjmp(landing.place, 1) == 0) {
    landing.armed = 1;
    catchSystemCalls(true);
    agent.resume();
    catchSystemCalls(false);
    landing.armed = 0;
    threadGuard->last = agent.lastPlace;
    threadGuard->running = nullptr;
    return;
  }
  catchSystemCalls(false);
  threadGuard->running = nullptr;
  if (landing.signal == interruptSignal()) {
    threadGuard->isSignalled = false;
    agent.failOutside(agent.sentenceOf(agent.interrupted), 507014, placeOf(landing.chain));
    return;
  }
  int32_t status = agent.faultStatus();
  FaultPlace place = placeOf(landing.chain);
  char text[160];
  if (landing.signal == SIGFPE) {
    agent.failOutside("the kernel divided an integer by zero, or the least one by -1", status,
                      place);
  } else if (landing.signal == SIGILL || landing.signal == SIGTRAP) {
    agent.failOutside("the kernel ran into a trap: __builtin_trap(), or code that never returns",
                      status, place);
  } else if (landing.signal == SIGSYS) {
    agent.failOutside("the kernel called a function of the operating system, which a core has not",
                      status, place);
  } else if (landing.signal == SIGABRT) {
    agent.failOutside(sentenceOfAbort(landing.call), status, place);
  } else if (agent.fiber.holdsFrame(landing.address)) { // where only code can't be
    agent.failOutside("the kernel jumped onto its own stack, which is damaged", status, place);
  } else if (agent.fiber.holds(landing.address)) {
    agent.failOutside("the kernel's stack overflowed: it has 512 KB here and 32 KB on the chip",
                      status, place);
  } else if (std::string sentence = sentenceOfHeapFault(landing.address); !sentence.empty()) {
    agent.failOutside(sentence, status, place);
  } else if (!landing.hasAddress) {
    agent.failOutside("the kernel's scalar code touched an address that no memory can have", status,
                      place);
  } else {
    snprintf(text, sizeof text,
             "the kernel's scalar code touched address %p, which is not its memory",
             landing.address);
    agent.failOutside(text, status, place);
  }
}

} // namespace tilewright::ascend
