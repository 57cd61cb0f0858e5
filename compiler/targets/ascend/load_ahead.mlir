// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-load-ahead --canonicalize --split-input-file | FileCheck %s

// Two versions: the next iteration's load stands first, and the first one's before the loop.
// CHECK-LABEL: func.func @exp_rows
// CHECK-SAME: %[[N:[a-z0-9]*]]: index) {
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %c0
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT: npu.load_ub %{{.*}}[%c0, 0] [1, 64] {{.*}} to %{{.*}}[%c0] :
// CHECK: tile.for %[[I:.*]] = %c0 to %[[N]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// CHECK-NEXT: scf.if %[[MORE]] {
// CHECK: %[[TURN:.*]] = arith.remsi %[[NEXT]], %c2
// CHECK: %[[AT:.*]] = arith.muli %[[TURN]], %c64
// CHECK-NEXT: npu.load_ub %{{.*}}[%[[NEXT]], 0] [1, 64] {{.*}} to %{{.*}}[%[[AT]]] :
// CHECK-NEXT: }
// CHECK-NOT: npu.load_ub
// CHECK: npu.store_ub
func.func @exp_rows(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c2) npu {
    %x = tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      %turn = arith.remsi %i, %c2 : index
      %at = arith.muli %turn, %c64 : index
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64
      npu.store_ub %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64 to %B[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
// What the loop itself writes is not loaded ahead.
// CHECK-LABEL: func.func @own_output
// CHECK: tile.for
// CHECK-NOT: scf.if
// CHECK: npu.load_ub
func.func @own_output(%A: !tile.buffer<256x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c2) npu {
    %x = tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x64xf32, UB>
    tile.for %i = %c0 to %c64 step %c1 pipelined(2) {
      %turn = arith.remsi %i, %c2 : index
      %at = arith.muli %turn, %c64 : index
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64
      %next = arith.addi %i, %c1 : index
      npu.store_ub %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64 to %A[%next, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
// A loop within has versions of its own: its first load goes before it, and not into an earlier iteration of the loop around.
// CHECK-LABEL: func.func @nested
// CHECK: tile.launch
// CHECK-NEXT: tile.alloc
// CHECK-NEXT: tile.for %[[Q:.*]] = %c0 to %c64
// CHECK-NEXT: npu.load_ub %{{.*}}[%[[Q]], 0] [1, 64] {{.*}} to %{{.*}}[%c0] :
// CHECK-NEXT: tile.for %[[K:.*]] = %c0 to %c64
// CHECK: scf.if
// CHECK: npu.load_ub
// CHECK-NOT: npu.load_ub
// CHECK: return
func.func @nested(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c2) npu {
    %x = tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x64xf32, UB>
    tile.for %q = %c0 to %c64 step %c1 pipelined(2) {
      tile.for %k = %c0 to %c64 step %c1 pipelined(2) {
        %turn = arith.remsi %k, %c2 : index
        %at = arith.muli %turn, %c64 : index
        %row = arith.addi %q, %k : index
        npu.load_ub %A[%row, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64
        npu.store_ub %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64 to %B[%row, 0] [1, 64] : !tile.buffer<256x64xf32, global>
      }
    }
  }
  return
}

// -----
// A check goes along with its load.
// CHECK-LABEL: func.func @checked
// CHECK: npu.check_part "x" [2, 64] written part(%c0, %c1, %c0, %c64) on vector
// CHECK-NEXT: npu.load_ub
// CHECK: tile.for %[[K:.*]] = %c0 to %c64
// CHECK: scf.if
// CHECK: npu.check_part "x"
// CHECK-NEXT: npu.load_ub
// CHECK-NOT: npu.check_part
// CHECK-NOT: npu.load_ub
// CHECK: return
func.func @checked(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c2) npu {
    %x = tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x64xf32, UB>
    tile.for %k = %c0 to %c64 step %c1 pipelined(2) {
      %turn = arith.remsi %k, %c2 : index
      %at = arith.muli %turn, %c64 : index
      npu.check_part "x" [2, 64] written part(%k, %c1, %c0, %c64) on vector
      npu.load_ub %A[%k, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64
      npu.store_ub %x[%at] : !tile.buffer<2x64xf32, UB> pitch 64 to %B[%k, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}
