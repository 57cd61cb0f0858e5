// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-insert-flags --ascend-check-hazards --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// Load, compute, store: each pair of pipes has its flag; what goes from one iteration to the next is set before the loop
// and waited for behind it.
// CHECK-LABEL: func.func @exp_rows
// CHECK-DAG: %[[E0:.*]] = arith.constant 0 : index
// CHECK: ascend.set_flag v to mte2, %[[E0]] {ascend.why = "T.copy to UB (line {{[0-9]+}}) overwrites what exp (line {{[0-9]+}}) of an earlier iteration reads of 'x'"
// CHECK: ascend.set_flag mte3 to v, %[[E0]] {ascend.why = "exp (line {{[0-9]+}}) overwrites what T.copy from UB (line {{[0-9]+}}) of an earlier iteration reads of 'y'"
// CHECK: tile.for
// CHECK-NEXT: ascend.wait_flag v to mte2, %[[E0]]
// CHECK-NEXT: npu.load_ub
// CHECK-NEXT: ascend.set_flag mte2 to v, %[[E0]] {ascend.why = "exp (line {{[0-9]+}}) needs what T.copy to UB (line {{[0-9]+}}) writes to 'x'"
// CHECK-DAG: ascend.wait_flag mte2 to v, %[[E0]]
// CHECK-DAG: ascend.wait_flag mte3 to v, %[[E0]]
// CHECK: npu.unary exp
// CHECK-NEXT: ascend.set_flag v to mte2, %[[E0]]
// CHECK-NEXT: ascend.pipe_barrier v {ascend.why = "add (line {{[0-9]+}}) needs what exp (line {{[0-9]+}}) writes to 'y'"
// CHECK-NEXT: npu.binary add
// CHECK-NEXT: ascend.set_flag v to mte3, %[[E0]]
// CHECK-NEXT: ascend.wait_flag v to mte3, %[[E0]]
// CHECK-NEXT: npu.store_ub
// CHECK-NEXT: ascend.set_flag mte3 to v, %[[E0]]
// CHECK: }
// CHECK-DAG: ascend.wait_flag v to mte2
// CHECK-DAG: ascend.wait_flag mte3 to v
func.func @exp_rows(%A: !tile.buffer<256x64xf32, global>, %B: !tile.buffer<256x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.unary exp %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      npu.binary add %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      npu.store_ub %y[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[%i, 0] [1, 64] : !tile.buffer<256x64xf32, global>
    }
  }
  return
}

