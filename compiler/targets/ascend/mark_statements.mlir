// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-mark-statements --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Two statements of one line are two; a nest is one with all that it holds; buffers and loops are of none.
// CHECK-LABEL: func.func @statements
func.func @statements(%A: !tile.buffer<4x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    // CHECK: tile.alloc {{.*}} loc("k.py":1:1)
    %x = tile.alloc "x" : !tile.buffer<4x64xf32, UB> loc("k.py":1:1)
    // CHECK: tile.copy {{.*}} loc(fused<0 : i64>["k.py":2:1])
    tile.copy %A : !tile.buffer<4x64xf32, global> to %x : !tile.buffer<4x64xf32, UB> loc("k.py":2:1)
    // CHECK: tile.copy {{.*}} loc(fused<1 : i64>["k.py":2:1])
    tile.copy %A : !tile.buffer<4x64xf32, global> to %x : !tile.buffer<4x64xf32, UB> loc("k.py":2:1)
    // CHECK: tile.load {{.*}} loc(fused<2 : i64>["k.py":4:1])
    // CHECK: tile.store {{.*}} loc(fused<2 : i64>["k.py":5:1])
    // CHECK: loc(fused<2 : i64>["k.py":3:1])
    tile.parallel (%i, %j) in [4, 64] {
      %v = tile.load %x[%i, %j] : !tile.buffer<4x64xf32, UB> loc("k.py":4:1)
      tile.store %v, %x[%i, %j] : !tile.buffer<4x64xf32, UB> loc("k.py":5:1)
    } loc("k.py":3:1)
    // CHECK: tile.copy {{.*}} loc(fused<3 : i64>["k.py":7:1])
    tile.copy %x : !tile.buffer<4x64xf32, UB> to %A : !tile.buffer<4x64xf32, global> loc("k.py":7:1)
  }
  return
}
