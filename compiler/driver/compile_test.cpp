// SPDX-License-Identifier: Apache-2.0
// What `compile` refuses, with places; stages, times, cancelling.
#include "compiler/driver/compiled_kernel.h"

#include <thread>

namespace tilewright {
namespace {

/// A kernel whose launch holds `body` on line 5 and following.
std::string kernelWith(const std::string& body,
                       const std::string& argument = "!tile.buffer<64xf32, global>",
                       const std::string& threads = "threads(128)") {
  return "func.func @kernel(%x: " + argument +
         " {tile.name = \"x\"}) attributes {tile.kernel} {\n"
         "  %c1 = arith.constant 1 : index\n  %one = arith.constant 1.0 : f32\n"
         "  tile.launch (%b) in (%c1) " +
         threads + " {\n" + body + "\n  }\n  return\n}\n";
}

std::vector<Diagnostic> diagnosticsOf(const std::string& text, const CompileOptions& options = {}) {
  auto kernel = kernelFromText(text);
  EXPECT_NE(kernel, nullptr) << text;
  std::vector<Diagnostic> diagnostics;
  if (kernel) {
    EXPECT_FALSE(compile(*kernel, options, diagnostics));
  }
  return diagnostics;
}

struct Refusal {
  const char* body;
  const char* message;
};

TEST(Compile, RefusesWhatTheCpuCannotDo) {
  const Refusal refusals[] = {
      {"%s = tile.alloc : !tile.buffer<64xf32, L0C>",
       "memory L0C exists on Ascend chips, not on the cpu target"},
      {"%s = tile.alloc : !tile.buffer<65536x65537xf32, global>",
       "a workspace has at most 4294967296 elements"},
      {"%s = tile.alloc : !tile.buffer<64xf32, shared, layout = affine_map<(d0) -> (d0)>>",
       "a buffer with a layout is not supported by the cpu target"},
      {"%h = arith.constant 1.0 : f6E2M3FN\n%s = tile.alloc : !tile.buffer<64xf6E2M3FN, shared>\n"
       "tile.atomic add %s[%c1], %h : f6E2M3FN : !tile.buffer<64xf6E2M3FN, shared>",
       "atomic updates of float6_e2m3fn are not supported by the cpu target; use float32"},
      {"%a = tile.alloc : !tile.buffer<8x8xf32, shared>\n"
       "tile.gemm %a[0, 0] [%c1, 8] : !tile.buffer<8x8xf32, shared>, %a : !tile.buffer<8x8xf32, "
       "shared> into "
       "%a[0, 0] [%c1, 8] : !tile.buffer<8x8xf32, shared>",
       "gemm on the cpu target needs extents that are known when compiling"},
      {"%s = tile.alloc : !tile.buffer<8192x4096xf32, shared>\n"
       "%t = tile.alloc : !tile.buffer<8192x4096xf32, shared>\n"
       "%u = tile.alloc : !tile.buffer<64xf32, shared>",
       "the kernel's buffers on chip take 268435712 bytes, the one here 134217728 of them, but the "
       "cpu target has 268435456 for a block"},
      {"%a = tile.alloc : !tile.buffer<8x8xf8E4M3FN, shared>\n"
       "tile.gemm %a : !tile.buffer<8x8xf8E4M3FN, shared>, %a : !tile.buffer<8x8xf8E4M3FN, shared> "
       "into "
       "%a : !tile.buffer<8x8xf8E4M3FN, shared>",
       "gemm cannot accumulate in float8_e4m3fn"},
  };
  for (const Refusal& refusal : refusals) {
    auto found = diagnosticsOf(kernelWith(refusal.body));
    ASSERT_EQ(found.size(), 1u) << refusal.body;
    EXPECT_EQ(found[0].message, refusal.message);
    EXPECT_EQ(found[0].severity, Severity::Unsupported);
    EXPECT_GE(found[0].place.line, 5) << refusal.body;
  }
}

TEST(Compile, RefusesAllAtOnce) {
  auto found = diagnosticsOf(kernelWith(
      "%r = tile.alloc : !tile.buffer<64xf32, L0A>\n%s = tile.alloc : !tile.buffer<64xf32, L0C>"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place.line, 5);
  EXPECT_EQ(found[1].place.line, 6);
}

// What such a kernel has beside its launch follows from it, and isn't told.
TEST(Compile, RefusesAscendLaunches) {
  for (const char* body : {"", "%r = tile.alloc : !tile.buffer<64xf32, UB>"}) {
    auto found = diagnosticsOf(kernelWith(body, "!tile.buffer<64xf32, global>", "threads(2) npu"));
    ASSERT_EQ(found.size(), 1u) << body;
    EXPECT_EQ(found[0].message,
              "a kernel with is_npu=True runs on Ascend cores, which the cpu target lacks; compile "
              "it with target=\"ascend\", or target=\"reference\"");
  }
}

TEST(Compile, RefusesUnknownTargetsAndCpus) {
  CompileOptions options;
  options.cpu = "pdp11";
  EXPECT_EQ(diagnosticsOf(kernelWith(""), options).at(0).message,
            "no CPU is named 'pdp11' on x86_64");
  options = {};
  options.target = "abacus";
  EXPECT_EQ(diagnosticsOf(kernelWith(""), options).at(0).message,
            "there is no target 'abacus' yet; there are 'cpu', 'ascend' and 'reference'");
}

TEST(Compile, EndsWhenCancelled) {
  std::atomic<bool> cancel = true;
  CompileOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(diagnosticsOf(kernelWith(""), options).at(0).message, "cancelled");
}

// Marks of loops are lost silently if LLVM does not know their name: then every copy is scalar.
TEST(Compile, CopiesByWholeVectors) {
  auto kernel = kernelFromText(kernelWith(R"(
    %s = tile.alloc : !tile.buffer<64xbf16, shared>
    %v = tile.view %x : !tile.buffer<64xf32, global> to !tile.buffer<128xbf16, global>
    tile.copy %v[%b] [64] : !tile.buffer<128xbf16, global> to %s : !tile.buffer<64xbf16, shared>
    tile.copy %s : !tile.buffer<64xbf16, shared> to %v[0] [64] : !tile.buffer<128xbf16, global>)"));
  CompileOptions options;
  options.cpu = "avx2";
  options.keepStages = true;
  std::vector<Diagnostic> diagnostics;
  auto artifact = compile(*kernel, options, diagnostics);
  ASSERT_TRUE(artifact.has_value());
  const std::string& assembly = artifact->stages.back().second;
  EXPECT_NE(assembly.find("ymm"), std::string::npos) << assembly;
}

TEST(Compile, KeepsStagesAndTimes) {
  auto kernel =
      kernelFromText(kernelWith("tile.store %one, %x[%b] : !tile.buffer<64xf32, global>"));
  CompileOptions options;
  options.keepStages = true;
  std::vector<Diagnostic> diagnostics;
  auto artifact = compile(*kernel, options, diagnostics);
  ASSERT_TRUE(artifact.has_value());
  ASSERT_GE(artifact->stages.size(), 5u);
  EXPECT_EQ(artifact->stages.front().first, "tile");
  EXPECT_NE(artifact->stages.front().second.find("tile.launch"), std::string::npos);
  auto stage = [&](const std::string& name) {
    for (const auto& [key, text] : artifact->stages)
      if (key == name)
        return text;
    return std::string();
  };
  EXPECT_NE(stage("plan-scratch").find("cpu.scratch_bytes"), std::string::npos);
  EXPECT_NE(stage("llvm").find("define void @kernel_blocks"), std::string::npos);
  EXPECT_NE(stage("asm").find("kernel_blocks:"), std::string::npos);
  EXPECT_NE(stage("asm").find(".loc"), std::string::npos) << "line tables for gdb and perf";
  std::vector<std::string> phases;
  for (const auto& [phase, milliseconds] : artifact->times) {
    phases.push_back(phase);
    EXPECT_GE(milliseconds, 0);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"passes", "translate", "optimize", "emit", "link"}));
  EXPECT_NE(artifact->manifest.find("\"name\":\"kernel\""), std::string::npos)
      << artifact->manifest;
}

TEST(Compile, ACompileLeavesTheKernelAsItIs) {
  auto kernel =
      kernelFromText(kernelWith("tile.store %one, %x[%b] : !tile.buffer<64xf32, global>"));
  const std::string before = kernel->text();
  std::vector<Diagnostic> diagnostics;
  for (const char* cpu : {"avx2", "avx512", "neon"}) {
    CompileOptions options;
    options.cpu = cpu;
    EXPECT_TRUE(compile(*kernel, options, diagnostics).has_value());
  }
  EXPECT_EQ(kernel->text(), before);
}

TEST(Compile, AStopEndsALongKernel) {
  const std::string text =
      kernelWith("%c0 = arith.constant 0 : index\n%n = arith.constant 1000000000000 : index\n"
                 "tile.for %i = %c0 to %n step %c1 {\n"
                 "  %v = tile.load %x[%c0] : !tile.buffer<64xf32, global>\n"
                 "  %w = arith.addf %v, %one : f32\n"
                 "  tile.store %w, %x[%c0] : !tile.buffer<64xf32, global>\n}");
  CompiledKernel kernel(text, "native");
  ASSERT_TRUE(kernel.isLoaded());
  std::vector<float> x(64, 0.0f);
  std::vector<uint64_t> slots = {slotOf(x)};
  std::vector<char> scratch(4096);
  TwLaunch launch{};
  static int left = 0;
  launch.leave = [](TwLaunch*) { ++left; };
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    launch.stop = 1;
  });
  kernel.symbol<TwBlocksFunction>("kernel_blocks")(slots.data(), scratch.data(), 0, 1, &launch);
  stopper.join();
  EXPECT_EQ(left, 1);
}

