// SPDX-License-Identifier: Apache-2.0
// The groups of vector instructions. Each group inspects and runs its own.
#ifndef TILEWRIGHT_SIMULATOR_ISA_VECTOR_H
#define TILEWRIGHT_SIMULATOR_ISA_VECTOR_H

#include "simulator/isa/vector_shape.h"

namespace tilewright::ascend::isa {

struct VectorGroup {
  std::string (*inspect)(const VectorInstr& instr, AccessList& accesses, const Context& context);
  void (*run)(const VectorInstr& instr, const Context& context);
};

extern const VectorGroup elementwiseGroup; ///< also Duplicate, CreateVecIndex
extern const VectorGroup castGroup;
extern const VectorGroup quantiseGroup; ///< CastDeq
extern const VectorGroup compareGroup;  ///< Compare, Select, their mask register
extern const VectorGroup reduceGroup;   ///< per repeat and per block
extern const VectorGroup reduceAllGroup;
extern const VectorGroup gatherGroup;
extern const VectorGroup rearrangeGroup; ///< Brcb, Transpose, TransDataTo5HD, Interleave
extern const VectorGroup sortGroup;
extern const VectorGroup rowGroup; ///< softmax, norms, top-k, quantisation

bool isGather(VectorOp op); ///< by offsets: Gather, Gatherb, BilinearInterpolation

/// Which elements (blocks of Gatherb) such an instruction takes of bytes in `unwritten`.
std::vector<LocalBytes> gathered(const VectorInstr& instr, const Context& context,
                                 const std::vector<LocalBytes>& unwritten);

/// Element-wise instructions, casts, comparisons and choices: each element of the result comes of its own operands.
bool isByElements(const VectorInstr& instr);
/// Which elements of the result of such an instruction come of what nothing has written: those with an operand in
/// `before`, but a choice only by its bit and by what it takes, and bits of And and Or only where the other operand
/// leaves them open.
Unwritten throughElements(const VectorInstr& instr, const AccessList& accesses,
                          const Context& context, const std::vector<LocalBytes>& before,
                          const std::vector<uint8_t>& knownBits);

/// "dst starts at UB byte 40, which is no multiple of 32 [ErrorWrite4]", or nothing.
std::string misaligned(const Operand& operand, const char* name, uint32_t multiple, bool written);
/// Which operand of a rearranging or reducing instruction doesn't start where it must, or nothing.
std::string checkStarts(const VectorInstr& instr);
/// What the destination lies over that it must not, or nothing; `list` has all accesses. Element-wise
/// instructions and casts see to their sources themselves.
std::string checkOverlaps(const VectorInstr& instr, const AccessList& list, const Context& context);
/// Adds the temporary memory of an advanced function to `list`, which has all else. Returns what it lies over that it
/// must not, or nothing.
std::string addScratch(const VectorInstr& instr, AccessList& list);
/// Bytes that a reduction writes for one repeat.
uint64_t resultBytes(const VectorInstr& instr);
/// The message for types that an instruction doesn't take.
std::string wrongTypes(const VectorInstr& instr);

/// What is wrong with the mask or the repeats, or nothing; `lanes` of a whole repeat.
std::string checkForm(const VectorInstr& instr, uint32_t lanes);

/// Element `i` of type `type` as a number, and back (rounded to nearest).
double loadElement(const uint8_t* at, DType type);
void storeElement(uint8_t* at, DType type, double value);

} // namespace tilewright::ascend::isa

#endif
