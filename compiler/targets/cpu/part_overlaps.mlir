// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-part-overlaps --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @parts
func.func @parts() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    %s = tile.alloc : !tile.buffer<8x16xf32, shared>
    // CHECK: %[[MOVED:.*]] = tile.alloc {{.*}} : !tile.buffer<6x16xf32, shared>
    // CHECK-NEXT: tile.copy %[[S:.*]][0, 0] [6, 16] : {{.*}} to %[[MOVED]]
    // CHECK-NEXT: tile.copy %[[MOVED]] : {{.*}} to %[[S]][2, 0] [6, 16]
    tile.copy %s[0, 0] [6, 16] : !tile.buffer<8x16xf32, shared> to %s[2, 0] [6, 16] : !tile.buffer<8x16xf32, shared>
    // Apart in one dim, by a number and by numbers behind one value.
    // CHECK-NEXT: tile.copy %[[S]][0, 0] [4, 16] : {{.*}} to %[[S]][4, 0] [4, 16]
    tile.copy %s[0, 0] [4, 16] : !tile.buffer<8x16xf32, shared> to %s[4, 0] [4, 16] : !tile.buffer<8x16xf32, shared>
    // CHECK: tile.copy %[[S]][%[[ROW:.*]], 0] [1, 16] : {{.*}} to %[[S]][%{{.*}}, 0] [1, 16]
    %next = arith.addi %b, %c1 : index
    tile.copy %s[%b, 0] [1, 16] : !tile.buffer<8x16xf32, shared> to %s[%next, 0] [1, 16] : !tile.buffer<8x16xf32, shared>
    // To itself.
    // CHECK-NEXT: tile.copy %[[S]][0, 0] [4, 16] : {{.*}} to %[[S]][0, 0] [4, 16]
    tile.copy %s[0, 0] [4, 16] : !tile.buffer<8x16xf32, shared> to %s[0, 0] [4, 16] : !tile.buffer<8x16xf32, shared>
    // Nothing is known of a value and a number.
    // CHECK: tile.alloc {{.*}} : !tile.buffer<1x16xf32, shared>
    tile.copy %s[%b, 0] [1, 16] : !tile.buffer<8x16xf32, shared> to %s[3, 0] [1, 16] : !tile.buffer<8x16xf32, shared>
  }
  return
}

// -----

// Views of one buffer may overlap, whatever their shapes.
// CHECK-LABEL: func.func @views
func.func @views() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    %s = tile.alloc : !tile.buffer<8x16xf32, shared>
    %v = tile.view %s : !tile.buffer<8x16xf32, shared> to !tile.buffer<16x8xf32, shared>
    // CHECK: tile.alloc {{.*}} : !tile.buffer<8x8xf32, shared>
    tile.copy %v[0, 0] [8, 8] : !tile.buffer<16x8xf32, shared> to %s[0, 0] [8, 8] : !tile.buffer<8x16xf32, shared>
  }
  return
}

// -----

// Parts of which only the kernel knows how large they are go in pieces, backwards if the target begins behind the source.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%a: !tile.buffer<?x4xf32, global> {tile.name = "A", tile.shape = affine_map<()[s0] -> (s0, 4)>},
                  %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    // CHECK: %[[COUNT:.*]] = arith.divsi %{{.*}}, %c16384
    // CHECK: tile.for %[[TURN:.*]] = %{{.*}} to %[[COUNT]]
    // CHECK: %[[REST:.*]] = arith.subi %[[COUNT]], %[[TURN]]
    // CHECK: %[[LAST:.*]] = arith.subi %[[REST]], %c1
    // CHECK: %[[FIRST:.*]] = arith.muli %[[LAST]], %c16384
    // CHECK: %[[INTO:.*]] = arith.addi %[[FIRST]], %c2
    // CHECK: %[[ROWS:.*]] = arith.minsi
    // CHECK: tile.copy %arg0[%[[FIRST]], 0] [%[[ROWS]], 4] : {{.*}} to %[[MOVED:.*]][0, 0] [%[[ROWS]], 4] : !tile.buffer<16384x4xf32, shared>
    // CHECK-NEXT: tile.copy %[[MOVED]][0, 0] [%[[ROWS]], 4] : {{.*}} to %arg0[%[[INTO]], 0] [%[[ROWS]], 4]
    tile.copy %a[0, 0] [%n, 4] : !tile.buffer<?x4xf32, global> to %a[2, 0] [%n, 4] : !tile.buffer<?x4xf32, global>
    // Forwards, and an update.
    // CHECK: tile.for %[[TURN:.*]] =
    // CHECK: %[[FIRST:.*]] = arith.muli %[[TURN]], %c16384
    // CHECK: tile.atomic_tile add %{{.*}} into %arg0[%[[FIRST]], 0]
    tile.atomic_tile add %a[2, 0] [%n, 4] : !tile.buffer<?x4xf32, global> into %a[0, 0] [%n, 4] : !tile.buffer<?x4xf32, global>
  }
  return
}

