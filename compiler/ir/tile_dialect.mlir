// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Buffer types and the attributes of kernels.

// CHECK-LABEL: func.func private @types
// CHECK-SAME: !tile.buffer<f32, var>
// CHECK-SAME: !tile.buffer<4x?xui4, global>
// CHECK-SAME: !tile.buffer<?xi1, global, strided>
// CHECK-SAME: !tile.buffer<8x8xf8E4M3FN, L1, layout = #tile.panel<dim = 1, width = 16>>
// CHECK-SAME: !tile.buffer<8x8xsi64, UB, layout = #map>
// CHECK-SAME: !tile.buffer<4x2x!tile.unpacked_f4E2M1FN, shared>
func.func private @types(!tile.buffer<f32, var>, !tile.buffer<4x?xui4, global>, !tile.buffer<?xi1, global, strided>,
                         !tile.buffer<8x8xf8E4M3FN, L1, layout = #tile.panel<dim = 1, width = 16>>,
                         !tile.buffer<8x8xsi64, UB, layout = affine_map<(d0, d1) -> (d1, d0)>>,
                         !tile.buffer<4x2x!tile.unpacked_f4E2M1FN, shared>)

// -----
// expected-error@+1 {{a buffer's elements cannot be of type 'i32'; integers are si or ui with 4 to 64 bits, bool is i1}}
func.func private @f(!tile.buffer<4xi32, shared>)
// -----
// expected-error@+1 {{a buffer has at most 16 dims, not 17}}
func.func private @f(!tile.buffer<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32, shared>)
// -----
// expected-error@+1 {{a var buffer has rank 0, not 1}}
func.func private @f(!tile.buffer<4xf32, var>)
// -----
// expected-error@+1 {{only a global buffer may be strided, not one in shared}}
func.func private @f(!tile.buffer<4xf32, shared, strided>)
// -----
// expected-error@+1 {{a buffer in UB has a static shape}}
func.func private @f(!tile.buffer<?xf32, UB>)
// -----
// expected-error@+1 {{a buffer of this shape has more than 2^63 bits}}
func.func private @f(!tile.buffer<4294967296x4294967296xf32, global>)
// -----
// expected-error@+1 {{unknown memory space 'heap'}}
func.func private @f(!tile.buffer<4xf32, heap>)
// -----
// expected-error@+1 {{the layout takes 1 indices but the buffer has 2 dims}}
func.func private @f(!tile.buffer<4x4xf32, shared, layout = affine_map<(d0) -> (d0)>>)
// -----
// expected-error@+1 {{the layout cuts dim 2 but the buffer has 2 dims}}
func.func private @f(!tile.buffer<4x4xf32, shared, layout = #tile.panel<dim = 2, width = 16>>)
// -----
// expected-error@+1 {{a layout is an affine map or #tile.panel, not "rows"}}
func.func private @f(!tile.buffer<4x4xf32, shared, layout = "rows">)
// -----
// expected-error@+1 {{a panel has a dim of at least 0 and a width of at least 1, not 0 and 0}}
func.func private @f(!tile.buffer<4x4xf32, shared, layout = #tile.panel<dim = 0, width = 0>>)
// -----
// expected-error@+1 {{expected 'layout' or 'strided'}}
func.func private @f(!tile.buffer<4x4xf32, shared, packed>)

// -----
// expected-error@+1 {{'tile.kernel' stands on functions only}}
module attributes {tile.kernel} {}
// -----
// expected-error@+1 {{a kernel has a body}}
func.func private @f() attributes {tile.kernel}
// -----
// expected-error@+1 {{a kernel has no results, but this one has 1}}
func.func @f(%x: f32 {tile.name = "x"}) -> f32 attributes {tile.kernel} { return %x : f32 }
// -----
// expected-error@+1 {{argument 0 of the kernel has neither 'tile.name' nor 'tile.symbol'}}
func.func @f(%x: f32) attributes {tile.kernel} { return }
// -----
// expected-error@+1 {{argument 1 of the kernel stands after a symbol}}
func.func @f(%n: index {tile.symbol = "n"}, %x: f32 {tile.name = "x"}) attributes {tile.kernel} { return }
// -----
// expected-error@+1 {{a kernel has at least one launch, but this one has none}}
func.func @f() attributes {tile.kernel} { return }

// -----
// expected-error@+1 {{tile.shape is an affine map on a buffer argument}}
func.func private @f(f32 {tile.shape = affine_map<() -> ()>})
// -----
// expected-error@+1 {{tile.shape of argument 0 takes 1 symbols but the kernel has 0}}
func.func @f(%A: !tile.buffer<?xf32, global> {tile.shape = affine_map<()[s0] -> (s0)>}) { return }
// -----
// expected-error@+1 {{tile.strides of argument 0 has 2 results but the buffer has 1 dims}}
func.func @f(%A: !tile.buffer<?xf32, global, strided> {tile.strides = affine_map<() -> (4, 1)>}) { return }
// -----
// expected-error@+1 {{dim 4 of argument 0 disagrees with its tile.shape}}
func.func @f(%A: !tile.buffer<4xf32, global> {tile.shape = affine_map<() -> (5)>}) { return }
// -----
// expected-error@+1 {{tile.name of argument 0 is not a string}}
func.func private @f(f32 {tile.name = 1})
// -----
// expected-error@+1 {{argument 0 is a symbol, so its type is index, not 'i32'}}
func.func private @f(i32 {tile.symbol = "n"})
// -----
// expected-error@+1 {{tile.scalar of argument 0 is a string on a symbol, which it gives a name of a scalar}}
func.func private @f(i32 {tile.name = "n", tile.scalar = "n"})
// -----
// expected-error@+1 {{tile.scalar of argument 1 names no integer: 'm'}}
func.func private @f(i32 {tile.name = "n"}, index {tile.symbol = "m", tile.scalar = "m"})
// -----
func.func private @f(i32 {tile.name = "n"}, index {tile.symbol = "n", tile.scalar = "n"})
// -----
// expected-error@+1 {{tile.dtype of argument 0 is not a type}}
func.func private @f(i32 {tile.dtype = "uint32"})
// -----
// expected-error@+1 {{tile.address of argument 0 is for integers of 64 bits, without a value}}
func.func private @f(i32 {tile.address})
// -----
// expected-error@+1 {{tile.overlaps of argument 0 is for tensors, without a value}}
func.func private @f(i32 {tile.overlaps})
// -----
// expected-error@+1 {{tile.apart of argument 0 is for tensors, with numbers of others}}
func.func private @f(!tile.buffer<4xf32, global> {tile.apart = 1 : i64})
// -----
// expected-error@+1 {{unknown attribute tile.colour of argument 0}}
func.func private @f(i32 {tile.colour = "red"})
