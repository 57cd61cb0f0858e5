// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/fiber.h"

#include <new>
#include <sys/mman.h>

namespace tilewright::ascend {

namespace context = boost::context::detail;

namespace {
constexpr size_t guardBytes = 4096;
}

Fiber::~Fiber() {
  release();
}

void Fiber::release() {
  if (stack)
    munmap(stack, stackBytes + guardBytes);
  stack = nullptr;
}

void Fiber::start(Body newBody, void* newArgument) {
  body = newBody;
  argument = newArgument;
  done = false;
  if (!stack) {
    void* p = mmap(nullptr, stackBytes + guardBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      throw std::bad_alloc();
    mprotect(p, guardBytes, PROT_NONE);
    stack = p;
  }
  inside = context::make_fcontext(static_cast<char*>(stack) + guardBytes + stackBytes, stackBytes,
                                  trampoline);
}

void Fiber::trampoline(context::transfer_t from) {
  auto* self = static_cast<Fiber*>(from.data);
  self->outside = from.fctx;
  // The frame pointer that Boost starts with is the address of its call of _exit(): a kernel whose stack is damaged
  // could return there, and the program would end without a word. A frame of our own stands before it.
  asm volatile("" : : "r"(__builtin_frame_address(0)));
  self->body(self->argument);
  self->done = true;
  context::jump_fcontext(self->outside, nullptr); // never comes back
}

void Fiber::enter() {
  inside = context::jump_fcontext(inside, this).fctx;
}

void Fiber::leave() {
  outside = context::jump_fcontext(outside, nullptr).fctx;
}

bool Fiber::holdsFrame(const void* address) const {
  // A damaged frame pointer may hold anything: numbers, for pointers must not wrap.
  const auto low = reinterpret_cast<uint64_t>(stack) + guardBytes;
  const auto at = reinterpret_cast<uint64_t>(address);
  return stack && at >= low && at - low <= stackBytes - 2 * sizeof(void*);
}

const uint64_t* Fiber::wordsFrom(uint64_t address, const uint64_t** end) const {
  auto low = reinterpret_cast<uint64_t>(stack) + guardBytes;
  uint64_t from = (address + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
  if (!stack || from < low || from >= low + stackBytes)
    return *end = nullptr;
  *end = reinterpret_cast<const uint64_t*>(low + stackBytes);
  return reinterpret_cast<const uint64_t*>(from);
}

bool Fiber::holds(const void* address) const {
  auto* p = static_cast<const char*>(address);
  auto* low = static_cast<const char*>(stack);
  return stack && p >= low && p < low + guardBytes + stackBytes;
}

} // namespace tilewright::ascend
