// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-split-threads | FileCheck %s

// A value that lives across a barrier gets an array; the index is computed again.
// CHECK-LABEL: func.func @reverse
func.func @reverse(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  tile.launch (%b) in (%c1) threads(64) {
    %tx = tile.thread_id 0
    // CHECK: %[[S:.*]] = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %other = arith.subi %c63, %tx : index
    // CHECK: %[[SLOT:.*]] = tile.alloc "threads" : !tile.buffer<64xf32, fragment>
    // CHECK: tile.parallel (%[[T:.*]]) in [64] {
    // CHECK: %[[V:.*]] = tile.load %{{.*}}[%[[T]]]
    // CHECK: tile.store %[[V]], %[[SLOT]][%[[T]]] in_bounds
    // CHECK: tile.store %[[V]], %[[S]][%[[T]]]
    %v = tile.load %A[%tx] : !tile.buffer<64xf32, global>
    tile.store %v, %s[%tx] : !tile.buffer<64xf32, shared>
    // CHECK-NOT: tile.sync
    tile.sync block
    // CHECK: tile.parallel (%[[U:.*]]) in [64] {
    // CHECK: %[[O:.*]] = arith.subi %{{.*}}, %[[U]]
    // CHECK: %[[W:.*]] = tile.load %[[S]][%[[O]]]
    // CHECK: %[[MINE:.*]] = tile.load %[[SLOT]][%[[U]]] in_bounds
    // CHECK: arith.addf %[[MINE]], %[[W]]
    %w = tile.load %s[%other] : !tile.buffer<64xf32, shared>
    %sum = arith.addf %v, %w : f32
    tile.store %sum, %A[%tx] : !tile.buffer<64xf32, global>
  }
  return
}

// A branch around a barrier stays outside; its condition is the first thread's, and asserted.
// CHECK-LABEL: func.func @branch
func.func @branch(%A: !tile.buffer<64xsi32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  tile.launch (%b) in (%c1) threads(64) {
    %tx = tile.thread_id 0
    // CHECK: %[[FLAGS:.*]] = tile.alloc "threads" : !tile.buffer<64xi1, fragment>
    %flag = tile.load %A[%c1] : !tile.buffer<64xsi32, global>
    %go = arith.cmpi sgt, %flag, %zero : i32
    // CHECK: %[[FIRST:.*]] = tile.load %[[FLAGS]]
    // CHECK: tile.for
    // CHECK: tile.assert %{{.*}}, "the threads of a block must agree here"
    // CHECK: scf.if %[[FIRST]] {
    scf.if %go {
      // CHECK: tile.parallel
      tile.store %zero, %A[%tx] : !tile.buffer<64xsi32, global>
      tile.sync block
    }
  }
  return
}

// Shuffles of one warp only: warp by warp.
// CHECK-LABEL: func.func @warps
func.func @warps(%A: !tile.buffer<64xsi32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %lane = arith.constant 3 : i32
  tile.launch (%b) in (%c1) threads(64) {
    %tx = tile.thread_id 0
    %inFirst = arith.cmpi slt, %tx, %c32 : index
    // CHECK: tile.for %[[W:.*]] = %{{.*}} to %{{.*}} step %c32
    // CHECK: tile.assert %{{.*}}, "the threads of a warp must agree here"
    // CHECK: scf.if
    // CHECK-NOT: tile.shuffle
    scf.if %inFirst {
      %v = tile.load %A[%tx] : !tile.buffer<64xsi32, global>
      %r = tile.shuffle xor %v, %lane : i32
      tile.store %r, %A[%tx] : !tile.buffer<64xsi32, global>
    }
  }
  return
}

// Without thread ids nothing changes.
// CHECK-LABEL: func.func @plain
func.func @plain(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(64) {
    // CHECK: tile.load
    // CHECK-NOT: tile.for
    %v = tile.load %A[%c1] : !tile.buffer<64xf32, global>
    tile.store %v, %A[%b] : !tile.buffer<64xf32, global>
    // CHECK: tile.sync block
    tile.sync block
  }
  return
}

