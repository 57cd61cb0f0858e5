// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-define-padding --canonicalize | FileCheck %s

// x is written row by row and read as a whole, y is read row by row, z is written as a whole.
// CHECK-LABEL: func.func @padding
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK-NEXT: npu.duplicate %[[X]][%c0] : !tile.buffer<4x5xf32, UB>, %{{.*}} count(%c32)
// CHECK-NEXT: tile.alloc "y"
// CHECK-NEXT: tile.alloc "z"
// CHECK-NOT: npu.duplicate
func.func @padding(%A: !tile.buffer<4x5xf32, global>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c29 = arith.constant 29 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<4x5xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<4x5xf32, UB>
    %z = tile.alloc "z" : !tile.buffer<4x5xf32, UB>
    npu.set_value %v to %x[%c8] : !tile.buffer<4x5xf32, UB>
    npu.set_value %v to %y[%c8] : !tile.buffer<4x5xf32, UB>
    npu.unary exp %z[%c0] : !tile.buffer<4x5xf32, UB>, %x[%c0] : !tile.buffer<4x5xf32, UB> count(%c29)
    npu.unary exp %z[%c0] : !tile.buffer<4x5xf32, UB>, %z[%c0] : !tile.buffer<4x5xf32, UB> count(%c29)
    npu.unary exp %y[%c0] : !tile.buffer<4x5xf32, UB>, %y[%c8] : !tile.buffer<4x5xf32, UB> count(%c5)
  }
  return
}

// Bytes: x as above, y is filled through a view.
// CHECK-LABEL: func.func @bytes
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK-NEXT: %[[PAIRS:.*]] = tile.view %[[X]]
// CHECK-NEXT: npu.duplicate %[[PAIRS]][%c0] : !tile.buffer<64xsi16, UB>, %{{.*}} count(%c64)
// CHECK-NEXT: tile.alloc "y"
// CHECK-NEXT: tile.view
// CHECK-NEXT: npu.duplicate
// CHECK-NOT: npu.duplicate
func.func @bytes(%v: i8, %zero: i16) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c101 = arith.constant 101 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<4x5xsi8, UB>
    %y = tile.alloc "y" : !tile.buffer<4x5xsi8, UB>
    %pairs = tile.view %y : !tile.buffer<4x5xsi8, UB> to !tile.buffer<64xsi16, UB>
    npu.duplicate %pairs[%c0] : !tile.buffer<64xsi16, UB>, %zero count(%c64)
    npu.set_value %v to %x[%c32] : !tile.buffer<4x5xsi8, UB>
    npu.binary max %y[%c0] : !tile.buffer<4x5xsi8, UB>, %x[%c0] : !tile.buffer<4x5xsi8, UB>, %y[%c0] : !tile.buffer<4x5xsi8, UB> count(%c101)
  }
  return
}

// Of rows of two blocks only the last one; y is written as a whole first, w is only stored.
// CHECK-LABEL: func.func @last_blocks
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK-NEXT: npu.duplicate %[[X]][%c16] : !tile.buffer<3x20xf16, UB>, %{{.*}} repeat <lanes = 16, times = 3, blocks = [1], strides = [2]>
// CHECK-NOT: npu.duplicate
func.func @last_blocks(%C: !tile.buffer<3x20xf16, global>, %v: f16) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c84 = arith.constant 84 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<3x20xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<3x20xf16, UB>
    %w = tile.alloc "w" : !tile.buffer<3x20xf16, UB>
    npu.set_value %v to %x[%c0] : !tile.buffer<3x20xf16, UB>
    npu.set_value %v to %w[%c0] : !tile.buffer<3x20xf16, UB>
    npu.unary exp %y[%c0] : !tile.buffer<3x20xf16, UB>, %x[%c0] : !tile.buffer<3x20xf16, UB> count(%c84)
    npu.set_value %v to %y[%c0] : !tile.buffer<3x20xf16, UB>
    npu.unary exp %y[%c0] : !tile.buffer<3x20xf16, UB>, %y[%c0] : !tile.buffer<3x20xf16, UB> count(%c84)
    npu.store_ub %w[%c0] : !tile.buffer<3x20xf16, UB> pitch 32 to %C[0, 0] [3, 20] : !tile.buffer<3x20xf16, global>
  }
  return
}

// What a copy reads behind the last row, which no writer has reached: of one row the last block.
// CHECK-LABEL: func.func @behind_the_last
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK-NEXT: npu.duplicate %[[X]][%c48] : !tile.buffer<51xf16, UB>, %{{.*}} count(%c16)
// CHECK-NEXT: %[[Y:.*]] = tile.alloc "y"
// CHECK-NEXT: npu.duplicate %[[Y]][%c16] : !tile.buffer<3x20xf16, UB>, %{{.*}} repeat
// CHECK-NEXT: tile.alloc "z"
func.func @behind_the_last() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c51 = arith.constant 51 : index
  %c84 = arith.constant 84 : index
  %zero = arith.constant 0.0 : f16
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<51xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<3x20xf16, UB>
    %z = tile.alloc "z" : !tile.buffer<64xf16, UB>
    npu.duplicate %x[%c0] : !tile.buffer<51xf16, UB>, %zero count(%c51)
    npu.duplicate %y[%c0] : !tile.buffer<3x20xf16, UB>, %zero count(%c84)
    npu.copy_ub %x[%c0] : !tile.buffer<51xf16, UB> to %z[%c0] : !tile.buffer<64xf16, UB> rows 1 of 128 pitch 128 to 128
    npu.copy_ub %y[%c0] : !tile.buffer<3x20xf16, UB> to %y[%c0] : !tile.buffer<3x20xf16, UB> rows 3 of 64 pitch 64 to 64
  }
  return
}
