// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-mark-fresh-tiles --split-input-file | FileCheck %s

// Each turn reads the rows and columns that it has loaded, though only the kernel knows how many; %more is %rows by another name.
// What writes all of a tile, as that of b, needs no mark.
// CHECK-LABEL: func.func @loaded_parts
// CHECK: tile.alloc "a" {ascend.fresh}
// CHECK-NOT: ascend.fresh
func.func @loaded_parts(%A: !tile.buffer<?x64xf16, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = arith.minsi %m, %c32 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x64xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x64xf32, L0C>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      %end = arith.addi %i, %rows : index
      %more = arith.subi %end, %i : index
      %both = arith.minsi %more, %rows : index
      tile.copy %A[%i, 0] [%both, 64] : !tile.buffer<?x64xf16, global> to %a[0, 0] [%both, 64] : !tile.buffer<32x64xf16, L1>
      tile.copy %A[0, 0] [64, 64] : !tile.buffer<?x64xf16, global> to %b : !tile.buffer<64x64xf16, L1>
      tile.for %j = %c0 to %n step %c1 {
        tile.gemm %a[0, 0] [%rows, 64] : !tile.buffer<32x64xf16, L1>, %b : !tile.buffer<64x64xf16, L1> into %c[0, 0] [%rows, 64] : !tile.buffer<32x64xf32, L0C>
      }
    }
  }
  return
}

// -----
// What reads more than was loaded, from another row on, before the load, or behind a branch that may have loaded, reads what was there; so
// does what is written by two copies.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: ascend.fresh
func.func @kept(%A: !tile.buffer<?x64xf16, global>, %n: index, %m: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %more = tile.alloc "more" : !tile.buffer<32x64xf16, UB>
    %other = tile.alloc "other" : !tile.buffer<32x64xf16, UB>
    %before = tile.alloc "before" : !tile.buffer<32x64xf16, UB>
    %branch = tile.alloc "branch" : !tile.buffer<32x64xf16, UB>
    %twice = tile.alloc "twice" : !tile.buffer<32x64xf16, UB>
    tile.for %i = %c0 to %n step %c1 pipelined(2) {
      tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %more[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      tile.copy %more : !tile.buffer<32x64xf16, UB> to %A[0, 0] [32, 64] : !tile.buffer<?x64xf16, global>
      tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %other[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      tile.copy %other[1, 0] [%m, 64] : !tile.buffer<32x64xf16, UB> to %A[0, 0] [%m, 64] : !tile.buffer<?x64xf16, global>
      tile.copy %before[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB> to %A[0, 0] [%m, 64] : !tile.buffer<?x64xf16, global>
      tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %before[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      scf.if %yes {
        tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %branch[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      }
      tile.copy %branch[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB> to %A[0, 0] [%m, 64] : !tile.buffer<?x64xf16, global>
      tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %twice[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      tile.copy %A[%i, 0] [%m, 64] : !tile.buffer<?x64xf16, global> to %twice[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB>
      tile.copy %twice[0, 0] [%m, 64] : !tile.buffer<32x64xf16, UB> to %A[0, 0] [%m, 64] : !tile.buffer<?x64xf16, global>
    }
  }
  return
}
