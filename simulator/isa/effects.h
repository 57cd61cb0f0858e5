// SPDX-License-Identifier: Apache-2.0
// What each instruction does to memory, and which bytes it touches. No pipes, no time.
#ifndef TILEWRIGHT_SIMULATOR_ISA_EFFECTS_H
#define TILEWRIGHT_SIMULATOR_ISA_EFFECTS_H

#include "simulator/isa/instruction.h"
#include "simulator/machine/kernel_api.h"
#include "simulator/memory/region.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ascend::isa {

/// The accesses of one instruction, reads before writes.
struct AccessList {
  /// Most have less: a vector instruction has 64 of each operand if its mask takes every second lane, a copy of many
  /// matrices may have any number.
  static constexpr unsigned usual = 160;
  unsigned count = 0;
  std::vector<Access> items = std::vector<Access>(usual);

  void add(const Operand& operand, Region region, AccessKind kind);
};

/// Takes stores to GM that must be combined with what is there.
class AtomicStore {
public:
  virtual void store(AtomicOp op, DType type, uint8_t* address, const uint8_t* data,
                     uint64_t bytes) = 0;

protected:
  ~AtomicStore() = default;
};

/// Where an instruction runs: memories of its core, and registers that it returns values in.
struct Context {
  uint8_t* base[numSpaces] = {};
  ScalarResults* results = nullptr;
  AtomicStore* atomics = nullptr;
  /// Beside each 512 bytes of L0B, 128 bytes of indices of a sparse B. Empty before the first.
  mutable std::vector<uint8_t> sparseIndices;

  uint8_t* at(const Operand& operand) const {
    return at(operand.space, operand.address);
  }
  uint8_t* at(Space space, uint64_t address) const {
    return space == Space::GM ? reinterpret_cast<uint8_t*>(address)
                              : base[static_cast<unsigned>(space)] + address;
  }
};

const char* nameOf(VectorOp op);
const char* nameOf(const CopyInstr& instr);
const char* nameOf(CubeOp op);
const char* nameOf(DType type);

/// Fills `accesses`. Returns an error (one lower-case sentence) for an instruction that the chip
/// doesn't have or whose parameters are out of range; empty if it is right.
/// Offsets in memory are read through `context`.
std::string inspect(const VectorInstr& instr, AccessList& accesses, const Context& context);
std::string inspect(const CopyInstr& instr, AccessList& accesses, const Context& context);
std::string inspect(const CubeInstr& instr, AccessList& accesses, const Context& context);

/// True if repeats of the destination share bytes, but not all: the later ones overwrite them, with other values.
bool overlapsItself(const VectorInstr& instr);
/// "dstRepStride is 4, but a repeat spans 8 blocks".
std::string itsRepeats(const VectorInstr& instr);

/// Fills the temporary memory of an advanced function with what no kernel may rely on.
void spoilScratch(const VectorInstr& instr, const Context& context);

/// Select with a mask in memory for each repeat uses what the toolkit keeps for it at the end of UB.
bool worksInReservedBytes(const VectorInstr& instr);

/// Runs an instruction that `inspect` accepted and whose accesses lie inside their memories.
void run(const VectorInstr& instr, const Context& context);
void run(const CopyInstr& instr, const Context& context);
void run(const CubeInstr& instr, const Context& context);

/// What becomes of bytes that nothing has written and that the instruction takes; call it before `run`, which may
/// overwrite its operands.
/// `knownBits`: of each byte of UB the bits that are something all the same (a mask has one of each element); or empty.
Unwritten behind(const VectorInstr& instr, const AccessList& accesses, const Context& context,
                 const std::vector<LocalBytes>& before, const std::vector<uint8_t>& knownBits);
Unwritten behind(const CopyInstr& instr, const std::vector<LocalBytes>& before);
Unwritten behind(const CubeInstr& instr, const AccessList& accesses, const Context& context,
                 const std::vector<LocalBytes>& before, const std::vector<uint8_t>& knownBits);

/// memory[i] = op(memory[i], data[i]).
void combine(AtomicOp op, DType type, uint8_t* memory, const uint8_t* data, uint64_t bytes);

} // namespace tilewright::ascend::isa

#endif
