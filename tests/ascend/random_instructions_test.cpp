// SPDX-License-Identifier: Apache-2.0
// Random kernels of instructions get their flags from the compiler and run on the host, which knows
// nothing of the analysis: it must find nothing, and with any one flag or barrier switched off, it
// must. 25 kernels share a generated file, because its compiler takes seconds to start.
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/build_library.h"
#include "compiler/targets/ascend/pipeline.h"
#include "compiler/targets/ascend/print_kernel.h"
#include "simulator/launch.h"
#include "tests/ascend/random_instructions.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Parser/Parser.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr unsigned kernelsPerFile = 25;

unsigned files() {
  const char* wanted = std::getenv("TILEWRIGHT_FUZZ_FILES"); // 12 are 300 kernels of each kind
  return wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
}

/// The report of the launch that the stream hook saw last.
LaunchReport& lastReport() {
  static LaunchReport report;
  return report;
}
LaunchOptions& nextOptions() {
  static LaunchOptions options;
  return options;
}

struct Kernel {
  std::string name, text, ascendc;
  std::vector<std::string> warnings;
};

/// Global memory that the host knows.
class Tensor {
public:
  Tensor() : data(size_t{64} * 16) {
    addGlobalMemory(data.data(), data.size() * sizeof(float));
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    removeGlobalMemory(data.data());
  }
  std::vector<float> data;
};

class RandomInstructions : public ::testing::TestWithParam<std::pair<bool, bool>> {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registry.insert<tile::TileDialect, AscendDialect, npu::NpuDialect, func::FuncDialect,
                    arith::ArithDialect, scf::SCFDialect>();
    context.appendDialectRegistry(registry);
    prepareContext(context);
    setStreamHook(
        // NOLINTNEXTLINE(performance-unnecessary-value-param): a StreamHook is given the request.
        [](void*, LaunchRequest request) { lastReport() = launch(request, nextOptions()); });
  }

  Kernel compile(unsigned seed, bool hasCube, bool hasVector) {
    Kernel kernel;
    const testing::RandomKernel random(seed, hasCube, hasVector);
    kernel.name = random.name;
    kernel.text = random.text;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kernel.text, &context);
    EXPECT_TRUE(module) << kernel.text;
    if (!module)
      return kernel;
    const ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
      kernel.warnings.push_back(diagnostic.str());
      return success();
    });
    Session session;
    session.chip = chips::findAscendChip("910B2");
    session.automation = {true, true, true, true};
    EXPECT_TRUE(lowerToInstructions(*module, session)) << kernel.text;
    kernel.ascendc = printKernel(*module->getOps<func::FuncOp>().begin(), LineStyle::Comments);
    return kernel;
  }

  static void run(void* library, const Kernel& kernel) {
    using Launch = void (*)(const uint64_t*, void*, uint32_t, void*);
    auto start = reinterpret_cast<Launch>(dlsym(library, (kernel.name + "_launch").c_str()));
    ASSERT_NE(start, nullptr) << kernel.name;
    Tensor a, b, h;
    const uint64_t slots[] = {reinterpret_cast<uint64_t>(a.data.data()),
                              reinterpret_cast<uint64_t>(b.data.data()),
                              reinterpret_cast<uint64_t>(h.data.data())};
    start(slots, nullptr, 1, nullptr);
  }

  static std::string findings() {
    std::string text;
    for (const Finding& finding : lastReport().findings)
      text += finding.text;
    return text;
  }

  MLIRContext context;
};

TEST_P(RandomInstructions, EachFlagIsNeededAndNoneIsMissing) {
  const auto [hasCube, hasVector] = GetParam();
  unsigned waits = 0, unneeded = 0;
  for (unsigned file = 0; file < files(); ++file) {
    std::vector<Kernel> kernels;
    std::string source;
    for (unsigned i = 0; i < kernelsPerFile; ++i) {
      kernels.push_back(compile(file * kernelsPerFile + i, hasCube, hasVector));
      EXPECT_TRUE(kernels.back().warnings.empty()) << kernels.back().warnings.front();
      source += kernels.back().ascendc;
    }
    PassSession session;
    const std::optional<std::vector<char>> bytes = buildLibrary(source, session);
    ASSERT_TRUE(bytes) << session.problem;
    const std::string path = ::testing::TempDir() + "random_instructions_" +
                             std::to_string(getpid()) + kernels.front().name + ".so";
    std::ofstream(path, std::ios::binary).write(bytes->data(), std::ssize(*bytes));
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::remove(path.c_str());
    ASSERT_NE(library, nullptr) << dlerror();
    for (const Kernel& kernel : kernels) {
      nextOptions() = {};
      nextOptions().threads = 1;
      nextOptions().countSyncs = true;
      run(library, kernel);
      ASSERT_EQ(findings(), "") << kernel.text << kernel.ascendc;
      const std::vector<std::string> sites = lastReport().syncSites;
      for (size_t site = 0; site < sites.size(); ++site) {
        nextOptions().mutedSync = static_cast<int64_t>(site);
        run(library, kernel);
        ++waits;
        unneeded += lastReport().findings.empty();
        if (lastReport().findings.empty() && std::getenv("TILEWRIGHT_SHOW_UNNEEDED"))
          printf("%s is not needed in\n%s\n", sites[site].c_str(), kernel.ascendc.c_str());
      }
    }
  }
  printf("%u waits and sets, %u not needed\n", waits, unneeded);
  EXPECT_GT(waits, 100U);
  EXPECT_EQ(unneeded, 0U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomInstructions,
                         ::testing::Values(std::pair{false, true}, std::pair{true, false},
                                           std::pair{true, true}));

} // namespace
} // namespace tilewright::ascend
