// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --canonicalize | FileCheck %s --check-prefix=FOLDED
// Buffers and single elements.

// CHECK-LABEL: func.func @elements
func.func @elements(%A: !tile.buffer<?x32xui8, global>, %n: index, %v: i8) -> (index, index, i8) {
  // CHECK: tile.alloc "w" at 512 : !tile.buffer<4x32xui8, UB>
  %w = tile.alloc "w" at 512 : !tile.buffer<4x32xui8, UB>
  // CHECK: tile.view %{{.*}} dims(%{{.*}}) : !tile.buffer<?x32xui8, global> to !tile.buffer<?x16xf16, global>
  %view = tile.view %A dims(%n) : !tile.buffer<?x32xui8, global> to !tile.buffer<?x16xf16, global>
  // FOLDED-LABEL: func.func @elements
  // FOLDED-SAME: %[[N:[a-z0-9]+]]: index
  // FOLDED-DAG: %[[C16:.*]] = arith.constant 16 : index
  %d0 = tile.dim %view, 0 : !tile.buffer<?x16xf16, global>
  %d1 = tile.dim %view, 1 : !tile.buffer<?x16xf16, global>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds : !tile.buffer<?x32xui8, global>
  %x = tile.load %A[%n, %n] in_bounds : !tile.buffer<?x32xui8, global>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<4x32xui8, UB>
  tile.store %x, %w[%n, %n] : !tile.buffer<4x32xui8, UB>
  // CHECK: tile.atomic add %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : i8 order(seq_cst) : !tile.buffer<?x32xui8, global> -> i8
  %old = tile.atomic add %A[%n, %n], %v : i8 order(seq_cst) : !tile.buffer<?x32xui8, global> -> i8
  // CHECK: tile.atomic load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<?x32xui8, global> -> i8
  %now = tile.atomic load %A[%n, %n] : !tile.buffer<?x32xui8, global> -> i8
  // FOLDED: return %[[N]], %[[C16]]
  return %d0, %d1, %now : index, index, i8
}

