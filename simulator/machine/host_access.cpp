// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/host_access.h"

#include "simulator/machine/fault_place.h"
#include "simulator/machine/guard.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

namespace tilewright::ascend {
namespace {

constexpr size_t pageBytes = 4096;
constexpr size_t mostClosed = 16 * pageBytes; // whoever touches a block begins at its start
constexpr size_t mostBlocks = 64;

/// Read by the signal handler without a lock.
struct Block {
  std::atomic<char*> base{nullptr};
  std::atomic<size_t> bytes{0}; ///< as asked for
};

struct Closed {
  std::mutex mutex;
  Block blocks[mostBlocks];
  int opened = 0;
  struct sigaction before{};
  bool hasHandler = false;

  static void protect(char* base, size_t bytes, int protection) {
    mprotect(base, std::min(bytes, mostClosed), protection); // of whole pages
  }
  void protectAll(int protection) const {
    for (const Block& block : blocks)
      if (char* base = block.base)
        protect(base, block.bytes, protection);
  }
};

Closed& closed() {
  static auto* instance = new Closed; // outlives every static object that may still free
  return *instance;
}

/// Host code was stopped, not the simulator: it may hold any lock but ours.
void onAccess(int signal, siginfo_t* info, void* context) {
  Closed& c = closed();
  const auto* address = static_cast<char*>(info->si_addr);
  for (Block& block : c.blocks) {
    char* base = block.base;
    if (!base || address < base || address >= base + std::min<size_t>(block.bytes, mostClosed))
      continue;
    block.base = nullptr; // told once: it is open from now on
    c.protect(base, block.bytes, PROT_READ | PROT_WRITE);
    FaultPlace place = placeOf(CallChain::here());
    printHostError("host code touches byte " + std::to_string(address - base) + " of the " +
                       std::to_string(block.bytes) +
                       " bytes that aclrtMalloc gave on the device; copy them with aclrtMemcpy",
                   {place.file.c_str(), place.line});
    return;
  }
  if (c.before.sa_handler == SIG_DFL)
    mayEndForHost(signal, *info, context);
  sigaction(signal, &c.before, nullptr); // not ours: let it happen again with the handler of before
}

} // namespace

bool closeToHost(void* base, size_t bytes) {
  Closed& c = closed();
  std::lock_guard lock(c.mutex);
  for (Block& block : c.blocks) {
    if (block.base)
      continue;
    block.bytes = bytes;
    block.base = static_cast<char*>(base);
    if (!c.hasHandler) {
      struct sigaction action{};
      action.sa_flags = SA_SIGINFO | SA_NODEFER;
      action.sa_sigaction = onAccess;
      c.hasHandler = sigaction(SIGSEGV, &action, &c.before) == 0;
    }
    if (c.opened == 0)
      c.protect(block.base, bytes, PROT_NONE);
    return true;
  }
  return false;
}

void forgetClosed(void* base) {
  Closed& c = closed();
  std::lock_guard lock(c.mutex);
  for (Block& block : c.blocks)
    if (block.base == base)
      block.base = nullptr;
}

OpenDeviceMemory::OpenDeviceMemory() {
  Closed& c = closed();
  std::lock_guard lock(c.mutex);
  if (c.opened++ == 0)
    c.protectAll(PROT_READ | PROT_WRITE);
}

OpenDeviceMemory::~OpenDeviceMemory() {
  Closed& c = closed();
  std::lock_guard lock(c.mutex);
  if (--c.opened == 0)
    c.protectAll(PROT_NONE);
}

} // namespace tilewright::ascend
