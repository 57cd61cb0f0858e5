// SPDX-License-Identifier: Apache-2.0
// Runs kernel code such that a fault or an endless loop in it ends the agent and not the program.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_GUARD_H
#define TILEWRIGHT_SIMULATOR_MACHINE_GUARD_H

#include "simulator/isa/place.h"
#include "simulator/machine/damage.h"
#include "simulator/machine/idle_states.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <pthread.h>

namespace tilewright::ascend {

class Agent;
enum class Ending : uint8_t;

/// Gives the calling thread a signal stack and the process the handlers, while it lives.
class ThreadGuard {
public:
  /// `last`: of the kernel that has run, if this thread runs no other.
  explicit ThreadGuard(Place last = {});
  ~ThreadGuard();
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

  // To be called by one thread, another one.
  /// Ends the agent that runs on this thread now.
  void interrupt(Ending ending);
  /// Notes what the thread does now.
  void look();
  bool runs() const {
    return seenAgent != nullptr;
  }
  /// The core that ran last on this thread, with its last instruction: when it began, or now, if its memory can be
  /// trusted.
  Culprit culprit(bool isNow = false) const;
  /// The thread has ended without a word: the kernel did that by a system call.
  bool isGone() const;
  /// For how long the same agent has been in its own code, as far as the calls of look() show; of the processor's time,
  /// so that a busy computer doesn't count.
  double idleSeconds() const {
    return idle;
  }
  /// For how long the same agent's own code has waited in the operating system.
  double blockedSeconds() const {
    return blocked;
  }
  /// Looks at the state of the agent that runs on the thread: one that comes back to a state without an instruction in
  /// between is in a loop for ever unless another one writes what it reads; if it is alone, it ends.
  void sample(bool alone);
  /// The last samples, up to now, found states of before only.
  bool comesBackAlways() const {
    return comesBack && !isSignalled;
  }
  /// One has ended so.
  bool hasEndedOne() const {
    return endedOne;
  }

private:
  friend void guardedResume(Agent& agent) noexcept;
  friend struct SignalsOfGuard;
  double processorSeconds() const;
  /// 'S': the operating system has nothing to run for the thread; '?': not known.
  char stateInSystem() const;
  /// Sends the signal, unless one is on its way: signals that wait would nest on the small stack.
  void signal();
  /// The agent that runs on the thread.
  std::atomic<Agent*> running{nullptr};
  std::atomic<bool> wantsSample{false}, endedOne{false}, comesBack{false}, isAlone{false},
      isSignalled{false};
  std::atomic<Ending> ending{};
  IdleStates states;
  const Agent* seenAgent = nullptr;
  Place last;
  uint64_t seenCalls = 0;
  double seenAt = 0, idle = 0;
  double processorAt = 0, awakeAt = 0, blocked = 0;
  pthread_t thread;
  int threadNumber; ///< of the operating system
  Culprit core;     ///< that ran last
  SignalStack* signalStack;
  bool leftProcessorNumber = false;
};

/// What a kernel has damaged may show in code of the host, also after the launch: ends the program with a text if it may
/// be so. For signal handlers whose signal nobody else handles.
void mayEndForHost(int signal, const siginfo_t& info, const void* context);

/// Agent::resume; a memory fault or an interrupt in the kernel's code makes the agent fail.
void guardedResume(Agent& agent) noexcept;

} // namespace tilewright::ascend

#endif
