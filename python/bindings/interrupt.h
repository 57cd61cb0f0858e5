// SPDX-License-Identifier: Apache-2.0
/// Ctrl-C while a kernel runs. The main thread runs blocks itself, so that small calls cost
/// nothing; between blocks it polls Python's signals. For a block that never ends there is a
/// watcher thread: a launch of the main thread that lasts longer than its tick gets a SIGINT
/// handler in front of Python's, which sets `TwLaunch.stop`. A launch pays two atomic stores for
/// this.
#pragma once

#include "tilewright/kernel_abi.h"

namespace tilewright::bindings {

/// The TwLaunch of one launch, watched while it lives if this is the main thread.
class InterruptibleLaunch {
public:
  InterruptibleLaunch();
  ~InterruptibleLaunch();
  InterruptibleLaunch(const InterruptibleLaunch&) = delete;
  InterruptibleLaunch& operator=(const InterruptibleLaunch&) = delete;

  TwLaunch& launch() {
    return *current;
  }
  bool isOnMainThread() const {
    return current != &own;
  }

private:
  TwLaunch own{};
  TwLaunch* current = &own;
};

} // namespace tilewright::bindings