// A caller that was built with an earlier kernel_abi.h has a shorter TwLaunch.
TEST(Compile, TheFormatSaysHowMuchOfALaunchIsUsed) {
  for (const bool tells : {false, true}) {
    const std::string text =
        kernelWith(std::string("%n = arith.constant 7 : i64\n%v = tile.load %x[%c1] : "
                               "!tile.buffer<64xsi64, global>\n%ok = arith.cmpi slt, %v, %n : i64\n"
                               "tile.assert %ok, \"x[1] is less than 7, not {}\"") +
                       (tells ? " {tile.tells}" : ""),
                   "!tile.buffer<64xsi64, global>");
    CompiledKernel kernel(text, "native");
    ASSERT_TRUE(kernel.isLoaded());
    EXPECT_NE(kernel.artifact->manifest.find(tells ? R"("format":2)" : R"("format":1)"),
              std::string::npos)
        << kernel.artifact->manifest;
    std::vector<int64_t> x(64, 11);
    std::vector<uint64_t> slots = {slotOf(x)};
    std::vector<char> scratch(4096);
    TwLaunch launch{};
    launch.leave = [](TwLaunch*) {};
    constexpr int64_t untouched = 0x5A5A5A5A5A5A5A5A;
    launch.told = untouched;
    kernel.symbol<TwBlocksFunction>("kernel_blocks")(slots.data(), scratch.data(), 0, 1, &launch);
    EXPECT_EQ(launch.device_error, 1);
    EXPECT_EQ(launch.told, tells ? 11 : untouched);
  }
  // What format 1 has, for ever.
  EXPECT_EQ(offsetof(TwLaunch, told),
            sizeof(int32_t) * 2 + sizeof(void*) * 4 + sizeof(int64_t) * 3);
}

