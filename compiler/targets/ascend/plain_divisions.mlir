// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-plain-divisions --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @block
// CHECK: arith.divsi %[[BLOCK:.*]], %c3
// CHECK: arith.remsi %[[BLOCK]], %c3
// CHECK-NOT: arith.select
func.func @block(%A: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  tile.launch (%block) in (%c12) npu {
    %t = tile.alloc "t" : !tile.buffer<16xf32, UB>
    %row = arith.floordivsi %block, %c3 : index
    %rest = arith.remsi %block, %c3 : index
    %negative = arith.cmpi slt, %rest, %c0 : index
    %corrected = arith.addi %rest, %c3 : index
    %column = arith.select %negative, %corrected, %rest : index
    npu.load_ub %A[%row, %column] [1, 16] : !tile.buffer<64x64xf32, global> to %t[%c0] : !tile.buffer<16xf32, UB> pitch 16
  }
  return
}

// -----
// By a number that is known at run time only, but isn't negative: the text of the general form.
// CHECK-LABEL: func.func @by_a_dim
// CHECK: arith.divsi %[[BLOCK:.*]], %[[COUNT:.*]] : index
// CHECK: arith.remsi %[[BLOCK]], %[[COUNT]] : index
// CHECK-NOT: arith.select
func.func @by_a_dim(%A: !tile.buffer<?x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %A, 0 : !tile.buffer<?x64xf32, global>
  %count = arith.ceildivsi %n, %c64 : index
  %blocks = arith.muli %count, %count : index
  tile.launch (%block) in (%blocks) npu {
    %t = tile.alloc "t" : !tile.buffer<16xf32, UB>
    %row = arith.floordivsi %block, %count : index
    %rest = arith.remsi %block, %count : index
    %corrected = arith.addi %rest, %count : index
    %signs = arith.xori %rest, %count : index
    %differ = arith.cmpi slt, %signs, %c0 : index
    %isRest = arith.cmpi ne, %rest, %c0 : index
    %both = arith.andi %differ, %isRest : i1
    %column = arith.select %both, %corrected, %rest : index
    npu.load_ub %A[%row, %column] [1, 16] : !tile.buffer<?x64xf32, global> to %t[%c0] : !tile.buffer<16xf32, UB> pitch 16
  }
  return
}

// -----
// What an argument gives, or a difference, may be negative.
// CHECK-LABEL: func.func @unknown
// CHECK: arith.floordivsi
// CHECK: arith.select
func.func @unknown(%A: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  tile.launch (%block) in (%c12) npu {
    %t = tile.alloc "t" : !tile.buffer<16xf32, UB>
    %number = arith.subi %block, %c3 : index
    %row = arith.floordivsi %number, %c3 : index
    %rest = arith.remsi %number, %c3 : index
    %negative = arith.cmpi slt, %rest, %c0 : index
    %corrected = arith.addi %rest, %c3 : index
    %column = arith.select %negative, %corrected, %rest : index
    npu.load_ub %A[%row, %column] [1, 16] : !tile.buffer<64x64xf32, global> to %t[%c0] : !tile.buffer<16xf32, UB> pitch 16
  }
  return
}
