// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/link_library.h"

#include "compiler/targets/cpu/emit_object.h"
#include "compiler/targets/cpu/external_symbols.h"
#include "compiler/targets/cpu/machine.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include <gtest/gtest.h>

namespace tilewright::cpu {
namespace {

/// The object of LLVM IR text for a machine that every x86 of ours has.
std::string objectOf(const std::string& text, bool optimize = false) {
  std::string problem;
  const Machine machine = *findMachine("avx2", problem);
  auto target = createTargetMachine(machine);
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  module->setTargetTriple(target->getTargetTriple());
  module->setDataLayout(target->createDataLayout());
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine.cpu);
      function.addFnAttr("target-features", machine.features);
    }
  if (optimize)
    optimizeModule(*module, machine, *target);
  return emitObject(*module, *target);
}

TEST(LinkLibrary, RefusesTheCompilersSupportLibrary) {
  // LLVM rounds to bfloat16 by a call: what our own conversions avoid.
  const std::string object = objectOf(
      "define bfloat @f(float %x) {\n  %r = fptrunc float %x to bfloat\n  ret bfloat %r\n}\n");
  EXPECT_EQ(undefinedSymbols(object), std::vector<std::string>{"__truncsfbf2"});
  std::string problem;
  EXPECT_FALSE(linkLibrary(object, problem));
  EXPECT_EQ(problem, "emitted code calls '__truncsfbf2', which no allowed library offers");
}

TEST(LinkLibrary, LeavesTheCodeGeneratorAsItWasTuned) {
  const std::string object = objectOf("define i32 @f() {\n  ret i32 7\n}\n");
  const auto* option = static_cast<llvm::cl::opt<unsigned>*>(
      llvm::cl::getRegisteredOptions().lookup("dag-maps-huge-region"));
  ASSERT_NE(option, nullptr);
  const unsigned tuned = option->getValue();
  EXPECT_LT(tuned, 1000U); // LLVM's own
  std::string problem;
  ASSERT_TRUE(linkLibrary(object, problem)) << problem;
  EXPECT_EQ(option->getValue(), tuned);
}

TEST(LinkLibrary, AsksForTheLibrariesOfItsSymbols) {
  const std::string object = objectOf("declare float @erff(float)\ndefine float @f(float %x) {\n"
                                      "  %r = call float @erff(float %x)\n  ret float %r\n}\n");
  std::string problem;
  auto library = linkLibrary(object, problem);
  ASSERT_TRUE(library.has_value()) << problem;
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(library->data(), library->size()), "kernel.so"));
  ASSERT_TRUE(bool(file));
  const auto& elf = llvm::cast<llvm::object::ELF64LEObjectFile>(**file).getELFFile();
  std::vector<std::string> needed;
  const char* strings = nullptr;
  auto entries = elf.dynamicEntries();
  ASSERT_TRUE(bool(entries));
  for (const auto& entry : *entries)
    if (entry.d_tag == llvm::ELF::DT_STRTAB)
      strings = reinterpret_cast<const char*>(*elf.toMappedAddr(entry.d_un.d_ptr));
  ASSERT_NE(strings, nullptr);
  for (const auto& entry : *entries)
    if (entry.d_tag == llvm::ELF::DT_NEEDED)
      needed.emplace_back(strings + entry.d_un.d_val);
  EXPECT_EQ(needed, std::vector<std::string>{"libm.so.6"});
}

TEST(LinkLibrary, ReportsWhatTheLinkerSays) {
  // An absolute address of 32 bits has no place in a shared library.
  const std::string object = objectOf("@g = global i32 ptrtoint (ptr @f to i32)\n"
                                      "define void @f() {\n  ret void\n}\n");
  std::string problem;
  EXPECT_FALSE(linkLibrary(object, problem));
  EXPECT_EQ(problem.find("linking the kernel's library failed: "), 0u) << problem;
  EXPECT_NE(problem.find("R_X86_64_32"), std::string::npos) << problem;
}

TEST(ExternalSymbols, KnowsWhereEachComesFrom) {
  EXPECT_EQ(findExternalSymbol("memcpy"), ExternalLibrary::C);
  EXPECT_EQ(findExternalSymbol("exp"), ExternalLibrary::Math);
  EXPECT_EQ(findExternalSymbol("erff"), ExternalLibrary::Math);
  EXPECT_EQ(findExternalSymbol("_ZGVeN16v_expf"), ExternalLibrary::VectorMath);
  EXPECT_EQ(findExternalSymbol("_ZGVdN4v_erf"), ExternalLibrary::VectorMath);
  for (const char* refused :
       {"__truncdfhf2", "__extendhfsf2", "puts", "_ZGVeN16v_foo", "_ZGVe", "system", ""})
    EXPECT_EQ(findExternalSymbol(refused), ExternalLibrary::None) << refused;
}

TEST(ExternalSymbols, MarkedLoopsCallVectorMath) {
  const std::string object = objectOf(R"(
declare float @llvm.tanh.f32(float)
define void @f(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = getelementptr inbounds float, ptr %p, i64 %i
  %x = load float, ptr %a
  %t = call float @llvm.tanh.f32(float %x)
  store float %t, ptr %a
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 1024
  br i1 %more, label %loop, label %exit, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 true}
)",
                                      /*optimize=*/true);
  EXPECT_EQ(undefinedSymbols(object), std::vector<std::string>{"_ZGVdN8v_tanhf"});
}

TEST(Machine, KnowsTiles) {
  std::string problem;
  for (const char* name : {"sapphirerapids", "graniterapids"}) {
    EXPECT_TRUE(findMachine(name, problem)->hasBf16Tiles) << name;
    EXPECT_TRUE(findMachine(name, problem)->hasByteTiles) << name;
  }
  for (const char* name : {"cooperlake", "znver5", "avx512", "avx2", "neon"}) {
    EXPECT_FALSE(findMachine(name, problem)->hasBf16Tiles) << name;
    EXPECT_FALSE(findMachine(name, problem)->hasByteTiles) << name;
  }
  EXPECT_TRUE(findMachine("cooperlake", problem)->hasBf16Dot);
  EXPECT_TRUE(findMachine("cooperlake", problem)->hasByteDot);
}

TEST(Machine, KnowsLevelsAndRefusesOldCpus) {
  std::string problem;
  EXPECT_EQ(findMachine("avx2", problem)->level(), "avx2");
  EXPECT_EQ(findMachine("avx512", problem)->level(), "avx512");
  EXPECT_EQ(findMachine("neon", problem)->level(), "neon");
  EXPECT_EQ(findMachine("znver5", problem)->vectorBits, 512);
  EXPECT_TRUE(findMachine("znver5", problem)->hasBf16Dot);
  EXPECT_FALSE(findMachine("avx512", problem)->hasBf16Dot);
  EXPECT_FALSE(findMachine("x86-64", problem));
  EXPECT_EQ(problem, "CPU 'x86-64' lacks avx2, which the cpu target needs");
  EXPECT_FALSE(findMachine("nehalem2", problem));
  EXPECT_EQ(problem, "no CPU is named 'nehalem2' on x86_64; did you mean 'nehalem'?");
}

} // namespace
} // namespace tilewright::cpu
