// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-check-scopes --split-input-file --verify-diagnostics | FileCheck %s

// A copy from UB to L1 leaves the vector cores' scope, with the loop around it; what stands beside it stays theirs. Of a
// block's two vector cores one brings it.
// CHECK-LABEL: func.func @to_gemm
// CHECK: ascend.scope vector
// CHECK-NEXT: tile.fill
// CHECK-NEXT: }
// CHECK-NEXT: tile.for
// CHECK-NEXT: ascend.scope vector
// CHECK-NEXT: tile.fill
// CHECK-NEXT: }
// CHECK-NEXT: tile.copy %{{.*}} : !tile.buffer<32x32xf16, UB> to %{{.*}} : !tile.buffer<32x32xf16, L1> {ascend.left_scope, ascend.once}
// CHECK-NEXT: }
// CHECK-NEXT: ascend.scope vector
// CHECK-NEXT: tile.fill
func.func @to_gemm() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f16
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<32x32xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x32xf16, L1>
    ascend.scope vector {
      tile.fill %h : !tile.buffer<32x32xf16, UB> with %one : f16
      tile.for %k = %c0 to %c4 step %c1 {
        tile.fill %h : !tile.buffer<32x32xf16, UB> with %one : f16
        tile.copy %h : !tile.buffer<32x32xf16, UB> to %p : !tile.buffer<32x32xf16, L1>
      }
      tile.fill %h : !tile.buffer<32x32xf16, UB> with %one : f16
    }
  }
  return
}

// -----
// The vector cores have no number of theirs for the cube core's variable, and need their own elsewhere.
func.func @by_variable() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %u = tile.alloc "u" : !tile.buffer<64x32xf32, UB>
    %n = tile.alloc "n" : !tile.buffer<si32, var>
    ascend.scope cube {
      %one = arith.constant 1 : i32
      tile.store %one, %n[] : !tile.buffer<si32, var>
      %held = tile.load %n[] : !tile.buffer<si32, var>
      %at = arith.index_cast %held : i32 to index
      // expected-error@+1 {{unsupported on ascend: 'c' goes from L0C to UB here, which takes both kinds of core, but the vector cores can't come here as the cube core of this T.Scope can: a variable or an element that is read in the scope says whether or where; put this copy outside of T.Scope}}
      tile.copy %c : !tile.buffer<32x32xf32, L0C> to %u[%at, 0] [32, 32] : !tile.buffer<64x32xf32, UB>
    }
    ascend.scope vector {
      %own = tile.load %n[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// Work on a memory of the other cores; of a nest that is told once.
func.func @beyond(%O: !tile.buffer<32xf32, global>) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f16
  tile.launch (%cid) in (%c1) npu {
    // expected-note@+1 {{'u' was allocated here}}
    %u = tile.alloc "u" : !tile.buffer<32xf32, UB>
    // expected-note@+1 {{'p' was allocated here}}
    %p = tile.alloc "p" : !tile.buffer<32x32xf16, L1>
    // expected-note@+1 {{T.Scope is here}}
    ascend.scope cube {
      // expected-error@+1 {{'u' is in UB, which the cube core of this T.Scope cannot reach: put this into T.Scope("V")}}
      tile.fill %u : !tile.buffer<32xf32, UB> with %one : f32
      // expected-error@+1 {{'u' is in UB, which the cube core of this T.Scope cannot reach: put this into T.Scope("V")}}
      tile.atomic_tile add %u : !tile.buffer<32xf32, UB> into %O : !tile.buffer<32xf32, global>
      tile.parallel (%i) in [32] {
        // expected-error@+1 {{'u' is in UB, which the cube core of this T.Scope cannot reach: put this into T.Scope("V")}}
        %v = tile.load %u[%i] : !tile.buffer<32xf32, UB>
        tile.store %v, %u[%i] : !tile.buffer<32xf32, UB>
      }
    }
    // expected-note@+1 {{T.Scope is here}}
    ascend.scope vector {
      // expected-error@+1 {{'p' is in L1, which the vector cores of this T.Scope cannot reach: put this into T.Scope("C")}}
      tile.fill %p : !tile.buffer<32x32xf16, L1> with %half : f16
    }
  }
  return
}
