// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-mark-once --ascend-stage-global-tiles --ascend-place-buffers --ascend-guard-once --split-input-file | FileCheck %s

// All that touches global memory works on a gemm's tile: one vector core, which needs no branch.
// CHECK-LABEL: func.func @one_core
// CHECK: npu attributes {ascend.one_vector}
// CHECK-NOT: ascend.vector_id
// CHECK: tile.copy %[[C:.*]] : !tile.buffer<32x32xf32, L0C> to %[[TWIN:.*]] : !tile.buffer<32x32xf32, UB>
// CHECK-NEXT: tile.atomic_tile add %[[TWIN]]
// CHECK: tile.copy %[[TWIN]]
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
// CHECK: npu attributes {ascend.cores_alike}
// CHECK: tile.copy %[[C:.*]] : !tile.buffer<32x32xf32, L0C> to %[[TWIN:.*]] : !tile.buffer<32x32xf32, UB>
// CHECK-NEXT: %[[ID:.*]] = ascend.vector_id
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[ID]],
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: tile.atomic_tile add %[[TWIN]]
// CHECK-NEXT: }
// CHECK: tile.parallel
// CHECK: tile.store {{.*}}, %[[STAGED:.*]][
// CHECK: scf.if
// CHECK-NEXT: tile.atomic_tile add %[[STAGED]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.atomic_tile
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
// The kernel asks for vid: what it leaves open, one does; its own parts and branches stay.
// CHECK-LABEL: func.func @asks
// CHECK: tile.copy {{.*}}L0C> to
// CHECK: scf.if
// CHECK-NEXT: tile.atomic_tile
// CHECK: scf.if
// CHECK-NEXT: tile.atomic_tile
// CHECK-NEXT: }
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tile.copy %{{.*}}, 0] [16, 32]
func.func @asks(%Z: !tile.buffer<32x32xf32, global>, %O: !tile.buffer<32x32xf32, global>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, fragment>
    tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment> {clear_accum}
    tile.parallel (%i, %j) in [32, 32] {
      %v = tile.load %c[%i, %j] : !tile.buffer<32x32xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %c[%i, %j] : !tile.buffer<32x32xf32, fragment>
    }
    tile.atomic_tile add %c : !tile.buffer<32x32xf32, fragment> into %Z : !tile.buffer<32x32xf32, global>
    %second = arith.cmpi eq, %vid, %c1 : index
    scf.if %second {
      tile.atomic_tile add %c : !tile.buffer<32x32xf32, fragment> into %Z : !tile.buffer<32x32xf32, global>
    }
    %row = arith.muli %vid, %c16 : index
    tile.copy %c[%row, 0] [16, 32] : !tile.buffer<32x32xf32, fragment> to %O[%row, 0] [16, 32] : !tile.buffer<32x32xf32, global>
  }
  return
}
