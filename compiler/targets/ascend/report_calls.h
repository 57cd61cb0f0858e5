// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/StringRef.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// What the C++ compiler says of the user's own calls (T.call_extern) is an error at their lines of
/// the kernel: no such function, or not with these arguments. Of all that it said; false where no
/// error is of such a call.
bool reportCalls(mlir::func::FuncOp kernel, llvm::StringRef output);

} // namespace tilewright::ascend
