// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-gemm --split-input-file | FileCheck %s

// 12 rows of 2 vectors stay in registers; of 20 rows and 40 columns, 8 rows and 8 columns are left.
// CHECK-LABEL: func.func @edges
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> f32
// CHECK: vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: tile.gemm
func.func @edges() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<20x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x40xf32, shared>
    %C = tile.alloc : !tile.buffer<20x40xf32, fragment>
    tile.gemm %A : !tile.buffer<20x16xf32, shared>, %B : !tile.buffer<16x40xf32, shared>
      into %C : !tile.buffer<20x40xf32, fragment>
  }
  return
}

// -----

// Integers multiply and add; a cleared accumulator is not loaded.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: llvm.load {{.*}} -> vector
// CHECK: arith.constant dense<0> : vector<16xi32>
// CHECK: scf.for
// CHECK: arith.muli {{.*}} : vector<16xi32>
// CHECK: arith.addi {{.*}} : vector<16xi32>
func.func @integers() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<4x16xsi32, shared>
    %B = tile.alloc : !tile.buffer<16x16xsi32, shared>
    %C = tile.alloc : !tile.buffer<4x16xsi32, fragment>
    tile.gemm %A : !tile.buffer<4x16xsi32, shared>, %B : !tile.buffer<16x16xsi32, shared>
      into %C : !tile.buffer<4x16xsi32, fragment> {clear_accum}
  }
  return
}
