// SPDX-License-Identifier: Apache-2.0
// A kernel's library and header, used from a C program of 20 lines: no runtime, no MLIR, no Python.
#include "compiler/driver/compiled_kernel.h"
#include "compiler/driver/gemm_text.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

const char* const scaleKernel = R"(
func.func @saxpy(%x: !tile.buffer<?xf32, global> {tile.name = "x", tile.shape = affine_map<()[N] -> (N)>},
                 %scale: f32 {tile.name = "scale"},
                 %y: !tile.buffer<?xf32, global> {tile.name = "y", tile.shape = affine_map<()[N] -> (N)>},
                 %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c64 = arith.constant 64 : index
  %limit = arith.constant 100.0 : f32
  %g = arith.ceildivui %N, %c64 : index
  tile.launch (%b) in (%g) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %m = arith.muli %b, %c64 : index
    %ok = arith.cmpf olt, %scale, %limit : f32
    tile.assert %ok, "the scale is below 100"
    tile.copy %x[%m] [64] : !tile.buffer<?xf32, global> to %s : !tile.buffer<64xf32, shared>
    tile.parallel (%i) in [64] {
      %v = tile.load %s[%i] : !tile.buffer<64xf32, shared>
      %w = arith.mulf %v, %scale : f32
      %k = arith.addi %m, %i : index
      %u = tile.load %y[%k] : !tile.buffer<?xf32, global>
      %r = arith.addf %u, %w : f32
      tile.store %r, %y[%k] : !tile.buffer<?xf32, global>
    }
  }
  return
})";

const char* const program = R"(
#include "kernel.h"
#include <stdio.h>
#ifdef PARALLEL
static int calls = 0;
void tilewright_parallel_for(int64_t count, void (*body)(void*, int64_t, int64_t), void* context) {
  for (int64_t i = 0; i < count; ++i, ++calls)
    body(context, i, i + 1);
}
#else
static int calls = 4;
#endif
int main(void) {
  float x[200], y[200];
  for (int i = 0; i < 200; ++i)
    x[i] = i, y[i] = 1;
  if (saxpy(x, 0.5f, y, 200) != 0 || calls != 4)
    return 1;
  for (int i = 0; i < 200; ++i)
    if (y[i] != 0.5f * i + 1)
      return 2;
  return saxpy(x, 1000.0f, y, 200) == 2 ? 0 : 3;
})";

/// The second launch reads what all blocks of the first one left in a workspace.
const char* const twoLaunches = R"(
func.func @turned(%x: !tile.buffer<8xf32, global> {tile.name = "x"},
                  %y: !tile.buffer<4xf32, global> {tile.name = "y"}) attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %limit = arith.constant 100.0 : f32
  %space = tile.alloc "space" : !tile.buffer<8xf32, global>
  tile.launch (%b) in (%c8) threads(128) {
    %v = tile.load %x[%b] : !tile.buffer<8xf32, global>
    %ok = arith.cmpf olt, %v, %limit : f32
    tile.assert %ok, "x is below 100"
    tile.store %v, %space[%b] : !tile.buffer<8xf32, global>
  }
  tile.launch (%b) in (%c4) threads(32) {
    %k = arith.subi %c7, %b : index
    %v = tile.load %space[%k] : !tile.buffer<8xf32, global>
    tile.store %v, %y[%b] : !tile.buffer<4xf32, global>
  }
  return
})";

const char* const twoLaunchesProgram = R"(
#include "kernel.h"
static int calls = 0;
void tilewright_parallel_for(int64_t count, void (*body)(void*, int64_t, int64_t), void* context) {
  for (int64_t i = 0; i < count; ++i, ++calls)
    body(context, i, i + 1);
}
int main(void) {
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[4] = {0};
  if (turned(x, y) != 0 || (calls != 0 && calls != 8 + 4))
    return 1;
  for (int i = 0; i < 4; ++i)
    if (y[i] != 7 - i)
      return 2;
  x[0] = 100, x[7] = 9;
  if (turned(x, y) != 2)
    return 3;
  return y[0] == 7 ? 0 : 4; /* a failed assertion ends it before the second launch */
})";

/// A product of bfloat16, in tiles of AMX where the machine has them; with SMALL the system may refuse those.
const char* const tileGemmProgram = R"(
#define _GNU_SOURCE
#include "kernel.h"
#include <signal.h>
static uint16_t a[64 * 64], b[64 * 64];
static float c[64 * 64];
int main(void) {
#ifdef SMALL
  static char memory[8192];
  stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  if (sigaltstack(&stack, 0) != 0)
    return 100;
#endif
  for (int i = 0; i < 64 * 64; ++i) /* 1, and the rows' numbers modulo 2 */
    a[i] = 0x3f80, b[i] = i / 64 % 2 ? 0x3f80 : 0;
  const int code = gemm(a, b, c, 0.5f);
  for (int i = 0; code == 0 && i < 64 * 64; ++i)
    if (c[i] != 16)
      return 101;
  return code;
})";

class CProgramTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("tilewright_c_" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override {
    fs::remove_all(folder);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }

  /// Compiles the kernel for `cpu` into libkernel.so and kernel.h.
  void makeLibrary(const std::string& cpu, const char* text = scaleKernel,
                   const char* main = program) const {
    auto kernel = kernelFromText(text);
    CompileOptions options;
    options.cpu = cpu;
    std::vector<Diagnostic> diagnostics;
    auto artifact = compile(*kernel, options, diagnostics);
    ASSERT_TRUE(artifact.has_value());
    write("libkernel.so", std::string(artifact->library.data(), artifact->library.size()));
    write("kernel.h", artifact->header);
    write("main.c", main);
  }

  int shell(const std::string& command) const {
    // NOLINTNEXTLINE(bugprone-command-processor): all words are the tests' own
    const int status = std::system(("cd " + folder.string() + " && " + command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fs::path folder;
};

TEST_F(CProgramTest, CallsTheKernelInItsOwnThread) {
  makeLibrary("native");
  ASSERT_EQ(shell(TILEWRIGHT_C_COMPILER " -Wall -Werror -std=c11 main.c ./libkernel.so -o program"),
            0);
  EXPECT_EQ(shell("./program"), 0);
}

TEST_F(CProgramTest, HandsBlocksToTheProgramsOwnLoop) {
  makeLibrary("avx2");
  ASSERT_EQ(shell(TILEWRIGHT_C_COMPILER " -DPARALLEL -Wall -Werror -std=c11 -rdynamic main.c "
                                        "./libkernel.so -o program"),
            0);
  EXPECT_EQ(shell("./program"), 0);
}

TEST_F(CProgramTest, RunsOneLaunchAfterTheOther) {
  makeLibrary("native", twoLaunches, twoLaunchesProgram);
  for (const char* options : {"", "-rdynamic "}) {
    ASSERT_EQ(shell(std::string(TILEWRIGHT_C_COMPILER " -std=c11 main.c ./libkernel.so ") +
                    options + "-o program"),
              0);
    EXPECT_EQ(shell("./program"), 0) << options;
  }
}

TEST_F(CProgramTest, MultipliesAsTheMachineDoes) {
  const std::string text = gemmText({64, 64, 64}, {32, 32, 32}, "bf16", "f32");
  makeLibrary("native", text.c_str(), tileGemmProgram);
  ASSERT_EQ(shell(TILEWRIGHT_C_COMPILER " -Wall -Werror -std=c11 main.c ./libkernel.so -o program"),
            0);
  EXPECT_EQ(shell("./program"), 0);
}

TEST_F(CProgramTest, SaysThatTilesAreRefused) {
  if (!canRun("avx512"))
    GTEST_SKIP() << "this machine has no avx512, which the code before begins with";
  const std::string text = gemmText({64, 64, 64}, {32, 32, 32}, "bf16", "f32");
  makeLibrary("sapphirerapids", text.c_str(), tileGemmProgram);
  ASSERT_EQ(shell(TILEWRIGHT_C_COMPILER
                  " -DSMALL -Wall -Werror -std=c11 main.c ./libkernel.so -o program"),
            0);
  EXPECT_EQ(shell("./program"), 4);
}

TEST_F(CProgramTest, HeaderTellsElementsAndInputs) {
  makeLibrary("native");
  std::ifstream header(folder / "kernel.h");
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  EXPECT_NE(text.find("int32_t saxpy(const float* x, float scale, float* y, int64_t N);"),
            std::string::npos)
      << text;
}

/// The text with each `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST_F(CProgramTest, KernelsWithNamesOfCLeaveThemToTheProgram) {
  for (const std::string name : {"main", "double", "exp", "memset", "tilewright_parallel_for"}) {
    const std::string kernel = replaced(scaleKernel, "@saxpy", "@" + name),
                      caller = "#include <math.h>\n#include <string.h>\n" +
                               replaced(program, "saxpy(", name + "_kernel(");
    makeLibrary("native", kernel.c_str(), caller.c_str());
    ASSERT_EQ(
        shell(TILEWRIGHT_C_COMPILER " -Wall -Werror -std=c11 main.c ./libkernel.so -o program"), 0)
        << name;
    EXPECT_EQ(shell("./program"), 0) << name;
  }
}

TEST_F(CProgramTest, ParametersWithNamesOfCPlusPlus) {
  makeLibrary("native",
              replaced(replaced(scaleKernel, "\"x\"", "\"new\""), "\"scale\"", "\"int\"").c_str());
  EXPECT_EQ(
      shell(TILEWRIGHT_CXX_COMPILER " -Wall -Werror -std=c++17 -fsyntax-only -x c++ kernel.h"), 0);
  std::ifstream header(folder / "kernel.h");
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  EXPECT_NE(text.find("(const float* new_, float int_, float* y, int64_t N);"), std::string::npos)
      << text;
}

TEST_F(CProgramTest, HeaderIsCPlusPlusToo) {
  makeLibrary("native");
  EXPECT_EQ(
      shell(TILEWRIGHT_CXX_COMPILER " -Wall -Werror -std=c++17 -fsyntax-only -x c++ kernel.h"), 0);
}

} // namespace
} // namespace tilewright
