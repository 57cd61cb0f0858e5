// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-fuse-reductions --cpu-lower-gemm | FileCheck %s

// Of 16 rows a micro-kernel of 8 computes b, two rows before those that it multiplies; 16 sums of products and two of the
// rows go along. The other 8 rows read b. The loop that only computed is gone, and the sums of rows are stored behind.
// CHECK-LABEL: func.func @fed
// CHECK-COUNT-2: math.exp2 %{{.*}} {cpu.beside_products} : vector<32xf32>
// CHECK: %[[ALL:.*]]:18 = scf.for %[[K:.*]] = %c0{{.*}} to %c62{{.*}} step %c2
// CHECK: arith.addi %[[K]], %c2
// CHECK-COUNT-2: math.exp2 %{{.*}} {cpu.beside_products} : vector<32xf32>
// CHECK-COUNT-32: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK-COUNT-32: math.fma
// CHECK-NOT: math.exp2
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c1
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: arith.addf %[[ALL]]#16, %[[ALL]]#17 : vector<32xf32>
// CHECK: return
func.func @fed() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %v = tile.alloc : !tile.buffer<64x16xf32, shared>
    %x = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %c = tile.alloc : !tile.buffer<16x32xf32, fragment>
    %s = tile.alloc : !tile.buffer<32xf32, fragment>
    tile.parallel (%i, %j) in [64, 32] {
      %a = tile.load %x[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
      %e = math.exp2 %a : f32
      tile.store %e, %x[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x32xf32, fragment> dim 0 into %s : !tile.buffer<32xf32, fragment> clear
    tile.gemm %v : !tile.buffer<64x16xf32, shared>, %x : !tile.buffer<64x32xf32, fragment> into %c : !tile.buffer<16x32xf32, fragment> {transpose_a}
  }
  return
}
