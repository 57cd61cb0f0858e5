// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-mark-once --split-input-file | FileCheck %s

// All that touches global memory works on a gemm's tile: one vector core, which needs no branch.
// CHECK-LABEL: func.func @one_core
// CHECK: tile.atomic_tile {{.*}} {ascend.once}
// CHECK: tile.copy %{{.*}} to %arg1 {{.*}} {ascend.once}
func.func @one_core(%Z: !tile.buffer<32x32xf32, global>, %O: !tile.buffer<32x32xf32, global>) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, fragment>
    tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment> {clear_accum}
    tile.atomic_tile add %c : !tile.buffer<32x32xf32, fragment> into %Z : !tile.buffer<32x32xf32, global>
    tile.parallel (%i, %j) in [32, 32] {
      %v = tile.load %c[%i, %j] : !tile.buffer<32x32xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %c[%i, %j] : !tile.buffer<32x32xf32, fragment>
    }
    tile.copy %c : !tile.buffer<32x32xf32, fragment> to %O : !tile.buffer<32x32xf32, global>
  }
  return
}

// -----
// A sum of each vector core's own tile: both run, and the copy to the twin stands outside of the branch. The nest's
// own sum is the gemm's, too.
// CHECK-LABEL: func.func @two_cores
// CHECK: tile.atomic_tile {{.*}}into %arg0 {{.*}} {ascend.once}
// CHECK: tile.parallel
// CHECK: {ascend.once}
// CHECK: tile.atomic_tile {{.*}}into %arg1 : !tile.buffer<32x32xf32, global>{{$}}
func.func @two_cores(%Z: !tile.buffer<32x32xf32, global>, %Y: !tile.buffer<32x32xf32, global>) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, fragment>
    %x = tile.alloc "x" : !tile.buffer<32x32xf32, shared>
    tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment> {clear_accum}
    tile.atomic_tile add %c : !tile.buffer<32x32xf32, fragment> into %Z : !tile.buffer<32x32xf32, global>
    tile.parallel (%i, %j) in [32, 32] {
      %v = tile.load %c[%i, %j] : !tile.buffer<32x32xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.atomic add %Z[%i, %j], %w : f32 : !tile.buffer<32x32xf32, global>
    }
    tile.atomic_tile add %x : !tile.buffer<32x32xf32, shared> into %Y : !tile.buffer<32x32xf32, global>
  }
  return
}

// -----
// In a scope each core does what stands there, and with `threads` a block has one, or halves: no mark.
// CHECK-LABEL: func.func @others
// CHECK-NOT: ascend.once
func.func @others(%Z: !tile.buffer<32x32xf32, global>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, fragment>
    tile.gemm %a : !tile.buffer<32x32xf16, L1>, %a : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, fragment> {clear_accum}
    ascend.scope vector {
      tile.atomic_tile add %c : !tile.buffer<32x32xf32, fragment> into %Z : !tile.buffer<32x32xf32, global>
    }
  }
  return
}
