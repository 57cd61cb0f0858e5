// SPDX-License-Identifier: Apache-2.0
// Pieces of the cube instructions. Layouts: a fractal has 512 bytes, 16 rows of 32 bytes; L0A holds
// rows of fractals (zZ), L0B rows of fractals that are column-major inside (nZ), L0C columns of
// 16 x 16 fractals (zN).
#ifndef TILEWRIGHT_SIMULATOR_ISA_CUBE_H
#define TILEWRIGHT_SIMULATOR_ISA_CUBE_H

#include "simulator/isa/effects.h"

namespace tilewright::ascend::isa {

constexpr uint32_t fractalBytes = 512;
constexpr uint32_t fractalSide = 16;
constexpr uint32_t rowBytes = 32;
constexpr uint32_t resultUnit = 64; ///< at which results in L0C start

constexpr uint32_t ceilDiv(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}
/// Elements of a row of a fractal.
constexpr uint32_t rowElements(DType type) {
  return type == DType::I4 ? 64 : rowBytes / bytesOf(type);
}

/// The rows that a window of LoadData3DParamsV2 makes of an image, in the matrix that it writes to L0A or L0B, and how
/// many fractals lie side by side for the depth of the product.
struct WindowShape {
  uint32_t rows, depth;
};
WindowShape windowShape(const CubeInstr& instr);

/// Fractals of a Mmad along m, n and k.
struct MmadShape {
  uint32_t m1, n1, k1;
};
MmadShape mmadShape(const CubeInstr& instr);

/// "dst starts at L0A byte 40, which is no multiple of 512 [ErrorWrite4]", or nothing.
std::string alignedTo(const Operand& operand, const char* name, uint32_t multiple,
                      bool written = false);
/// The tensor with the fractals must hold all of their rows: a copy of 45 rows of halves needs room for 48 but in its last
/// column. What leaves the memory itself is told as such.
std::string checkFractals(const AccessList& list, const Operand& tensor, bool written);
/// Which tensor ends before what the instruction needs of it, or nothing.
std::string checkExtents(const CubeInstr& instr);
/// Fractals may hold rows that nothing wrote (the tail of a matrix): only the first row must be
/// there; what comes of others is told where it is used.
void addFractals(AccessList& accesses, const Operand& operand, Region region);

void runMmad(const CubeInstr& instr, const Context& context);
void runFixpipe(const CubeInstr& instr, const Context& context);
/// Where Fixpipe puts element (m, n) of matrix nd.
uint64_t fixpipePlace(const CubeInstr& instr, uint32_t nd, uint32_t m, uint32_t n);
std::string inspectFixpipe(const CubeInstr& instr, AccessList& accesses);
std::string inspectLoad3D(const CubeInstr& instr, AccessList& accesses);
void runLoad3D(const CubeInstr& instr, const Context& context);
std::string inspectLoadSparse(const CubeInstr& instr, AccessList& accesses);
void runLoadSparse(const CubeInstr& instr, const Context& context);

} // namespace tilewright::ascend::isa

#endif
