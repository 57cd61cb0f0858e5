// SPDX-License-Identifier: Apache-2.0
/// A kernel for the Ascend NPU in this process. Its library brings the runtime that it is launched
/// by: the `acl` C interface, ours on the host or the vendor's.
#pragma once

#include "runtime/arguments.h"
#include "runtime/manifest.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

struct AclInterface;

class AscendKernel {
public:
  ~AscendKernel();
  AscendKernel(const AscendKernel&) = delete;
  AscendKernel& operator=(const AscendKernel&) = delete;

  /// Loads a library from a file, or from memory. The caller has checked its digest.
  static std::shared_ptr<AscendKernel> fromFile(const std::string& path, const Manifest& manifest,
                                                std::string& error);
  static std::shared_ptr<AscendKernel> fromMemory(std::span<const char> library,
                                                  const Manifest& manifest, std::string& error);

  /// Whether the numbers among `slots` keep the limits of all launches that have blocks; else `error` says which one doesn't.
  bool checkLimits(std::span<const uint64_t> slots, const ArgumentChecker& checker,
                   std::string& error) const;

  /// Copies the tensors to the device, runs all blocks, waits, and copies back what may be
  /// written. `slots` holds host addresses, scalars and symbols (tilewright/kernel_abi.h), `bytes`
  /// the size of each parameter's tensor (0 for scalars), `isReadOnly` whether it must stay.
  /// The kernel ends early once `stop` is not 0, on our host. False, with `error` set, if the
  /// device or the kernel fails, or was stopped. `warnings` gets what our host warns of, one text each:
  /// `file:line: warning: ...` with its notes.
  bool launch(const uint64_t* slots, size_t slotCount, const ArgumentChecker& checker,
              std::span<const uint64_t> bytes, std::span<const bool> isReadOnly,
              const volatile int32_t& stop, std::vector<std::string>& warnings,
              std::string& error) const;

private:
  explicit AscendKernel(const Manifest& manifest);
  bool open(const std::string& path, std::string& error);

  Manifest spec;
  void* handle = nullptr;
  int memoryFile = -1;
  using GridFunction = void (*)(const uint64_t* slots, int64_t grid[3]);
  bool findGrids();
  std::string refusalOf(const uint64_t* slots) const;

  GridFunction grid = nullptr;
  /// Of each of several launches; of one it is `grid`.
  std::vector<GridFunction> grids;
  /// Bytes of workspace for a grid; null where the manifest says how many.
  int64_t (*workspace)(const int64_t grid[3]) = nullptr;
  void (*start)(const uint64_t* slots, void* workspace, uint32_t cores, void* stream) = nullptr;
  std::unique_ptr<AclInterface> acl;
};

} // namespace tilewright::runtime