// -----
// Two halves of L0 in turn: each has its event, primed once before the outer loop, so that the first half is loaded while
// the second is still used.
// CHECK-LABEL: func.func @gemm
// CHECK-DAG: %[[E0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[E1:.*]] = arith.constant 1 : index
// CHECK: ascend.set_flag mte1 to mte2, %[[E0]]
// CHECK-NEXT: ascend.set_flag m to mte1, %[[E0]]
// CHECK-NEXT: ascend.set_flag m to mte1, %[[E1]]
// CHECK-NEXT: tile.for %{{.*}} =
// CHECK: ascend.wait_flag mte1 to mte2, %[[E0]]
// CHECK: npu.load_l1
// CHECK: tile.for %[[S:.*]] =
// CHECK: %[[TURN:.*]] = arith.remsi %[[S]]
// CHECK: ascend.wait_flag m to mte1, %[[TURN]]
// CHECK: npu.load_l0
// CHECK: ascend.set_flag mte1 to m, %
// CHECK: ascend.wait_flag mte1 to m, %
// CHECK: npu.mmad
// CHECK: ascend.set_flag m to mte1, %
// CHECK: ascend.set_flag m to fix, %[[E0]]
// CHECK-NEXT: ascend.wait_flag m to fix, %[[E0]]
// CHECK-NEXT: npu.store_l0c
func.func @gemm(%A: !tile.buffer<256x256xf16, global>, %C: !tile.buffer<256x256xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  tile.launch (%cid) in (%c4) npu {
    %l1 = tile.alloc "l1" at 0 : !tile.buffer<64x64xf16, L1>
    %a = tile.alloc "a" at 0 : !tile.buffer<2x64x32xf16, L0A>
    %b = tile.alloc "b" at 0 : !tile.buffer<2x32x64xf16, L0B>
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    tile.for %k = %c0 to %c4 step %c1 {
      %kk = arith.muli %k, %c64 : index
      %first = arith.cmpi eq, %k, %c0 : index
      npu.load_l1 %A[%cid, %kk] [64, 64] : !tile.buffer<256x256xf16, global> to %l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64
      tile.for %s = %c0 to %c8 step %c1 {
        %half = arith.andi %s, %c1 : index
        %o = arith.muli %half, %c2048 : index
        npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to %a[%o] : !tile.buffer<2x64x32xf16, L0A> rows 64 size 64 x 32
        npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to %b[%o] : !tile.buffer<2x32x64xf16, L0B> rows 64 size 32 x 64
        npu.mmad %a[%o] : !tile.buffer<2x64x32xf16, L0A>, %b[%o] : !tile.buffer<2x32x64xf16, L0B> into %c[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 32 init(%first)
      }
    }
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %C[%cid, 0] [64, 64] : !tile.buffer<256x256xf32, global>
  }
  return
}

// -----
// Cube to vector through global memory: a flag there, and one back before the next iteration overwrites.
// CHECK-LABEL: func.func @handed_over
// CHECK: ascend.scope vector {
// CHECK-NEXT: ascend.set_cross_flag mte2, %[[BACK:.*]] {ascend.why = "T.copy from L0C (line {{[0-9]+}}) overwrites what T.copy to UB (line {{[0-9]+}}) of an earlier iteration reads"
// CHECK: tile.for
// CHECK: ascend.scope cube {
// CHECK-NEXT: ascend.wait_cross_flag %[[BACK]]
// CHECK: npu.store_l0c
// CHECK: ascend.scope cube {
// CHECK-NEXT: ascend.set_cross_flag fix, %[[THERE:.*]] {ascend.why = "T.copy to UB (line {{[0-9]+}}) needs what T.copy from L0C (line {{[0-9]+}}) writes"
// CHECK: ascend.scope vector {
// CHECK-NEXT: ascend.wait_cross_flag %[[THERE]]
// CHECK: npu.load_ub
// CHECK: ascend.scope vector {
// CHECK-NEXT: ascend.set_cross_flag mte2, %[[BACK]]
func.func @handed_over(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
func.func @left_early(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      // expected-error@+1 {{flags cannot be inserted in a loop that is left early: ascend-structure-exits makes a branch of it}}
      tile.break
    }
  }
  return
}

// -----
// A flag whose number nobody knows may be any between these pipes: what the compiler orders there takes
// a barrier of all pipes; between others it takes flags.
// CHECK-LABEL: func.func @unknown_event
// CHECK: npu.load_ub
// CHECK-NEXT: ascend.set_flag mte2 to v, %{{.*}}
// CHECK-NEXT: ascend.wait_flag mte2 to v, %{{.*}}
// CHECK-NEXT: ascend.pipe_barrier all {ascend.why = "abs (line {{[0-9]+}}) needs what T.copy to UB (line {{[0-9]+}}) writes to 'x'"
// CHECK-NEXT: npu.unary abs
// CHECK-NEXT: ascend.set_flag v to mte3, %{{.*}} {ascend.why = "T.copy from UB (line {{[0-9]+}}) needs what abs (line {{[0-9]+}}) writes to 'x'"
// CHECK-NEXT: ascend.wait_flag v to mte3
// CHECK-NEXT: npu.store_ub
func.func @unknown_event(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    // expected-remark@+1 {{the number of this flag is known only when the kernel runs: none of its flags is checked while it is compiled}}
    ascend.set_flag mte2 to v, %n
    ascend.wait_flag mte2 to v, %n
    npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %A[0] [64] : !tile.buffer<64xf32, global>
  }
  return
}

