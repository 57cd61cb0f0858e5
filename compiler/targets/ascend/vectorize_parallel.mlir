// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-vectorize-parallel --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @softmax_part
func.func @softmax_part(%n: index, %s: f32) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<16x40xf32, UB>
    // CHECK: %[[M:.*]] = tile.alloc "m"
    %m = tile.alloc "m" : !tile.buffer<16xf32, UB>
    // CHECK: npu.broadcast %[[B:.*]][%c0] {{.*}}, %[[M]][%c0] {{.*}} of 512 size 16 x 40 pitch 40 dim 1
    // CHECK: npu.binary sub %[[D:.*]][%c0] {{.*}}, %[[X]][%c0] {{.*}}, %[[B]][%c0] {{.*}} count(%c640)
    // CHECK: npu.scalar mul %[[E:.*]][%c0] {{.*}}, %[[D]][%c0] {{.*}}, %{{.*}} count(%c640)
    // The last operation writes where the store would.
    // CHECK: npu.unary exp %[[X]][%c0] {{.*}}, %[[E]][%c0]
    // CHECK-NOT: tile.parallel
    tile.parallel (%i, %j) in [16, 40] {
      %v = tile.load %x[%i, %j] : !tile.buffer<16x40xf32, UB>
      %r = tile.load %m[%i] : !tile.buffer<16xf32, UB>
      %d = arith.subf %v, %r : f32
      %e = arith.mulf %d, %s : f32
      %p = math.exp %e : f32
      tile.store %p, %x[%i, %j] : !tile.buffer<16x40xf32, UB>
    }
  }
  return
}

// -----
// CHECK-LABEL: func.func @mixed
func.func @mixed(%n: index, %s: f32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<2x64xf32, UB>
    %h = tile.alloc "h" : !tile.buffer<64xf16, UB>
    %k = tile.alloc "k" : !tile.buffer<64xf32, UB>
    // Row 1 of x, and a scalar on the left of a difference.
    // CHECK: npu.duplicate %[[T:.*]][%c0] : !tile.buffer<64xf32, UB>, %arg1 count(%c64)
    // CHECK: npu.binary sub %[[D:.*]][%c0] {{.*}}, %[[T]][%c0] {{.*}}, %{{.*}}[%c64] {{.*}} count(%c64)
    // CHECK: npu.scalar max %[[R:.*]][%c0] {{.*}}, %[[D]]
    // CHECK: npu.cast %{{.*}} rint count(%c64)
    tile.parallel (%i) in [64] {
      %v = tile.load %x[%c1, %i] : !tile.buffer<2x64xf32, UB>
      %d = arith.subf %s, %v : f32
      %r = arith.maximumf %d, %zero : f32
      %t = arith.truncf %r : f32 to f16
      tile.store %t, %h[%i] : !tile.buffer<64xf16, UB>
    }
    // expected-remark@+1 {{this nest runs element by element on the scalar unit: it computes with its indices}}
    tile.parallel (%i) in [32] {
      // CHECK: tile.for
      // CHECK: tile.load
      %two = arith.constant 2 : index
      %at = arith.muli %i, %two : index
      %v = tile.load %k[%at] : !tile.buffer<64xf32, UB>
      tile.store %v, %k[%i] : !tile.buffer<64xf32, UB>
    }
  }
  return
}
