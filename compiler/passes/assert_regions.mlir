// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --assert-regions --split-input-file | FileCheck %s

// An offset that only the caller knows; the other regions are whole buffers.
// CHECK-LABEL: func.func @offset_of_the_caller
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %[[N:arg[0-9]+]], %{{.*}} : index
// CHECK: %[[HIGH:.*]] = arith.cmpi sle, %[[N]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK: tile.assert %[[INSIDE]], "this operation leaves its buffer in dim 0, which ends at 64"
// CHECK-NOT: tile.assert
// CHECK: tile.gemm
func.func @offset_of_the_caller(%n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) threads(32) {
    %a = tile.alloc "a" : !tile.buffer<64x16xf32, shared>
    %b = tile.alloc "b" : !tile.buffer<16x16xf32, shared>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, fragment>
    tile.gemm %a[%n, 0] [16, 16] : !tile.buffer<64x16xf32, shared>, %b : !tile.buffer<16x16xf32, shared>
      into %c : !tile.buffer<16x16xf32, fragment>
  }
  return
}

// -----

// A stage number that is known to be 0 or 1 needs no assertion.
// CHECK-LABEL: func.func @stages
// CHECK-NOT: tile.assert
// CHECK: return
func.func @stages() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  tile.launch (%bx) in (%c1) threads(32) {
    %x = tile.alloc "x" : !tile.buffer<2x16xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<1xf32, fragment>
    tile.for %k = %c0 to %c9 step %c1 {
      %stage = arith.remsi %k, %c2 : index
      tile.reduce sum %x[%stage, 0] [1, 16] : !tile.buffer<2x16xf32, fragment> dim 1
        into %y : !tile.buffer<1xf32, fragment> clear
    }
  }
  return
}