// -----
// What only a branch does waits, and is waited for, in that branch.
// CHECK-LABEL: func.func @branches
// CHECK: npu.unary abs
// CHECK: scf.if
// CHECK-NEXT: ascend.pipe_barrier v {ascend.why = "ln (line {{[0-9]+}}) needs what abs (line {{[0-9]+}}) writes to 'y'"
// CHECK-NEXT: npu.unary ln
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: scf.if
// CHECK-NEXT: npu.duplicate
// CHECK-NEXT: ascend.set_flag v to mte2
// CHECK-NEXT: ascend.wait_flag v to mte2
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: npu.load_ub
func.func @branches(%A: !tile.buffer<64xf32, global>, %n: index, %yes: i1, %cut: i1) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    %z = tile.alloc "z" at 512 : !tile.buffer<64xf32, UB>
    npu.unary abs %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    scf.if %yes {
      npu.unary ln %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    }
    scf.if %cut {
      npu.duplicate %z[%c0] : !tile.buffer<64xf32, UB>, %zero count(%c64)
    }
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %z[%c0] : !tile.buffer<64xf32, UB> pitch 64
  }
  return
}

// -----
// A slot that two loops choose together: no two iterations of the inner loop have the same, so that only what
// stands behind it waits.
// CHECK-LABEL: func.func @two_loops
// CHECK-NOT: ascend.pipe_barrier
// CHECK: npu.unary exp
// CHECK: ascend.pipe_barrier v {ascend.why = "ln (line {{[0-9]+}}) needs what exp (line {{[0-9]+}}) writes to 'b'"
// CHECK-NEXT: npu.unary ln
// CHECK-NOT: ascend.pipe_barrier
// CHECK: return
func.func @two_loops(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %b = tile.alloc "b" at 0 : !tile.buffer<192xf32, UB>
    %c = tile.alloc "c" at 768 : !tile.buffer<64xf32, UB>
    %a = tile.alloc "a" at 1024 : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %c2 step %c1 {
      tile.for %j = %c0 to %c2 step %c1 {
        %sum = arith.addi %i, %j : index
        %slot = arith.remui %sum, %c3 : index
        %at = arith.muli %slot, %c64 : index
        npu.unary exp %b[%at] : !tile.buffer<192xf32, UB>, %c[%c0] : !tile.buffer<64xf32, UB> count(%c64)
      }
      npu.unary ln %a[%c0] : !tile.buffer<64xf32, UB>, %b[%c0] : !tile.buffer<192xf32, UB> count(%c64)
    }
  }
  return
}

// -----
// All in a branch: both flags stand in it. A vector core that sets the one back in turns that don't take the branch runs
// ahead until its counter is full.
// CHECK-LABEL: func.func @handed_over_in_branch
// CHECK: ascend.set_cross_flag mte2, %[[BACK:.*]] {ascend.why = "T.copy from L0C (line {{[0-9]+}}) overwrites what T.copy to UB (line {{[0-9]+}}) of an earlier iteration reads"
// CHECK: tile.for
// CHECK-NOT: cross_flag
// CHECK: scf.if
// CHECK: ascend.wait_cross_flag %[[BACK]]
// CHECK: npu.store_l0c
// CHECK: ascend.set_cross_flag fix, %[[THERE:.*]] {ascend.why
// CHECK: ascend.wait_cross_flag %[[THERE]]
// CHECK: npu.load_ub
// CHECK: ascend.set_cross_flag mte2, %[[BACK]]
// CHECK-NOT: set_cross_flag
// CHECK: ascend.wait_cross_flag %[[BACK]]
func.func @handed_over_in_branch(%W: !tile.buffer<64x64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %taken = arith.cmpi slt, %i, %m : index
      scf.if %taken {
        npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
        npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
    }
  }
  return
}

