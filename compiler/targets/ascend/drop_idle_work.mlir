// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-drop-idle-work --canonicalize --split-input-file | FileCheck %s

// A load beyond the tensor in each of three blocks: the tile is what pads it.
// CHECK-LABEL: func.func @beyond
// CHECK-NOT: scf.if
// CHECK: npu.duplicate
// CHECK-NOT: npu.load_ub
func.func @beyond(%A: !tile.buffer<2x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%by) in (%c3) npu {
    %t = tile.alloc "t" : !tile.buffer<6x16xf32, UB>
    %row = arith.addi %by, %c2 : index
    %left = arith.subi %c2, %row : index
    %some = arith.minsi %left, %c6 : index
    %rows = arith.maxsi %some, %c0 : index
    %cut = arith.cmpi slt, %rows, %c6 : index
    scf.if %cut {
      npu.duplicate %t[%c0] : !tile.buffer<6x16xf32, UB>, %zero count(%c96)
    }
    npu.load_ub %A[%row, %c0] [%rows, 16] : !tile.buffer<2x16xf32, global> to %t[%c0] : !tile.buffer<6x16xf32, UB> pitch 16
  }
  return
}

// -----
// One of the blocks loads something.
// CHECK-LABEL: func.func @partly_beyond
// CHECK: scf.if
// CHECK: npu.duplicate
// CHECK: npu.load_ub
func.func @partly_beyond(%A: !tile.buffer<2x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%by) in (%c3) npu {
    %t = tile.alloc "t" : !tile.buffer<6x16xf32, UB>
    %left = arith.subi %c2, %by : index
    %some = arith.minsi %left, %c6 : index
    %rows = arith.maxsi %some, %c0 : index
    %isCut = arith.cmpi slt, %rows, %c2 : index
    scf.if %isCut {
      npu.duplicate %t[%c0] : !tile.buffer<6x16xf32, UB>, %zero count(%c96)
    }
    npu.load_ub %A[%by, %c0] [%rows, 16] : !tile.buffer<2x16xf32, global> to %t[%c0] : !tile.buffer<6x16xf32, UB> pitch 16
  }
  return
}

// -----
// Stores and the loads of the cube core; a branch that no block takes, of which either side decides.
// CHECK-LABEL: func.func @others
// CHECK-NOT: npu.store_ub
// CHECK-NOT: npu.load_l1
// CHECK-NOT: npu.store_l0c
// CHECK: npu.unary exp
// CHECK-NOT: npu.unary ln
// CHECK-NOT: tile.for
// CHECK: return
func.func @others(%A: !tile.buffer<16x16xf32, global>, %B: !tile.buffer<16x16xf16, global>, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  tile.launch (%by) in (%c3) npu {
    %t = tile.alloc "t" : !tile.buffer<16x16xf32, UB>
    %l = tile.alloc "l" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %rest = arith.subi %c0, %by : index
    %rows = arith.maxsi %rest, %c0 : index
    npu.store_ub %t[%c0] : !tile.buffer<16x16xf32, UB> pitch 16 to %A[%c16, %c0] [%rows, 16] : !tile.buffer<16x16xf32, global>
    npu.load_l1 %B[%c0, %c16] [16, %rows] : !tile.buffer<16x16xf16, global> to %l[%c0] : !tile.buffer<16x16xf16, L1> rows 16
    npu.store_l0c %c[%c0] : !tile.buffer<16x16xf32, L0C> rows 16 to %A[%c16, %c0] [%rows, 16] : !tile.buffer<16x16xf32, global>
    %isFar = arith.cmpi sge, %by, %c3 : index
    %both = arith.andi %yes, %isFar : i1
    %isNear = arith.cmpi ule, %by, %c3 : index
    %either = arith.ori %yes, %isNear : i1
    scf.if %either {
      npu.unary exp %t[%c0] : !tile.buffer<16x16xf32, UB>, %t[%c0] : !tile.buffer<16x16xf32, UB> count(%c16)
    }
    scf.if %both {
      npu.unary ln %t[%c0] : !tile.buffer<16x16xf32, UB>, %t[%c0] : !tile.buffer<16x16xf32, UB> count(%c16)
    }
    tile.for %i = %by to %c0 step %c1 {
      npu.unary ln %t[%c0] : !tile.buffer<16x16xf32, UB>, %t[%c0] : !tile.buffer<16x16xf32, UB> count(%c16)
    }
  }
  return
}

// -----

// A row that only names what isn't loaded is no longer read.
// CHECK-LABEL: func.func @named
// CHECK-NOT: npu.get_value
// CHECK: return
func.func @named(%A: !tile.buffer<16x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%by) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<16x16xf32, UB>
    %numbers = tile.alloc "numbers" : !tile.buffer<16xsi32, UB>
    %number = npu.get_value %numbers[%c1] : !tile.buffer<16xsi32, UB>
    %row = arith.index_cast %number : i32 to index
    %rest = arith.subi %c0, %by : index
    %columns = arith.maxsi %rest, %c0 : index
    npu.load_ub %A[%row, %c16] [1, %columns] : !tile.buffer<16x16xf32, global> to %t[%c0] : !tile.buffer<16x16xf32, UB> pitch 16
  }
  return
}