// Groups: one side after the other, each over its own threads; where the condition says in the run who they are, it is
// asked for all before.
// CHECK-LABEL: func.func @groups
func.func @groups(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) threads(96) {
    %tx = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %tx, %c32 : index
    // CHECK: scf.if %true
    // CHECK: tile.copy
    // CHECK: scf.if %true
    // CHECK: tile.parallel (%{{.*}}) in [64] {
    scf.if %below {
      tile.copy %A : !tile.buffer<64xf32, global> to %s : !tile.buffer<64xf32, shared>
    } else {
      tile.store %v, %s[%tx] : !tile.buffer<64xf32, shared>
    } {tile.thread_groups = [array<i64: 0, 32>, array<i64: 32, 96>]}
    // CHECK: tile.for
    // CHECK: scf.if
    // CHECK: %[[ANY:.*]] = arith.cmpi sle
    // CHECK: scf.if %[[ANY]] {
    // CHECK-NEXT: tile.fill
    // CHECK-NOT: tile.assert
    %some = arith.cmpi slt, %tx, %n : index
    scf.if %some {
      tile.fill %s : !tile.buffer<64xf32, shared> with %v : f32
    } {tile.thread_groups = []}
  }
  return
}

// -----

// A group of threads that aren't neighbours: all of its loops ask who is of it. The other side has nothing to wait for:
// each of its ranges is run for itself.
// CHECK-LABEL: func.func @every_fourth
// CHECK: tile.parallel (%{{.*}}) in [5] {
// CHECK: %[[MEMBER:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[MEMBER]] {
// CHECK-NEXT: tile.store
// CHECK: tile.parallel (%{{.*}}) in [5] {
// CHECK: %[[AGAIN:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[AGAIN]] {
// CHECK: tile.load
// CHECK-COUNT-2: tile.parallel (%{{.*}}) in [3] {
// CHECK-NOT: tile.parallel
func.func @every_fourth() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) threads(8) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<8xf32, shared>
    %rest = arith.remui %t, %c4 : index
    %is_fourth = arith.cmpi eq, %rest, %c0 : index
    scf.if %is_fourth {
      tile.store %v, %s[%t] : !tile.buffer<8xf32, shared>
      tile.sync block
      %w = tile.load %s[%c4] : !tile.buffer<8xf32, shared>
      tile.store %w, %s[%t] : !tile.buffer<8xf32, shared>
    } else {
      tile.store %v, %s[%t] : !tile.buffer<8xf32, shared>
    } {tile.thread_groups = [array<i64: 0, 1, 4, 5>, array<i64: 1, 4, 5, 8>]}
  }
  return
}

// -----

// A loop with a shuffle that begins elsewhere in each thread: its turns are counted, and all must take as many.
// CHECK-LABEL: func.func @counted_turns
// CHECK: arith.ceildivsi
// CHECK: arith.maxsi
// CHECK: tile.assert %{{.*}}, "the threads of a warp must agree here"
// CHECK: tile.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
func.func @counted_turns(%A: !tile.buffer<128xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %lane = arith.constant 1 : i32
  tile.launch (%b) in (%c1) threads(32) {
    %t = tile.thread_id 0
    tile.for %i = %t to %c128 step %c32 {
      %v = tile.load %A[%i] : !tile.buffer<128xf32, global>
      %w = tile.shuffle xor %v, %lane : f32
      tile.store %w, %A[%i] : !tile.buffer<128xf32, global>
    }
  }
  return
}

// -----

// A shuffle in a branch of some threads of a warp that these may not come to: they go through the branch by
// themselves, and all must be there at the shuffle.
// CHECK-LABEL: func.func @parted_warps
// CHECK: %[[FIRST:.*]] = tile.alloc : !tile.buffer<si64, var>
// CHECK: scf.if
// CHECK-NOT: tile.assert
// CHECK: scf.if %{{.*}} {
// CHECK: tile.assert %{{.*}}, "the threads of a warp must agree here"
func.func @parted_warps(%A: !tile.buffer<64xsi32, global> {tile.name = "A"}, %n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %lane = arith.constant 3 : i32
  %goes = arith.cmpi sgt, %n, %c1 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %n : index
    scf.if %below {
      scf.if %goes {
        %v = tile.load %A[%t] : !tile.buffer<64xsi32, global>
        %r = tile.shuffle xor %v, %lane : i32
        tile.store %r, %A[%t] : !tile.buffer<64xsi32, global>
      }
    }
  }
  return
}
