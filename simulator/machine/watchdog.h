// SPDX-License-Identifier: Apache-2.0
// Interrupts launches that run longer than their limit. One thread for all launches of a process:
// starting one for each would cost more than a short kernel.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_WATCHDOG_H
#define TILEWRIGHT_SIMULATOR_MACHINE_WATCHDOG_H

#include <functional>

namespace tilewright::ascend {

/// While it lives and `seconds` are over, `interrupt` is called again and again on another thread.
class Deadline {
public:
  Deadline(double seconds, std::function<void()> interrupt);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

private:
  unsigned long number;
};

} // namespace tilewright::ascend

#endif
