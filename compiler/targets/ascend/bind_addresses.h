// SPDX-License-Identifier: Apache-2.0
/// An argument that is the address of one tensor (T.ptr, T.make_tensor) becomes that tensor:
///
///     func.func @main(%p: i64 {tile.dtype = ui64, tile.name = "A"}) {
///       %a = tile.tensor_at %p : !tile.buffer<8x16xf32, global>
///   ->
///     func.func @main(%a: !tile.buffer<8x16xf32, global> {tile.name = "A"}) {
///
/// Its extents may be sums and products of the kernel's symbols and of its arguments: each of these gives a symbol, so that a call
/// is checked as with any other tensor of such a shape.
/// The runtime must know what lies there to bring it to the device, so it is the kernel's signature that
/// changes, and no pass of the lowering. What is left, CheckKernel refuses.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Whether a kernel makes tensors of addresses.
bool hasAddresses(mlir::ModuleOp module);
void bindAddresses(mlir::ModuleOp module);

} // namespace tilewright::ascend
