// SPDX-License-Identifier: Apache-2.0
// A stack that runs a function and can be left and entered again. Fibers stay on one thread.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_FIBER_H
#define TILEWRIGHT_SIMULATOR_MACHINE_FIBER_H

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

namespace tilewright::ascend {

class Fiber {
public:
  using Body = void (*)(void*);
  /// The stack has a page below it that faults.
  static constexpr size_t stackBytes = size_t{512} * 1024;

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes a fiber that will run body(argument) when entered the first time.
  void start(Body body, void* argument);
  /// Enters the fiber; returns when it leaves or its body ends.
  void enter();
  /// To be called on the fiber's stack: goes back to who entered it.
  void leave();
  /// Gives the stack back; the fiber is not entered again.
  void release();
  bool isDone() const {
    return done;
  }
  /// True if `address` lies on this fiber's stack or on the page below it.
  bool holds(const void* address) const;
  /// True if two words from `address` on can be read from this fiber's stack.
  bool holdsFrame(const void* address) const;
  /// The words from `address` to the top of this fiber's stack; null if it doesn't lie there.
  const uint64_t* wordsFrom(uint64_t address, const uint64_t** end) const;

private:
  static void trampoline(boost::context::detail::transfer_t from);

  void* stack = nullptr;
  boost::context::detail::fcontext_t inside = nullptr;
  boost::context::detail::fcontext_t outside = nullptr;
  Body body = nullptr;
  void* argument = nullptr;
  bool done = false;
};

} // namespace tilewright::ascend

#endif