// -----
// Loads in the branch and behind it: turns that don't take it set nothing, so no core runs ahead in them.
// CHECK-LABEL: func.func @handed_over_in_branch_and_behind
// CHECK: tile.for
// CHECK-NOT: cross_flag
// CHECK: scf.if
// CHECK: ascend.set_cross_flag mte2, %[[BACK:.*]] {ascend.why = "T.copy from L0C (line {{[0-9]+}}) overwrites what T.copy to UB (line {{[0-9]+}}) of an earlier iteration reads"
// CHECK: ascend.wait_cross_flag %[[BACK]]
// CHECK: npu.store_l0c
// CHECK: ascend.set_cross_flag fix, %[[THERE:.*]] {ascend.why
// CHECK: ascend.wait_cross_flag %[[THERE]]
// CHECK: npu.load_ub
// CHECK-NOT: cross_flag
// CHECK: return
func.func @handed_over_in_branch_and_behind(%W: !tile.buffer<64x64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %taken = arith.cmpi slt, %i, %m : index
      scf.if %taken {
        npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
        npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
      npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// Tiles of their own in each turn: nothing is overwritten, but the flag may not be set again before it is waited for.
// CHECK-LABEL: func.func @handed_over_in_rows
// CHECK: ascend.set_cross_flag mte2, %[[BACK:.*]] {ascend.why = "T.copy from L0C (line {{[0-9]+}}) waits for T.copy to UB (line {{[0-9]+}}) of an earlier iteration, so that no flag is set twice in a row"
// CHECK: tile.for
// CHECK: ascend.wait_cross_flag %[[BACK]]
// CHECK: npu.store_l0c
// CHECK: ascend.set_cross_flag fix, %[[THERE:.*]] {ascend.why = "T.copy to UB (line {{[0-9]+}}) needs what T.copy from L0C (line {{[0-9]+}}) writes"
// CHECK: ascend.wait_cross_flag %[[THERE]]
// CHECK: npu.load_ub
// CHECK: ascend.set_cross_flag mte2, %[[BACK]]
// CHECK: ascend.wait_cross_flag %[[BACK]]
func.func @handed_over_in_rows(%W: !tile.buffer<6400x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %row = arith.muli %i, %c64 : index
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[%row, 0] [64, 64] : !tile.buffer<6400x64xf32, global>
      npu.load_ub %W[%row, 0] [64, 64] : !tile.buffer<6400x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// The load stands behind the branch: each turn sets the flag back, so each waits for the one there, too.
// CHECK-LABEL: func.func @handed_over_behind_branch
// CHECK: tile.for
// CHECK: ascend.wait_cross_flag %[[BACK:.*]] {ascend.why = "T.copy from L0C (line {{[0-9]+}}) overwrites
// CHECK: scf.if
// CHECK-NEXT: npu.store_l0c
// CHECK-NEXT: }
// CHECK: ascend.set_cross_flag fix, %[[THERE:.*]] {ascend.why
// CHECK: ascend.wait_cross_flag %[[THERE]]
// CHECK: npu.load_ub
// CHECK: ascend.set_cross_flag mte2, %[[BACK]]
func.func @handed_over_behind_branch(%W: !tile.buffer<64x64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %taken = arith.cmpi slt, %i, %m : index
      scf.if %taken {
        npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      }
      npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// What a sum of long rows has written in its temporary memory, it has read behind a barrier of its own: what comes to lie
// there needs no other one.
// CHECK-LABEL: func.func @behind_a_sum
// CHECK: npu.reduce sum
// CHECK-NEXT: npu.duplicate
// CHECK-NEXT: ascend.pipe_barrier v {ascend.why = "add (line {{[0-9]+}}) needs what
// CHECK-NEXT: npu.binary add
func.func @behind_a_sum(%n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<8x128xf32, UB>
    %m = tile.alloc "m" at 4096 : !tile.buffer<64xf32, UB>
    %t = tile.alloc "t" at 4352 : !tile.buffer<2080xui8, UB>
    %y = tile.alloc "y" at 4352 : !tile.buffer<64xf32, UB>
    npu.reduce sum %m[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<8x128xf32, UB> scratch %t[%c0] : !tile.buffer<2080xui8, UB> of 2080 size 8 x 128 pitch 128 dim 1 clear
    npu.duplicate %y[%c0] : !tile.buffer<64xf32, UB>, %one count(%c64)
    npu.binary add %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB>, %m[%c0] : !tile.buffer<64xf32, UB> count(%c64)
  }
  return
}

// -----
// The turn that leaves the loop is none that loads, as it asks the opposite; the next one waits for what was loaded. The last
// one of all would load what lies beyond the tensor, nothing.
// CHECK-LABEL: func.func @left_where_nothing_is_loaded
// CHECK-NOT: mte2 to mte3
// CHECK: tile.for
// CHECK: ascend.wait_flag mte2 to v
// CHECK: npu.binary add
// CHECK-NOT: mte2 to mte3
// CHECK: return
func.func @left_where_nothing_is_loaded(%A: !tile.buffer<16x64xf32, global>, %B: !tile.buffer<2x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c64 = arith.constant 64 : index
  %on = arith.constant 0 : i32
  %over = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    %exit = tile.alloc "exit" : !tile.buffer<si32, var>
    tile.store %on, %exit[] : !tile.buffer<si32, var>
    tile.for %k = %c0 to %c17 step %c1 {
      %state = tile.load %exit[] : !tile.buffer<si32, var>
      %runs = arith.cmpi eq, %state, %on : i32
      scf.if %runs {
        npu.load_ub %A[0, 0] [1, 64] : !tile.buffer<16x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
        npu.binary add %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
        %more = arith.cmpi slt, %k, %n : index
        scf.if %more {
          %left = arith.subi %c16, %k : index
          %least = arith.minsi %left, %c1 : index
          %rows = arith.maxsi %least, %c0 : index
          npu.load_ub %A[%k, 0] [%rows, 64] : !tile.buffer<16x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
        }
        %ends = arith.cmpi sge, %k, %n : index
        scf.if %ends {
          tile.store %over, %exit[] : !tile.buffer<si32, var>
        }
      }
    }
    npu.store_ub %y[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0, 0] [1, 64] : !tile.buffer<2x64xf32, global>
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[1, 0] [1, 64] : !tile.buffer<2x64xf32, global>
  }
  return
}

// -----
// A loop of one turn at most, whatever %n is: no turn waits for one before.
// CHECK-LABEL: func.func @last_turn_alone
// CHECK: tile.for
// CHECK-NEXT: npu.load_ub
// CHECK-NEXT: ascend.set_flag mte2 to v
// CHECK-NEXT: ascend.wait_flag mte2 to v
// CHECK-NEXT: npu.unary
// CHECK-NEXT: }
func.func @last_turn_alone(%A: !tile.buffer<64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %before = arith.subi %n, %one : i32
  %first = arith.index_cast %before : i32 to index
  %end = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    tile.for %i = %first to %end step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    }
  }
  return
}

// -----
// One less at the other end may wrap round, where the loop is long.
// CHECK-LABEL: func.func @no_turn_but_for_one_number
// CHECK: ascend.set_flag v to mte2
// CHECK-NEXT: tile.for
func.func @no_turn_but_for_one_number(%A: !tile.buffer<64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %before = arith.subi %n, %one : i32
  %end = arith.index_cast %before : i32 to index
  %first = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    tile.for %i = %first to %end step %c1 {
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    }
  }
  return
}

