// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --join-barriers | FileCheck %s

// CHECK-LABEL: func.func @both
// CHECK: %[[T:.*]] = tile.thread_id 0
// CHECK: %[[OTHER:.*]] = arith.addi %[[T]]
// CHECK: %[[HELD:.*]] = tile.alloc : !tile.buffer<f32, var>
// CHECK-NOT: tile.alloc
// CHECK: scf.if %[[BELOW:.*]] {
// CHECK: %[[V:.*]] = tile.load %arg0
// CHECK-NEXT: tile.store %[[V]], %[[HELD]][]
// CHECK: } else {
// CHECK: }
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: scf.if %[[BELOW]] {
// CHECK: tile.load %{{.*}}[%[[OTHER]]]
// CHECK: %[[AGAIN:.*]] = tile.load %[[HELD]][]
// CHECK-NEXT: arith.addf %[[AGAIN]]
// CHECK: } else {
// CHECK-NOT: tile.sync
func.func @both(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %B: !tile.buffer<64xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c32 : index
    scf.if %below {
      %v = tile.load %A[%t] : !tile.buffer<64xf32, global>
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      tile.sync block
      %o = arith.addi %t, %c32 : index
      %w = tile.load %s[%o] : !tile.buffer<64xf32, shared>
      %x = arith.addf %v, %w : f32
      tile.store %x, %B[%t] : !tile.buffer<64xf32, global>
    } else {
      %v = tile.load %A[%t] : !tile.buffer<64xf32, global>
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      tile.sync block
      %o = arith.subi %t, %c32 : index
      %w = tile.load %s[%o] : !tile.buffer<64xf32, shared>
      tile.store %w, %B[%t] : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
// Loops of the same bounds, and a branch that all threads take alike.

// CHECK-LABEL: func.func @loops
// CHECK: %[[MORE:.*]] = arith.cmpi sgt
// CHECK: tile.for
// CHECK-NEXT: scf.if %[[BELOW:.*]] {
// CHECK-NEXT: tile.print "a"
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.print "b"
// CHECK-NEXT: }
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %[[MORE]] {
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: scf.if %[[BELOW]] {
// CHECK-NEXT: tile.print "c"
func.func @loops(%n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %c32 : index
    scf.if %below {
      tile.for %i = %c0 to %n step %c1 {
        tile.print "a"
        tile.sync block
      }
      %more = arith.cmpi sgt, %n, %c1 : index
      scf.if %more {
        tile.sync block
        tile.print "c"
      }
    } else {
      tile.for %i = %c0 to %n step %c1 {
        tile.print "b"
        tile.sync block
      }
      %more = arith.cmpi sgt, %n, %c1 : index
      scf.if %more {
        tile.sync block
      }
    }
  }
  return
}

// -----
// One side alone: the barrier of those that take it. CHECK-LABEL: func.func @one_side
// CHECK: scf.if
// CHECK-NEXT: tile.sync block
func.func @one_side() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %c32 : index
    scf.if %below {
      tile.sync block
    }
  }
  return
}

// -----
func.func @not_as_many() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %c32 : index
    // expected-note@+1 {{the branch is here}}
    scf.if %below {
      tile.sync block
      // expected-error@+1 {{T.sync_threads on both sides of a branch is one barrier of all threads, but to this one no other of the other side belongs, which is not supported; let both sides have as many, in loops of the same bounds, or end the branch before it}}
      tile.sync block
    } else {
      tile.sync block
    }
  }
  return
}

// -----
func.func @view(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %I: !tile.buffer<64xsi64, global> {tile.name = "I"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %c32 : index
    // expected-note@+1 {{the branch is here}}
    scf.if %below {
      %i = tile.load %I[%t] : !tile.buffer<64xsi64, global>
      %k = arith.index_cast %i : i64 to index
      // expected-error@+1 {{this is not supported behind a barrier on both sides of a branch, whose parts are branches of their own; make it before the branch}}
      %v = tile.view %A dims(%k) : !tile.buffer<64xf32, global> to !tile.buffer<?xf32, global>
      tile.sync block
      %w = tile.load %v[%t] : !tile.buffer<?xf32, global>
      tile.store %w, %A[%t] : !tile.buffer<64xf32, global>
    } else {
      tile.sync block
    }
  }
  return
}
