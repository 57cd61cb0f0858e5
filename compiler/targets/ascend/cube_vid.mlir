// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-cube-vid --canonicalize | FileCheck %s

// A branch on vid is decided in the cube core's scope, and not in that of the vector cores. The launch has both as before.
// CHECK-LABEL: func.func @branches
// CHECK: tile.launch {{.*}}ascend.asks_vid
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq
// CHECK: ascend.scope cube {
// CHECK-NEXT: ascend.pipe_barrier all
// CHECK-NEXT: }
// CHECK: ascend.scope vector {
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
func.func @branches() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %first = arith.cmpi eq, %vid, %c0 : index
    %second = arith.cmpi eq, %vid, %c1 : index
    ascend.scope cube {
      scf.if %first {
        ascend.pipe_barrier all
      }
      scf.if %second {
        ascend.pipe_barrier all
      }
    }
    ascend.scope vector {
      scf.if %first {
        ascend.pipe_barrier all
      }
    }
  }
  return
}
