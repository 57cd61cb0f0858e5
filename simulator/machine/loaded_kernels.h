// SPDX-License-Identifier: Apache-2.0
// Kernels of libraries that come and go while the program runs.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_LOADED_KERNELS_H
#define TILEWRIGHT_SIMULATOR_MACHINE_LOADED_KERNELS_H

#include "simulator/launch.h"

#include <functional>
#include <utility>
#include <vector>

namespace tilewright::ascend {

/// What one library has registered, as pairs of first and last.
struct LoadedKernels {
  std::vector<std::pair<const Kernel*, const Kernel*>> kernels;
  std::vector<std::pair<const KernelSignature*, const KernelSignature*>> signatures;
  bool isOfOtherHeaders = false; ///< they do not fit this library (checkInterface)
};

/// What registers itself on this thread while `load` runs; findKernel knows it as any other.
TILEWRIGHT_EXPORT LoadedKernels collectKernels(const std::function<void()>& load);
/// Before their library goes. None of them may run any more.
TILEWRIGHT_EXPORT void unregisterKernels(const LoadedKernels& loaded);

} // namespace tilewright::ascend

#endif
