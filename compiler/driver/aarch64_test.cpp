// SPDX-License-Identifier: Apache-2.0
// AArch64 code, made ahead of time and run under qemu-user: the fused GEMM and math functions,
// called from C.
#include "compiler/driver/compiled_kernel.h"
#include "compiler/driver/gemm_text.h"

#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
// Where qemu-user looks for AArch64's libraries; scripts/setup.py may have unpacked them elsewhere.
const char* const unpacked = std::getenv("QEMU_LD_PREFIX");
const fs::path sysroot = unpacked ? unpacked : "/usr/aarch64-linux-gnu";

class Aarch64Test : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("tilewright_arm_" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override {
    fs::remove_all(folder);
  }

  void makeLibrary(const std::string& text, const std::string& program) {
    auto kernel = kernelFromText(text);
    ASSERT_NE(kernel, nullptr);
    CompileOptions options;
    options.cpu = "neon";
    options.keepStages = true;
    std::vector<Diagnostic> diagnostics;
    artifact = compile(*kernel, options, diagnostics);
    ASSERT_TRUE(artifact.has_value()) << (diagnostics.empty() ? "" : diagnostics[0].message);
    std::ofstream(folder / "libkernel.so", std::ios::binary)
        .write(artifact->library.data(), std::streamsize(artifact->library.size()));
    std::ofstream(folder / "kernel.h") << artifact->header;
    std::ofstream(folder / "main.c") << program << R"(
void _start(void) {
  register long code __asm__("x0") = test();
  register long call __asm__("x8") = 93;
  __asm__ volatile("svc 0" : : "r"(code), "r"(call));
})";
  }

  /// The exit code of the program, which has no C library of its own but the kernel's; -1 if it
  /// could not be built.
  int run() const {
    const std::string lib = (sysroot / "lib").string();
    const std::string build =
        "cd " + folder.string() +
        " && clang-22 --target=aarch64-linux-gnu -O1 -ffreestanding -nostdlib "
        "--ld-path=ld.lld-22 -Wl,--dynamic-linker=/lib/ld-linux-aarch64.so.1 main.c "
        "./libkernel.so " +
        lib + "/libc.so.6 " + lib + "/libm.so.6 -o program";
    if (shell(build) != 0)
      return -1;
    return shell("cd " + folder.string() + " && qemu-aarch64 -L " + sysroot.string() +
                 " ./program");
  }

  static bool canRunPrograms() {
    return fs::exists(sysroot / "lib/libc.so.6") &&
           shell("qemu-aarch64 --version > /dev/null 2>&1") == 0;
  }

  static int shell(const std::string& command) {
    // NOLINTNEXTLINE(bugprone-command-processor): all words are the tests' own
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::optional<Artifact> artifact;
  fs::path folder;
};

const char* const gemmProgram = R"(
#include "kernel.h"
enum { M = 45, N = 29, K = 37 };
static ELEMENT a[M * K], b[K * N];
static float c[M * N];
static int test(void) {
  for (int i = 0; i < M * K; ++i)
    a[i] = (ELEMENT)((i * 7 % 17 - 8) / 4.0f);
  for (int i = 0; i < K * N; ++i)
    b[i] = (ELEMENT)((i * 5 % 13 - 6) / 2.0f);
  if (gemm((const void*)a, (const void*)b, c, 0.5f) != 0)
    return 1;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += (float)a[i * K + k] * (float)b[k * N + j];
      float wanted = sum * 0.5f > 0 ? sum * 0.5f : 0;
      if (c[i * N + j] != wanted)
        return 2;
    }
  return 0;
})";

TEST_F(Aarch64Test, FusedGemmIsRightUnderQemu) {
  for (const char* element : {"float", "__fp16", "__bf16"}) {
    SCOPED_TRACE(element);
    const std::string name(element), type = name == "float"    ? "f32"
                                            : name == "__fp16" ? "f16"
                                                               : "bf16";
    makeLibrary(gemmText({45, 29, 37}, {16, 16, 8}, type, "f32"),
                "#define ELEMENT " + name + "\n" + gemmProgram);
    EXPECT_NE(artifact->stages.back().second.find("fmla"), std::string::npos)
        << "the micro-kernel multiplies and adds in one instruction";
    if (!canRunPrograms())
      GTEST_SKIP() << "no qemu-aarch64 or no libc6-arm64-cross: the code was made, but not run";
    EXPECT_EQ(run(), 0);
  }
}

TEST_F(Aarch64Test, MathFunctionsComeFromLibm) {
  makeLibrary(R"(
func.func @apply(%x: !tile.buffer<100xf32, global> {tile.name = "x"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    tile.parallel (%i) in [100] {
      %v = tile.load %x[%i] : !tile.buffer<100xf32, global>
      %e = math.exp %v : f32
      %l = math.log %e : f32
      tile.store %l, %x[%i] : !tile.buffer<100xf32, global>
    }
  }
  return
})",
              R"(
#include "kernel.h"
static float x[100];
static int test(void) {
  for (int i = 0; i < 100; ++i)
    x[i] = i / 10.0f;
  if (apply(x) != 0)
    return 1;
  for (int i = 0; i < 100; ++i)
    if (x[i] - i / 10.0f > 1e-5f || i / 10.0f - x[i] > 1e-5f)
      return 2;
  return 0;
})");
  if (!canRunPrograms())
    GTEST_SKIP() << "no qemu-aarch64 or no libc6-arm64-cross: the code was made, but not run";
  EXPECT_EQ(run(), 0);
}

} // namespace
} // namespace tilewright
