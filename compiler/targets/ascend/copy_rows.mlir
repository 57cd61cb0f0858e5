// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-copy-rows --split-input-file | FileCheck %s

// Nothing but rows: they come to the tile at once.
// CHECK-LABEL: func.func @gather
func.func @gather(%KV: !tile.buffer<256x128xf16, global> {tile.name = "KV"}, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[KV:.*]] = tile.alloc "kv"
    %kv = tile.alloc "kv" : !tile.buffer<64x128xf16, UB>
    // CHECK: %[[IDX:.*]] = tile.alloc "idx"
    %idx = tile.alloc "idx" : !tile.buffer<64xsi32, UB>
    // CHECK-NOT: tile.parallel
    // CHECK: tile.for %[[I:.*]] = %c0 to %c64
    // CHECK: %[[NUMBER:.*]] = tile.load %[[IDX]][%[[I]]]
    // CHECK: %[[ROW:.*]] = arith.index_cast %[[NUMBER]]
    // CHECK: tile.copy %{{.*}}[%[[ROW]], 0] [1, 128] : {{.*}} to %[[KV]][%[[I]], 0] [1, 128]
    // CHECK-NOT: tile.parallel
    tile.parallel (%i, %j) in [64, 128] {
      %number = tile.load %idx[%i] : !tile.buffer<64xsi32, UB>
      %row = arith.index_cast %number : i32 to index
      %v = tile.load %KV[%row, %j] : !tile.buffer<256x128xf16, global>
      tile.store %v, %kv[%i, %j] : !tile.buffer<64x128xf16, UB>
    }
  }
  return
}

// -----
// Rows with which the nest computes have a tile of their own, as have numbers that are one for each row.
// CHECK-LABEL: func.func @computed
func.func @computed(%KV: !tile.buffer<256x128xf32, global> {tile.name = "KV"}, %S: !tile.buffer<256xf32, global> {tile.name = "S"}, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %kv = tile.alloc "kv" : !tile.buffer<16x40xf32, UB>
    %idx = tile.alloc "idx" : !tile.buffer<16xsi32, UB>
    // CHECK: %[[ROWS:.*]] = tile.alloc "rows" : !tile.buffer<16x40xf32, UB>
    // CHECK: tile.for %[[I:.*]] =
    // CHECK: tile.copy %{{.*}} [1, 40] : {{.*}} to %[[ROWS]][%[[I]], 0] [1, 40]
    // CHECK: %[[SCALES:.*]] = tile.alloc "rows" : !tile.buffer<16xf32, UB>
    // CHECK: tile.for %[[K:.*]] =
    // CHECK: %[[SCALE:.*]] = tile.load %{{.*}} : !tile.buffer<256xf32, global>
    // CHECK: tile.store %[[SCALE]], %[[SCALES]][%[[K]]]
    // CHECK: tile.parallel (%[[R:.*]], %[[C:.*]]) in [16, 40]
    // CHECK: tile.load %[[ROWS]][%[[R]], %[[C]]] in_bounds
    // CHECK: tile.load %[[SCALES]][%[[R]]] in_bounds
    tile.parallel (%i, %j) in [16, 40] {
      %number = tile.load %idx[%i] : !tile.buffer<16xsi32, UB>
      %row = arith.index_cast %number : i32 to index
      %v = tile.load %KV[%row, %j] : !tile.buffer<256x128xf32, global>
      %s = tile.load %S[%row] : !tile.buffer<256xf32, global>
      %p = arith.mulf %v, %s : f32
      tile.store %p, %kv[%i, %j] : !tile.buffer<16x40xf32, UB>
    }
  }
  return
}

// -----
// A branch that is the same for a row goes around its copy; what leaves a tile does so in the order of the rows.
// CHECK-LABEL: func.func @scatter
func.func @scatter(%O: !tile.buffer<256x64xf32, global> {tile.name = "O"}, %n: index) {
  %c0_i32 = arith.constant 0 : i32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    %idx = tile.alloc "idx" : !tile.buffer<16xsi32, UB>
    // CHECK: tile.for
    // CHECK: scf.if
    // CHECK: tile.copy %{{.*}} [1, 64] : !tile.buffer<16x64xf32, UB> to %{{.*}} [1, 64]
    tile.parallel (%i, %j) in [16, 64] {
      %number = tile.load %idx[%i] : !tile.buffer<16xsi32, UB>
      %some = arith.cmpi sge, %number, %c0_i32 : i32
      scf.if %some {
        %row = arith.index_cast %number : i32 to index
        %v = tile.load %x[%i, %j] : !tile.buffer<16x64xf32, UB>
        tile.store %v, %O[%row, %j] : !tile.buffer<256x64xf32, global>
      }
    }
  }
  return
}

// -----
// What the nest stores itself, places that change along the rows, and columns stay.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tile.copy
func.func @stays(%O: !tile.buffer<256x64xf32, global> {tile.name = "O"}, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    %idx = tile.alloc "idx" : !tile.buffer<64xsi32, UB>
    tile.parallel (%i, %j) in [16, 64] {
      %number = tile.load %idx[%i] : !tile.buffer<64xsi32, UB>
      %row = arith.index_cast %number : i32 to index
      %v = tile.load %O[%row, %j] : !tile.buffer<256x64xf32, global>
      %w = arith.addf %v, %v : f32
      tile.store %w, %O[%row, %j] : !tile.buffer<256x64xf32, global>
    }
    tile.parallel (%i, %j) in [16, 64] {
      %number = tile.load %idx[%j] : !tile.buffer<64xsi32, UB>
      %row = arith.index_cast %number : i32 to index
      %v = tile.load %O[%row, %j] : !tile.buffer<256x64xf32, global>
      tile.store %v, %x[%i, %j] : !tile.buffer<16x64xf32, UB>
    }
    tile.parallel (%i, %j) in [16, 64] {
      %number = tile.load %idx[%i] : !tile.buffer<64xsi32, UB>
      %column = arith.index_cast %number : i32 to index
      %v = tile.load %O[%j, %column] : !tile.buffer<256x64xf32, global>
      tile.store %v, %x[%i, %j] : !tile.buffer<16x64xf32, UB>
    }
  }
  return
}
