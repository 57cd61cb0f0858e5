// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-expand-gemms --canonicalize | FileCheck %s

// Two steps of k, in the two halves of L0: 256 rows of b take 512 bytes per column, so a half holds 64.
// CHECK-LABEL: func.func @steps
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[HALF:.*]] = arith.constant 16384 : index
// CHECK-DAG: %[[K:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[L0A:.*]] = tile.alloc "l0a" at 0 {npu.gemm} : !tile.buffer<16x2048xf16, L0A>
// CHECK-DAG: %[[L0B:.*]] = tile.alloc "l0b" at 0 {npu.gemm} : !tile.buffer<16x2048xf16, L0B>
// CHECK: ascend.set_flag mte2 to mte1
// CHECK: ascend.wait_flag mte2 to mte1
// CHECK: ascend.set_flag fix to m,
// CHECK: ascend.wait_flag m to mte1, %[[ZERO]]
// CHECK-NEXT: npu.load_l0 %{{.*}}[%[[ZERO]]] {{.*}} at(%[[ZERO]], %[[ZERO]]) to %[[L0A]][%[[ZERO]]] {{.*}} rows 128 size 128 x 64
// CHECK-NEXT: npu.load_l0 %{{.*}}[%[[ZERO]]] {{.*}} at(%[[ZERO]], %[[ZERO]]) to %[[L0B]][%[[ZERO]]] {{.*}} rows 128 size 64 x 256
// CHECK: npu.mmad %[[L0A]][%[[ZERO]]] {{.*}} size 128 x 256 x 64 init(%{{arg1|.*}})
// CHECK: npu.load_l0 {{.*}} at(%[[ZERO]], %[[K]]) to %[[L0A]][%[[HALF]]]
// CHECK: npu.load_l0 {{.*}} at(%[[K]], %[[ZERO]]) to %[[L0B]][%[[HALF]]]
// CHECK: npu.mmad %[[L0A]][%[[HALF]]] {{.*}} init(%[[FALSE]])
// CHECK: ascend.set_flag m to fix
// CHECK: ascend.wait_flag m to fix
// CHECK-NOT: tile.gemm
func.func @steps(%n: index, %first: i1) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<128x128xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<128x256xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, L0C>
    tile.gemm %a : !tile.buffer<128x128xf16, L1>, %b : !tile.buffer<128x256xf16, L1> into %c : !tile.buffer<128x256xf32, L0C> clear(%first)
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf32, L1>
    %b = tile.alloc "b" : !tile.buffer<32x32xf32, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of float32 needs b transposed and a not: the chip cannot transpose 4-byte fractals on the way}}
    tile.gemm %a : !tile.buffer<32x32xf32, L1>, %b : !tile.buffer<32x32xf32, L1> into %c : !tile.buffer<32x32xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, UB>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a of a gemm in UB; it must lie in L1}}
    tile.gemm %a : !tile.buffer<32x32xf16, UB>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<2048x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<2048x16xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of 2048x16: 16 columns of 2048 rows are more than half of L0A}}
    tile.gemm %a : !tile.buffer<2048x16xf16, L1>, %b : !tile.buffer<16x16xf16, L1> into %c : !tile.buffer<2048x16xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x48xsi8, L1>
    %b = tile.alloc "b" : !tile.buffer<48x32xsi8, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: an int8 tile of 48 rows that is transposed on the way; it takes multiples of 32}}
    tile.gemm %a : !tile.buffer<32x48xsi8, L1>, %b : !tile.buffer<48x32xsi8, L1> into %c : !tile.buffer<32x32xsi32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of tiles whose extents are known at run time only}}
    tile.gemm %a[0, 0] [%n, 32] : !tile.buffer<32x32xf16, L1>, %a : !tile.buffer<32x32xf16, L1> into %c[0, 0] [%n, 32] : !tile.buffer<32x32xf32, L0C>
  }
  return
}

// -----
func.func @narrow_sums(%n: index, %first: i1) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of float16 with sums of float16; the cube core adds floats in float32, integers in int32}}
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf16, L0C> clear(%first)
  }
  return
}
