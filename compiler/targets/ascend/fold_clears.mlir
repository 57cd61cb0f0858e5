// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-fold-clears --split-input-file | FileCheck %s

// Two loops between: the first step of both. A gemm that already clears stays as it is.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: tile.fill
// CHECK: tile.for %[[I:.*]] =
// CHECK: tile.for %[[K:.*]] =
// CHECK-DAG: arith.cmpi eq, %[[K]], %{{.*}} : index
// CHECK-DAG: arith.cmpi eq, %[[I]], %{{.*}} : index
// CHECK: %[[FIRST:.*]] = arith.andi
// CHECK: tile.gemm {{.*}} clear(%[[FIRST]])
// CHECK: tile.gemm {{.*}} {clear_accum}
func.func @nested(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %i = %c0 to %n step %c1 {
      tile.for %k = %c0 to %n step %c1 {
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
      }
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment> {clear_accum}
  }
  return
}

// -----
// A gemm that may be skipped: a product of zeros clears.
// CHECK-LABEL: func.func @skipped
// CHECK: %[[ZEROS:.*]] = tile.alloc "zeros" : !tile.buffer<64x16xf16, L1>
// CHECK: tile.fill %[[ZEROS]] : !tile.buffer<64x16xf16, L1> with
// CHECK-NOT: tile.fill
// CHECK: tile.gemm %[[ZEROS]]{{.*}}, %[[ZEROS]]{{.*}} into %{{.*}} {clear_accum, transpose_b}
// CHECK-NEXT: tile.for
// CHECK: tile.continue
// CHECK: tile.gemm
// CHECK-NOT: clear
func.func @skipped(%n: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %n step %c1 {
      scf.if %yes {
        tile.continue
      }
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----
// A loop whose count memory holds may run no iteration; one whose count is an argument is taken to.
// CHECK-LABEL: func.func @counted
// CHECK: tile.gemm {{.*}} {clear_accum, transpose_b}
// CHECK: tile.gemm
// CHECK-NOT: clear_accum
// CHECK: tile.gemm {{.*}} clear(%{{.*}})
func.func @counted(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %v = tile.alloc "count" : !tile.buffer<si32, var>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %i = tile.load %v[] : !tile.buffer<si32, var>
    %m = arith.index_cast %i : i32 to index
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %m step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----
// Other numbers, and tiles that copies write: the fill stays.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: tile.fill
func.func @stays(%n: index, %yes: i1) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    %d = tile.alloc "d" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %one : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.copy %d : !tile.buffer<64x64xf32, fragment> to %c : !tile.buffer<64x64xf32, fragment>
    tile.fill %d : !tile.buffer<64x64xf32, fragment> with %zero : f32
    scf.if %yes {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %d : !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}
