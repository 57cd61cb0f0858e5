// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-bound-arguments --split-input-file | FileCheck %s

// The last turn leaves least of the tile. Nothing is copied where one of m and n is 0, and nothing else asks for them.
// CHECK-LABEL: func.func @rows_of_a_tile
// CHECK-SAME: %arg1: i32 {ascend.most = 8 : i64}
// CHECK-SAME: %arg2: i32 {ascend.most = 20 : i64}
// CHECK-SAME: %arg3: i32 {ascend.most = 17 : i64}
// CHECK-SAME: {argument = 1 : index, {{.*}}fills = true, most = 8 : index, multiplies = false, tile = "a", {{.*}}where = array<i64: 2, 1>}
// CHECK-SAME: {argument = 2 : index, {{.*}}fills = true, most = 20 : index, multiplies = false, tile = "a", {{.*}}where = array<i64: 1, 1>}
// CHECK-SAME: {argument = 3 : index, {{.*}}fills = false, most = 17 : index, multiplies = false, tile = "a", {{.*}}where = array<i64>}
func.func @rows_of_a_tile(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %rows = arith.index_cast %m : i32 to index
  %columns = arith.index_cast %n : i32 to index
  %stored = arith.index_cast %k : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<17x24xf32, UB>
    tile.for %i = %c0 to %c2 step %c1 {
      %eight = arith.muli %i, %c8 : index
      %row = arith.addi %eight, %c1 : index
      %end = arith.addi %row, %rows : index
      %left = arith.subi %end, %row : index
      %height = arith.minsi %rows, %left : index
      tile.copy %A[0, 0] [%height, %columns] : !tile.buffer<64x24xf32, global> to %a[%row, 4] [%height, %columns] : !tile.buffer<17x24xf32, UB>
    }
    tile.copy %a[0, 0] [%stored, 24] : !tile.buffer<17x24xf32, UB> to %A[0, 0] [%stored, 24] : !tile.buffer<64x24xf32, global>
  }
  return
}

// -----
// In a branch, in a loop that may have no turn, or that may be left before its last one.
// CHECK-LABEL: func.func @not_in_each_run
// CHECK-NOT: ascend.{{most|limits}}
func.func @not_in_each_run(%A: !tile.buffer<64xf32, global>, %n: i32, %m: i32, %k: i32, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %in_branch = arith.index_cast %n : i32 to index
  %in_loop = arith.index_cast %m : i32 to index
  %left = arith.index_cast %k : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16xf32, UB>
    scf.if %yes {
      tile.copy %A[0] [%in_branch] : !tile.buffer<64xf32, global> to %a[0] [%in_branch] : !tile.buffer<16xf32, UB>
    }
    tile.for %i = %c0 to %in_loop step %c1 {
      tile.copy %A[0] [%in_loop] : !tile.buffer<64xf32, global> to %a[0] [%in_loop] : !tile.buffer<16xf32, UB>
    }
    tile.for %i = %c0 to %c2 step %c1 {
      scf.if %yes {
        tile.break
      }
      tile.copy %A[0] [%left] : !tile.buffer<64xf32, global> to %a[0] [%left] : !tile.buffer<16xf32, UB>
    }
  }
  return
}

// -----
// What a slice from a place to that and %n has is %n elements.
// CHECK-LABEL: func.func @from_place_to_place
// CHECK-SAME: %arg1: i32 {ascend.most = 16 : i64}
// CHECK: arith.subi
// CHECK: %[[N:.*]] = arith.index_cast %arg1
// CHECK: tile.copy %arg0[%{{.*}}] [%[[N]]]{{.*}} to %{{.*}}[0] [%[[N]]]
func.func @from_place_to_place(%A: !tile.buffer<64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16xf32, UB>
    tile.for %i = %c0 to %c2 step %c1 {
      %first = arith.index_cast %n : i32 to index
      %begin = arith.muli %i, %first : index
      %second = arith.index_cast %n : i32 to index
      %again = arith.muli %i, %second : index
      %end = arith.addi %again, %second : index
      %count = arith.subi %end, %begin : index
      tile.copy %A[%begin] [%count] : !tile.buffer<64xf32, global> to %a[0] [%count] : !tile.buffer<16xf32, UB>
    }
  }
  return
}

