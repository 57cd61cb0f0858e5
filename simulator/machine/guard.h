// SPDX-License-Identifier: Apache-2.0
// Runs kernel code such that a fault or an endless loop in it ends the agent and not the program.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_GUARD_H
#define TILEWRIGHT_SIMULATOR_MACHINE_GUARD_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <pthread.h>

namespace tilewright::ascend {

class Agent;

/// Gives the calling thread a signal stack and the process the handlers, while it lives.
class ThreadGuard {
public:
  ThreadGuard();
  ~ThreadGuard();
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

  /// Ends the agent that runs on this thread now, from another thread.
  void interrupt();
  /// Whether the same agent has been in its own code for so long, as far as these questions show.
  /// To be asked by one thread.
  bool isIdleFor(double seconds);

private:
  friend void guardedResume(Agent& agent);
  /// The agent that runs on the thread.
  std::atomic<Agent*> running{nullptr};
  const Agent* seenAgent = nullptr;
  uint64_t seenCalls = 0;
  std::chrono::steady_clock::time_point seenAt;
  pthread_t thread;
  void* signalStack;
};

/// Agent::resume; a memory fault or an interrupt in the kernel's code makes the agent fail.
void guardedResume(Agent& agent);

} // namespace tilewright::ascend

#endif
