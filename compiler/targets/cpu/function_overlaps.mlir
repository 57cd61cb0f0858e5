// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-function-overlaps --split-input-file | FileCheck %s

// Nothing is known of a value and a number: all is read, then written.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%n: i32 {tile.name = "n", tile.dtype = si32}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    %t = tile.alloc : !tile.buffer<64x4xf32, shared>
    %m = arith.index_cast %n : i32 to index
    // CHECK: %[[T:.*]] = tile.alloc : !tile.buffer<64x4xf32, shared>
    // CHECK: %[[MOVED:.*]] = tile.alloc {{.*}} : !tile.buffer<16x4xf32, shared>
    // CHECK-NEXT: tile.parallel (%[[I:.*]], %[[J:.*]]) in [16, 4] attributes {function = "exp"} {
    // CHECK-NEXT: %[[X:.*]] = tile.load %[[T]][%[[I]], %[[J]]]
    // CHECK-NEXT: %[[Y:.*]] = math.exp %[[X]]
    // CHECK: tile.store %[[Y]], %[[MOVED]][%[[I]], %[[J]]]
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.parallel (%[[K:.*]], %[[L:.*]]) in [16, 4] {
    // CHECK-NEXT: %[[ROW:.*]] = arith.addi
    // CHECK-NEXT: %[[VALUE:.*]] = tile.load %[[MOVED]][%[[K]], %[[L]]]
    // CHECK-NEXT: tile.store %[[VALUE]], %[[T]][%[[ROW]], %[[L]]]
    // CHECK-NEXT: }
    tile.parallel (%i, %j) in [16, 4] attributes {function = "exp"} {
      %x = tile.load %t[%i, %j] : !tile.buffer<64x4xf32, shared>
      %y = math.exp %x : f32
      %row = arith.addi %m, %i : index
      tile.store %y, %t[%row, %j] : !tile.buffer<64x4xf32, shared>
    }
  }
  return
}

// -----

// The same, apart, or another tile; and a loop of the user's own, whose iterations have no order.
// CHECK-LABEL: func.func @known
func.func @known(%n: i32 {tile.name = "n", tile.dtype = si32}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(32) {
    // CHECK-NOT: "moved"
    %t = tile.alloc : !tile.buffer<64xf32, shared>
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    %m = arith.index_cast %n : i32 to index
    tile.parallel (%i) in [16] attributes {function = "add"} {
      %at = arith.addi %m, %i : index
      %same = arith.addi %m, %i : index
      %behind = arith.addi %at, %c16 : index
      %x = tile.load %t[%same] : !tile.buffer<64xf32, shared>
      %y = tile.load %t[%behind] : !tile.buffer<64xf32, shared>
      %z = tile.load %s[%i] : !tile.buffer<64xf32, shared>
      %a = arith.addf %x, %y : f32
      %sum = arith.addf %a, %z : f32
      tile.store %sum, %t[%at] : !tile.buffer<64xf32, shared>
    }
    tile.parallel (%i) in [16] {
      %at = arith.addi %m, %i : index
      %x = tile.load %t[%i] : !tile.buffer<64xf32, shared>
      tile.store %x, %t[%at] : !tile.buffer<64xf32, shared>
    }
  }
  return
}
