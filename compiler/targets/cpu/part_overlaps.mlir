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
