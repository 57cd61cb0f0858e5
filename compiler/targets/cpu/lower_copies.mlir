// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-copies | FileCheck %s

// A tile that may cross the edge: whole tiles have constant bounds, others are clamped once and padded.
// CHECK-LABEL: func.func @clamped
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: scf.if %[[INSIDE]] {
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
// CHECK: scf.for
// CHECK: %[[V:.*]] = tile.load %arg0[{{.*}}] in_bounds {cpu.access_group = #[[GROUP:.*]]}
// CHECK: %[[W:.*]] = arith.extf %[[V]] : f16 to f32
// CHECK: tile.store %[[W]], %{{.*}} in_bounds {cpu.access_group = #[[GROUP]]}
// CHECK: {llvm.loop_annotation =
// CHECK: } else {
// CHECK: tile.store %cst
// CHECK: tile.load
// CHECK-NOT: tile.copy
func.func @clamped(%A: !tile.buffer<?x32xf16, global> {tile.name = "A", tile.shape = affine_map<()[M] -> (M, 32)>},
                   %M: index {tile.symbol = "M"}) attributes {tile.kernel} {
  %c64 = arith.constant 64 : index
  %g = arith.ceildivui %M, %c64 : index
  tile.launch (%b) in (%g) threads(128) {
    %s = tile.alloc : !tile.buffer<64x32xf32, shared>
    %m = arith.muli %b, %c64 : index
    tile.copy %A[%m, 0] [64, 32] : !tile.buffer<?x32xf16, global> to %s : !tile.buffer<64x32xf32, shared>
  }
  return
}

// What is known to be inside has no second form.
// CHECK-LABEL: func.func @inside
// CHECK-NOT: scf.if
// CHECK: tile.atomic add {{.*}} in_bounds
// CHECK-NOT: scf.if
// CHECK: return
func.func @inside(%A: !tile.buffer<32xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<32xf32, shared>
    tile.fill %s : !tile.buffer<32xf32, shared> with %zero : f32
    tile.atomic_tile add %s : !tile.buffer<32xf32, shared> into %A : !tile.buffer<32xf32, global>
  }
  return
}

// -----

// Two blocks of 16 x 16: each is loaded by rows, widened, transposed in four steps, and stored by rows.
// CHECK-LABEL: func.func @blocks
// CHECK: scf.for %[[R:.*]] = %c0{{.*}} to %c1
// CHECK: scf.for %[[C:.*]] = %c0{{.*}} to %c2
// CHECK-COUNT-16: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
// CHECK: vector.shuffle {{.*}} [1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31]
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>
func.func @blocks() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<16x32xf16, shared>
    %t = tile.alloc : !tile.buffer<2x32x16xf32, shared>
    tile.copy %s : !tile.buffer<16x32xf16, shared> to %t[1, 0, 0] [1, 32, 16] : !tile.buffer<2x32x16xf32, shared> {transpose}
  }
  return
}

// Each row asks for the lines of the 16th after it, which may lie outside.
// CHECK-LABEL: func.func @rows_ahead
// CHECK: scf.for %[[ROW:.*]] = %c0
// CHECK: %[[LATER:.*]] = arith.addi %{{.*}}, %c16
// CHECK: %[[LINE:.*]] = llvm.getelementptr
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK: "llvm.intr.prefetch"
// CHECK-NOT: prefetch
// CHECK: scf.for
// CHECK: tile.load
func.func @rows_ahead(%A: !tile.buffer<64x2048xf16, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<64x64xf32, shared>
    tile.copy %A[0, 0] [64, 64] : !tile.buffer<64x2048xf16, global> to %s : !tile.buffer<64x64xf32, shared> {cpu.rows_ahead = 16 : i64}
  }
  return
}