// -----
// Half of a sum of two loops' bytes: no two turns fill the same.
// CHECK-LABEL: func.func @bytes_in_two_loops
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @bytes_in_two_loops() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %one = arith.constant 257 : i16
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<4x3x64xsi8, UB>
    %pairs = tile.view %x : !tile.buffer<4x3x64xsi8, UB> to !tile.buffer<384xsi16, UB>
    tile.for %h = %c0 to %c4 step %c1 {
      tile.for %i = %c0 to %c3 step %c1 {
        %plane = arith.muli %h, %c192 : index
        %row = arith.muli %i, %c64 : index
        %bytes = arith.addi %plane, %row : index
        %place = arith.divsi %bytes, %c2 : index
        npu.duplicate %pairs[%place] : !tile.buffer<384xsi16, UB>, %one count(%c32)
      }
    }
  }
  return
}

// -----
// Of which one is no multiple of the divisor: nothing is known of the place.
// CHECK-LABEL: func.func @odd_bytes
// CHECK: pipe_barrier v
func.func @odd_bytes() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %c32 = arith.constant 32 : index
  %c63 = arith.constant 63 : index
  %c192 = arith.constant 192 : index
  %one = arith.constant 257 : i16
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<40x3x64xsi8, UB>
    %pairs = tile.view %x : !tile.buffer<40x3x64xsi8, UB> to !tile.buffer<3840xsi16, UB>
    tile.for %h = %c0 to %c40 step %c1 {
      tile.for %i = %c0 to %c3 step %c1 {
        %plane = arith.muli %h, %c192 : index
        %row = arith.muli %i, %c63 : index
        %bytes = arith.addi %plane, %row : index
        %place = arith.divsi %bytes, %c2 : index
        npu.duplicate %pairs[%place] : !tile.buffer<3840xsi16, UB>, %one count(%c32)
      }
    }
  }
  return
}

