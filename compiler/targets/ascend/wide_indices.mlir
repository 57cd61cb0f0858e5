// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-wide-indices --split-input-file | FileCheck %s

// A product that would wrap round after 2^26 turns.
// CHECK-LABEL: func.func @product
// CHECK: %[[I:.*]] = tile.load
// CHECK: %[[WIDE:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[ROW:.*]] = arith.muli %[[WIDE]], %{{.*}} : index
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[ROW]], %c2147483647
// CHECK: npu.require %[[FITS]] "an index is {}, which has no room in int32"(%[[ROW]]) on vector
// CHECK: tile.copy %{{.*}} to %{{.*}}[%[[ROW]], 0]
func.func @product(%C: !tile.buffer<256x64xf32, global>, %n: i32) {
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c32_i32 = arith.constant 32 : i32
  %c1 = arith.constant 1 : index
  tile.launch (%block) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    %count = tile.alloc "i" : !tile.buffer<si32, var>
    tile.store %c0_i32, %count[] in_bounds : !tile.buffer<si32, var>
    tile.while {
      %i = tile.load %count[] in_bounds : !tile.buffer<si32, var>
      %more = arith.cmpi slt, %i, %n : i32
      tile.condition %more
    } do {
      %i = tile.load %count[] in_bounds : !tile.buffer<si32, var>
      %row = arith.muli %i, %c32_i32 : i32
      %first = arith.index_cast %row : i32 to index
      tile.copy %x : !tile.buffer<32x64xf32, UB> to %C[%first, 0] [32, 64] : !tile.buffer<256x64xf32, global>
      %next = arith.addi %i, %c1_i32 : i32
      tile.store %next, %count[] in_bounds : !tile.buffer<si32, var>
    }
  }
  return
}

// -----

// What an argument may put anywhere stays, and so does what a constant bounds.
// CHECK-LABEL: func.func @others
// CHECK-NOT: npu.require
func.func @others(%C: !tile.buffer<256x64xf32, global>, %n: i32) {
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c8_i32 = arith.constant 8 : i32
  %c32_i32 = arith.constant 32 : i32
  %c1 = arith.constant 1 : index
  tile.launch (%block) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    %count = tile.alloc "i" : !tile.buffer<si32, var>
    tile.store %c0_i32, %count[] in_bounds : !tile.buffer<si32, var>
    tile.while {
      %i = tile.load %count[] in_bounds : !tile.buffer<si32, var>
      %more = arith.cmpi slt, %i, %c8_i32 : i32
      tile.condition %more
    } do {
      %i = tile.load %count[] in_bounds : !tile.buffer<si32, var>
      %row = arith.muli %i, %c32_i32 : i32
      %first = arith.index_cast %row : i32 to index
      tile.copy %x : !tile.buffer<32x64xf32, UB> to %C[%first, 0] [32, 64] : !tile.buffer<256x64xf32, global>
      %other = arith.addi %row, %n : i32
      %second = arith.index_cast %other : i32 to index
      tile.copy %x : !tile.buffer<32x64xf32, UB> to %C[%second, 0] [32, 64] : !tile.buffer<256x64xf32, global>
      %next = arith.addi %i, %c1_i32 : i32
      tile.store %next, %count[] in_bounds : !tile.buffer<si32, var>
    }
  }
  return
}

// -----

// A variable that nothing bounds is asked before each sum.
// CHECK-LABEL: func.func @counter
// CHECK: tile.for
// CHECK: %[[ROW:.*]] = tile.load
// CHECK: tile.copy
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[ROW]], %c2147483615_i32 : i32
// CHECK: npu.require %[[FITS]] "a variable that a loop counts is {}, and what is added to it has no room in int32"
// CHECK: arith.addi %[[ROW]]
func.func @counter(%C: !tile.buffer<256x64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c0_i32 = arith.constant 0 : i32
  %c32_i32 = arith.constant 32 : i32
  tile.launch (%block) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    %count = tile.alloc "row" : !tile.buffer<si32, var>
    tile.store %c0_i32, %count[] in_bounds : !tile.buffer<si32, var>
    %end = arith.index_cast %n : i32 to index
    tile.for %k = %c0 to %end step %c1 {
      %row = tile.load %count[] in_bounds : !tile.buffer<si32, var>
      %first = arith.index_cast %row : i32 to index
      tile.copy %x : !tile.buffer<32x64xf32, UB> to %C[%first, 0] [32, 64] : !tile.buffer<256x64xf32, global>
      %next = arith.addi %row, %c32_i32 : i32
      tile.store %next, %count[] in_bounds : !tile.buffer<si32, var>
    }
  }
  return
}
