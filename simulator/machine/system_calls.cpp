// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/system_calls.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <ucontext.h>
#include <unistd.h>

// The sanitizers' libraries make their own system calls, from the program's file.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((weak)) void __asan_init();
extern "C" __attribute__((weak)) void __tsan_init();
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace tilewright::ascend {

namespace {

// Of Linux 5.11; older headers have no names for them.
constexpr int setDispatch = 59;
constexpr unsigned long off = 0, on = 1;
constexpr char allow = 0, block = 1;

thread_local volatile char selector = allow;

struct Code {
  uint64_t begin = 0, end = 0;
};

/// The part of the C library that holds its code.
Code codeOfLibrary() {
  Code code{reinterpret_cast<uint64_t>(&getpid), 0};
  auto look = [](dl_phdr_info* module, size_t, void* argument) {
    auto* found = static_cast<Code*>(argument);
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr) & part = module->dlpi_phdr[i];
      const uint64_t begin = module->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || found->begin - begin >= part.p_memsz)
        continue;
      *found = {begin, begin + part.p_memsz};
      return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(look, &code) ? code : Code{};
}

} // namespace

bool watchSystemCalls(bool isOn) {
#if defined(__x86_64__)
  static const Code library = codeOfLibrary();
  if (library.end == 0 || &__asan_init || &__tsan_init)
    return false;
  selector = allow;
  return isOn ? prctl(setDispatch, on, library.begin, library.end - library.begin, &selector) == 0
              : prctl(setDispatch, off, 0, 0, 0) == 0;
#else
  (void)isOn;
  return false;
#endif
}

bool watchProcessorNumber(bool isOn) {
#if defined(SYS_rseq) && __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
  if (__rseq_size == 0) // the C library hasn't asked for it
    return false;
  auto* area = reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) +
                                              __rseq_offset);
  if (isOn) {
    std::memset(area, 0, sizeof *area);
    area->cpu_id = static_cast<uint32_t>(RSEQ_CPU_ID_UNINITIALIZED);
  }
  return syscall(SYS_rseq, area, sizeof *area, isOn ? 0 : RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0;
#else
  (void)isOn;
  return false;
#endif
}

void catchSystemCalls(bool isOn) {
  selector = isOn ? block : allow;
}

void passSystemCall(const siginfo_t& info, void* context) {
#if defined(__x86_64__)
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long result =
      syscall(info.si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
              registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  registers[REG_RAX] = result == -1 ? -errno : result;
#else
  (void)info;
  (void)context;
#endif
}

bool isInKernelsFile(const void* address, const void* kernelCode) {
  Dl_info at{}, kernel{};
  return dladdr(address, &at) && dladdr(kernelCode, &kernel) && at.dli_fbase == kernel.dli_fbase;
}

} // namespace tilewright::ascend