// -----
// A reduction of columns takes its third row behind a barrier of its own, the second one before it.
// CHECK-LABEL: func.func @rows_behind_a_barrier
// CHECK: npu.duplicate %[[X:.*]][%c32]
// CHECK-NEXT: npu.reduce
// CHECK: npu.duplicate
// CHECK-NEXT: ascend.pipe_barrier v {ascend.why = "{{.*}} needs what fill
// CHECK-NEXT: npu.reduce
func.func @rows_behind_a_barrier() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<3x16xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<16xf32, UB>
    %z = tile.alloc "z" at 512 : !tile.buffer<16xf32, UB>
    %t = tile.alloc "t" at 768 : !tile.buffer<32xui8, UB>
    npu.duplicate %x[%c32] : !tile.buffer<3x16xf32, UB>, %one count(%c16)
    npu.reduce sum %y[%c0] : !tile.buffer<16xf32, UB>, %x[%c0] : !tile.buffer<3x16xf32, UB> scratch %t[%c0] : !tile.buffer<32xui8, UB> of 32 size 3 x 16 pitch 16 dim 0 clear
    npu.duplicate %x[%c16] : !tile.buffer<3x16xf32, UB>, %one count(%c16)
    npu.reduce sum %z[%c0] : !tile.buffer<16xf32, UB>, %x[%c0] : !tile.buffer<3x16xf32, UB> scratch %t[%c0] : !tile.buffer<32xui8, UB> of 32 size 3 x 16 pitch 16 dim 0 clear
  }
  return
}

// -----
// What asks whether the loop has been left, and for what leaves it, never runs.
// CHECK-LABEL: func.func @left_where_it_would_load
// CHECK-NOT: _flag
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @left_where_it_would_load(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %last = arith.constant 5 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %value = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %left = tile.alloc "left" : !tile.buffer<si32, var>
    tile.store %zero, %left[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %n step %c1 {
      %so_far = tile.load %left[] : !tile.buffer<si32, var>
      %goes_on = arith.cmpi eq, %so_far, %zero : i32
      scf.if %goes_on {
        %leaves = arith.cmpi slt, %i, %last : index
        scf.if %leaves {
          tile.store %one, %left[] : !tile.buffer<si32, var>
        }
        %now = tile.load %left[] : !tile.buffer<si32, var>
        %still = arith.cmpi eq, %now, %zero : i32
        %both = arith.andi %leaves, %still : i1
        scf.if %both {
          npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
        }
      }
    }
    npu.duplicate %x[%c0] : !tile.buffer<64xf32, UB>, %value count(%c64)
  }
  return
}

