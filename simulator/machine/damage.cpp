// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/damage.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::ascend {

namespace {

constexpr int exitCodeOfFindings = 66;

/// A text of parts, written at once. Uses nothing of the C library that has state.
class LastWords {
public:
  LastWords& operator<<(const char* part) {
    for (; *part && length < sizeof text; ++part)
      text[length++] = *part;
    return *this;
  }
  LastWords& operator<<(uint32_t number) {
    char digits[12];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
      digits[--at] = static_cast<char>('0' + number % 10);
    while (number /= 10);
    return *this << &digits[at];
  }
  ~LastWords() {
    syscall(SYS_write, STDERR_FILENO, text, length); // write() looks at the thread's variables
  }

private:
  char text[1024];
  size_t length = 0;
};

struct LastLaunch {
  const char* symbol = nullptr;
  char kernel[200] = {};
  Place place;
  bool keepsExitCode = false;
};
LastLaunch lastLaunch;

const char* sentenceOf(Damage damage) {
  switch (damage) {
  case Damage::Heap:
    return "the kernel damaged the program's memory (something freed twice, or written past its "
           "end)";
  case Damage::Machine:
    return "the machine itself failed while a kernel ran: a wild write of the kernel has damaged "
           "its memory, or this is a fault of the machine";
  case Damage::Host:
    return "the program failed in code of the host: a wild write of a kernel has damaged its "
           "memory, or the host code itself touches what it has not";
  case Damage::HostHeap:
    return "the program's heap is damaged: by a wild write of a kernel, or by the host code itself";
  case Damage::Thread:
    return "the kernel has ended its thread by a system call, and the launch with it";
  }
  return "";
}

} // namespace

void blameLaunch(const char* kernelSymbol, Place launch) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  lastLaunch.place = launch;
  if (lastLaunch.symbol == kernelSymbol)
    return;
  lastLaunch.symbol = kernelSymbol;
  // Else `a` is taken for the code of a type.
  bool isMangled = std::strncmp(kernelSymbol, "_Z", 2) == 0;
  char* name = isMangled ? abi::__cxa_demangle(kernelSymbol, nullptr, nullptr, nullptr) : nullptr;
  snprintf(lastLaunch.kernel, sizeof lastLaunch.kernel, "%s", name ? name : kernelSymbol);
  std::free(name);
  const char* wanted = std::getenv("TILEWRIGHT_ASCEND_EXIT");
  lastLaunch.keepsExitCode = wanted && std::strcmp(wanted, "0") == 0;
}

void forgetLaunchTexts() {
  if (lastLaunch.symbol)
    lastLaunch.symbol = "";
  lastLaunch.place = {};
}

bool mayBlameLaunch() {
  return lastLaunch.symbol && !lastLaunch.keepsExitCode;
}

void endDamagedProgram(Damage damage, const Culprit& culprit, const CallChain& seen) {
  static std::atomic<bool> begins{false};
  if (begins.exchange(true)) // what the rest is read from is damaged, too
    _exit(exitCodeOfFindings);
  LastWords() << "error: " << sentenceOf(damage) << "; the program ends here\n";
  {
    LastWords words;
    if (*lastLaunch.place.file)
      words << lastLaunch.place.file << ":" << lastLaunch.place.line << ": ";
    words << "note: the last launch is that of kernel '" << lastLaunch.kernel << "'";
    if (culprit.isKnown)
      words << (culprit.isCube ? ", here cube core " : ", here vector core ") << culprit.number;
    words << "\n";
  }
  if (*culprit.last.file)
    LastWords() << culprit.last.file << ":" << culprit.last.line
                << ": note: the last instruction of the core is here\n";
  if (damage == Damage::Heap && ftrylockfile(stdout) == 0)
    fflush_unlocked(stdout);
  if (seen.count > 0 || seen.caller != 0) {
    LastWords() << "note: it failed here, the innermost call first:\n";
    printPlaceOf(seen);
  }
  _exit(exitCodeOfFindings);
}

// --- stacks for handlers --------------------------------------------------------------------

namespace {
constexpr size_t mostStacks = 4096, fenceBytes = 4096;
SignalStack stacks[mostStacks]; // not in the heap
SignalStack stackOfOthers;
} // namespace

SignalStack* SignalStack::take() {
  for (SignalStack& stack : stacks) {
    if (stack.isTaken.exchange(true))
      continue;
    if (!stack.base) {
      void* at =
          mmap(nullptr, bytes + 2 * fenceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED) {
        stack.isTaken = false;
        return nullptr;
      }
      char* base = static_cast<char*>(at) + fenceBytes;
      mprotect(base, bytes, PROT_READ | PROT_WRITE);
      stack.base = base;
    }
    stack.depth = 0;
    stack_t own{};
    own.ss_sp = stack.base;
    own.ss_size = bytes;
    sigaltstack(&own, nullptr);
    return &stack;
  }
  return nullptr;
}

void SignalStack::giveBack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  isTaken = false;
}

SignalStack& SignalStack::here() {
  const auto at = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (SignalStack& stack : stacks) {
    const auto base = reinterpret_cast<uint64_t>(stack.base.load());
    if (!base)
      break; // they are taken from the first on
    if (at >= base && at - base < bytes)
      return stack;
  }
  return stackOfOthers;
}

} // namespace tilewright::ascend
