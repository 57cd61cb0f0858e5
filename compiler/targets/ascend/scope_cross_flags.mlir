// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-scope-cross-flags --split-input-file --verify-diagnostics | FileCheck %s

// A wait is of the core that its flag's sets tell, and of two kinds that set it, of the one of the statement before.
// CHECK-LABEL: func.func @both_ways
// CHECK: tile.for
// CHECK-NEXT: ascend.scope cube
// CHECK-NEXT: ascend.wait_cross_flag %c1
// CHECK: tile.gemm
// CHECK: tile.copy
// CHECK-NEXT: ascend.scope cube
// CHECK-NEXT: ascend.set_cross_flag fix, %c0
// CHECK: ascend.scope vector
// CHECK-NEXT: ascend.wait_cross_flag %c0
// CHECK: tile.copy
// CHECK-NEXT: ascend.scope vector
// CHECK-NEXT: ascend.set_cross_flag mte2, %c1
// CHECK: ascend.scope vector
// CHECK-NEXT: ascend.set_cross_flag mte3, %c2 mode 1
// CHECK: ascend.scope vector
// CHECK-NEXT: ascend.wait_cross_flag %c2
func.func @both_ways(%A: !tile.buffer<64x64xf16, global>, %W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    tile.for %k = %c0 to %c4 step %c1 {
      ascend.wait_cross_flag %c1
      tile.copy %A : !tile.buffer<64x64xf16, global> to %a : !tile.buffer<64x64xf16, L1>
      tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C> {clear_accum}
      tile.copy %c : !tile.buffer<64x64xf32, L0C> to %W : !tile.buffer<64x64xf32, global>
      ascend.set_cross_flag fix, %c0
      ascend.wait_cross_flag %c0
      tile.copy %W : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
      ascend.set_cross_flag mte2, %c1
    }
    ascend.set_cross_flag mte3, %c2 mode 1
    ascend.wait_cross_flag %c2
  }
  return
}

// -----
// Numbers that are known later are those that are computed alike. A set without a statement before tells those that wait.
// CHECK-LABEL: func.func @in_turns
// CHECK: ascend.scope vector
// CHECK-NEXT: ascend.set_cross_flag mte3, %c3
// CHECK: tile.for
// CHECK: ascend.scope cube
// CHECK-NEXT: ascend.wait_cross_flag %c3
// CHECK: ascend.scope cube
// CHECK-NEXT: ascend.set_cross_flag fix, %{{.*}}
// CHECK: ascend.scope vector
// CHECK-NEXT: ascend.wait_cross_flag %
func.func @in_turns(%D: !tile.buffer<64x64xf32, global>, %W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    ascend.set_cross_flag mte3, %c3
    tile.for %k = %c0 to %c4 step %c1 {
      %turn = arith.remsi %k, %c2 : index
      tile.copy %c : !tile.buffer<64x64xf32, L0C> to %W : !tile.buffer<64x64xf32, global>
      ascend.wait_cross_flag %c3
      ascend.set_cross_flag fix, %turn
      %again = arith.remsi %k, %c2 : index
      ascend.wait_cross_flag %again
      tile.copy %D : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
      ascend.set_cross_flag mte2, %c3
    }
  }
  return
}

// -----
// What stands in scopes counts, too.
// CHECK-LABEL: func.func @behind_scopes
// CHECK: ascend.scope cube {
// CHECK-NEXT: tile.copy
// CHECK-NEXT: }
// CHECK-NEXT: ascend.scope cube {
// CHECK-NEXT: ascend.set_cross_flag s, %c0
// CHECK: ascend.scope vector {
// CHECK: ascend.wait_cross_flag %c0
func.func @behind_scopes(%W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    ascend.scope cube {
      tile.copy %c : !tile.buffer<64x64xf32, L0C> to %W : !tile.buffer<64x64xf32, global>
    }
    ascend.set_cross_flag s, %c0
    ascend.scope vector {
      %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
      ascend.wait_cross_flag %c0
      tile.copy %W : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
    }
  }
  return
}

// -----
// One kind of core does all.
// CHECK-LABEL: func.func @of_vectors
// CHECK-NOT: ascend.scope
// CHECK: return
func.func @of_vectors(%W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    tile.copy %W : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
    ascend.set_cross_flag mte2, %c0 mode 0
    ascend.wait_cross_flag %c0
  }
  return
}

// -----
func.func @unknown(%W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf32, UB>
    // expected-error@+1 {{no statement before this one says whether the cube core or the vector cores wait for this flag: put it into T.Scope("C") or T.Scope("V")}}
    ascend.wait_cross_flag %c0
    // expected-error@+1 {{no statement before this one says whether the cube core or the vector cores set this flag: put it into T.Scope("C") or T.Scope("V")}}
    ascend.set_cross_flag mte2, %c1
    tile.copy %c : !tile.buffer<64x64xf32, L0C> to %W : !tile.buffer<64x64xf32, global>
    ascend.set_cross_flag fix, %c0
    tile.copy %W : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<64x64xf32, UB>
    ascend.set_cross_flag mte2, %c0
  }
  return
}
