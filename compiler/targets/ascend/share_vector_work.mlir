// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-share-vector-work --canonicalize --cse --split-input-file | FileCheck %s

// GEMM followed by add, behind the gemm: halves of tiles, rows of the tensors from the core's half on.
// CHECK-LABEL: func.func @add
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK: %[[VID:.*]] = ascend.vector_id
// CHECK-DAG: tile.alloc "x" : !tile.buffer<32x128xf32, UB>
// CHECK-DAG: tile.alloc "m" : !tile.buffer<32xf32, UB>
// CHECK-DAG: tile.alloc "bias" : !tile.buffer<128xf32, UB>
// CHECK: %[[ROW:.*]] = arith.muli %[[VID]], %[[C32]]
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK: tile.copy %{{.*}}[%[[AT]], 0] [32, 128] : {{.*}} to %[[X:.*]] : !tile.buffer<32x128xf32, UB>
// CHECK: tile.copy %{{.*}} to %[[BIAS:.*]] : !tile.buffer<128xf32, UB>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [32, 128] {
// CHECK: %[[GI:.*]] = arith.addi %[[I]], %[[ROW]]
// CHECK: tile.load %[[X]][%[[I]], %[[J]]]
// CHECK: tile.load %[[BIAS]][%[[J]]]
// CHECK: arith.index_cast %[[GI]]
// CHECK: tile.store %{{.*}}, %[[X]][%[[I]], %[[J]]]
// CHECK: tile.reduce max %[[X]] : !tile.buffer<32x128xf32, UB> dim 1 into %{{.*}} : !tile.buffer<32xf32, UB>
// CHECK: tile.copy %[[X]] : !tile.buffer<32x128xf32, UB> to %{{.*}}[%[[AT]], 0] [32, 128]
func.func @add(%A: !tile.buffer<1024x128xf32, global>, %B: !tile.buffer<128xf32, global>,
               %C: !tile.buffer<1024x128xf32, global>, %n: index) {
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) threads(2) npu {
    %x = tile.alloc "x" : !tile.buffer<64x128xf32, UB>
    %bias = tile.alloc "bias" : !tile.buffer<128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<64xf32, UB>
    %r = arith.muli %cid, %c64 : index
    tile.copy %A[%r, 0] [64, 128] : !tile.buffer<1024x128xf32, global> to %x : !tile.buffer<64x128xf32, UB>
    tile.copy %B : !tile.buffer<128xf32, global> to %bias : !tile.buffer<128xf32, UB>
    tile.parallel (%i, %j) in [64, 128] {
      %v = tile.load %x[%i, %j] : !tile.buffer<64x128xf32, UB>
      %w = tile.load %bias[%j] : !tile.buffer<128xf32, UB>
      %s = arith.addf %v, %w : f32
      %row = arith.index_cast %i : index to i32
      %number = arith.sitofp %row : i32 to f32
      %t = arith.addf %s, %number : f32
      tile.store %t, %x[%i, %j] : !tile.buffer<64x128xf32, UB>
    }
    tile.reduce max %x : !tile.buffer<64x128xf32, UB> dim 1 into %m : !tile.buffer<64xf32, UB> clear
    tile.copy %x : !tile.buffer<64x128xf32, UB> to %C[%r, 0] [64, 128] : !tile.buffer<1024x128xf32, global>
  }
  return
}

// -----
// Column sums need all rows: both cores have the tile whole, and the first writes the result.
// CHECK-LABEL: func.func @columns
// CHECK: %[[VID:.*]] = ascend.vector_id
// CHECK: tile.alloc "x" : !tile.buffer<64x128xf32, UB>
// CHECK: tile.alloc "sums" : !tile.buffer<128xf32, UB>
// CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [64, 128]
// CHECK: tile.reduce sum
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[VID]], %{{.*}} : index
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: tile.copy
func.func @columns(%A: !tile.buffer<1024x128xf32, global>, %C: !tile.buffer<128xf32, global>, %n: index) {
  tile.launch (%cid) in (%n) threads(2) npu {
    %x = tile.alloc "x" : !tile.buffer<64x128xf32, UB>
    %sums = tile.alloc "sums" : !tile.buffer<128xf32, UB>
    tile.copy %A[%cid, 0] [64, 128] : !tile.buffer<1024x128xf32, global> to %x : !tile.buffer<64x128xf32, UB>
    tile.reduce sum %x : !tile.buffer<64x128xf32, UB> dim 0 into %sums : !tile.buffer<128xf32, UB> clear
    tile.copy %sums : !tile.buffer<128xf32, UB> to %C : !tile.buffer<128xf32, global>
  }
  return
}

// -----
// Without threads(2) nothing changes.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: vector_id
// CHECK: tile.alloc "x" : !tile.buffer<64xf32, UB>
func.func @alone(%A: !tile.buffer<64xf32, global>, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    tile.copy %A : !tile.buffer<64xf32, global> to %x : !tile.buffer<64xf32, UB>
  }
  return
}
