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

// -----
// Of a kernel that was written for a GPU, both cores work where each row is one core's alone.
// CHECK-LABEL: func.func @rows_of_one
// CHECK: %[[VID:.*]] = ascend.vector_id
// CHECK: tile.alloc "x" : !tile.buffer<32x64xf32, UB>
// CHECK-NOT: of_gpu
func.func @rows_of_one(%C: !tile.buffer<256x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c4) npu attributes {ascend.of_gpu} {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
    tile.for %i = %c0 to %c4 step %c1 {
      %r = arith.muli %i, %c64 : index
      tile.copy %C[%r, 0] [64, 64] : !tile.buffer<256x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
      tile.copy %x : !tile.buffer<64x64xf32, UB> to %C[%r, 0] [64, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
// Rows that a later turn of the loop gives to the other core.
// CHECK-LABEL: func.func @rows_of_both
// CHECK-NOT: ascend.vector_id
// CHECK: tile.alloc "x" : !tile.buffer<64x64xf32, UB>
func.func @rows_of_both(%C: !tile.buffer<256x64xf32, global>, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%c1) npu attributes {ascend.of_gpu} {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
    tile.fill %x : !tile.buffer<64x64xf32, UB> with %f : f32
    tile.for %i = %c0 to %c4 step %c1 {
      %r = arith.muli %i, %c32 : index
      tile.copy %x : !tile.buffer<64x64xf32, UB> to %C[%r, 0] [64, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
// A row that both cores read and the first one writes; and one that only the first one writes.
// CHECK-LABEL: func.func @single_rows
// CHECK-NOT: ascend.vector_id
// CHECK-LABEL: func.func @written_row
// CHECK: ascend.vector_id
func.func @single_rows(%C: !tile.buffer<1x15xf32, global>) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu attributes {ascend.of_gpu} {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<1x15xf32, UB>
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
    tile.copy %C : !tile.buffer<1x15xf32, global> to %x : !tile.buffer<1x15xf32, UB>
    tile.copy %x : !tile.buffer<1x15xf32, UB> to %C : !tile.buffer<1x15xf32, global>
  }
  return
}
func.func @written_row(%C: !tile.buffer<2x15xf32, global>, %v: f32) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu attributes {ascend.of_gpu} {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<1x15xf32, UB>
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
    tile.fill %x : !tile.buffer<1x15xf32, UB> with %v : f32
    tile.copy %x : !tile.buffer<1x15xf32, UB> to %C[0, 0] [1, 15] : !tile.buffer<2x15xf32, global>
    tile.copy %x : !tile.buffer<1x15xf32, UB> to %C[1, 0] [1, 15] : !tile.buffer<2x15xf32, global>
  }
  return
}

// -----
// A single element, and what is printed: once, though both cores have what is read of the tile.
// CHECK-LABEL: func.func @elements
// CHECK: launch {{.*}} attributes {ascend.cores_alike}
// CHECK: %[[VALUE:.*]] = tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<64x128xf32, UB>
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: tile.store %[[VALUE]]
// CHECK: scf.if
// CHECK-NEXT: ascend.printf "%f"(%[[VALUE]])
func.func @elements(%A: !tile.buffer<64x128xf32, global>, %F: !tile.buffer<8xf32, global>, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) threads(2) npu {
    %x = tile.alloc "x" : !tile.buffer<64x128xf32, UB>
    tile.copy %A : !tile.buffer<64x128xf32, global> to %x : !tile.buffer<64x128xf32, UB>
    %v = tile.load %x[%c1, %c1] : !tile.buffer<64x128xf32, UB>
    tile.store %v, %F[%c1] : !tile.buffer<8xf32, global>
    ascend.printf "%f"(%v) : f32
  }
  return
}
