// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-rotate-buffers --ascend-load-ahead --canonicalize --cse --ascend-plan-memory --ascend-insert-flags --ascend-check-hazards --canonicalize --verify-diagnostics | FileCheck %s

// Three stages: loads go two iterations ahead, so two of their flags are on their way; the flag back is one iteration old.
// CHECK-LABEL: func.func @three_stages
// CHECK: ascend.set_flag v to mte2, %c0
// CHECK: ascend.set_flag mte2 to v, %c0
// CHECK-NEXT: ascend.set_flag mte2 to v, %c1
// CHECK: tile.for %[[I:.*]] =
// CHECK: ascend.wait_flag v to mte2, %c0
// CHECK: scf.if
// CHECK: npu.load_ub
// CHECK: }
// CHECK: %[[TURN:.*]] = arith.remsi %[[I]], %c2
// CHECK: ascend.wait_flag mte2 to v, %[[TURN]]
// CHECK: npu.unary exp
// CHECK: ascend.set_flag v to mte2, %c0
// CHECK: %[[SAME:.*]] = arith.remsi %[[I]], %c2
// CHECK: ascend.set_flag mte2 to v, %[[SAME]]
func.func @three_stages(%A: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %c64 step %c1 pipelined(3) {
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.unary exp %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    }
  }
  return
}
