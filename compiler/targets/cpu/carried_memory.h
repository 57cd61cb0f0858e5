// SPDX-License-Identifier: Apache-2.0
/// Whether the iterations of a loop need each other's results, however parallel the kernel says that they are.
#pragma once

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::cpu {

/// Whether `loop` must keep its order. It does where it writes
///   - memory of a single thread that outlives an iteration, or elements that share a byte;
///   - an element that more than one iteration reads and writes: `s[j // 8] += a[j]` over j. On a GPU the layout of `s`
///     may give all of these to one thread, which takes them one after the other.
bool carriesMemory(mlir::scf::ForOp loop);

} // namespace tilewright::cpu
