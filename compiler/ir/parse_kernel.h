// SPDX-License-Identifier: Apache-2.0
/// Reading IR text that may come from anywhere.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace tilewright::ir {

/// Registers the dialects that tile IR is made of: ours, func, arith, math, scf.
void registerDialects(mlir::DialectRegistry& registry);

/// Why MLIR must not be given this text, in words that end "line L", or nothing. MLIR's parser
/// recurses on brackets and on operators of affine expressions, and overflows the stack on deep
/// ones; passes recurse on regions.
std::optional<std::string> refuseText(llvm::StringRef text);

/// Parses and verifies; null after an error, which the context's diagnostic handler receives.
/// `name` stands for the file in messages.
mlir::OwningOpRef<mlir::ModuleOp> parseKernel(llvm::StringRef text, mlir::MLIRContext& context,
                                              llvm::StringRef name = "kernel.mlir");

} // namespace tilewright::ir
