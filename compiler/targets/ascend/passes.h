// SPDX-License-Identifier: Apache-2.0
/// The passes of the Ascend target. A pass is one .cpp file of its name, a `create` function here,
/// and a line in registration.cpp; docs/ascend-target.md says why they stand in this order.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace tilewright::ascend {

/// Makes all passes of this folder known to tilewright-opt.
void registerPasses(mlir::DialectRegistry& registry);

} // namespace tilewright::ascend
