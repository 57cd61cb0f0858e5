// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-insert-flags --ascend-check-hazards --split-input-file --verify-diagnostics | FileCheck %s
// Parts of a tensor that begin where an argument says, and which a core has asked for before it stores them: they begin in the
// tensor, and what is computed from the argument hasn't wrapped round.

// CHECK-LABEL: func.func @asked_for
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @asked_for(%C: !tile.buffer<16x48xf32, global>, %column: i32) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %c24_i32 = arith.constant 24 : i32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<16x16xf32, UB>
    %first = arith.index_cast %column : i32 to index
    %isFirstInside = arith.cmpi sgt, %first, %c-1 : index
    npu.require %isFirstInside "this copy begins at {}"(%first) on vector
    %left = arith.subi %c48, %first : index
    %most = arith.minsi %left, %c16 : index
    %count = arith.maxsi %most, %c0 : index
    npu.store_ub %x[%c0] : !tile.buffer<16x16xf32, UB> pitch 16 to %C[0, %first] [16, %count] : !tile.buffer<16x48xf32, global>
    %sum = arith.addi %column, %c24_i32 : i32
    %second = arith.index_cast %sum : i32 to index
    %isSecondInside = arith.cmpi sgt, %second, %c-1 : index
    ascend.scope vector {
      npu.require %isSecondInside "this copy begins at {}"(%second) on vector
    }
    %left2 = arith.subi %c48, %second : index
    %most2 = arith.minsi %left2, %c16 : index
    %count2 = arith.maxsi %most2, %c0 : index
    npu.store_ub %x[%c0] : !tile.buffer<16x16xf32, UB> pitch 16 to %C[0, %second] [16, %count2] : !tile.buffer<16x48xf32, global>
  }
  return
}

// -----
// Only the first was asked for: where the second begins, nobody knows, and in the row before it could be the first.
// CHECK-LABEL: func.func @not_asked_for
// CHECK: npu.store_ub
// CHECK: pipe_barrier mte3
// CHECK: npu.store_ub
func.func @not_asked_for(%C: !tile.buffer<16x48xf32, global>, %column: i32) {
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %c40_i32 = arith.constant 40 : i32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<16x16xf32, UB>
    %first = arith.index_cast %column : i32 to index
    %isFirstInside = arith.cmpi sgt, %first, %c-1 : index
    npu.require %isFirstInside "this copy begins at {}"(%first) on vector
    %left = arith.subi %c48, %first : index
    %most = arith.minsi %left, %c16 : index
    %count = arith.maxsi %most, %c0 : index
    npu.store_ub %x[%c0] : !tile.buffer<16x16xf32, UB> pitch 16 to %C[0, %first] [16, %count] : !tile.buffer<16x48xf32, global>
    %sum = arith.addi %column, %c40_i32 : i32
    %second = arith.index_cast %sum : i32 to index
    %left2 = arith.subi %c48, %second : index
    %most2 = arith.minsi %left2, %c16 : index
    %count2 = arith.maxsi %most2, %c0 : index
    npu.store_ub %x[%c0] : !tile.buffer<16x16xf32, UB> pitch 16 to %C[0, %second] [16, %count2] : !tile.buffer<16x48xf32, global>
  }
  return
}
