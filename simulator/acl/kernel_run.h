// SPDX-License-Identifier: Apache-2.0
/// Running kernels on the machine from tasks of a stream.
#pragma once

#include "simulator/acl/stream.h"
#include "simulator/launch.h"

namespace tilewright::acl {

/// Runs the kernel on the calling thread, with the options of TILEWRIGHT_ASCEND. One kernel runs at
/// a time.
TILEWRIGHT_EXPORT TaskOutcome runKernel(const ascend::LaunchRequest& request);

/// The kernel's name as its source has it, from the symbol.
std::string sourceName(const char* symbol);

/// Makes `kernel<<<blocks, nullptr, stream>>>(...)` append to the streams of this runtime. Done by
/// aclrtSetDevice.
void installStreamHook();

} // namespace tilewright::acl
