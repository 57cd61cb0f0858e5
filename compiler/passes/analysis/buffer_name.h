// SPDX-License-Identifier: Apache-2.0
/// How a kernel calls its buffers, for messages.
#pragma once

#include <mlir/IR/Value.h>

#include <string>

namespace tilewright {

/// 'a', as the kernel calls a tensor or tile; empty if it has no name.
std::string quotedBuffer(mlir::Value storage);

} // namespace tilewright
