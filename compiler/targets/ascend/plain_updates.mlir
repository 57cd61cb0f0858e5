// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-plain-updates --split-input-file | FileCheck %s

// What all iterations along one dim add to one element is a reduction.
// CHECK-LABEL: func.func @columns
// CHECK: %[[UPDATES:.*]] = tile.alloc "updates" : !tile.buffer<16x24xf32, UB>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in
// CHECK: tile.store %{{.*}}, %[[UPDATES]][%[[I]], %[[J]]]
// CHECK: ascend.pipe_barrier
// CHECK: tile.reduce sum %[[UPDATES]] {{.*}} dim 0 into
// CHECK-NOT: clear
// CHECK-NOT: tile.atomic
func.func @columns(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<16x24xf32, UB>
    %q = tile.alloc "q" : !tile.buffer<24xf32, fragment>
    tile.parallel (%i, %j) in [16, 24] {
      %v = tile.load %a[%i, %j] : !tile.buffer<16x24xf32, UB>
      tile.atomic add %q[%j], %v : f32 : !tile.buffer<24xf32, fragment>
    }
  }
  return
}

// -----
// One element by itself is read, combined and written; of a tensor it stays atomic.
// CHECK-LABEL: func.func @element
// CHECK: %[[HELD:.*]] = tile.load %[[Q:.*]][%[[AT:.*]]]
// CHECK: %[[SUM:.*]] = arith.maxnumf %[[HELD]], %[[V:.*]] : f32
// CHECK: tile.store %[[SUM]], %[[Q]][%[[AT]]]
// CHECK: tile.atomic add %{{.*}}[%[[AT]]], %[[HELD]]
func.func @element(%A: !tile.buffer<24xf32, global> {tile.name = "A"}, %n: index, %v: f32) {
  tile.launch (%cid) in (%n) npu {
    %q = tile.alloc "q" : !tile.buffer<24xf32, fragment>
    %old = tile.atomic max %q[%cid], %v : f32 : !tile.buffer<24xf32, fragment> -> f32
    tile.atomic add %A[%cid], %old : f32 : !tile.buffer<24xf32, global>
  }
  return
}
