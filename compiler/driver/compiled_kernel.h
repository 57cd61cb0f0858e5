// SPDX-License-Identifier: Apache-2.0
/// For tests: a kernel given as tile IR text, compiled, loaded and run without the runtime.
#pragma once

#include "compiler/builder/built_kernel.h"
#include "compiler/ir/parse_kernel.h"
#include "tilewright/compile.h"
#include "tilewright/kernel_abi.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tilewright {

/// The kernel of a text, as the builder would have made it; null after a parse error.
inline std::unique_ptr<BuiltKernel> kernelFromText(const std::string& text) {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  mlir::DialectRegistry registry;
  ir::registerDialects(registry);
  context->appendDialectRegistry(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = ir::parseKernel(text, *context);
  if (!module)
    return nullptr;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  std::string name = function.getName().str();
  return std::make_unique<BuiltKernel>(name, std::move(context), std::move(module));
}

class CompiledKernel {
public:
  CompiledKernel(const std::string& text, const std::string& cpu, bool fastMath = false,
                 int64_t expBits = 22) {
    auto kernel = kernelFromText(text);
    if (!kernel)
      return;
    CompileOptions options;
    options.cpu = cpu;
    if (fastMath)
      options.passConfigs["tl.enable_fast_math"] = true;
    if (expBits != 22)
      options.passConfigs["tilewright.exp_bits"] = expBits;
    artifact = compile(*kernel, options, diagnostics);
    if (artifact)
      load();
  }
  CompiledKernel(const CompiledKernel&) = delete;
  CompiledKernel& operator=(const CompiledKernel&) = delete;
  ~CompiledKernel() {
    if (library)
      dlclose(library);
  }

  bool isLoaded() const {
    return library != nullptr;
  }

  template <typename Function> Function symbol(const std::string& name) const {
    return reinterpret_cast<Function>(dlsym(library, name.c_str()));
  }

  /// Runs all blocks in this thread; `slots` as in kernel_abi.h. Gives TwLaunch::device_error.
  int32_t run(const std::vector<uint64_t>& slots) const {
    TwLaunch launch{};
    launch.leave = [](TwLaunch*) {};
    symbol<TwGridFunction>(artifact->name + "_grid")(slots.data(), launch.grid);
    const int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
    const size_t bytes = size_t(1) << 22;
    auto* scratch = static_cast<char*>(std::aligned_alloc(64, bytes));
    std::memset(scratch, 0xff, bytes); // NaN, so that reading what nobody wrote shows
    symbol<TwBlocksFunction>(artifact->name + "_blocks")(slots.data(), scratch, 0, blocks, &launch);
    std::free(scratch);
    return launch.device_error;
  }

  std::vector<Diagnostic> diagnostics;
  std::optional<Artifact> artifact;

private:
  void load() {
    char path[] = "/tmp/tilewright_testXXXXXX";
    const int file = mkstemp(path);
    ASSERT_GE(file, 0);
    const auto size = ssize_t(artifact->library.size());
    ASSERT_EQ(write(file, artifact->library.data(), size_t(size)), size);
    close(file);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    unlink(path);
  }

  void* library = nullptr;
};

/// The slot of a tensor or a scalar.
template <typename T> uint64_t slotOf(const std::vector<T>& tensor) {
  return reinterpret_cast<uint64_t>(tensor.data());
}
template <typename T>
  requires std::is_arithmetic_v<T>
uint64_t slotOf(T scalar) {
  uint64_t slot = 0;
  std::memcpy(&slot, &scalar, sizeof scalar);
  return slot;
}

/// Skips a level that this machine cannot run.
inline bool canRun(const std::string& cpu) {
  if (cpu == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  if (cpu == "avx2")
    return __builtin_cpu_supports("avx2");
  return cpu == "native";
}

} // namespace tilewright
