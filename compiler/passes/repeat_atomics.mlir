// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --repeat-atomics --split-input-file | FileCheck %s

// Each of the 32 threads adds; a maximum is the same once, and iterations of a parallel loop are shared out.
// CHECK-LABEL: func.func @added
func.func @added(%B: !tile.buffer<4xsi32, global> {tile.name = "B"}, %v: i32 {tile.name = "v"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) threads(32) {
    // CHECK: %[[COUNT:.*]] = arith.constant 32 : index
    // CHECK: tile.for %{{.*}} to %[[COUNT]]
    // CHECK-NEXT: tile.atomic add %arg0
    // CHECK-NEXT: }
    %old = tile.atomic add %B[%c0], %v : i32 : !tile.buffer<4xsi32, global> -> i32
    // CHECK-NEXT: tile.atomic max
    tile.atomic max %B[%c1], %v : i32 : !tile.buffer<4xsi32, global>
    // CHECK-NEXT: tile.parallel
    // CHECK-NEXT: tile.atomic add
    tile.parallel (%i) in [4] {
      tile.atomic add %B[%i], %v : i32 : !tile.buffer<4xsi32, global>
    }
    // CHECK-NOT: tile.thread_id
  }
  return
}

// -----

// What was there before differs from thread to thread.
// CHECK-LABEL: func.func @tickets
func.func @tickets(%B: !tile.buffer<4xsi32, global> {tile.name = "B"}, %v: i32 {tile.name = "v"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) threads(8, 4) {
    // CHECK: tile.thread_id 0
    // CHECK-NOT: tile.for
    %old = tile.atomic add %B[%c0], %v : i32 : !tile.buffer<4xsi32, global> -> i32
    %at = arith.index_cast %old : i32 to index
    tile.store %v, %B[%at] : !tile.buffer<4xsi32, global>
  }
  return
}

// -----

// One thread; and threads that are told apart anyway.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: tile.for
func.func @left_alone(%B: !tile.buffer<4xsi32, global> {tile.name = "B"}, %v: i32 {tile.name = "v"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) threads(1) {
    tile.atomic add %B[%c1], %v : i32 : !tile.buffer<4xsi32, global>
  }
  tile.launch (%bx) in (%c1) threads(32) {
    %t = tile.thread_id 0
    tile.atomic add %B[%t], %v : i32 : !tile.buffer<4xsi32, global>
  }
  return
}
