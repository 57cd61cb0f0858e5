// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/kernel_api.h"
#include "simulator/machine/agent.h"
#include "simulator/machine/tile_part.h"

#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>

namespace tilewright::ascend {

namespace {

/// There is no core whose memories the call could mean, so nothing can go on.
[[noreturn]] void endOutsideKernels(Place place) {
  printHostError("an Ascend C function was called outside of kernels; call it in a kernel, and "
                 "launch that with <<<blocks, nullptr, stream>>>",
                 place);
  exit(EXIT_FAILURE);
}

Agent& agentAt(Place place) {
  if (Agent* a = currentAgent())
    return *a;
  endOutsideKernels(place);
}
Agent& agent() {
  if (Agent* a = currentAgent())
    return *a;
  FaultPlace caller = placeOf(CallChain::here());
  endOutsideKernels({caller.file.c_str(), caller.line});
}

/// While it lives, a signal must not abandon the fiber.
///
/// Its owner's frame begins with the kernel's registers. Only from there on does the stack tell the kernel's state: what
/// lies below is the host's own, with places that it leaves as it found them and others where it counts.
class Inside {
public:
  [[gnu::always_inline]] explicit Inside(Agent& a) : a(a), outer(a.inside) {
    __builtin_unwind_init(); // the owner saves all registers that it must keep
#if defined(__x86_64__)
    constexpr uint64_t savedBelow = 5 * sizeof(uint64_t); // the sixth, rbp, is where rbp points to
    kernelState = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - savedBelow;
#elif defined(__aarch64__)
    asm volatile("mov %0, sp" : "=r"(kernelState)); // with the owner's frame
#endif
    enter();
  }
  [[gnu::always_inline]] ~Inside() {
    exit();
    asm volatile(""); // not a tail call: the owner's frame stays as it is
  }

private:
  void enter() {
    a.inside = 1;
    if (a.ownMemory != 0)
      a.afterOwnCode();
    a.calls.store(a.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    a.noteScalarWrite();
  }
  [[gnu::noinline]] void exit() {
    if (!outer) {
      if (a.isInspected() && a.recurrence.isWanted(a.lastPlace))
        a.noteState(kernelState);
      if (a.repetition.wantsToYield() || a.recurrence.wantsToYield())
        a.yieldTurn();
    }
    a.inside = outer;
    if (outer)
      return;
    a.endIfInterrupted();
    if (a.isInspected())
      a.beforeOwnCode();
  }

  Agent& a;
  int outer;
  uint64_t kernelState = 0;
};

} // namespace

AgentView& agentView() {
  return agent().view;
}

void issueVector(const VectorInstr& instr, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.issue(instr, place);
}
void issueCopy(const CopyInstr& instr, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.issue(instr, place);
}
void issueCube(const CubeInstr& instr, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.issue(instr, place);
}
void issueSetFlag(Pipe from, Pipe to, int32_t id, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.setFlag(from, to, id, place);
}
void issueWaitFlag(Pipe from, Pipe to, int32_t id, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.waitFlag(from, to, id, place);
}
void issueBarrier(Pipe pipe, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.barrier(pipe, place);
}
void issueBarrierAll(Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.barrierAll(place);
}
void issueCrossSet(uint32_t mode, Pipe pipe, uint32_t flag, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.crossSet(mode, pipe, flag, place);
}
void issueCrossWait(uint32_t flag, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.crossWait(flag, place);
}
void issueSyncAll(bool onlyVector, Meeting by, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.syncAll(onlyVector, by, place);
}

void issueNotice(NoticeOf of, uint64_t key, const char* what, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.notify(of, key, what, place);
}
void awaitNotice(NoticeOf of, uint64_t key, uint32_t count, const char* what, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.recurrence.readsElsewhere();
  a.await({of, key, 1, count, false, what}, place);
}
int32_t awaitRequest(uint64_t key, uint32_t numKeys, const char* what, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.recurrence.readsElsewhere();
  return a.await({NoticeOf::Request, key, numKeys, 1, true, what}, place);
}
void** groupMail() {
  Agent& a = agent();
  a.recurrence.readsElsewhere();
  return a.mail();
}

void* scalarAccess(const Operand& operand, uint32_t bytes, bool write, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  return a.scalarAccess(operand, bytes, write, place);
}

void noteTensor(uint16_t number, uint64_t address, const int64_t* extents, unsigned numExtents) {
  Agent& a = agent();
  Inside inside(a);
  a.hazards.nameGlobal(number, address, {extents, extents + numExtents});
}

void drainPipe(Pipe pipe) {
  Agent& a = agent();
  Inside inside(a);
  a.drain(pipe);
}

void* uncachedScalarAccess(const Operand& operand, uint32_t bytes, bool write, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  return a.scalarAccess(operand, bytes, write, place, true);
}

void cleanDataCache(uint64_t address, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.cleanCache(address, place);
}

void noteFreeBuffer(const Operand& buffer, Place freedAt) {
  agentAt(freedAt).noteFreeBuffer(buffer, freedAt);
}
void noteUsedBuffer(const Operand& buffer) {
  agent().noteUsedBuffer(buffer);
}

MaskState& maskState() {
  return agent().mask;
}
StoreState& storeState() {
  return agent().storeState;
}
ScalarResults& scalarResults() {
  Agent& a = agent();
  a.recurrence.readsData();
  return a.results;
}

void noteRegister(Register written) {
  agent().noteRegister(written);
}
void checkRegister(Register read, const char* what, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.checkRegister(read, what, place);
}

void failKernel(const char* sentence, Place place) {
  Agent& a = agentAt(place);
  a.inside = 1;
  a.fail(sentence, place, a.faultStatus());
}

void requirePart(const TilePart& part, Place place) {
  if (const std::string sentence = outsideOf(part); !sentence.empty())
    failKernel(sentence.c_str(), place);
}

void failKernelHere(const std::string& sentence) {
  Agent& a = agent();
  a.inside = 1;
  a.fail(sentence, a.placeOrLast(placeOf(CallChain::here())), a.faultStatus());
}

namespace {
[[noreturn]] void endOfProgram(const std::string& call) {
  failKernelHere("the kernel called " + call + "; a kernel ends by returning");
}
} // namespace

// Without an agent, it is host code in the kernel's source that calls.
void tilewrightKernelExit(int code) {
  if (!currentAgent())
    exit(code);
  endOfProgram("exit(" + std::to_string(code) + ")");
}

void tilewrightKernelAbort() {
  if (!currentAgent())
    abort();
  endOfProgram("abort()");
}

int tilewrightKernelRaise(int signal) {
  if (!currentAgent())
    return raise(signal);
  failKernelHere("the kernel called raise(" + std::to_string(signal) +
                 "), but a core has no signals; a kernel ends by returning");
}

int tilewrightKernelKill(int process, int signal) {
  if (!currentAgent())
    return kill(process, signal);
  failKernelHere("the kernel called kill(), but a core has no signals; a kernel ends by returning");
}

void tilewrightKernelThread() {
  failKernelHere("the kernel started a thread, which a core has not");
}

void tilewrightKernelSystemCall() {
  failKernelHere("the kernel called a function of the operating system, which a core has not");
}

void tilewrightKernelJump(void* buffer, int value) {
  if (Agent* a = currentAgent())
    a->jumpsFrom = reinterpret_cast<uint64_t>(__builtin_return_address(0)) - 1;
  __jmp_buf_tag place = *static_cast<__jmp_buf_tag*>(buffer);
  place.__mask_was_saved = 0; // a wrong one would block what reports faults
  siglongjmp(&place, value);
}

void tilewrightKernelAssert(const char* condition, const char* file, unsigned line, const char*) {
  Agent* a = currentAgent();
  if (!a) {
    fprintf(stderr, "%s:%u: error: assertion failed: %s\n", file, line, condition);
    abort();
  }
  a->inside = 1;
  a->fail(std::string("assertion failed: ") + condition, {file, line}, a->faultStatus());
}

void reportKernel(const char* sentence, bool isError, Place place) {
  Agent& a = agentAt(place);
  Inside inside(a);
  a.complain(sentence, isError, place);
}

Place lastPlace() {
  return agent().lastPlace;
}

void formatText(char* out, uint64_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out, size, format, arguments);
  va_end(arguments);
}

uint64_t allocateForLaunch(uint64_t bytes) {
  Agent& a = agent();
  Inside inside(a);
  a.recurrence.readsElsewhere();
  return a.allocate(bytes);
}

int64_t systemCycle() {
  if (Agent* a = currentAgent())
    a->recurrence.readsElsewhere();
  constexpr int64_t nanosecondsPerTick = 20;
  return std::chrono::steady_clock::now().time_since_epoch().count() / nanosecondsPerTick;
}

void printKernel(const char* text) {
  static std::mutex mutex;
  Agent* a = currentAgent();
  if (!a) { // host code with `using namespace AscendC`
    fputs(text, stdout);
    return;
  }
  constexpr double mebibyte = 1 << 20;
  a->printedBytes += std::strlen(text);
  if (double(a->printedBytes) > a->printLimit() * mebibyte) {
    std::ostringstream most;
    most << a->printLimit();
    failKernelHere("a core has printed more than " + most.str() +
                   " MiB of text; a chip has room for 1 MiB of what a core prints, and loses the "
                   "rest; if the text is wanted, set print-limit higher");
  }
  Inside inside(*a);
  a->noteText(text);
  std::lock_guard lock(mutex);
  fputs(text, stdout);
  fflush(stdout);
}

} // namespace tilewright::ascend
