// SPDX-License-Identifier: Apache-2.0
/// Parts of a large function become functions of their own.
///
/// Some of LLVM's passes take a time that grows with the square of the code in one loop: unrolling forgets all that is
/// known of the outermost loop each time, and the register allocator looks at what lives across all of it. The code
/// of a kernel stands in the loop over its blocks, and in one more where threads take turns, so that a kernel
/// with some hundred nests took half a minute. Its nests know little of each other; a call costs nothing beside them.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace tilewright::cpu {

/// Where the function is large, calls of new functions, beside it in its module, take the place of most of its code. No
/// loop is taken apart, but for those that are large themselves. Returns whether there are any.
bool splitLargeFunction(llvm::Function& function);

} // namespace tilewright::cpu
