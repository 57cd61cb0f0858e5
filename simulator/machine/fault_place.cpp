// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/fault_place.h"

#include "simulator/machine/fiber.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace tilewright::ascend {

CallChain CallChain::of(const void* signalContext, const Fiber& fiber) {
  CallChain chain;
  uint64_t frame = 0;
  const auto* context = static_cast<const ucontext_t*>(signalContext);
#if defined(__x86_64__)
  chain.addresses[chain.count++] = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  frame = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RBP]);
#elif defined(__aarch64__)
  chain.addresses[chain.count++] = context->uc_mcontext.pc;
  frame = context->uc_mcontext.regs[29];
#else
  (void)context;
#endif
  // Kernels are compiled with frame pointers.
  while (chain.count < capacity && frame % 8 == 0) {
    const auto* pair = reinterpret_cast<const uint64_t*>(frame);
    if (!fiber.holdsFrame(pair))
      break;
    uint64_t outer = pair[0];
    chain.addresses[chain.count++] = pair[1] - 1; // the call, not what comes behind it
    if (outer <= frame)
      break;
    frame = outer;
  }
  return chain;
}

namespace {

/// What `command` writes to its standard output; empty if it can't be run.
std::string outputOf(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[4096];
  if (error == 0)
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR);)
      text.append(part, n > 0 ? static_cast<size_t>(n) : 0); // the watchdog goes on interrupting
  close(ends[0]);
  while (error == 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

/// Code that no kernel wrote.
bool isLibrary(const std::string& module) {
  for (const char* part : {"/libc.so", "/libstdc++.so", "/libtilewright_", "/ld-linux"})
    if (module.find(part) != std::string::npos)
      return true;
  return false;
}

bool isOurs(const std::string& file) {
  for (const char* part : {"/simulator/ascendc/ascendc/", "/include/c++/", "??"})
    if (file.find(part) != std::string::npos)
      return true;
  return false;
}

} // namespace

FaultPlace placeOf(const CallChain& chain) {
  for (unsigned i = 0; i < chain.count; ++i) {
    Dl_info module{};
    auto* address = reinterpret_cast<void*>(chain.addresses[i]);
    if (!dladdr(address, &module) || !module.dli_fname || isLibrary(module.dli_fname))
      continue;
    const auto* header = static_cast<const Elf64_Ehdr*>(module.dli_fbase);
    bool moves = header->e_type == ET_DYN;
    uint64_t offset =
        chain.addresses[i] - (moves ? reinterpret_cast<uint64_t>(module.dli_fbase) : 0);
    bool isProgram = std::strchr(module.dli_fname, '/') == nullptr; // found through PATH
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(offset));
    std::string lines =
        outputOf({"addr2line", "-i", "-e", isProgram ? "/proc/self/exe" : module.dli_fname, text});
    // One line for each function that is inlined there, the innermost first.
    for (size_t at = 0, end; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
      std::string line = lines.substr(at, end - at);
      size_t colon = line.rfind(':');
      auto number =
          colon == std::string::npos ? 0ul : std::strtoul(line.c_str() + colon + 1, nullptr, 10);
      if (number != 0 && !isOurs(line))
        return {line.substr(0, colon), static_cast<uint32_t>(number)};
    }
  }
  return {};
}

} // namespace tilewright::ascend
