// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-place-locals | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: tile.alloc "copied" : !tile.buffer<64xf32, UB>
// CHECK: tile.alloc "numbers" : !tile.buffer<4xf32, local>
// CHECK: tile.copy {{.*}} to %{{.*}} : !tile.buffer<64xf32, UB>
func.func @f(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "copied" : !tile.buffer<64xf32, local>
    %n = tile.alloc "numbers" : !tile.buffer<4xf32, local>
    tile.copy %A : !tile.buffer<64xf32, global> to %x : !tile.buffer<64xf32, local>
    %v = tile.load %x[%c1] in_bounds : !tile.buffer<64xf32, local>
    tile.store %v, %n[%c1] in_bounds : !tile.buffer<4xf32, local>
  }
  return
}