// -----

// Where no order is known, they must be apart: by dims, and by where they lie.
// CHECK-LABEL: func.func @no_order
func.func @no_order(%a: !tile.buffer<?x?xf32, global> {tile.name = "A", tile.shape = affine_map<()[s0] -> (s0, s0)>},
                    %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    // CHECK: tile.assert %{{.*}}, "this operation's source and target overlap
    // CHECK-NEXT: tile.copy
    tile.copy %a[%b, 0] [1, %n] : !tile.buffer<?x?xf32, global> to %a[0, %b] [%n, 1] : !tile.buffer<?x?xf32, global>
    %v = tile.view %a dims(%n) : !tile.buffer<?x?xf32, global> to !tile.buffer<?x4xf32, global>
    // CHECK: tile.assert %{{.*}}, "this operation's source and target overlap
    // CHECK-NEXT: tile.copy
    tile.copy %a[0, 0] [%n, 4] : !tile.buffer<?x?xf32, global> to %v[%b, 0] [%n, 4] : !tile.buffer<?x4xf32, global>
  }
  return
}

// -----

// What else reads and writes parts of one tile reads a copy.
// CHECK-LABEL: func.func @others
func.func @others() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(32) {
    %s = tile.alloc : !tile.buffer<16x16xf32, shared>
    %t = tile.alloc : !tile.buffer<8x16xf32, shared>
    %v = tile.view %s : !tile.buffer<16x16xf32, shared> to !tile.buffer<256xf32, shared>
    // CHECK: tile.copy %[[S:.*]][0, 0] [7, 16] : {{.*}} to %[[MOVED:.*]] : !tile.buffer<7x16xf32, shared>
    // CHECK-NEXT: tile.scan sum %[[MOVED]] {{.*}} into %[[S]][1, 0] [7, 16]
    tile.scan sum %s[0, 0] [7, 16] : !tile.buffer<16x16xf32, shared> dim 0 into %s[1, 0] [7, 16] : !tile.buffer<16x16xf32, shared>
    // CHECK-NEXT: tile.scan sum %[[S]]
    tile.scan sum %s : !tile.buffer<16x16xf32, shared> dim 0 into %s : !tile.buffer<16x16xf32, shared>
    // CHECK: tile.copy %[[S]] : {{.*}} to %[[MOVED:.*]] : !tile.buffer<16x16xf32, shared>
    // CHECK-NEXT: tile.reduce sum %[[MOVED]]
    tile.reduce sum %s : !tile.buffer<16x16xf32, shared> dim 0 into %s[3, 0] [1, 16] : !tile.buffer<16x16xf32, shared> clear
    // CHECK: tile.copy %[[S]][%[[B:.*]], 0] [8, 16] : {{.*}} to %[[MOVED:.*]] : !tile.buffer<8x16xf32, shared>
    // CHECK-NEXT: tile.gemm %[[MOVED]] {{.*}} into %[[S]]
    tile.gemm %s[%b, 0] [8, 16] : !tile.buffer<16x16xf32, shared>, %t[0, 0] [8, 16] : !tile.buffer<8x16xf32, shared> into %s[0, 0] [8, 8] : !tile.buffer<16x16xf32, shared> {transpose_b}
    // By where they lie, views are known to be apart.
    // CHECK-NEXT: tile.copy %{{.*}}[0] [16] : {{.*}} to %[[S]][2, 0] [1, 16]
    tile.copy %v[0] [16] : !tile.buffer<256xf32, shared> to %s[2, 0] [1, 16] : !tile.buffer<16x16xf32, shared>
  }
  return
}