// -----
func.func @f() {
  // expected-error@+1 {{needs a static shape, but got '!tile.buffer<?xf32, global>'}}
  %w = tile.alloc : !tile.buffer<?xf32, global>
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has the negative address -4}}
  %w = tile.alloc at -4 : !tile.buffer<4xf32, UB>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>) {
  // expected-error@+1 {{cannot move a buffer from global to shared}}
  %v = tile.view %A : !tile.buffer<4xf32, global> to !tile.buffer<4xf32, shared>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global, strided>) {
  // expected-error@+1 {{needs dense buffers, but one is strided}}
  %v = tile.view %A : !tile.buffer<4xf32, global, strided> to !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>) {
  // expected-error@+1 {{has 0 dims as operands but its result has 1 that are not static}}
  %v = tile.view %A : !tile.buffer<4xf32, global> to !tile.buffer<?xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>) {
  // expected-error@+1 {{has a source of 128 bits but a result of 64}}
  %v = tile.view %A : !tile.buffer<4xf32, global> to !tile.buffer<4xf16, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>) {
  // expected-error@+1 {{asks for dim 1 of a buffer with 1 dims}}
  %v = tile.dim %A, 1 : !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4x4xf32, global>, %i: index) {
  // expected-error@+1 {{has 1 index but the buffer has 2 dims}}
  %v = tile.load %A[%i] : !tile.buffer<4x4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: f32) {
  // expected-error@+1 {{has 2 indices but the buffer has 1 dims}}
  tile.store %v, %A[%i, %i] : !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: i32) {
  // expected-error@+1 {{the value's type is that of the buffer's elements}}
  "tile.store"(%v, %A, %i) : (i32, !tile.buffer<4xf32, global>, index) -> ()
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: f32) {
  // expected-error@+1 {{load takes no value}}
  %x = tile.atomic load %A[%i], %v : f32 : !tile.buffer<4xf32, global> -> f32
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index) {
  // expected-error@+1 {{add needs a value}}
  tile.atomic add %A[%i] : !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index) {
  // expected-error@+1 {{load needs a result}}
  tile.atomic load %A[%i] : !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: f32) {
  // expected-error@+1 {{store has no result}}
  %x = tile.atomic store %A[%i], %v : f32 : !tile.buffer<4xf32, global> -> f32
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: i32) {
  // expected-error@+1 {{has a value of type 'i32' but elements of type 'f32'}}
  tile.atomic add %A[%i], %v : i32 : !tile.buffer<4xf32, global>
  return
}
// -----
func.func @f(%A: !tile.buffer<4xf32, global>, %i: index, %v: f32) {
  // expected-error@+1 {{or works on integers, not on 'f32'}}
  tile.atomic or %A[%i], %v : f32 : !tile.buffer<4xf32, global>
  return
}
// -----
// CHECK-LABEL: func.func @addresses
func.func @addresses(%p: i64, %n: index, %x: f32) -> f32 {
  // CHECK: tile.tensor_at %{{.*}} dims(%{{.*}}) : !tile.buffer<?x4xf32, global>
  %a = tile.tensor_at %p dims(%n) : !tile.buffer<?x4xf32, global>
  // CHECK: tile.tensor_at %{{.*}} strides(%{{.*}}, %{{.*}}) : !tile.buffer<2x4xf32, global, strided>
  %b = tile.tensor_at %p strides(%n, %n) : !tile.buffer<2x4xf32, global, strided>
  // CHECK: tile.address %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<?x4xf32, global>
  %at = tile.address %a[%n, %n] : !tile.buffer<?x4xf32, global>
  // CHECK: tile.call "observe"(%{{.*}}) : (i64) -> ()
  tile.call "observe"(%at) : (i64) -> ()
  // CHECK: tile.call "square"(%{{.*}}) : (f32) -> f32
  %r = tile.call "square"(%x) : (f32) -> f32
  return %r : f32
}
// -----
func.func @f(%p: i64) {
  // expected-error@+1 {{gives global memory, not shared}}
  %a = tile.tensor_at %p : !tile.buffer<4xf32, shared>
  return
}
// -----
func.func @f(%p: i64) {
  // expected-error@+1 {{has 0 dims but its type has 1 that are not static}}
  %a = tile.tensor_at %p : !tile.buffer<?xf32, global>
  return
}
// -----
func.func @f(%p: i64) {
  // expected-error@+1 {{has 0 strides but its type needs 1}}
  %a = tile.tensor_at %p : !tile.buffer<4xf32, global, strided>
  return
}
// -----
func.func @f(%a: !tile.buffer<4xf32, global>) {
  // expected-error@+1 {{has 0 indices but its buffer has 1 dims}}
  %p = tile.address %a[] : !tile.buffer<4xf32, global>
  return
}
// -----
// CHECK-LABEL: func.func @sized
func.func @sized(%n: index, %m: i32) {
  %c2 = arith.constant 2 : index
  %half = arith.floordivsi %n, %c2 : index
  %wide = arith.index_cast %m : i32 to index
  // CHECK: tile.alloc_sized "s"(%{{.*}}, %{{.*}}) : !tile.buffer<?x?x4xf32, shared>
  %s = tile.alloc_sized "s" (%half, %wide) : !tile.buffer<?x?x4xf32, shared>
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{gives dense tiles in shared, not '!tile.buffer<?xf32, global>'}}
  %s = tile.alloc_sized (%n) : !tile.buffer<?xf32, global>
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has 1 dims but its type has 2 that are not static}}
  %s = tile.alloc_sized (%n) : !tile.buffer<?x?xf32, shared>
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%b) in (%n) threads(32) {
    // expected-error@+1 {{has dims that are not made of the kernel's arguments}}
    %s = tile.alloc_sized (%b) : !tile.buffer<?xf32, shared>
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%b) in (%n) threads(32) {
    %tx = tile.thread_id 0
    // expected-error@+1 {{has dims that are not made of the kernel's arguments}}
    %s = tile.alloc_sized (%tx) : !tile.buffer<?xf32, shared>
  }
  return
}
