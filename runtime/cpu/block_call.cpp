// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/block_call.h"

#include "runtime/cpu/printed_line.h"

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>

namespace tilewright::runtime {

namespace {

/// The on-chip buffers of one thread; grows and is kept.
class Scratch {
public:
  ~Scratch() {
    std::free(memory);
  }

  char* atLeast(size_t wanted) {
    if (wanted <= bytes)
      return memory;
    // From 128 KB on, pages of 4 KB take a third of a core's first table of addresses (96 pages) or more, beside those
    // of the tensors.
    constexpr size_t hugePage = size_t(2) << 20, large = size_t(128) << 10;
    const size_t align = wanted >= large ? hugePage : 64;
    const size_t rounded = (wanted + align - 1) / align * align;
    std::free(memory);
    memory = static_cast<char*>(std::aligned_alloc(align, rounded));
    bytes = memory ? rounded : 0;
    if (memory && align == hugePage)
      madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
  }

private:
  char* memory = nullptr;
  size_t bytes = 0;
};

/// Where this thread's kernel code leaves to, and why it did.
struct WayOut {
  WayOut* outer; // of a kernel further out on this thread's stack, which runs Python by T.print
  sigjmp_buf frame;
  int signal;
  const void* address;
};

thread_local Scratch scratch;
thread_local WayOut* volatile wayOut = nullptr;

constexpr std::array faultSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, 65> previousActions;

void handleFault(int signal, siginfo_t* info, void* context) {
  if (WayOut* out = wayOut) {
    out->signal = signal;
    out->address = info->si_addr;
    wayOut = out->outer;
    siglongjmp(out->frame, 1);
  }
  // Not ours: act as if we were not there.
  const struct sigaction& previous = previousActions[signal];
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    sigaction(signal, &previous, nullptr); // the instruction runs again, and now ends the process
  }
}

} // namespace

void catchFaults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = handleFault;
    // NODEFER: we leave the handler by a jump, which must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int signal : faultSignals)
      sigaction(signal, &action, &previousActions[signal]);
  });
}

void leaveBlocks(TwLaunch* launch) {
  launch->stop = 1; // after a failed assertion: the other threads leave too
  WayOut* out = wayOut;
  wayOut = out->outer;
  siglongjmp(out->frame, 1);
}

/// What a kernel's code does at its end: a thread with configured tiles costs more to switch to.
static void releaseTiles() {
#if defined(__x86_64__)
  asm volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"); // tilerelease
#endif
}

// Between sigsetjmp and the kernel's code there is no frame with a destructor, and nothing local
// changes.
bool callBlocks(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
                int64_t begin, int64_t end, TwLaunch& launch, LaunchResult& result) {
  // A kernel further out on this thread's stack goes on with its buffers.
  Scratch inner;
  Scratch& own = wayOut ? inner : scratch;
  char* buffers = own.atLeast(size_t(kernel.manifest().scratchBytes));
  if (!buffers && kernel.manifest().scratchBytes > 0) {
    launch.stop = 1;
    result.end = LaunchEnd::OutOfMemory;
    return false;
  }
  WayOut out;
  out.outer = wayOut;
  out.signal = 0;
  out.address = nullptr;
  if (sigsetjmp(out.frame, 0) == 0) {
    wayOut = &out;
    part.blocks(slots, buffers, begin, end, &launch);
    wayOut = out.outer;
    // An assertion may also be recorded by code that goes on to the end of its block.
    if (launch.device_error == 0)
      return true;
  }
  if (kernel.manifest().usesTiles)
    releaseTiles();
  forgetLine();
  launch.stop = 1;
  if (out.signal != 0) {
    result.end = LaunchEnd::Fault;
    result.signal = out.signal;
    result.address = out.address;
  }
  return false;
}

} // namespace tilewright::runtime
