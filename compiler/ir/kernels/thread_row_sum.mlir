// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// A kernel written thread by thread: each block of 128 threads sums a row of N columns.

// CHECK-LABEL: func.func @row_sum
// CHECK: %[[TX:.*]] = tile.thread_id 0
// CHECK: tile.alloc "acc" : !tile.buffer<1xf32, local>
// CHECK: tile.shuffle xor %{{.*}}, %{{.*}} : f32
// CHECK: tile.sync block
func.func @row_sum(%A: !tile.buffer<?x?xf32, global> {tile.name = "A", tile.shape = affine_map<()[M, N] -> (M, N)>},
                   %Out: !tile.buffer<?xf32, global> {tile.name = "Out", tile.shape = affine_map<()[M, N] -> (M)>},
                   %M: index {tile.symbol = "M"}, %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%M) threads(128) {
    %tx = tile.thread_id 0
    %acc = tile.alloc "acc" : !tile.buffer<1xf32, local>
    %sums = tile.alloc "sums" : !tile.buffer<4xf32, shared>
    tile.store %zero, %acc[%c0] : !tile.buffer<1xf32, local>
    %steps = arith.ceildivsi %N, %c128 : index
    tile.for %i = %c0 to %steps step %c1 {
      %start = arith.muli %i, %c128 : index
      %column = arith.addi %start, %tx : index
      %inside = arith.cmpi slt, %column, %N : index
      scf.if %inside {
        %value = tile.load %A[%bx, %column] : !tile.buffer<?x?xf32, global>
        %old = tile.load %acc[%c0] : !tile.buffer<1xf32, local>
        %new = arith.addf %old, %value : f32
        tile.store %new, %acc[%c0] : !tile.buffer<1xf32, local>
      }
    }
    %offset = tile.alloc "offset" : !tile.buffer<si32, var>
    %sixteen = arith.constant 16 : i32
    tile.store %sixteen, %offset[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %offset[] : !tile.buffer<si32, var>
      %none = arith.constant 0 : i32
      %more = arith.cmpi sgt, %now, %none : i32
      tile.condition %more
    } do {
      %now = tile.load %offset[] : !tile.buffer<si32, var>
      %mine = tile.load %acc[%c0] : !tile.buffer<1xf32, local>
      %other = tile.shuffle xor %mine, %now : f32
      %sum = arith.addf %mine, %other : f32
      tile.store %sum, %acc[%c0] : !tile.buffer<1xf32, local>
      %one = arith.constant 1 : i32
      %next = arith.shrsi %now, %one : i32
      tile.store %next, %offset[] : !tile.buffer<si32, var>
    }
    %warp = arith.divsi %tx, %c32 : index
    %lane = arith.remsi %tx, %c32 : index
    %leads = arith.cmpi eq, %lane, %c0 : index
    scf.if %leads {
      %sum = tile.load %acc[%c0] : !tile.buffer<1xf32, local>
      tile.store %sum, %sums[%warp] : !tile.buffer<4xf32, shared>
    }
    tile.sync block
    %isFirst = arith.cmpi eq, %tx, %c0 : index
    scf.if %isFirst {
      %total = tile.alloc "total" : !tile.buffer<f32, var>
      tile.store %zero, %total[] : !tile.buffer<f32, var>
      %c4 = arith.constant 4 : index
      tile.for %w = %c0 to %c4 step %c1 unroll {
        %old = tile.load %total[] : !tile.buffer<f32, var>
        %part = tile.load %sums[%w] : !tile.buffer<4xf32, shared>
        %new = arith.addf %old, %part : f32
        tile.store %new, %total[] : !tile.buffer<f32, var>
      }
      %sum = tile.load %total[] : !tile.buffer<f32, var>
      tile.store %sum, %Out[%bx] : !tile.buffer<?xf32, global>
    }
  }
  return
}
