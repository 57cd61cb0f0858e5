// SPDX-License-Identifier: Apache-2.0
// What the headers of kernels call. Every call acts on the agent (the core) whose kernel code runs
// on this thread; a call outside of kernels ends the program with a message. C++17.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_KERNEL_API_H
#define TILEWRIGHT_SIMULATOR_MACHINE_KERNEL_API_H

#include "../isa/instruction.h"
#include "../launch.h"

namespace tilewright::ascend {

/// Registers of a cube core that later instructions read.
struct CubeRegisters {
  bool hf32 = false, hf32TiesToZero = false;
  uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
  uint64_t quantScale = 0;
  Operand quantScales; ///< of SetFixPipeConfig, in FB
  /// Of LoadData3D: image sizes and padding for L0A and for L0B, value of the padding, repeats.
  struct {
    uint16_t height = 0, width = 0;
    uint8_t padding[4] = {0, 0, 0, 0};
  } image[2];
  uint64_t loadPadBits = 0;
  uint16_t loadRepeatStride = 0;
  uint8_t loadRepeats = 1;
  bool loadRepeatsAlongK = false;
};

/// A part of a tile as a tile language's kernel names it, by its dims.
struct PartDim {
  int64_t first = 0, extent = 0, size = 0; ///< of the tile, or of the tensor on the other side
};

struct TilePart {
  const char* tile = nullptr;
  bool isWritten = false;
  bool isTransposed = false; ///< the last two dims of one side are those of the other in turn
  const PartDim* dims = nullptr;
  uint64_t rank = 0;
  const PartDim* tensor =
      nullptr; ///< of a store whose tensor may end before: what lies beyond isn't read
  uint64_t tensorRank = 0;
};

/// What a kernel may know of the core that it runs on.
struct AgentView {
  uint32_t blockIdx = 0;    ///< GetBlockIdx(): counts cores of this kind
  uint32_t blockNum = 1;    ///< GetBlockNum()
  uint32_t subBlockIdx = 0; ///< 0 or 1 on vector cores of a mixed kernel
  uint32_t subBlockNum = 1;
  bool cube = false;
  bool mixed = false;
  uint64_t tilingKey = 0;
  uint8_t* memory[numSpaces] = {}; ///< null for memories of the other kind of core
  void* pipe = nullptr;            ///< the kernel's TPipe
  uint32_t livePipes = 0;
  void* systemWorkspace = nullptr;
  CubeRegisters cubeRegisters;
  uint64_t padBits = 0;  ///< SetPadValue
  bool padKnown = false; ///< padBits are what DataCopyPad fills with when it gets no value
  uint64_t eventIdsInUse[64] = {}; ///< per HardEvent, one bit an id
};

TILEWRIGHT_EXPORT AgentView& agentView();

TILEWRIGHT_EXPORT void issueVector(const VectorInstr& instr, Place place);
TILEWRIGHT_EXPORT void issueCopy(const CopyInstr& instr, Place place);
TILEWRIGHT_EXPORT void issueCube(const CubeInstr& instr, Place place);

TILEWRIGHT_EXPORT void issueSetFlag(Pipe from, Pipe to, int32_t id, Place place);
TILEWRIGHT_EXPORT void issueWaitFlag(Pipe from, Pipe to, int32_t id, Place place);
TILEWRIGHT_EXPORT void issueBarrier(Pipe pipe, Place place);
TILEWRIGHT_EXPORT void issueBarrierAll(Place place);
TILEWRIGHT_EXPORT void issueCrossSet(uint32_t mode, Pipe pipe, uint32_t flag, Place place);
TILEWRIGHT_EXPORT void issueCrossWait(uint32_t flag, Place place);
/// All cores of this kind (`onlyVector`), or all cores of the launch, meet.
enum class Meeting : uint8_t { ByFlags, ByMemory };
TILEWRIGHT_EXPORT void issueSyncAll(bool onlyVector, Meeting by, Place place);

/// A request asks for work or says that it is done. Without it there is no work to order, so it is no synchronisation
/// that a test could switch off.
enum class NoticeOf : uint8_t { Meeting, Request };
/// A meeting of cores without a hardware flag (IBSet, GroupBarrier, requests of a Matmul): all that
/// this core issued is done, and `key` is noted for all cores of the launch.
TILEWRIGHT_EXPORT void issueNotice(NoticeOf of, uint64_t key, const char* what, Place place);
/// Waits for `count` notices of `key` that this core has not yet waited for.
TILEWRIGHT_EXPORT void awaitNotice(NoticeOf of, uint64_t key, uint32_t count, const char* what,
                                   Place place);
/// Waits for a request, a notice of one of the keys `key`, `key + 1`, ... `key + numKeys - 1`. The number of that key from `key` on;
/// -1 if all other cores of this block have ended instead.
TILEWRIGHT_EXPORT int32_t awaitRequest(uint64_t key, uint32_t numKeys, const char* what,
                                       Place place);
/// Where the cores of a block leave messages for each other; null pointers at the start.
TILEWRIGHT_EXPORT void** groupMail();

/// Zeros in GM that are this core's own for as long as the launch lasts.
TILEWRIGHT_EXPORT uint64_t allocateForLaunch(uint64_t bytes);

/// The scalar unit reads or writes `bytes` at `operand.address`. Returns where they are in host
/// memory; for a memory of the other kind of core, some zero bytes.
TILEWRIGHT_EXPORT void* scalarAccess(const Operand& operand, uint32_t bytes, bool write,
                                     Place place);
/// The tensor of that number (Operand::tensor) begins at `address` of global memory.
TILEWRIGHT_EXPORT void noteTensor(uint16_t number, uint64_t address, const int64_t* extents,
                                  unsigned numExtents);
/// Waits until all that was issued to `pipe` is done and the scalar unit knows (results that an
/// instruction returns to the scalar unit).
TILEWRIGHT_EXPORT void drainPipe(Pipe pipe);
/// The same for GM past the scalar unit's data cache.
TILEWRIGHT_EXPORT void* uncachedScalarAccess(const Operand& operand, uint32_t bytes, bool write,
                                             Place place);
/// DataCacheCleanAndInvalid of the 64-byte line of GM that holds `address`, or of all lines (0):
/// scalar stores reach memory, and the next read comes from there.
TILEWRIGHT_EXPORT void cleanDataCache(uint64_t address, Place place);

/// Bytes of a queue that no tensor has until noteUsedBuffer: FreeTensor gave them back.
TILEWRIGHT_EXPORT void noteFreeBuffer(const Operand& buffer, Place freedAt);
TILEWRIGHT_EXPORT void noteUsedBuffer(const Operand& buffer);

/// State of the core that later instructions read.
struct MaskState {
  uint64_t mask[2] = {~0ull, ~0ull};
  bool counterMode = false;
  Place countsSince; ///< where counter mode was set
};
TILEWRIGHT_EXPORT MaskState& maskState();
struct StoreState {
  AtomicOp atomic = AtomicOp::None;
  DType atomicType = DType::F32;
  Place setAt;
};
TILEWRIGHT_EXPORT StoreState& storeState();
/// Results of the last instruction that returns values to the scalar unit.
struct ScalarResults {
  uint64_t gatherCount = 0;
  uint64_t accumulated = 0; ///< bits of the element type
  uint64_t extreme = 0;     ///< value of the last reduce
  uint64_t extremeIndex = 0;
  uint32_t sortedCounts[4] = {0, 0, 0, 0};
  uint64_t compareMask[4] = {0, 0, 0, 0};
  float dequantScale = 1;
  uint64_t dequantParameters = 0; ///< of CastDeq: scale, offset, sign
  Operand dequantTable;           ///< 16 of them in UB
};
TILEWRIGHT_EXPORT ScalarResults& scalarResults();

/// Registers that have no value before a kernel puts one there.
enum class Register : uint8_t {
  DeqScale,      ///< of SetDeqScale with a scale
  DeqParameters, ///< of SetDeqScale with a scale, an offset and a sign
  DeqTable,      ///< of SetDeqScale with a tensor
  CompareMask,
  Extreme,
  Accumulated,
  SortedCounts,
  LeftImage, ///< of SetFmatrix and LoadData3D
  RightImage,
  QuantScale, ///< of SetFixpipePreQuantFlag
};
TILEWRIGHT_EXPORT void noteRegister(Register written);
/// Notes an error if `what` reads it before that.
TILEWRIGHT_EXPORT void checkRegister(Register read, const char* what, Place place);

/// What exit(), abort(), assert(), a signal and the start of a thread become in a kernel's code (tilewright-ascendc):
/// they end the agent and not the program.
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelExit(int code);
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelAbort();
extern "C" TILEWRIGHT_EXPORT int tilewrightKernelRaise(int signal);
extern "C" TILEWRIGHT_EXPORT int tilewrightKernelKill(int process, int signal);
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelThread();
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelSystemCall();
/// longjmp; `buffer` may be wrong.
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelJump(void* buffer, int value);
extern "C" [[noreturn]] TILEWRIGHT_EXPORT void tilewrightKernelAssert(const char* condition,
                                                                      const char* file,
                                                                      unsigned line,
                                                                      const char* function);

/// Ends this agent with an error at `place`: something that no instruction can mean.
[[noreturn]] TILEWRIGHT_EXPORT void failKernel(const char* sentence, Place place);
/// Ends this agent if a part of a tile isn't within.
TILEWRIGHT_EXPORT void requirePart(const TilePart& part, Place place);
/// Notes an error (or a warning) and goes on.
TILEWRIGHT_EXPORT void reportKernel(const char* sentence, bool isError, Place place);
/// The line of the last instruction.
TILEWRIGHT_EXPORT Place lastPlace();
/// snprintf, so that kernel headers need no <cstdio>.
TILEWRIGHT_EXPORT void formatText(char* out, uint64_t size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
/// Cycles of the 50 MHz counter.
TILEWRIGHT_EXPORT int64_t systemCycle();
/// Prints like printf, one agent at a time.
TILEWRIGHT_EXPORT void printKernel(const char* text);

/// Raise it when headers and library must change together and no layout below shows it. (A test sets another.)
#ifndef TILEWRIGHT_ASCEND_INTERFACE
#define TILEWRIGHT_ASCEND_INTERFACE 4
#endif
/// Equal for headers and a library that fit each other: a digest of the structures that both know.
constexpr uint64_t interfaceDigest() {
  constexpr uint64_t numbers[] = {
      TILEWRIGHT_ASCEND_INTERFACE,
      sizeof(Kernel),
      sizeof(KernelSignature),
      sizeof(LaunchRequest),
      sizeof(LaunchOptions),
      sizeof(LaunchReport),
      sizeof(AgentView),
      sizeof(MaskState),
      sizeof(StoreState),
      sizeof(ScalarResults),
      sizeof(Operand),
      sizeof(VectorInstr),
      sizeof(CopyInstr),
      sizeof(CubeInstr),
      static_cast<uint64_t>(VectorOp::RowFunction),
      static_cast<uint64_t>(CubeOp::Fill),
  };
  uint64_t digest = 14695981039346656037u; // FNV-1a
  for (uint64_t number : numbers)
    digest = (digest ^ number) * 1099511628211u;
  return digest;
}
/// Called when a program starts, before registerKernels: ends it with a sentence if it was built with headers that do not
/// fit the library that it has found. A library that is loaded into a program is only refused.
TILEWRIGHT_EXPORT void checkInterface(uint64_t digestOfHeaders);

} // namespace tilewright::ascend

#endif
