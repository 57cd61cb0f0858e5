// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --hoist-invariants --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @warps
// CHECK: %[[TX:.*]] = tile.thread_id 0
// CHECK: %[[WARP:.*]] = arith.divui %[[TX]], %{{.*}} : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[WARP]], %{{.*}} : index
// CHECK-NEXT: %[[IS:.*]] = arith.cmpi eq, %[[WARP]], %{{.*}} : index
// CHECK-NEXT: tile.parallel (%[[I:.*]]) in [32] {
// CHECK-NEXT: scf.if %[[IS]] {
// CHECK-NEXT: arith.addi %[[FIRST]], %[[I]]
// What reads memory, or may fault, stays.
// CHECK: tile.load
// CHECK: arith.divui %[[TX]], %[[N:arg[0-9]+]]
func.func @warps(%a: !tile.buffer<64xf32, global> {tile.name = "A"}, %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %tx = tile.thread_id 0
    tile.parallel (%i) in [32] {
      %warp = arith.divui %tx, %c32 : index
      %first = arith.muli %warp, %c32 : index
      %is = arith.cmpi eq, %warp, %c1 : index
      scf.if %is {
        %at = arith.addi %first, %i : index
        %x = tile.load %a[%b] : !tile.buffer<64xf32, global>
        %part = arith.divui %tx, %n : index
        %to = arith.addi %at, %part : index
        tile.store %x, %a[%to] : !tile.buffer<64xf32, global>
      }
    }
  }
  return
}

// -----

// Where nothing tells threads apart, nests stay as they are.
// CHECK-LABEL: func.func @alone
// CHECK: tile.parallel
// CHECK-NEXT: arith.muli
func.func @alone(%a: !tile.buffer<64xf32, global> {tile.name = "A"}, %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(64) {
    tile.parallel (%i) in [32] {
      %first = arith.muli %n, %n : index
      %at = arith.addi %first, %i : index
      tile.store %zero, %a[%at] : !tile.buffer<64xf32, global>
    }
  }
  return
}
