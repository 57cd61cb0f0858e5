// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor that numbers of the kernel place side by side, or of which never both have an element, need no order
// in one turn of the loops around them.
// RUN: tilewright-opt %s --ascend-insert-flags | FileCheck %s
// RUN: tilewright-opt %s --ascend-insert-flags --ascend-check-hazards 2>&1 | FileCheck %s --check-prefix=CLEAN

// CLEAN-NOT: nothing orders

// Rows below n, and those from n on.
// CHECK-LABEL: @beside
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @beside(%c: !tile.buffer<64x32xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %below = arith.maxsi %wide, %c0 : index
    %first = arith.minsi %below, %c64 : index
    %left = arith.subi %c64, %first : index
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[0, 0] [%first, 32] : !tile.buffer<64x32xf32, global>
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%first, 0] [%left, 32] : !tile.buffer<64x32xf32, global>
  }
  return
}

// One row has both.
// CHECK-LABEL: @one_more
// CHECK: npu.store_ub
// CHECK: pipe_barrier mte3
// CHECK: npu.store_ub
func.func @one_more(%c: !tile.buffer<64x32xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %below = arith.maxsi %wide, %c0 : index
    %first = arith.minsi %below, %c64 : index
    %before = arith.subi %first, %c1 : index
    %second = arith.maxsi %before, %c0 : index
    %left = arith.subi %c64, %second : index
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[0, 0] [%first, 32] : !tile.buffer<64x32xf32, global>
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%second, 0] [%left, 32] : !tile.buffer<64x32xf32, global>
  }
  return
}

// One of the two is always empty.
// CHECK-LABEL: @never_both
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @never_both(%c: !tile.buffer<64xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %up = arith.minsi %wide, %c8 : index
    %first = arith.maxsi %up, %c0 : index
    %rest = arith.subi %c1, %first : index
    %second = arith.maxsi %rest, %c0 : index
    npu.store_ub %a[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %c[0] [%first] : !tile.buffer<64xf32, global>
    npu.store_ub %a[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %c[0] [%second] : !tile.buffer<64xf32, global>
  }
  return
}

// Each turn waits for the one before, and in a turn nothing for anything.
// CHECK-LABEL: @in_turns
// CHECK: tile.for
// CHECK: pipe_barrier mte3
// CHECK-NEXT: npu.store_ub
// CHECK-NEXT: npu.store_ub
// CHECK: return
func.func @in_turns(%c: !tile.buffer<64x32xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    tile.for %i = %c0 to %c5 step %c1 {
      %moved = arith.addi %wide, %i : index
      %below = arith.maxsi %moved, %c0 : index
      %first = arith.minsi %below, %c64 : index
      %left = arith.subi %c64, %first : index
      npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[0, 0] [%first, 32] : !tile.buffer<64x32xf32, global>
      npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%first, 0] [%left, 32] : !tile.buffer<64x32xf32, global>
    }
  }
  return
}

// A core's number is the same for all that it does.
// CHECK-LABEL: @of_each_core
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @of_each_core(%c: !tile.buffer<2x64x32xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %vid = ascend.vector_id
    %first = arith.muli %vid, %c32 : index
    %left = arith.subi %c64, %first : index
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%vid, 0, 0] [1, %first, 32] : !tile.buffer<2x64x32xf32, global>
    npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%vid, %first, 0] [1, %left, 32] : !tile.buffer<2x64x32xf32, global>
  }
  return
}

// Of a tile, the rows that a loop fills, and those that a copy brings before them.
// CHECK-LABEL: @rest_of_a_tile
// CHECK-NOT: set_flag
// CHECK: return
func.func @rest_of_a_tile(%A: !tile.buffer<64x32xf32, global> {tile.name = "A"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %rest = arith.subi %c64, %wide : index
    tile.for %i = %c0 to %rest step %c1 {
      %row = arith.addi %wide, %i : index
      %first = arith.muli %row, %c32 : index
      npu.duplicate %a[%first] : !tile.buffer<64x32xf32, UB>, %zero count(%c32)
    }
    npu.load_ub %A[0, 0] [%wide, 32] : !tile.buffer<64x32xf32, global> to %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32
  }
  return
}

// One row more, and both have it.
// CHECK-LABEL: @more_of_a_tile
// CHECK: set_flag v to mte2
func.func @more_of_a_tile(%A: !tile.buffer<64x32xf32, global> {tile.name = "A"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %more = arith.addi %wide, %c1 : index
    %rest = arith.subi %c64, %wide : index
    tile.for %i = %c0 to %rest step %c1 {
      %row = arith.addi %wide, %i : index
      %first = arith.muli %row, %c32 : index
      npu.duplicate %a[%first] : !tile.buffer<64x32xf32, UB>, %zero count(%c32)
    }
    npu.load_ub %A[0, 0] [%more, 32] : !tile.buffer<64x32xf32, global> to %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32
  }
  return
}

// Blocks of n rows, one behind the other, in the turns of a loop; and such as have a row in common.
// CHECK-LABEL: @blocks
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @blocks(%c: !tile.buffer<64x32xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    tile.for %i = %c0 to %wide step %c1 {
      %row = arith.muli %i, %wide : index
      npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%row, 0] [%wide, 32] : !tile.buffer<64x32xf32, global>
    }
  }
  return
}

// CHECK-LABEL: @blocks_with_more
// CHECK: pipe_barrier mte3
func.func @blocks_with_more(%c: !tile.buffer<64x32xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) threads(1) npu {
    %a = tile.alloc "a" at 0 : !tile.buffer<64x32xf32, UB>
    %wide = arith.index_cast %n : i32 to index
    %more = arith.addi %wide, %c1 : index
    tile.for %i = %c0 to %wide step %c1 {
      %row = arith.muli %i, %wide : index
      npu.store_ub %a[%c0] : !tile.buffer<64x32xf32, UB> pitch 32 to %c[%row, 0] [%more, 32] : !tile.buffer<64x32xf32, global>
    }
  }
  return
}