// -----
// Where n is 0, m may be anything: it counts turns, too, so nothing takes its limit for granted, but calls keep it.
// Three rows to each of k, and two more.
// CHECK-LABEL: func.func @asked_for_elsewhere
// CHECK-SAME: %arg1: i32, %arg2: i32 {ascend.most = 24 : i64}, %arg3: i32 {ascend.most = 4 : i64})
// CHECK-SAME: {argument = 1 : index, {{.*}}most = 16 : index, {{.*}}where = array<i64: 2, 1>}
// CHECK-SAME: {argument = 2 : index, {{.*}}most = 24 : index, {{.*}}where = array<i64: 1, 1>}
// CHECK-SAME: {argument = 3 : index, {{.*}}most = 4 : index, {{.*}}where = array<i64>}
func.func @asked_for_elsewhere(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %rows = arith.index_cast %m : i32 to index
  %columns = arith.index_cast %n : i32 to index
  %threes = arith.index_cast %k : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x24xf32, UB>
    ascend.scope vector {
      tile.copy %A[0, 0] [%rows, %columns] : !tile.buffer<64x24xf32, global> to %a[0, 0] [%rows, %columns] : !tile.buffer<16x24xf32, UB>
    }
    %times = arith.muli %threes, %c3 : index
    %more = arith.addi %times, %c2 : index
    tile.copy %A[0, 0] [%more, 24] : !tile.buffer<64x24xf32, global> to %a[0, 0] [%more, 24] : !tile.buffer<16x24xf32, UB>
    tile.for %i = %c0 to %rows step %c1 {
      tile.copy %A[0, 0] [1, 24] : !tile.buffer<64x24xf32, global> to %a[0, 0] [1, 24] : !tile.buffer<16x24xf32, UB>
    }
  }
  return
}

// -----
// Of other numbers nothing is known, so of these parts neither whether they are empty.
// CHECK-LABEL: func.func @of_unknown_columns
// CHECK-NOT: ascend.{{most|limits}}
func.func @of_unknown_columns(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %rows = arith.index_cast %m : i32 to index
  %number = arith.index_cast %n : i32 to index
  %columns = arith.minsi %number, %c8 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x24xf32, UB>
    tile.copy %A[0, 0] [%rows, %columns] : !tile.buffer<64x24xf32, global> to %a[0, 0] [%rows, %columns] : !tile.buffer<16x24xf32, UB>
    tile.copy %A[0, 0] [%rows, 0] : !tile.buffer<64x24xf32, global> to %a[0, 0] [%rows, 0] : !tile.buffer<16x24xf32, UB>
  }
  return
}

// -----
// What says where a part begins is bounded, too, where the part isn't empty.
// CHECK-LABEL: func.func @from_a_number_on
// CHECK-SAME: %arg1: i32 {ascend.most = 4 : i64}, %arg2: i32 {ascend.most = 8 : i64})
// CHECK-SAME: {argument = 1 : index, {{.*}}most = 4 : index, {{.*}}where = array<i64>}
// CHECK-SAME: {argument = 2 : index, {{.*}}most = 8 : index, {{.*}}where = array<i64: 1, 3>}
func.func @from_a_number_on(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %row = arith.index_cast %m : i32 to index
  %column = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x24xf32, UB>
    tile.for %i = %c0 to %c2 step %c1 {
      %eight = arith.muli %i, %c8 : index
      %begin = arith.addi %eight, %row : index
      tile.copy %A[0, 0] [4, 24] : !tile.buffer<64x24xf32, global> to %a[%begin, 0] [4, 24] : !tile.buffer<16x24xf32, UB>
    }
    %rows = arith.subi %row, %c2 : index
    tile.copy %A[0, 0] [%rows, 16] : !tile.buffer<64x24xf32, global> to %a[0, %column] [%rows, 16] : !tile.buffer<16x24xf32, UB>
  }
  return
}

// -----
// A fill of no rows fills nothing, and a gemm of which each part has a limit is one of a call that is refused, or of none.
// CHECK-LABEL: func.func @filled_and_multiplied
// CHECK-SAME: %arg1: i32 {ascend.most = 16 : i64}, %arg2: i32 {ascend.most = 24 : i64}, %arg3: i32 {ascend.most = 16 : i64})
func.func @filled_and_multiplied(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32, %k: i32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rows = arith.index_cast %m : i32 to index
  %columns = arith.index_cast %n : i32 to index
  %depth = arith.index_cast %k : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x24xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x24xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x24xf32, UB>
    tile.fill %x[0, 0] [%rows, %columns] : !tile.buffer<16x24xf32, UB> with %zero : f32
    tile.gemm %a[0, 0] [%rows, %depth] : !tile.buffer<16x16xf16, L1>, %b[0, 0] [%depth, %columns] : !tile.buffer<16x24xf16, L1> into %c[0, 0] [%rows, %columns] : !tile.buffer<16x24xf32, L0C>
  }
  return
}

// -----
// More columns of a wider operand may be loaded where no row is multiplied.
// CHECK-LABEL: func.func @of_a_wider_operand
// CHECK-SAME: %arg1: i32 {ascend.most = 16 : i64}, %arg2: i32 {ascend.most = 32 : i64})
func.func @of_a_wider_operand(%A: !tile.buffer<64x24xf32, global>, %m: i32, %n: i32) {
  %c1 = arith.constant 1 : index
  %rows = arith.index_cast %m : i32 to index
  %columns = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x24xf32, L0C>
    tile.gemm %a[0, 0] [%rows, 16] : !tile.buffer<16x16xf16, L1>, %b[0, 0] [16, %columns] : !tile.buffer<16x32xf16, L1> into %c[0, 0] [%rows, %columns] : !tile.buffer<16x24xf32, L0C>
  }
  return
}
