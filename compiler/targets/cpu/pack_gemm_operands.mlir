// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-pack-gemm-operands --split-input-file | FileCheck %s

// Operands narrower than the accumulator are widened on chip; b becomes [K, N]; a run-time clear becomes a fill.
// CHECK-LABEL: func.func @narrow
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: arith.constant 0.0
// CHECK-NEXT: tile.fill %[[C:.*]] : !tile.buffer<64x32xf32, fragment> with
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<64x16xf32, shared>
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x16xf16, shared> to %[[A]]
// CHECK: %[[B:.*]] = tile.alloc : !tile.buffer<16x32xf32, shared>
// CHECK: tile.copy %{{.*}} : !tile.buffer<32x16xf16, shared> to %[[B]] : {{.*}} {transpose}
// CHECK: tile.gemm %[[A]] : !tile.buffer<64x16xf32, shared>, %[[B]] : !tile.buffer<16x32xf32, shared> into %[[C]]
// CHECK-NOT: transpose_b
func.func @narrow(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf16, shared>
    %B = tile.alloc : !tile.buffer<32x16xf16, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.gemm %A : !tile.buffer<64x16xf16, shared>, %B : !tile.buffer<32x16xf16, shared>
      into %C : !tile.buffer<64x32xf32, fragment> clear(%flag) {transpose_b}
  }
  return
}

// -----

// What is on chip and in the accumulator's type stays; so does a transposed a.
// CHECK-LABEL: func.func @ready
// CHECK-NOT: tile.copy
// CHECK: tile.gemm {{.*}} {transpose_a}
func.func @ready() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x64xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.gemm %A : !tile.buffer<16x64xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<64x32xf32, fragment> {transpose_a}
  }
  return
}

// -----

// A float16 result accumulates in float32 and is rounded once.
// CHECK-LABEL: func.func @half_result
// CHECK: %[[SUM:.*]] = tile.alloc : !tile.buffer<64x32xf32, shared>
// CHECK: tile.copy %[[C:.*]] : !tile.buffer<64x32xf16, fragment> to %[[SUM]]
// CHECK: tile.gemm {{.*}} into %[[SUM]]
// CHECK: tile.copy %[[SUM]] : !tile.buffer<64x32xf32, shared> to %[[C]]
func.func @half_result() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf16, fragment>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<64x32xf16, fragment>
  }
  return
}
