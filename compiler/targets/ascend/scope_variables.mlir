// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-scope-variables --split-input-file --verify-diagnostics | FileCheck %s

// The vector cores say which rows go to L1: the cube core counts with them, though its own work stays in its scope.
// CHECK-LABEL: func.func @counted
// CHECK: tile.for
// CHECK: tile.copy {{.*}} to
// CHECK: ascend.scope vector {
// CHECK-NEXT: tile.fill
// CHECK-NEXT: }
// CHECK-NEXT: %[[BEFORE:.*]] = tile.load %[[I:.*]][]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[BEFORE]]
// CHECK-NEXT: tile.store %[[NEXT]], %[[I]][]
// CHECK: ascend.scope cube {
// CHECK-NEXT: tile.gemm
func.func @counted() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %step = arith.constant 4 : i32
  %one = arith.constant 1.0 : f16
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    tile.store %zero, %i[] : !tile.buffer<si32, var>
    tile.for %k = %c0 to %c4 step %c1 {
      %held = tile.load %i[] : !tile.buffer<si32, var>
      %at = arith.index_cast %held : i32 to index
      tile.copy %h : !tile.buffer<16x16xf16, UB> to %p[%at, 0] [16, 16] : !tile.buffer<32x16xf16, L1>
      ascend.scope vector {
        tile.fill %h : !tile.buffer<16x16xf16, UB> with %one : f16
        %before = tile.load %i[] : !tile.buffer<si32, var>
        %next = arith.addi %before, %step : i32
        tile.store %next, %i[] : !tile.buffer<si32, var>
      }
      ascend.scope cube {
        tile.gemm %p[%c0, %c0] [16, 16] : !tile.buffer<32x16xf16, L1>, %p[%c0, %c0] [16, 16] : !tile.buffer<32x16xf16, L1> into %c[%c0, %c0] [16, 16] : !tile.buffer<16x16xf32, L0C>
      }
    }
  }
  return
}

// -----
// Each kind counts for itself, and what both count outside says where the copy goes: it is set anew.
// CHECK-LABEL: func.func @own_numbers
// CHECK: ascend.scope vector {
// CHECK: tile.store
// CHECK: }
// CHECK: tile.store
// CHECK: ascend.scope cube {
func.func @own_numbers(%C: !tile.buffer<4x16x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    ascend.scope vector {
      tile.store %two, %i[] : !tile.buffer<si32, var>
    }
    tile.store %zero, %i[] : !tile.buffer<si32, var>
    %held = tile.load %i[] : !tile.buffer<si32, var>
    %at = arith.index_cast %held : i32 to index
    tile.copy %h : !tile.buffer<16x16xf16, UB> to %p[%at, 0] [16, 16] : !tile.buffer<32x16xf16, L1>
    ascend.scope cube {
      tile.store %two, %i[] : !tile.buffer<si32, var>
      tile.gemm %p[%c0, %c0] [16, 16] : !tile.buffer<32x16xf16, L1>, %p[%c0, %c0] [16, 16] : !tile.buffer<32x16xf16, L1> into %c[%c0, %c0] [16, 16] : !tile.buffer<16x16xf32, L0C>
      %own = tile.load %i[] : !tile.buffer<si32, var>
      %where = arith.index_cast %own : i32 to index
      tile.copy %c : !tile.buffer<16x16xf32, L0C> to %C[%where, 0, 0] [1, 16, 16] : !tile.buffer<4x16x16xf32, global>
    }
  }
  return
}

// -----
// An element of UB only the vector cores have.
func.func @unknown() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    %q = tile.alloc "q" : !tile.buffer<8xsi32, UB>
    %p = tile.alloc "p" : !tile.buffer<32x16xf16, L1>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    ascend.scope vector {
      %read = tile.load %q[%c0] : !tile.buffer<8xsi32, UB>
      // expected-error@+1 {{only the vector cores assign to 'i' here, but what needs it takes both kinds of core, and the cube core can't compute it: assign to 'i' outside of T.Scope}}
      tile.store %read, %i[] : !tile.buffer<si32, var>
    }
    %held = tile.load %i[] : !tile.buffer<si32, var>
    %at = arith.index_cast %held : i32 to index
    // expected-note@+1 {{'i' is needed here}}
    tile.copy %h : !tile.buffer<16x16xf16, UB> to %p[%at, 0] [16, 16] : !tile.buffer<32x16xf16, L1>
  }
  return
}

