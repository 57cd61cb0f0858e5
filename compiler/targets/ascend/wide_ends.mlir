// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-wide-ends --split-input-file | FileCheck %s

// Two loops, in one of which a branch asks for the number, too.
// CHECK-LABEL: func.func @less
// CHECK: %[[LESS:.*]] = arith.subi %[[N:.*]], %c1_i32 : i32
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK: %[[END:.*]] = arith.subi %[[WIDE]], %c1{{.*}} : index
// CHECK: tile.for %[[K:.*]] = %c0 to %[[END]] step
// CHECK: arith.cmpi eq, %{{.*}}, %[[LESS]] : i32
// CHECK: arith.subi %{{.*}} : index
// CHECK: tile.for
func.func @less(%A: !tile.buffer<64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  tile.launch (%block) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<64xf32, UB>
    %less = arith.subi %n, %c1_i32 : i32
    %end = arith.index_cast %less : i32 to index
    tile.for %k = %c0 to %end step %c1 {
      %number = arith.index_cast %k : index to i32
      %last = arith.cmpi eq, %number, %less : i32
      scf.if %last {
        npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %t[%c0] : !tile.buffer<64xf32, UB> pitch 64
      }
    }
    tile.for %k = %c0 to %end step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %t[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
  }
  return
}

// -----

// A sum may wrap round to no turn at all, and what something else asks for stays.
// CHECK-LABEL: func.func @others
// CHECK: arith.addi %{{.*}} : i32
// CHECK-NOT: arith.subi %{{.*}} : index
// CHECK: return
func.func @others(%A: !tile.buffer<64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  tile.launch (%block) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<64xf32, UB>
    %more = arith.addi %n, %c1_i32 : i32
    %end = arith.index_cast %more : i32 to index
    tile.for %k = %c0 to %end step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %t[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
    %less = arith.subi %n, %c1_i32 : i32
    %other = arith.index_cast %less : i32 to index
    tile.for %k = %c0 to %other step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %t[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
    npu.load_ub %A[%other] [1] : !tile.buffer<64xf32, global> to %t[%c0] : !tile.buffer<64xf32, UB> pitch 64
  }
  return
}
