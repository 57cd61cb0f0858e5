// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-rotate-buffers --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// What MTE2 hands to V gets a version per stage; what only V uses, and what is needed after the loop, has one.
// CHECK-LABEL: func.func @exp_rows
// CHECK: tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x64xf32, UB>
// CHECK: tile.alloc "e" : !tile.buffer<64xf32, UB>
// CHECK: tile.alloc "sum" : !tile.buffer<64xf32, UB>
// CHECK: tile.for %[[I:.*]] =
// CHECK: %[[TURN:.*]] = arith.remsi %[[I]], %c2
// CHECK: %[[AT:.*]] = arith.muli %[[TURN]], %c64
// CHECK: npu.load_ub {{.*}} to %{{.*}}[%[[AT]]] : !tile.buffer<2x64xf32, UB> pitch 64
// CHECK: npu.unary exp %{{.*}}[%c0] : {{.*}}, %{{.*}}[%[[AT]]] : !tile.buffer<2x64xf32, UB>
func.func @exp_rows(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %e = tile.alloc "e" : !tile.buffer<64xf32, UB>
    %sum = tile.alloc "sum" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.unary exp %e[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      npu.binary add %sum[%c0] : !tile.buffer<64xf32, UB>, %sum[%c0] : !tile.buffer<64xf32, UB>, %e[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    }
    npu.store_ub %sum[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0, 0] [1, 64] : !tile.buffer<256x64xf32, global>
  }
  return
}

// -----
// A buffer that keeps something from one iteration to the next stays as it is; so do all in a loop of one stage.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: ascend.versions
func.func @kept(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      npu.unary exp %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
    tile.for %i = %c0 to %n step %c1 pipelined(1) {
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.store_ub %y[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
func.func @no_room(%A: !tile.buffer<256x32768xf32, global>, %B: !tile.buffer<256x32768xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    // expected-remark @+1 {{x has one version for all stages of its loop: two need 262144 bytes of UB, which has 196352}}
    %x = tile.alloc "x" : !tile.buffer<32768xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      npu.load_ub %A[%i, 0] [1, 32768] : !tile.buffer<256x32768xf32, global> to %x[%c0] : !tile.buffer<32768xf32, UB> pitch 32768
      npu.store_ub %x[%c0] : !tile.buffer<32768xf32, UB> pitch 32768 to %B[%i, 0] [1, 32768] : !tile.buffer<256x32768xf32, global>
    }
  }
  return
}

// -----
// Views rotate with what they view: as other elements, and as one sequence with what lies behind the rows.
// CHECK-LABEL: func.func @views
// CHECK: %[[X:.*]] = tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x8x12xf32, UB>
// CHECK: %[[BITS:.*]] = tile.view %[[X]] : !tile.buffer<2x8x12xf32, UB> to !tile.buffer<2x8x24xsi16, UB>
// CHECK: %[[ALL:.*]] = tile.view %[[X]] : !tile.buffer<2x8x12xf32, UB> to !tile.buffer<256xf32, UB>
// CHECK: tile.for
// CHECK: %[[TURN:.*]] = arith.remsi
// CHECK: %[[AT:.*]] = arith.muli %[[TURN]], %c128
// CHECK: %[[AT_BITS:.*]] = arith.muli %[[TURN]], %c256
// CHECK: npu.load_ub {{.*}} to %[[X]][%[[AT]]]
// CHECK: npu.unary not %[[BITS]][%[[AT_BITS]]] : {{.*}}, %[[BITS]][%[[AT_BITS]]]
// CHECK: npu.unary exp %[[ALL]][%[[AT]]] : {{.*}}, %[[ALL]][%[[AT]]]
// CHECK: npu.store_ub %[[X]][%[[AT]]]
func.func @views(%A: !tile.buffer<256x12xf32, global>, %B: !tile.buffer<256x12xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x12xf32, UB>
    %bits = tile.view %x : !tile.buffer<8x12xf32, UB> to !tile.buffer<8x24xsi16, UB>
    %all = tile.view %x : !tile.buffer<8x12xf32, UB> to !tile.buffer<128xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      npu.load_ub %A[%i, 0] [8, 12] : !tile.buffer<256x12xf32, global> to %x[%c0] : !tile.buffer<8x12xf32, UB> pitch 16
      npu.unary not %bits[%c0] : !tile.buffer<8x24xsi16, UB>, %bits[%c0] : !tile.buffer<8x24xsi16, UB> count(%c256)
      npu.unary exp %all[%c0] : !tile.buffer<128xf32, UB>, %all[%c0] : !tile.buffer<128xf32, UB> count(%c128)
      npu.store_ub %x[%c0] : !tile.buffer<8x12xf32, UB> pitch 16 to %B[%i, 0] [8, 12] : !tile.buffer<256x12xf32, global>
    }
  }
  return
}