// -----
// By the loop's turns, and what they change, it comes back to the copy.
func.func @around_a_loop() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x16xf16, L1>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    %j = tile.alloc "j" : !tile.buffer<si32, var>
    tile.store %zero, %i[] : !tile.buffer<si32, var>
    tile.store %zero, %j[] : !tile.buffer<si32, var>
    tile.for %k = %c0 to %c4 step %c1 {
      %held = tile.load %i[] : !tile.buffer<si32, var>
      %more = arith.cmpi sgt, %held, %zero : i32
      scf.if %more {
        // expected-note@+1 {{'j' is needed here}}
        tile.copy %h : !tile.buffer<16x16xf16, UB> to %p[%c0, 0] [16, 16] : !tile.buffer<32x16xf16, L1>
      }
      %other = tile.load %j[] : !tile.buffer<si32, var>
      tile.store %other, %i[] : !tile.buffer<si32, var>
      ascend.scope cube {
        // expected-error@+1 {{only the cube core assigns to 'j' here, but the 'j' of the vector cores is needed for what takes both kinds of core: assign to 'j' outside of T.Scope, or use another variable in it}}
        tile.store %one, %j[] : !tile.buffer<si32, var>
      }
    }
  }
  return
}

// -----
func.func @of_each_its_own(%C: !tile.buffer<4x16x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    ascend.scope vector {
      // expected-error@+1 {{only the vector cores assign to 'i' here, but what needs it takes both kinds of core, and elsewhere the cube core needs 'i' without this: use another variable there}}
      tile.store %one, %i[] : !tile.buffer<si32, var>
    }
    %held = tile.load %i[] : !tile.buffer<si32, var>
    %at = arith.index_cast %held : i32 to index
    // expected-note@+1 {{'i' is needed here}}
    tile.copy %h : !tile.buffer<16x16xf16, UB> to %p[%at, 0] [16, 16] : !tile.buffer<32x16xf16, L1>
    // expected-note@+1 {{'i' is needed without this here}}
    tile.copy %c : !tile.buffer<16x16xf32, L0C> to %C[%at, 0, 0] [1, 16, 16] : !tile.buffer<4x16x16xf32, global>
  }
  return
}

// -----
// Each kind has a variable of its own: the cube core's stays 0.
func.func @read_by_others(%C: !tile.buffer<4x16x16xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    %j = tile.alloc "j" : !tile.buffer<si32, var>
    tile.store %zero, %i[] : !tile.buffer<si32, var>
    tile.store %zero, %j[] : !tile.buffer<si32, var>
    tile.for %k = %c0 to %c4 step %c1 {
      ascend.scope cube {
        %held = tile.load %i[] : !tile.buffer<si32, var>
        %at = arith.index_cast %held : i32 to index
        // expected-note@+1 {{'i' is read for this}}
        tile.copy %c : !tile.buffer<16x16xf32, L0C> to %C[%at, 0, 0] [1, 16, 16] : !tile.buffer<4x16x16xf32, global>
        // Both count in scopes of their own.
        %own = tile.load %j[] : !tile.buffer<si32, var>
        %where = arith.index_cast %own : i32 to index
        tile.copy %c : !tile.buffer<16x16xf32, L0C> to %C[%where, 0, 0] [1, 16, 16] : !tile.buffer<4x16x16xf32, global>
        tile.store %one, %j[] : !tile.buffer<si32, var>
      }
      ascend.scope vector {
        // expected-warning@+1 {{only the vector cores assign to 'i' here, so the cube core reads another number: assign to 'i' outside of T.Scope}}
        tile.store %one, %i[] : !tile.buffer<si32, var>
        tile.store %one, %j[] : !tile.buffer<si32, var>
      }
    }
  }
  return
}
