// SPDX-License-Identifier: Apache-2.0
/// The machines that the CPU target makes code for, by the names that users give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace llvm {
class TargetMachine;
}

namespace tilewright::cpu {

/// One machine: what LLVM must know, and what our own lowering chooses by.
struct Machine {
  /// As the manifest names it: "znver5", "x86-64-v3", "aarch64".
  std::string name;
  std::string triple;
  /// LLVM's CPU name and feature string ("+avx2,-avx512f,...").
  std::string cpu;
  std::string features;
  /// Bits of a vector register: 512, 256 or 128.
  int vectorBits = 128;
  /// Vector registers, hence how large a micro-kernel may be.
  int vectorRegisters = 16;
  /// `vdpbf16ps`: two bfloat16 products per lane and instruction.
  bool hasBf16Dot = false;
  /// `vpdpbusd`: four products of bytes per lane and instruction.
  bool hasByteDot = false;
  /// `tdpbf16ps` and `tdpbssd`: products of tiles of 16 rows, which AMX has eight registers for.
  bool hasBf16Tiles = false;
  bool hasByteTiles = false;
  bool isX86 = false;
  /// AVX-512 as Intel's servers have it: two multiplications of 512 bits a cycle, as many loads, and 2 MB of second-level
  /// cache. AMD's, where all choices for AVX-512 were made first, keep those.
  bool hasTwoWideMultipliers = false;
  /// As many additions of vectors a cycle as multiplications, on pipes of their own: AMD's cores, with registers of 512 bits.
  bool addsBesideMultiplying = false;

  /// "avx512", "avx2" or "neon".
  std::string_view level() const;
};

/// How many rows of c a gemm's micro-kernel holds in registers.
int64_t gemmRows(const Machine& machine);
/// How many vectors of columns of c it holds for each row.
int64_t gemmVectors(const Machine& machine);

/// Whether it holds 8 rows of 3 vectors instead, of a packed b with so many vectors in a row.
bool gemmIsWide(const Machine& machine, int64_t vectors);
/// Whether a gemm takes some rows by one less at once, so that none are left, of a b read straight on.
bool gemmMixesRows(const Machine& machine);
/// How many vectors a row of b has at most that is read straight on as it lies.
int64_t gemmStraightVectors(const Machine& machine);
/// How many vectors of a row of b lie side by side in a panel of it, where a row has so many of them; `group` rows are
/// interleaved. If it doesn't divide them, the last panel holds only those that are left.
int64_t gemmPanelVectors(const Machine& machine, int64_t vectors, int64_t group);
/// How many steps of k the loop of a micro-kernel does in a turn, where they divide k.
int64_t gemmStepsAtOnce(const Machine& machine);
/// Whether a micro-kernel sums up from 0 and adds c in the end, while c is on its way to the first-level cache.
bool gemmAddsLate(const Machine& machine);
/// Whether a micro-kernel asks for the c of the rows after its own.
bool gemmAsksAhead(const Machine& machine);
/// Whether a micro-kernel's rows of a, so many bytes apart, leave room in each set of the first-level cache.
bool gemmRowsStaySpread(const Machine& machine, int64_t rowBytes);
/// Whether a packed b of so many bytes comes from the third-level cache for each tile of a.
bool gemmStreamsB(const Machine& machine, int64_t bytes);
/// Bytes of a that stay in the second-level cache while all columns of b pass; 0: all there are.
int64_t gemmBytesOfA(const Machine& machine);

/// The machine of a name: "native", "avx2", "avx512", "neon", or a CPU as LLVM names it for this
/// host's architecture. If there is none, or if it lacks what emitted code needs, gives nothing and
/// a sentence in `problem`. A native one has tiles only where the system gives them to this process, which asks for them.
std::optional<Machine> findMachine(std::string_view name, std::string& problem);

/// LLVM's view of the machine, for position-independent code at full optimisation.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Machine& machine);

} // namespace tilewright::cpu
