// SPDX-License-Identifier: Apache-2.0
// How the runtime (simulator/acl) and the headers of kernels (simulator/ascendc) start a kernel on
// the machine. C++17: both user programs and the simulator include it.
#ifndef TILEWRIGHT_SIMULATOR_LAUNCH_H
#define TILEWRIGHT_SIMULATOR_LAUNCH_H

#include "isa/place.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define TILEWRIGHT_EXPORT __attribute__((visibility("default")))

namespace tilewright::ascend {

/// Which cores one block of a kernel occupies; the order is that of KERNEL_TYPE_*.
enum class KernelType : uint32_t { AivOnly, AicOnly, MixAiv10, MixAic10, MixAic11, MixAic12 };

/// A kernel as `tilewright-ascendc` registers it when a program starts. `host` is the address of
/// the host pass's function of that name and serves as key; `aic` and `aiv` are the same function
/// compiled for a cube core and for a vector core; null if the kernel's type has no such core.
struct Kernel {
  const void* host;
  void* aic;
  void* aiv;
  const char* name; ///< as the linker knows it
  KernelType type;
  /// A kernel may have other kinds for some tiling keys; rows for these follow its first one.
  uint32_t isKeyed;
  uint64_t tilingKey;
};

/// Called by generated start-up code; `first` to `last` stay valid as long as the program lives, or until the library
/// that holds them is unloaded (simulator/machine/loaded_kernels.h).
TILEWRIGHT_EXPORT void registerKernels(const Kernel* first, const Kernel* last);

/// How a kernel is called by whoever knows only its name at run time (aclrtLaunchKernel). Sizes and alignments are in
/// bytes, and those of the host's C++.
struct KernelParameter {
  size_t size, alignment;
};
struct KernelSignature {
  const void* host; ///< as Kernel::host
  const KernelParameter* parameters;
  size_t count;
  /// Calls `entry` (Kernel::aic or aiv) with copies of the values at `values[0]` to `values[count - 1]`.
  void (*invoke)(void* entry, const void* const* values);
};
/// The same for the signatures of what `tilewright-ascendc build --kernel` makes.
TILEWRIGHT_EXPORT void registerSignatures(const KernelSignature* first,
                                          const KernelSignature* last);
/// The kernel whose host function is `host`, or null.
TILEWRIGHT_EXPORT const Kernel* findKernel(const void* host);
/// The row of the same kernel for that tiling key; `kernel` itself if it has none.
TILEWRIGHT_EXPORT const Kernel& kernelForKey(const Kernel& kernel, uint64_t tilingKey);
/// The kernel of that name (linker's name, or the plain name of an extern "C" kernel), or null.
TILEWRIGHT_EXPORT const Kernel* findKernelByName(const char* name);

/// One launch: everything needed to run it now or later on a stream.
struct LaunchRequest {
  const Kernel* kernel = nullptr;
  uint32_t blocks = 1;
  /// Calls `entry` (kernel->aic or kernel->aiv) with the arguments, on the agent's own stack.
  void (*invoke)(void* entry, const void* arguments) = nullptr;
  std::shared_ptr<const void> arguments;
  uint64_t tilingKey = 0;
  Place place; ///< of the launch, if it is known
  /// Once this is not 0, the launch ends soon, with status 507014 and without findings.
  const volatile int32_t* stop = nullptr;
  /// What the kernel calls its tensors (tilewrightAscendTensorNames); null: it gave no names.
  const char* tensorNames = nullptr;
  /// As LaunchOptions::relaxed, of this launch alone (tilewrightAscendRelaxed).
  bool relaxed = false;
  /// Who is told of each finding; null: they are printed.
  void (*tell)(void* to, const char* text, bool isError) = nullptr;
  void* tellTo = nullptr;
};

/// How to run; defaults come from the environment variable TILEWRIGHT_ASCEND (a comma list:
/// `no-check`, `relaxed`, `threads=2`, `seed=7`, `mute=3`, `time-limit=60`, `time`, ...).
struct LaunchOptions {
  bool check = true;            ///< hazards, initialised reads, flags
  bool relaxed = false;         ///< add the orderings that the vendor's compiler inserts itself
  unsigned threads = 0;         ///< host threads; 0: one per processor
  uint64_t randomOrderSeed = 0; ///< not 0: run queue heads in a random legal order
  int64_t mutedSync = -1;       ///< number of the synchronisation that is switched off; -1: none
  /// Or some by their texts, as countSyncs lists them; empty: none.
  std::vector<std::string> mutedSyncTexts;
  double timeLimitSeconds = 120; ///< of host time; then the launch ends with an error
  double idleLimitSeconds =
      10; ///< of the processor's time, for a core's own code between two instructions
  /// For code that sleeps in the operating system, which has nothing that a core could wait for.
  double blockedLimitSeconds() const {
    constexpr double most = 3;
    return idleLimitSeconds < most ? idleLimitSeconds : most;
  }
  double repeatLimitSeconds = 2; ///< for cores that repeat the same with the same results
  double printLimit = 16;    ///< MiB of text that a core may print; a chip has 1 MiB for its values
  bool countSyncs = false;   ///< list the synchronisations in the report
  bool listAccesses = false; ///< list what instructions touch in the report
  bool trace = false;        ///< keep records and estimate the time on the chip
  bool timeOnly = false;     ///< no effects and no checks: memory keeps its values (trace)
  bool warmL2 = false;       ///< L2 holds what an earlier launch left, as when profiled (trace)
  bool printTime = false;    ///< print tables of the estimate on stderr (trace)
  std::string timeJson;      ///< write the estimate as JSON to this file (trace)
  std::string timeline;      ///< write the estimate as an HTML page to this file (trace)
  std::string chromeTrace;   ///< write it as a Chrome trace, JSON, to this file (trace)
  std::string chip = "910B2";
  int32_t device = -1; ///< where the kernel runs; -1: memory of all devices is its own
};
TILEWRIGHT_EXPORT LaunchOptions launchOptionsFromEnvironment();
/// The same list, from the build of the program; what the environment says comes after it.
TILEWRIGHT_EXPORT void setLaunchDefaults(const char* list);

/// One finding. `text` is complete: `file:line: error: ...` with its notes.
struct Finding {
  std::string text;
  bool isError = true;
};

/// What the vendor's runtime returns for a fault of such a kernel, on whichever of its cores: AICORE_EXCEPTION, or
/// VECTOR_CORE_EXCEPTION of a kernel for vector cores alone.
constexpr int32_t faultStatusOf(KernelType type) {
  return type == KernelType::AivOnly ? 507035 : 507015;
}

/// What an instruction has touched, or a barrier within it. Pipes and memories are numbered as in isa/instruction.h.
struct ListedAccess {
  Place place; ///< of the call
  uint8_t pipe = 0, space = 0;
  bool isCube = false; ///< of the cube core
  bool isBarrier = false, isWrite = false;
  std::vector<std::pair<uint64_t, uint64_t>>
      bytes; ///< from the first to behind the last of each run
};

/// The outcome of a launch. `status` is 0 or the number that the vendor's runtime would return
/// (507014 time-out or deadlock, faultStatusOf its kind for all else that a kernel does wrong).
struct LaunchReport {
  int32_t status = 0;
  std::vector<Finding> findings;
  std::vector<std::string> syncSites; ///< synchronisations seen, by number (countSyncs)
  std::vector<ListedAccess> accesses; ///< core by core, in order (listAccesses)
  double modelledMicroseconds = 0;    ///< of the task, from the timing model; 0 without it
  double coreMicroseconds = 0;        ///< mean over the cores
  double pipeMicroseconds[7] =
      {}; ///< busy time, mean over the cores that use the pipe: S, V, M, MTE1, MTE2, MTE3, FIX
};

/// Runs a kernel to its end on the calling thread and on worker threads. Prints nothing; never
/// throws for what the kernel does.
TILEWRIGHT_EXPORT LaunchReport launch(const LaunchRequest& request, const LaunchOptions& options);
/// A copy of the report of the launch that ended last in this process.
TILEWRIGHT_EXPORT LaunchReport lastLaunchReport();

/// Prints the findings on stderr. After an error, the program will end with exit code 66 instead of
/// its own (TILEWRIGHT_ASCEND_EXIT changes that; 0 keeps the program's own).
TILEWRIGHT_EXPORT void printFindings(const LaunchReport& report);

/// An error at a place of the host's program, printed as a finding of a launch is, with the same exit code.
TILEWRIGHT_EXPORT void printHostError(const std::string& sentence, Place place);
/// What a kernel's name calls in host code: says that it isn't a plain function. `kernel` is its name, `definition` its
/// line.
TILEWRIGHT_EXPORT void callKernelAsFunction(const char* kernel, Place definition = Place::here());
/// Fails the kernel that runs on this thread, if one does: `function` is for host code.
TILEWRIGHT_EXPORT void refuseInKernel(const char* function);

/// What `kernel<<<blocks, l2, stream>>>(...)` calls. The runtime installs a hook that appends to
/// the stream; without one the kernel runs at once. A failed launch must show in the stream's
/// status.
using StreamHook = void (*)(void* stream, LaunchRequest request);
TILEWRIGHT_EXPORT void setStreamHook(StreamHook hook);
TILEWRIGHT_EXPORT void enqueueLaunch(void* stream, LaunchRequest request);

/// The same as the headers of kernels ask for it. It is plain because every kernel's build compiles what makes it.
struct KernelCall {
  const void* host; ///< as Kernel::host
  uint32_t blocks;
  Place place;
  const void* arguments; ///< of whoever takes the call: `drop` ends them
  void (*drop)(const void* arguments);
  void (*invoke)(void* entry, const void* arguments); ///< as LaunchRequest::invoke
};
TILEWRIGHT_EXPORT void enqueueCall(void* stream, const KernelCall& call);
/// Runs it on this thread's time and prints what is found.
TILEWRIGHT_EXPORT void runCall(uint64_t tilingKey, const KernelCall& call);
/// What the calling thread enqueues from now on looks at `flag` (LaunchRequest::stop), which must
/// live until it has ended. Null: at nothing. A C name, for those who look for it at run time.
extern "C" TILEWRIGHT_EXPORT void tilewrightAscendStopFlag(const volatile int32_t* flag);
/// What the kernel that the calling thread enqueues next calls its tensors, for findings: of each its name (`x*3` of
/// three versions that lie one behind the other), first byte on chip, bits of an element, elements from row to row (0:
/// they don't lie in rows) and extents (-1: not known), with blanks between and a semicolon behind. The text must live as long as the kernel.
extern "C" TILEWRIGHT_EXPORT void tilewrightAscendTensorNames(const char* names);
/// Findings of what the calling thread enqueues from now on go to `tell` and aren't printed; what `to` points to must
/// live until the launches have ended. Null: to nobody else.
extern "C" TILEWRIGHT_EXPORT void
tilewrightAscendTell(void (*tell)(void* to, const char* text, bool isError), void* to);
/// Whether what the calling thread enqueues from now on has the orderings that the vendor's compiler inserts itself,
/// whatever the options say. A C name.
extern "C" TILEWRIGHT_EXPORT void tilewrightAscendRelaxed(bool isRelaxed);

/// Global memory. The runtime tells which ranges are allocated; accesses outside are errors.
TILEWRIGHT_EXPORT void addGlobalMemory(void* base, size_t bytes);
/// False if no allocation starts at `base`.
TILEWRIGHT_EXPORT bool removeGlobalMemory(void* base);
/// Nothing is in these bytes yet, until a kernel or markWritten writes them; kernels that read them
/// are reported. Memory that is only registered counts as written.
TILEWRIGHT_EXPORT void markUnwritten(const void* base, size_t bytes);
TILEWRIGHT_EXPORT void markWritten(const void* base, size_t bytes);
/// The allocation at `base` belongs to this device: kernels of another (LaunchOptions::device) may not touch it.
TILEWRIGHT_EXPORT void setMemoryDevice(void* base, int32_t device);
/// Base and size of the allocation that holds `address`; false if none does.
TILEWRIGHT_EXPORT bool findGlobalMemory(const void* address, void** base, size_t* bytes);

} // namespace tilewright::ascend

#endif
