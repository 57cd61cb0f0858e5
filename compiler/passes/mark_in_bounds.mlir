// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --mark-in-bounds --split-input-file | FileCheck %s

// Block ids, loop variables and sums of them against static dims.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%A: !tile.buffer<1024x1000xf32, global> {tile.name = "A"},
                  %B: !tile.buffer<1024x1024xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %cst = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c64) threads(128) {
    %s = tile.alloc : !tile.buffer<64x64xf32, shared>
    %by = arith.floordivsi %bx, %c4 : index
    %rest = arith.remsi %bx, %c4 : index
    %m = arith.muli %by, %c64 : index
    tile.for %k = %c0 to %c16 step %c1 {
      %kk = arith.muli %k, %c64 : index
      // The last tile passes column 1000.
      // CHECK: tile.copy %{{.*}} {source_in_bounds = array<i1: true, false>, target_in_bounds = array<i1: true, true>}
      tile.copy %A[%m, %kk] [64, 64] : !tile.buffer<1024x1000xf32, global> to %s : !tile.buffer<64x64xf32, shared>
      // CHECK: tile.copy %{{.*}} {source_in_bounds = array<i1: true, true>, target_in_bounds = array<i1: true, true>}
      tile.copy %s : !tile.buffer<64x64xf32, shared> to %B[%m, %kk] [64, 64] : !tile.buffer<1024x1024xf32, global>
      // CHECK: tile.fill %{{.*}} {target_in_bounds = array<i1: true, false>}
      tile.fill %A[%m, %kk] [64, 64] : !tile.buffer<1024x1000xf32, global> with %cst : f32
      tile.parallel (%i, %j) in [64, 64] {
        %row = arith.addi %m, %i : index
        %column = arith.addi %kk, %j : index
        // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<1024x1000xf32, global>
        %v = tile.load %A[%row, %column] : !tile.buffer<1024x1000xf32, global>
        // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] in_bounds : !tile.buffer<1024x1024xf32, global>
        tile.store %v, %B[%row, %column] : !tile.buffer<1024x1024xf32, global>
        // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds : !tile.buffer<64x64xf32, shared>
        %w = tile.load %s[%rest, %j] : !tile.buffer<64x64xf32, shared>
        // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<64x64xf32, shared>
        %x = tile.load %s[%row, %j] : !tile.buffer<64x64xf32, shared>
        tile.print "", %w : f32
        tile.print "", %x : f32
      }
    }
  }
  return
}

// -----
// Dynamic dims: a loop to the dim itself, a condition of the kernel, and neither.
// CHECK-LABEL: func.func @symbols
func.func @symbols(%A: !tile.buffer<?x?xf32, global>
                     {tile.name = "A", tile.shape = affine_map<()[M, N] -> (M, N)>},
                   %M: index {tile.symbol = "M"}, %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  tile.launch (%row) in (%M) threads(128) {
    %tx = tile.thread_id 0
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    %n = tile.dim %A, 1 : !tile.buffer<?x?xf32, global>
    tile.parallel (%j) in [%n] {
      // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds
      %v = tile.load %A[%row, %j] : !tile.buffer<?x?xf32, global>
      tile.print "", %v : f32
    }
    %steps = arith.ceildivsi %N, %c128 : index
    tile.for %i = %c0 to %steps step %c1 {
      %start = arith.muli %i, %c128 : index
      %column = arith.addi %start, %tx : index
      // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<?x?xf32, global>
      %unknown = tile.load %A[%row, %column] : !tile.buffer<?x?xf32, global>
      %inside = arith.cmpi slt, %column, %n : index
      scf.if %inside {
        // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds
        %v = tile.load %A[%row, %column] : !tile.buffer<?x?xf32, global>
        tile.print "", %v : f32
      } else {
        // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.buffer<?x?xf32, global>
        %v = tile.load %A[%row, %column] : !tile.buffer<?x?xf32, global>
        tile.print "", %v : f32
      }
    }
    %c64 = arith.constant 64 : index
    %upper = arith.cmpi sge, %tx, %c64 : index
    scf.if %upper {
      %lane = arith.subi %tx, %c64 : index
      // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<64xf32, shared>
      %v = tile.load %s[%lane] : !tile.buffer<64xf32, shared>
      tile.print "", %v : f32
    } else {
      // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<64xf32, shared>
      %v = tile.load %s[%tx] : !tile.buffer<64xf32, shared>
      tile.print "", %v : f32
    }
    // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.buffer<64xf32, shared>
    %v = tile.load %s[%tx] : !tile.buffer<64xf32, shared>
    tile.print "", %v : f32
    // CHECK: tile.copy %{{.*}} {source_in_bounds = array<i1: true, false>, target_in_bounds = array<i1: true>}
    tile.copy %A[%row, 0] [1, 64] : !tile.buffer<?x?xf32, global> to %s : !tile.buffer<64xf32, shared>
    // CHECK: tile.fill %{{.*}} {target_in_bounds = array<i1: true, true>}
    tile.fill %A[%row, 0] [1, %N] : !tile.buffer<?x?xf32, global> with %v : f32
  }
  return
}

