// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/machine.h"

#include "compiler/base/tile_registers.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>
#include <numeric>

namespace tilewright::cpu {
namespace {

constexpr std::string_view x86Triple = "x86_64-unknown-linux-gnu";
constexpr std::string_view armTriple = "aarch64-unknown-linux-gnu";

/// Sets an option that LLVM has on command lines only. As its default too: each link by LLD resets all options.
template <typename T> void setOption(llvm::StringRef name, T value) {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find(name);
  if (found != options.end())
    static_cast<llvm::cl::opt<T>*>(found->second)->setValue(value, /*initial=*/true);
}

void tuneCodeGenerator() {
  // LLVM's schedulers compare each access of a block with each that may alias, up to 1000 of them: quadratic
  // in straight-line code (2000 statements took 2.2 s of 2.3 s). Hot loops of ours have far fewer than 200.
  setOption<unsigned>("dag-maps-huge-region", 200);
  // Loop strength reduction stays, though it is a third of the code generator's time: without it the fused GEMM of
  // examples/ took 19 ms instead of 14.
}

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    tuneCodeGenerator();
  });
}

std::string hostFeatures() {
  std::string features, reason;
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const bool hasTiles = host.lookup("amx-tile") && mayUseTiles(reason);
  for (const auto& [name, enabled] : host) {
    const bool isThere = enabled && (hasTiles || !name.starts_with("amx"));
    features += features.empty() ? "" : ",";
    features += (isThere ? "+" : "-") + name.str();
  }
  return features;
}

/// The end of a message about a CPU that LLVM does not know: the one that is written most like it, or nothing.
std::string didYouMeanCpu(llvm::StringRef name, const llvm::MCSubtargetInfo& info) {
  const std::string lower = name.lower();
  std::string_view meant;
  unsigned best = std::max<unsigned>(1, lower.size() / 4);
  const auto consider = [&](std::string_view known) {
    const unsigned distance =
        llvm::StringRef(known).edit_distance(lower, /*AllowReplacements=*/true, best);
    if (distance < best || (distance == best && meant.empty())) {
      meant = known;
      best = distance;
    }
  };
  for (const char* level : {"native", "avx2", "avx512", "neon"})
    consider(level);
  for (const llvm::SubtargetSubTypeKV& known : info.getAllProcessorDescriptions())
    consider(known.Key);
  return meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?";
}

/// Fills in what the feature string of `machine` implies. False, with the missing feature, if
/// emitted code could not run.
bool readFeatures(Machine& machine, std::string& problem) {
  const llvm::Triple triple(machine.triple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    problem = error;
    return false;
  }
  // LLVM complains on stderr when it is given a CPU that it does not know: ask first.
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(machine.cpu)) {
    problem = "no CPU is named '" + machine.name + "' on " + triple.getArchName().str();
    problem += info ? didYouMeanCpu(machine.name, *info) : "";
    return false;
  }
  info.reset(target->createMCSubtargetInfo(triple, machine.cpu, machine.features));
  machine.isX86 = triple.isX86();
  if (!machine.isX86) {
    machine.vectorRegisters = 32;
    return true;
  }
  for (const char* needed : {"avx2", "fma", "f16c"}) {
    if (!info->checkFeatures("+" + std::string(needed))) {
      problem = "CPU '" + machine.name + "' lacks " + needed + ", which the cpu target needs";
      return false;
    }
  }
  machine.vectorBits = 256;
  if (info->checkFeatures("+avx512f,+avx512bw,+avx512vl,+avx512dq")) {
    machine.vectorBits = 512;
    machine.vectorRegisters = 32;
    machine.hasBf16Dot = info->checkFeatures("+avx512bf16");
    machine.hasByteDot = info->checkFeatures("+avx512vnni");
    // Panels for tiles are packed by vpermb.
    const bool hasTiles = info->checkFeatures("+amx-tile,+avx512vbmi");
    machine.hasBf16Tiles = hasTiles && info->checkFeatures("+amx-bf16,+avx512bf16");
    machine.hasByteTiles = hasTiles && info->checkFeatures("+amx-int8");
    const llvm::StringRef cpu = machine.cpu;
    machine.addsBesideMultiplying = cpu.starts_with("znver");
    machine.hasTwoWideMultipliers = !cpu.starts_with("znver") && cpu != "x86-64-v4";
  }
  return true;
}

} // namespace

