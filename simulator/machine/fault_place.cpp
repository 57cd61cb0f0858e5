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
#include <unwind.h>
#include <vector>

extern char** environ;

namespace tilewright::ascend {

uint64_t programCounterOf(const void* signalContext) {
  const auto* context = static_cast<const ucontext_t*>(signalContext);
#if defined(__x86_64__)
  return static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

CallChain CallChain::of(const void* signalContext, const Fiber& fiber) {
  CallChain chain;
  uint64_t frame = 0, stackPointer = 0;
  const auto* context = static_cast<const ucontext_t*>(signalContext);
  chain.addresses[chain.count++] = programCounterOf(signalContext);
#if defined(__x86_64__)
  frame = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RBP]);
  stackPointer = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  frame = context->uc_mcontext.regs[29];
  stackPointer = context->uc_mcontext.sp;
#else
  (void)context;
#endif
  chain.stackBegin = fiber.wordsFrom(stackPointer, &chain.stackEnd);
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

CallChain CallChain::here() {
  CallChain chain;
  auto addFrame = [](_Unwind_Context* frame, void* to) {
    auto* chain = static_cast<CallChain*>(to);
    if (chain->count == capacity)
      return _URC_END_OF_STACK;
    int isBefore = 0; // of a frame that a signal has stopped
    uint64_t address = _Unwind_GetIPInfo(frame, &isBefore);
    chain->addresses[chain->count++] = address - !isBefore; // the call, not what comes behind it
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(addFrame, &chain);
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
  arguments.reserve(command.size() + 1);
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

bool isLibrary(const char* module) {
  for (const char* part : {"/libc.so", "/libm.so", "/libstdc++.so", "/libgcc_s.so",
                           "/libtilewright_", "/ld-linux", "linux-vdso"})
    if (std::strstr(module, part))
      return true;
  return false;
}

/// The module of a kernel that holds an address, and the address as its file counts.
struct CodeAddress {
  const char* module = nullptr; ///< null: not in a kernel's code
  uint64_t offset = 0;
};
CodeAddress codeAt(uint64_t address) {
  Dl_info module{};
  if (!dladdr(reinterpret_cast<void*>(address), &module) || !module.dli_fname ||
      isLibrary(module.dli_fname))
    return {};
  const auto* header = static_cast<const Elf64_Ehdr*>(module.dli_fbase);
  bool moves = header->e_type == ET_DYN;
  bool isProgram = std::strchr(module.dli_fname, '/') == nullptr; // found through PATH
  return {isProgram ? "/proc/self/exe" : module.dli_fname,
          address - (moves ? reinterpret_cast<uint64_t>(module.dli_fbase) : 0)};
}

/// A word of a stack that may lie between variables, where sanitizers see nothing.
__attribute__((no_sanitize("address"))) uint64_t wordAt(const uint64_t* address) {
  return *address;
}

constexpr unsigned mostCandidates = 24;
/// What may be return addresses on the stack, in one module; returns how many.
unsigned candidatesOn(const CallChain& chain, CodeAddress (&found)[mostCandidates]) {
  unsigned count = 0;
  for (const uint64_t* word = chain.stackBegin; word < chain.stackEnd && count < mostCandidates;
       ++word) {
    CodeAddress code = codeAt(wordAt(word) - 1);
    if (code.module && (count == 0 || code.module == found[0].module))
      found[count++] = code;
  }
  return count;
}

std::string hexOf(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool isOurs(const std::string& file) {
  for (const char* part : {"/simulator/ascendc/ascendc/", "/ascend/tilewright_", "/include/c++/",
                           "/usr/include/", "??"})
    if (file.find(part) != std::string::npos)
      return true;
  return false;
}

/// Of an answer with -a and -f, what is said of addresses in the first one's function, without names and addresses.
std::string linesOfOneFunction(const std::string& answer) {
  std::string lines, ofThis, name, function;
  bool isLine = false;
  auto close = [&] { // the last name is that of the function that holds all the inlined ones
    if (function.empty())
      function = name;
    if (name == function)
      lines += ofThis;
    ofThis.clear();
  };
  for (size_t at = 0, end; (end = answer.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = answer.substr(at, end - at);
    if (line.starts_with("0x") && !isLine) {
      if (!name.empty())
        close();
      continue;
    }
    if (isLine)
      ofThis += line + "\n";
    else
      name = line;
    isLine = !isLine;
  }
  close();
  return lines;
}

/// The first of the lines that is a kernel's.
FaultPlace firstOf(const std::string& lines) {
  // One line for each function that is inlined there, the innermost first.
  for (size_t at = 0, end; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = lines.substr(at, end - at);
    size_t colon = line.rfind(':');
    auto number =
        colon == std::string::npos ? 0ul : std::strtoul(line.c_str() + colon + 1, nullptr, 10);
    if (number == 0 || isOurs(line))
      continue;
    // Compiled in ".", so that a path is the one that was given, as in other messages.
    const size_t given = line.starts_with("./") ? 2 : 0;
    return {line.substr(given, colon - given), static_cast<uint32_t>(number)};
  }
  return {};
}

FaultPlace firstLine(const std::vector<std::string>& command) {
  return firstOf(outputOf(command));
}

FaultPlace placeOnStack(const CallChain& chain) {
  CodeAddress found[mostCandidates];
  unsigned count = candidatesOn(chain, found);
  if (count == 0)
    return {};
  std::vector<std::string> command = {"addr2line", "-i", "-e", found[0].module};
  for (unsigned i = 0; i < count; ++i)
    command.push_back(hexOf(found[i].offset));
  return firstLine(command);
}

/// What a function of a library says about the call that led to it.
LibraryCall callOf(const Dl_info& function) {
  using Function = void (*)();
  const Function heap[] = {
      reinterpret_cast<Function>(std::malloc),        reinterpret_cast<Function>(std::free),
      reinterpret_cast<Function>(std::calloc),        reinterpret_cast<Function>(std::realloc),
      reinterpret_cast<Function>(std::aligned_alloc), reinterpret_cast<Function>(posix_memalign)};
  for (Function f : heap)
    if (function.dli_saddr == reinterpret_cast<void*>(f))
      return LibraryCall::Heap;
  if (function.dli_saddr == reinterpret_cast<void*>(static_cast<void (*)()>(std::abort)))
    return LibraryCall::OwnAbort;
  const char* name = function.dli_sname ? function.dli_sname : "";
  for (const char* check : {"__stack_chk_fail", "__fortify_fail", "__chk_fail"})
    if (std::strcmp(name, check) == 0)
      return LibraryCall::OverflowCheck;
  return std::strstr(name, "assert_fail") ? LibraryCall::Assertion : LibraryCall::Other;
}

/// A walk from a signal handler outwards, to the first function that is the kernel's.
struct CallsToKernel {
  uint64_t interrupted;
  bool isBelow = false; ///< the handler's own frames are behind
  LibraryCall found = LibraryCall::Other;
  uint64_t caller = 0;  ///< in the kernel's code
  unsigned toAbort = 0; ///< functions of a library from abort() to the kernel
};

_Unwind_Reason_Code addLibraryCall(_Unwind_Context* frame, void* to) {
  auto* calls = static_cast<CallsToKernel*>(to);
  int isBefore = 0; // the address is not that behind a call
  uint64_t address = _Unwind_GetIPInfo(frame, &isBefore);
  calls->isBelow |= address == calls->interrupted;
  if (!calls->isBelow)
    return _URC_NO_REASON;
  address -= !isBefore; // the call, not what comes behind it
  Dl_info function{};
  if (!dladdr(reinterpret_cast<void*>(address), &function) || !function.dli_fname)
    return _URC_END_OF_STACK;
  if (!isLibrary(function.dli_fname)) {
    calls->caller = address;
    return _URC_END_OF_STACK;
  }
  LibraryCall call = callOf(function);
  if (call != LibraryCall::Other && calls->found != LibraryCall::Heap)
    calls->found = call;
  calls->toAbort += calls->toAbort > 0 || call == LibraryCall::OwnAbort;
  return _URC_NO_REASON;
}

} // namespace

bool isInLibrary(uint64_t address) {
  Dl_info module{};
  return dladdr(reinterpret_cast<void*>(address), &module) && module.dli_fname &&
         isLibrary(module.dli_fname);
}

LibraryCall libraryCallAt(const void* signalContext, CallChain& chain) {
  CallsToKernel calls{programCounterOf(signalContext)};
  if (!isInLibrary(calls.interrupted))
    return LibraryCall::None;
  _Unwind_Backtrace(addLibraryCall, &calls);
  chain.caller = calls.caller;
  if (calls.found != LibraryCall::OwnAbort)
    return calls.found;
  return calls.toAbort == 1 ? LibraryCall::OwnAbort : LibraryCall::LibraryAbort;
}

void CallChain::stepBack() {
#if defined(__x86_64__)
  constexpr unsigned char trap = 0xCC;
  if (count == 0 || !codeAt(addresses[0]).module)
    return;
  const auto* behind = reinterpret_cast<const unsigned char*>(addresses[0]);
  const bool isSystemCall = (behind[-2] == 0x0F && behind[-1] == 0x05) || // syscall
                            (behind[-2] == 0xCD && behind[-1] == 0x80);   // int 0x80
  if (behind[-1] == trap || isSystemCall)
    --addresses[0];
#endif
}

FaultPlace placeOf(const CallChain& chain) {
  bool isKernels = chain.count > 0 && codeAt(chain.addresses[0]).module;
  if (CodeAddress code = codeAt(chain.caller); code.module)
    if (FaultPlace place = firstLine({"addr2line", "-i", "-e", code.module, hexOf(code.offset)});
        !place.file.empty())
      return place;
  if (!isKernels)
    if (FaultPlace place = placeOnStack(chain); !place.file.empty())
      return place;
  for (unsigned i = 0; i < chain.count; ++i) {
    CodeAddress code = codeAt(chain.addresses[i]);
    if (!code.module)
      continue;
    std::vector<std::string> command = {"addr2line",       "-a", "-f", "-i", "-e", code.module,
                                        hexOf(code.offset)};
    // The jump of an endless loop, and code that makes room on the stack, have no line: that before it has, unless a
    // function begins here.
    if (i == 0)
      for (const uint64_t back : {1, 8, 16, 24})
        command.push_back(hexOf(code.offset - back));
    if (FaultPlace place = firstOf(linesOfOneFunction(outputOf(command))); !place.file.empty())
      return place;
  }
  return {};
}

void printPlaceOf(const CallChain& chain) {
  CodeAddress found[mostCandidates];
  if (CodeAddress code = codeAt(chain.caller); code.module)
    found[0] = code;
  else if (candidatesOn(chain, found) == 0)
    return;
  char offset[24];
  snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(found[0].offset));
  const char* command[] = {"addr2line", "-i", "-e", found[0].module, offset, nullptr};
  dup2(STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  if (posix_spawnp(&child, command[0], nullptr, nullptr, const_cast<char* const*>(command),
                   environ) == 0)
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace tilewright::ascend
