// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-reductions --split-input-file | FileCheck %s

// The last dim: four chains of vectors, the lanes, then the six elements that fill no vector.
// CHECK-LABEL: func.func @last
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: llvm.load {{.*}} -> vector<16xf16>
// CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.reduction <add>
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: tile.store
func.func @last() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<8x70xf16, fragment>
    %t = tile.alloc : !tile.buffer<8xf16, fragment>
    tile.reduce sum %s : !tile.buffer<8x70xf16, fragment> dim 1 into %t : !tile.buffer<8xf16, fragment> clear
  }
  return
}

// -----

// Another dim: rows of the target are updated, in an order that LLVM vectorises.
// CHECK-LABEL: func.func @first
// CHECK: tile.store %{{.*}} in_bounds {cpu.access_group
// CHECK: tile.load
// CHECK: arith.maxnumf
// CHECK: llvm.loop_annotation
// CHECK-NOT: vector.reduction
func.func @first() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<8x80xf32, fragment>
    %t = tile.alloc : !tile.buffer<80xf32, fragment>
    tile.reduce max %s : !tile.buffer<8x80xf32, fragment> dim 0 into %t : !tile.buffer<80xf32, fragment> clear
  }
  return
}

// -----

// Rows of few vectors stay in registers; what is there already comes last, as it may be NaN: no running maximum is.
// CHECK-LABEL: func.func @few_columns
// CHECK: %[[R:.*]]:2 = scf.for %{{.*}} to %c8{{.*}} iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) -> (vector<16xf32>, vector<16xf32>)
// CHECK: %[[V:.*]] = llvm.load
// CHECK: %[[MORE:.*]] = arith.cmpf ogt, %[[V]], %[[S0]] : vector<16xf32>
// CHECK: arith.select %[[MORE]], %[[V]], %[[S0]]
// CHECK: arith.cmpf ogt, %{{.*}}, %[[S1]] : vector<16xf32>
// CHECK: %[[OLD0:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CHECK: %[[N0:.*]] = arith.maxnumf %[[R]]#0, %[[OLD0]]
// CHECK: llvm.store %[[N0]]
// CHECK: %[[OLD1:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// CHECK: %[[N1:.*]] = arith.maxnumf %[[R]]#1, %[[OLD1]]
// CHECK: llvm.store %[[N1]]
func.func @few_columns() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<8x32xf32, fragment>
    %t = tile.alloc : !tile.buffer<32xf32, fragment>
    tile.reduce max %s : !tile.buffer<8x32xf32, fragment> dim 0 into %t : !tile.buffer<32xf32, fragment>
  }
  return
}

// -----

// CHECK-LABEL: func.func @running
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[NEXT:.*]] = arith.addi %[[SUM]]
// CHECK: tile.store %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]
func.func @running() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<64xsi32, shared>
    tile.scan sum %s : !tile.buffer<64xsi32, shared> dim 0 into %s : !tile.buffer<64xsi32, shared> reverse
  }
  return
}