TEST(Compile, NamesTheHostsCpu) {
  const std::string host = hostCpu();
  EXPECT_NE(host.find(' '), std::string::npos) << host;
  EXPECT_TRUE(host.ends_with("avx2") || host.ends_with("avx512") || host.ends_with("neon") ||
              host.ends_with("avx512 amx"))
      << host;
}

TEST(Compile, TellsWhatIsWrongWithACpu) {
  EXPECT_EQ(cpuProblem("pdp11"), "no CPU is named 'pdp11' on x86_64");
  EXPECT_EQ(cpuProblem("sapphirerapid"),
            "no CPU is named 'sapphirerapid' on x86_64; did you mean 'sapphirerapids'?");
  EXPECT_EQ(cpuProblem("AVX-512"), "no CPU is named 'AVX-512' on x86_64; did you mean 'avx512'?");
  EXPECT_EQ(cpuProblem("nehalem"), "CPU 'nehalem' lacks avx2, which the cpu target needs");
  EXPECT_EQ(cpuProblem("310P", "ascend").substr(0, 30), "there is no Ascend chip '310P'");
  EXPECT_EQ(cpuProblem("A3", "ascend"), "");
  for (const char* known : {"native", "avx2", "avx512", "neon"})
    EXPECT_EQ(cpuProblem(known), "");
}

} // namespace
} // namespace tilewright