// -----
// What wraps around or comes from memory is not known.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%A: !tile.buffer<1024xf32, global> {tile.name = "A"},
                   %I: !tile.buffer<1024xsi32, global> {tile.name = "I"},
                   %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c1024 = arith.constant 1024 : index
  %big = arith.constant 2147483647 : i32
  %mask = arith.constant 1023 : i32
  tile.launch (%bx) in (%c1024) threads(1) {
    // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<1024xsi32, global>
    %key = tile.load %I[%bx] : !tile.buffer<1024xsi32, global>
    %index = arith.index_cast %key : i32 to index
    // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.buffer<1024xf32, global>
    %a = tile.load %A[%index] : !tile.buffer<1024xf32, global>
    %masked = arith.andi %key, %mask : i32
    %safe = arith.index_cast %masked : i32 to index
    // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<1024xf32, global>
    %b = tile.load %A[%safe] : !tile.buffer<1024xf32, global>
    // 2147483647 + 1 wraps to a negative number.
    %wrapped = arith.addi %masked, %big : i32
    %small = arith.minsi %wrapped, %mask : i32
    %negative = arith.index_cast %small : i32 to index
    // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.buffer<1024xf32, global>
    %c = tile.load %A[%negative] : !tile.buffer<1024xf32, global>
    tile.print "", %a : f32
    tile.print "", %b : f32
    tile.print "", %c : f32
  }
  return
}

// -----

// What is left of a division by 3, as Python has it: 0 to 2, of numbers below 0 too. As C has it: -2 to 2.
// CHECK-LABEL: func.func @rest_of_division
func.func @rest_of_division(%A: !tile.buffer<3xf32, global> {tile.name = "A"}, %B: !tile.buffer<5xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  tile.launch (%bx) in (%c3) threads(128) {
    %from = arith.subi %bx, %c7 : index
    %rest = arith.remsi %from, %c3 : index
    %is_negative = arith.cmpi slt, %rest, %c0 : index
    %corrected = arith.addi %rest, %c3 : index
    %floored = arith.select %is_negative, %corrected, %rest : index
    %shifted = arith.addi %rest, %c2 : index
    // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<3xf32, global>
    %v = tile.load %A[%floored] : !tile.buffer<3xf32, global>
    // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.buffer<3xf32, global>
    %w = tile.load %A[%rest] : !tile.buffer<3xf32, global>
    // CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : !tile.buffer<5xf32, global>
    %x = tile.load %B[%shifted] : !tile.buffer<5xf32, global>
    tile.print "", %v : f32
    tile.print "", %w : f32
    tile.print "", %x : f32
  }
  return
}
