// SPDX-License-Identifier: Apache-2.0
// Looks at launches now and then, to interrupt those that take too long. One thread for all launches of a process:
// starting one for each would cost more than a short kernel.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_WATCHDOG_H
#define TILEWRIGHT_SIMULATOR_MACHINE_WATCHDOG_H

#include <functional>

namespace tilewright::ascend {

/// While it lives, `look` is called again and again on another thread, the first time after
/// `seconds`; it returns the seconds until the next time.
class Watch {
public:
  Watch(double seconds, std::function<double()> look);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

private:
  unsigned long number;
};

} // namespace tilewright::ascend

#endif
