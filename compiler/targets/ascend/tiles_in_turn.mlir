// SPDX-License-Identifier: Apache-2.0
// Tiles in turn, of which arguments say which one is first.
// RUN: tilewright-opt %s --ascend-insert-flags --ascend-check-hazards --canonicalize --split-input-file --verify-diagnostics | FileCheck %s
// In one turn the halves are apart, also where the sum wraps round.
// CHECK-LABEL: func.func @halves_from_an_argument
// CHECK: npu.duplicate
// CHECK-NOT: pipe_barrier
// CHECK: npu.duplicate
// CHECK: return
func.func @halves_from_an_argument(%first: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c1_i32 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<3x64xf32, UB>
    tile.for %i = %c0 to %c3 step %c1 {
      %number = arith.index_cast %i : index to i32
      %sum = arith.addi %number, %first : i32
      %rest = arith.andi %sum, %c1_i32 : i32
      %turn = arith.index_cast %rest : i32 to index
      %other = arith.subi %c1, %turn : index
      %here = arith.muli %turn, %c64 : index
      %there = arith.muli %other, %c64 : index
      npu.duplicate %x[%here] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
      npu.duplicate %x[%there] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
    }
  }
  return
}

// -----
// Not so with three of them: what wraps round has another remainder.
// CHECK-LABEL: func.func @thirds_that_may_wrap
// CHECK: npu.duplicate
// CHECK: pipe_barrier v
// CHECK: npu.duplicate
// CHECK: return
func.func @thirds_that_may_wrap(%first: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c1_i32 = arith.constant 1 : i32
  %c3_i32 = arith.constant 3 : i32
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<3x64xf32, UB>
    tile.for %i = %c0 to %c3 step %c1 {
      %number = arith.index_cast %i : index to i32
      %sum = arith.addi %number, %first : i32
      %next = arith.addi %sum, %c1_i32 : i32
      %rest = arith.remui %sum, %c3_i32 : i32
      %after = arith.remui %next, %c3_i32 : i32
      %turn = arith.index_cast %rest : i32 to index
      %other = arith.index_cast %after : i32 to index
      %here = arith.muli %turn, %c64 : index
      %there = arith.muli %other, %c64 : index
      npu.duplicate %x[%here] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
      npu.duplicate %x[%there] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
    }
  }
  return
}

// -----
// Backwards, and the other one by turning its bit.
// CHECK-LABEL: func.func @turned_back
// CHECK: npu.duplicate
// CHECK-NOT: pipe_barrier
// CHECK: npu.duplicate
// CHECK: return
func.func @turned_back(%first: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<3x64xf32, UB>
    tile.for %i = %c0 to %c3 step %c1 {
      %sum = arith.subi %first, %i : index
      %turn = arith.andi %sum, %c1 : index
      %other = arith.xori %turn, %c1 : index
      %here = arith.muli %turn, %c64 : index
      %there = arith.muli %other, %c64 : index
      npu.duplicate %x[%here] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
      npu.duplicate %x[%there] : !tile.buffer<3x64xf32, UB>, %one count(%c64)
    }
  }
  return
}

// -----
// A loop over the rows of one of two tiles makes no more turns than it has rows: it leaves the other one alone.
// CHECK-LABEL: func.func @no_more_rows_than_the_tile
// CHECK: npu.duplicate
// CHECK-NOT: pipe_barrier
// CHECK: npu.duplicate
// CHECK: return
func.func @no_more_rows_than_the_tile(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x2x64xf32, UB>
    tile.for %i = %c0 to %c8 step %c1 {
      %turn = arith.remsi %i, %c2 : index
      %next = arith.addi %i, %c1 : index
      %other = arith.remsi %next, %c2 : index
      %here = arith.muli %turn, %c128 : index
      %there = arith.muli %other, %c128 : index
      tile.for %j = %c0 to %n step %c1 attributes {ascend.most_turns = 2 : i64} {
        %row = arith.muli %j, %c64 : index
        %at = arith.addi %here, %row : index
        npu.duplicate %x[%at] : !tile.buffer<2x2x64xf32, UB>, %one count(%c64)
      }
      npu.duplicate %x[%there] : !tile.buffer<2x2x64xf32, UB>, %one count(%c128)
    }
  }
  return
}

// -----
// Not so one of a turn more.
// CHECK-LABEL: func.func @more_rows_than_the_tile
// CHECK: npu.duplicate
// CHECK: pipe_barrier v
// CHECK: npu.duplicate
// CHECK: return
func.func @more_rows_than_the_tile(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x2x64xf32, UB>
    tile.for %i = %c0 to %c8 step %c1 {
      %turn = arith.remsi %i, %c2 : index
      %next = arith.addi %i, %c1 : index
      %other = arith.remsi %next, %c2 : index
      %here = arith.muli %turn, %c128 : index
      %there = arith.muli %other, %c128 : index
      tile.for %j = %c0 to %n step %c1 attributes {ascend.most_turns = 3 : i64} {
        %row = arith.muli %j, %c64 : index
        %at = arith.addi %here, %row : index
        npu.duplicate %x[%at] : !tile.buffer<2x2x64xf32, UB>, %one count(%c64)
      }
      npu.duplicate %x[%there] : !tile.buffer<2x2x64xf32, UB>, %one count(%c128)
    }
  }
  return
}

// -----
// Nor one of which nothing is known.
// CHECK-LABEL: func.func @any_rows
// CHECK: npu.duplicate
// CHECK: pipe_barrier v
// CHECK: npu.duplicate
// CHECK: return
func.func @any_rows(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x2x64xf32, UB>
    tile.for %i = %c0 to %c8 step %c1 {
      %turn = arith.remsi %i, %c2 : index
      %next = arith.addi %i, %c1 : index
      %other = arith.remsi %next, %c2 : index
      %here = arith.muli %turn, %c128 : index
      %there = arith.muli %other, %c128 : index
      tile.for %j = %c0 to %n step %c1 {
        %row = arith.muli %j, %c64 : index
        %at = arith.addi %here, %row : index
        npu.duplicate %x[%at] : !tile.buffer<2x2x64xf32, UB>, %one count(%c64)
      }
      npu.duplicate %x[%there] : !tile.buffer<2x2x64xf32, UB>, %one count(%c128)
    }
  }
  return
}

// -----
// But where these are the versions of one tile, nothing leaves the one in which it begins.
// CHECK-LABEL: func.func @any_rows_of_a_version
// CHECK: npu.duplicate
// CHECK-NOT: pipe_barrier
// CHECK: npu.duplicate
// CHECK: return
func.func @any_rows_of_a_version(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 {ascend.versions = 2 : i64} : !tile.buffer<2x2x64xf32, UB>
    tile.for %i = %c0 to %c8 step %c1 {
      %turn = arith.remsi %i, %c2 : index
      %next = arith.addi %i, %c1 : index
      %other = arith.remsi %next, %c2 : index
      %here = arith.muli %turn, %c128 : index
      %there = arith.muli %other, %c128 : index
      tile.for %j = %c0 to %n step %c1 {
        %row = arith.muli %j, %c64 : index
        %at = arith.addi %here, %row : index
        npu.duplicate %x[%at] : !tile.buffer<2x2x64xf32, UB>, %one count(%c64)
      }
      npu.duplicate %x[%there] : !tile.buffer<2x2x64xf32, UB>, %one count(%c128)
    }
  }
  return
}