// -----
// One that is needed behind the loop under another name stays as it is.
// CHECK-LABEL: func.func @view_behind
// CHECK-NOT: ascend.versions
func.func @view_behind(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %rows = tile.view %x : !tile.buffer<64xf32, UB> to !tile.buffer<8x8xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
    npu.store_ub %rows[%c0] : !tile.buffer<8x8xf32, UB> pitch 8 to %B[0, 0] [8, 8] : !tile.buffer<256x64xf32, global>
  }
  return
}

// -----
// A load that an edge may cut overwrites its tile with the filling that it begins with; without the mark, nothing says so.
// CHECK-LABEL: func.func @cut
// CHECK: tile.alloc "x" {ascend.versions = 2 : i64} : !tile.buffer<2x32x32xf16, L1>
// CHECK: tile.alloc "y" : !tile.buffer<32x32xf16, L1>
// CHECK: scf.if
// CHECK-NEXT: npu.fill_l1 %{{.*}}[%[[AT:.*]]]
// CHECK: npu.load_l1 %{{.*}} to %{{.*}}[%[[AT]]]
func.func @cut(%A: !tile.buffer<256x32xf16, global>, %n: index, %rows: index, %isCut: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x32xf16, L1>
    %y = tile.alloc "y" : !tile.buffer<32x32xf16, L1>
    %l = tile.alloc "l" : !tile.buffer<32x32xf16, L0A>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      scf.if %isCut {
        npu.fill_l1 %x[%c0] : !tile.buffer<32x32xf16, L1> bytes 2048
      } {ascend.overwrites}
      npu.load_l1 %A[%i, 0] [%rows, 32] : !tile.buffer<256x32xf16, global> to %x[%c0] : !tile.buffer<32x32xf16, L1> rows 32
      scf.if %isCut {
        npu.fill_l1 %y[%c0] : !tile.buffer<32x32xf16, L1> bytes 2048
      }
      npu.load_l1 %A[%i, 0] [%rows, 32] : !tile.buffer<256x32xf16, global> to %y[%c0] : !tile.buffer<32x32xf16, L1> rows 32
      npu.load_l0 %x[%c0] : !tile.buffer<32x32xf16, L1> at(%c0, %c0) to %l[%c0] : !tile.buffer<32x32xf16, L0A> rows 32 size 32 x 32
      npu.load_l0 %y[%c0] : !tile.buffer<32x32xf16, L1> at(%c0, %c0) to %l[%c0] : !tile.buffer<32x32xf16, L0A> rows 32 size 32 x 32
    }
  }
  return
}

// -----
// What the filling reads is none that it overwrites.
// CHECK-LABEL: func.func @filled_from
// CHECK: tile.alloc "x" {ascend.versions = 2 : i64}
// CHECK: tile.alloc "rest" : !tile.buffer<64xf32, UB>
func.func @filled_from(%A: !tile.buffer<256x64xf32, global>, %n: index, %count: index, %isCut: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %rest = tile.alloc "rest" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      scf.if %isCut {
        npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %rest[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      } {ascend.overwrites}
      npu.load_ub %A[%i, 0] [1, %count] : !tile.buffer<256x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %rest[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
  }
  return
}
