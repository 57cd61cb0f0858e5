// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/guard.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/fault_place.h"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <cxxabi.h>
#include <exception>
#include <iterator>
#include <mutex>
#include <ucontext.h>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

constexpr size_t signalStackBytes = 64 * 1024;

struct Landing {
  sigjmp_buf place;
  volatile sig_atomic_t armed = 0;
  int signal = 0;
  const void* address = nullptr;
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
std::terminate_handler oldTerminate = nullptr;
int interruptSignal() {
  return SIGRTMIN + 5;
}

[[noreturn]] void land(int signal, const void* address) {
  landing.signal = signal;
  landing.address = address;
  landing.armed = 0;
  siglongjmp(landing.place, 1);
}

/// The C library gave up or failed in malloc: a lock may be held and the heap is damaged, so that nothing that follows
/// would work.
[[noreturn]] void endProgram(const CallChain& chain) {
  static const char text[] =
      "error: the kernel damaged the program's memory (something freed twice, or written past its "
      "end); the program ends here\n";
  if (ftrylockfile(stdout) == 0)
    fflush_unlocked(stdout);
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  printPlaceOf(chain);
  constexpr int exitCodeOfFindings = 66;
  _exit(exitCodeOfFindings);
}

/// Ours is what the kernel's code does; not the simulator's own abort(), nor a signal of another process.
bool isKernels(int signal, const siginfo_t& info) {
  return currentAgent() && landing.armed &&
         (signal != SIGABRT || (!currentAgent()->inside && info.si_pid == getpid()));
}

void onFault(int signal, siginfo_t* info, void* context) {
  if (isKernels(signal, *info)) {
    landing.chain = CallChain::of(context, currentAgent()->fiber);
    landing.call = libraryCallAt(context, landing.chain);
    if (landing.call == LibraryCall::Heap)
      endProgram(landing.chain);
    land(signal, info->si_addr);
  }
  // Not ours: let it happen again with the handler of before.
  for (unsigned i = 0; i < numFaults; ++i)
    if (faults[i] == signal)
      sigaction(signal, &oldHandlers[i], nullptr);
}

} // namespace

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
    constexpr unsigned mostDelays = 100;
    if (isInLibrary(programCounterOf(context)) && ++agent->delayedInterrupts < mostDelays)
      return;
    leave(signal, context);
  }

  static void sample(ThreadGuard& guard, Agent& agent, int signal, const void* context) {
    if (agent.inside || !canSeeStates() || isInLibrary(programCounterOf(context)))
      return;
    IdleStates::Seen seen = guard.states.note(context, agent.fiber, agent.calls);
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
    } catch (...) {
    }
    abi::__cxa_end_catch(); // the fiber is left for ever, as if it had caught it
  }
  FaultPlace place = placeOf(CallChain::here());
  agent->fail(sentence, agent->placeOrLast(place), agent->view.cube ? 507015 : 507035);
}

} // namespace

ThreadGuard::ThreadGuard() : thread(pthread_self()), signalStack(std::malloc(signalStackBytes)) {
  threadGuard = this;
  stack_t stack{};
  stack.ss_sp = signalStack;
  stack.ss_size = signalStackBytes;
  sigaltstack(&stack, nullptr);
  std::lock_guard lock(handlerMutex);
  if (handlerUsers++)
    return;
  oldTerminate = std::set_terminate(onTerminate);
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = onFault;
  for (unsigned i = 0; i < numFaults; ++i)
    sigaction(faults[i], &action, &oldHandlers[i]);
  action.sa_sigaction = SignalsOfGuard::onInterrupt;
  sigaction(interruptSignal(), &action, &oldHandlers[numFaults]);
}

ThreadGuard::~ThreadGuard() {
  threadGuard = nullptr;
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  std::free(signalStack);
  std::lock_guard lock(handlerMutex);
  if (--handlerUsers)
    return;
  std::set_terminate(oldTerminate);
  // The interrupt's handler stays: a late signal must not end the program.
  for (unsigned i = 0; i < numFaults; ++i)
    sigaction(faults[i], &oldHandlers[i], nullptr);
}

double ThreadGuard::processorSeconds() const {
  clockid_t clock = CLOCK_MONOTONIC;
  timespec time{};
  pthread_getcpuclockid(thread, &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void ThreadGuard::look() {
  const Agent* agent = running.load();
  uint64_t calls = agent ? agent->calls.load(std::memory_order_relaxed) : 0;
  double now = processorSeconds();
  if (!agent || agent != seenAgent || calls != seenCalls) {
    seenAt = now;
    comesBack = false;
  }
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

void guardedResume(Agent& agent) {
  threadGuard->running = &agent;
  if (sigsetjmp(landing.place, 1) == 0) {
    landing.armed = 1;
    agent.resume();
    landing.armed = 0;
    threadGuard->running = nullptr;
    return;
  }
  threadGuard->running = nullptr;
  if (landing.signal == interruptSignal()) {
    threadGuard->isSignalled = false;
    agent.failOutside(agent.sentenceOf(agent.interrupted), 507014, placeOf(landing.chain));
    return;
  }
  int32_t status = agent.view.cube ? 507015 : 507035;
  FaultPlace place = placeOf(landing.chain);
  char text[160];
  if (landing.signal == SIGFPE) {
    agent.failOutside("the kernel divided an integer by zero", status, place);
  } else if (landing.signal == SIGILL || landing.signal == SIGTRAP) {
    agent.failOutside("the kernel ran into a trap: __builtin_trap(), or code that never returns",
                      status, place);
  } else if (landing.signal == SIGABRT) {
    agent.failOutside(sentenceOfAbort(landing.call), status, place);
  } else if (agent.fiber.holds(landing.address)) {
    agent.failOutside("the kernel's stack overflowed: it has 512 KB here and 32 KB on the chip",
                      status, place);
  } else {
    snprintf(text, sizeof text,
             "the kernel's scalar code touched address %p, which is not its memory",
             landing.address);
    agent.failOutside(text, status, place);
  }
}

} // namespace tilewright::ascend