std::string_view Machine::level() const {
  if (!isX86)
    return "neon";
  return vectorBits == 512 ? "avx512" : "avx2";
}

int64_t gemmRows(const Machine& machine) {
  if (machine.vectorRegisters < 32)
    return 6;
  return machine.isX86 ? 12 : 8;
}

int64_t gemmVectors(const Machine& machine) {
  return machine.isX86 ? 2 : 3;
}

// What follows was measured where it is chosen (docs/cpu-speed-notes.md); elsewhere it stays as it was measured there.

bool gemmIsWide(const Machine& machine, int64_t vectors) {
  // 11 loads for 24 multiplications, not 14: each takes of the power that the clock depends on. Of few columns, too many
  // would be left.
  return machine.hasTwoWideMultipliers && vectors >= 16;
}

bool gemmMixesRows(const Machine& machine) {
  // 8 sums, of 4 rows, just about hide a product's latency; 10 do.
  return machine.isX86 && machine.vectorRegisters < 32;
}

int64_t gemmStraightVectors(const Machine& machine) {
  return machine.hasTwoWideMultipliers ? 4 : gemmVectors(machine);
}

int64_t gemmPanelVectors(const Machine& machine, int64_t vectors, int64_t group) {
  const bool isWide = gemmIsWide(machine, vectors);
  const int64_t wide = isWide ? 3 : gemmVectors(machine);
  const bool gains = machine.isX86 && (machine.vectorBits == 256 || machine.hasTwoWideMultipliers);
  return gains && group == 1 && (isWide || vectors % wide == 0) ? wide : 1;
}

int64_t gemmStepsAtOnce(const Machine& machine) {
  return machine.hasTwoWideMultipliers ? 4 : 1;
}

bool gemmAddsLate(const Machine& machine) {
  return machine.isX86 && machine.vectorBits == 256;
}

bool gemmAsksAhead(const Machine& machine) {
  return machine.isX86 && machine.vectorBits == 512;
}

bool gemmRowsStaySpread(const Machine& machine, int64_t rowBytes) {
  // 4 KB are one way of the 8, or 12, of a first-level cache; b passes through two of them.
  const int64_t places = 4096 / std::gcd<int64_t>(4096, rowBytes);
  return llvm::divideCeil(gemmRows(machine), places) <= 6;
}

bool gemmStreamsB(const Machine& machine, int64_t bytes) {
  // Beside tiles of a and c: the second level has 1 or 2 MB.
  return machine.isX86 && machine.vectorBits == 512 && bytes > 1 << 20;
}

int64_t gemmBytesOfA(const Machine& machine) {
  return machine.isX86 && machine.vectorBits == 256 ? 128 << 10 : 0;
}

std::optional<Machine> findMachine(std::string_view name, std::string& problem) {
  initializeTargets();
  Machine machine;
  machine.name = std::string(name);
  machine.triple = std::string(x86Triple);
  if (llvm::Triple(llvm::sys::getDefaultTargetTriple()).isAArch64())
    machine.triple = std::string(armTriple);
  machine.cpu = std::string(name);
  if (name == "native") {
    machine.name = machine.cpu = llvm::sys::getHostCPUName().str();
    machine.features = hostFeatures();
  } else if (name == "avx2" || name == "avx512") {
    machine.triple = std::string(x86Triple);
    machine.name = machine.cpu = name == "avx2" ? "x86-64-v3" : "x86-64-v4";
  } else if (name == "neon") {
    machine.triple = std::string(armTriple);
    machine.name = "aarch64";
    machine.cpu = "generic";
    machine.features = "+neon";
  }
  if (!readFeatures(machine, problem))
    return std::nullopt;
  return machine;
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Machine& machine) {
  initializeTargets();
  const llvm::Triple triple(machine.triple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

} // namespace tilewright::cpu
