// SPDX-License-Identifier: Apache-2.0
/// Masked stores of narrowed numbers, some lanes of which are known to be stored.
///
/// LLVM 22 makes one store of a masked one with a single lane (`reduceMaskedStoreToScalarStore` of its code generator
/// for x86), also where the store narrows its numbers: 64 bits of a lane go where 32 belong, over the element behind.
///
///   %narrow = trunc <4 x i64> %wide to <4 x i32>
///   call void @llvm.masked.store(<4 x i32> %narrow, ptr %p, <4 x i1> <i1 0, i1 0, i1 0, i1 1>)
/// becomes
///   %lane = extractelement <4 x i32> %narrow, i64 3
///   store i32 %lane, ptr (%p + 12)
#pragma once

namespace llvm {
class Module;
}

namespace tilewright::cpu {

/// A store for each lane of such stores; it stands last, as they come from loops that were unrolled.
void storeNarrowedLanes(llvm::Module& module);

} // namespace tilewright::cpu