// -----
// The kernel's own flag to the other core, and the one back, order the store and the next turn's load, too.
// CHECK-LABEL: func.func @round_trips
// CHECK-NOT: mte3 to mte2
// CHECK: return
func.func @round_trips(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %n step %c1 {
        npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
        npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
      }
    }
  }
  return
}

// -----
// Where n is 0, there are none.
// CHECK-LABEL: func.func @no_round_trip
// CHECK: npu.store_ub
// CHECK: ascend.set_flag mte3 to mte2
// CHECK: ascend.wait_flag mte3 to mte2
// CHECK: npu.load_ub
func.func @no_round_trip(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%m) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
      tile.for %i = %c0 to %n step %c1 {
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
      }
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// Nor where another number says how often the cores tell each other: few turns of both aren't all runs then.
// CHECK-LABEL: func.func @two_lengths
// CHECK: ascend.set_flag mte3 to mte2
// CHECK: return
func.func @two_lengths(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%m) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %m step %c1 {
        npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
      }
      tile.for %i = %c0 to %n step %c1 {
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
      }
      tile.for %i = %c0 to %m step %c1 {
        npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      }
    }
  }
  return
}

// -----
// The second turn would fill from within a block of 32 bytes, so the kernel stops there: no turn waits for one before. One
// that goes on by whole blocks does.
// CHECK-LABEL: func.func @stops_in_its_second_turn
// CHECK: npu.require
// CHECK-NOT: pipe_barrier
// CHECK: npu.require
// CHECK: pipe_barrier v
// CHECK: return
func.func @stops_in_its_second_turn(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %rest = arith.remsi %i, %c8 : index
      %whole = arith.cmpi eq, %rest, %c0 : index
      npu.require %whole "element {} is no multiple of 8"(%i) on vector
      npu.duplicate %x[%i] : !tile.buffer<64xf32, UB>, %one count(%c16)
    }
    tile.for %i = %c0 to %n step %c1 {
      %begin = arith.muli %i, %c8 : index
      %rest = arith.remsi %begin, %c8 : index
      %whole = arith.cmpi eq, %rest, %c0 : index
      npu.require %whole "element {} is no multiple of 8"(%begin) on vector
      npu.duplicate %y[%begin] : !tile.buffer<64xf32, UB>, %one count(%c16)
    }
  }
  return
}

// -----
// An element of UB that is read once is one number for all turns, so that rows are apart; one that each turn reads isn't.
// CHECK-LABEL: func.func @element_read_once
// CHECK: npu.get_value
// CHECK-NOT: pipe_barrier
// CHECK: npu.get_value
// CHECK: pipe_barrier v
// CHECK: return
func.func @element_read_once(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %starts = tile.alloc "starts" at 0 : !tile.buffer<8xsi32, UB>
    %x = tile.alloc "x" at 256 : !tile.buffer<16x16xf32, UB>
    %y = tile.alloc "y" at 2048 : !tile.buffer<16x16xf32, UB>
    %first = npu.get_value %starts[%c0] : !tile.buffer<8xsi32, UB>
    %begin = arith.index_cast %first : i32 to index
    tile.for %i = %c0 to %c16 step %c1 {
      %row = arith.muli %i, %c16 : index
      %at = arith.addi %begin, %row : index
      npu.duplicate %x[%at] : !tile.buffer<16x16xf32, UB>, %one count(%c8)
    }
    tile.for %i = %c0 to %c16 step %c1 {
      %next = npu.get_value %starts[%c1] : !tile.buffer<8xsi32, UB>
      %there = arith.index_cast %next : i32 to index
      %row = arith.muli %i, %c16 : index
      %at = arith.addi %there, %row : index
      npu.duplicate %y[%at] : !tile.buffer<16x16xf32, UB>, %one count(%c8)
    }
  }
  return
}
