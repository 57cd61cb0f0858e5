// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --group-threads --split-input-file --verify-diagnostics | FileCheck %s

// Each side's threads, within those of the branch around; a condition with a number of the run; and branches
// without anything that threads do together.
// CHECK-LABEL: func.func @ranges
func.func @ranges(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(96) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c64 : index
    // CHECK: scf.if
    // CHECK: scf.if
    // CHECK: } {tile.thread_groups = [array<i64: 32, 64>, array<i64: 0, 32>]}
    // CHECK: } {tile.thread_groups = [array<i64: 0, 64>, array<i64: 64, 96>]}
    scf.if %below {
      %last = arith.cmpi sge, %t, %c32 : index
      scf.if %last {
        tile.copy %A : !tile.buffer<64xf32, global> to %s : !tile.buffer<64xf32, shared>
      }
    }
    // CHECK: } {tile.thread_groups = []}
    %some = arith.cmpi slt, %t, %n : index
    scf.if %some {
      tile.fill %s : !tile.buffer<64xf32, shared> with %v : f32
    }
    // CHECK-NOT: thread_groups
    scf.if %some {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

func.func @not_neighbours(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%bx) in (%c1) threads(96) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %rest = arith.remui %t, %c2 : index
    %odd = arith.cmpi eq, %rest, %c1 : index
    // expected-note @+1 {{the branch is here}}
    scf.if %odd {
      // expected-error @+1 {{an operation on tiles in a branch of threads 1, 3, 5, .. is not supported}}
      tile.copy %A : !tile.buffer<64xf32, global> to %s : !tile.buffer<64xf32, shared>
    }
  }
  return
}
