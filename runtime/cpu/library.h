// SPDX-License-Identifier: Apache-2.0
/// A kernel library in this process: the functions of include/tilewright/kernel_abi.h.
#pragma once

#include "compiler/base/tile_registers.h"
#include "runtime/manifest.h"
#include "tilewright/kernel_abi.h"

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// Asks the system for tile registers where a kernel needs them. Why it can't be loaded, in one sentence; empty: it can.
std::string refusalOfTiles(const Manifest& manifest, TileRequest ask = askForTiles);

/// One launch of a kernel.
struct CpuLaunch {
  TwGridFunction grid = nullptr;
  TwBlocksFunction blocks = nullptr;
  bool isCooperative = false; // its blocks wait for each other
  /// What a block took lately, in ns: the launcher's guess whether waking other threads pays; 0:
  /// unknown.
  mutable std::atomic<uint32_t> blockNanoseconds{0};
};

class CpuKernel {
public:
  ~CpuKernel();
  CpuKernel(const CpuKernel&) = delete;
  CpuKernel& operator=(const CpuKernel&) = delete;

  /// Loads a library from a file, so that gdb and perf find its names. The caller has checked its
  /// digest.
  static std::shared_ptr<CpuKernel> fromFile(const std::string& path, const Manifest& manifest,
                                             std::string& error);
  /// Loads a library from memory; no file is written.
  static std::shared_ptr<CpuKernel> fromMemory(std::span<const char> library,
                                               const Manifest& manifest, std::string& error);

  const Manifest& manifest() const {
    return spec;
  }
  /// In the order in which they run.
  const std::vector<CpuLaunch>& launches() const {
    return parts;
  }

private:
  explicit CpuKernel(const Manifest& manifest) : spec(manifest), parts(manifest.launches.size()) {}
  bool open(const char* path, std::string& error);

  Manifest spec;
  std::vector<CpuLaunch> parts;
  void* handle = nullptr;
  int memoryFile = -1;
};

} // namespace tilewright::runtime
