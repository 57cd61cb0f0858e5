// SPDX-License-Identifier: Apache-2.0
/// The arguments of a kernel as its signature has them, and the slots in which the runtime passes
/// them (tilewright/kernel_abi.h).
#pragma once

#include "compiler/ir/dialect.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/AffineMap.h>

#include <string>

namespace tilewright::tile {

struct KernelArgument {
  enum Kind { Tensor, Scalar, Symbol };
  Kind kind;
  std::string name;
  /// The argument's number in the function.
  unsigned number;
  /// Its slot: tensors first, then scalars, then symbols, each in the order of the signature.
  unsigned slot;
  /// A tensor's type; null otherwise.
  BufferType buffer;
  /// A tensor's dims, and strides in elements (empty if row-major and dense), over all symbols.
  mlir::AffineMap shape, strides;
  /// The element type of a tensor, or a scalar's type, with signedness.
  mlir::Type element;
  /// The kernel reads or writes it, or reads the symbol.
  bool used = true;
  /// A tensor that the kernel writes, as far as its ops tell.
  bool written = false;
  /// Of a symbol that a scalar argument gives: the name of that.
  std::string scalar;
  /// Of a scalar that is an address: the type of the elements there, if it was said.
  mlir::Type pointee;
};

/// Loads, and pure ops, whose numbers nothing takes but such ops, as those of T.Ref's arguments.
llvm::DenseSet<mlir::Operation*> unusedOps(mlir::func::FuncOp kernel);

/// What a kernel does with the elements of a buffer, as far as its ops tell; of no matter are numbers that it loads
/// and doesn't use.
struct BufferTraffic {
  mlir::Operation* reader = nullptr; ///< the first op that reads them
  /// The first op that writes what it makes of the very elements, such as a gemm that adds to them.
  mlir::Operation* updater = nullptr;
  mlir::Operation* setter = nullptr;   ///< the first that writes them and is no update
  mlir::Operation* earlyUse = nullptr; ///< the first that reads or updates them before `setter`
  bool isWritten = false;
};
/// By what is behind views: the kernel's arguments and allocations, in the order of their first use.
llvm::MapVector<mlir::Value, BufferTraffic> bufferTraffic(mlir::func::FuncOp kernel);

/// The first of the atomic updates that are all that writes a kernel's tensor; null if there are none, or something
/// else may write it.
mlir::Operation* firstOfUpdates(mlir::func::FuncOp kernel, mlir::Value tensor);

/// Which arguments of a kernel, tensors all of them, its ops read and write, themselves or through views.
struct ArgumentTraffic {
  llvm::SmallVector<bool> isRead, isWritten;
};
ArgumentTraffic argumentTraffic(mlir::func::FuncOp kernel);

/// All arguments, in the order of the signature.
llvm::SmallVector<KernelArgument> kernelArguments(mlir::func::FuncOp kernel);

} // namespace tilewright::tile
