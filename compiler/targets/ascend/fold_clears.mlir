// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-fold-clears --split-input-file | FileCheck %s

// Two loops between: the first step of both. A gemm that already clears stays as it is.
// The inner one begins behind a block's number, of which nothing must be known.
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
    %c4 = arith.constant 4 : index
    %end = arith.addi %cid, %c4 : index
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %i = %c0 to %c4 step %c1 {
      tile.for %k = %cid to %end step %c1 {
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
// Loops whose counts come from memory, an argument, a block's number, the loop around or a dynamic dim
// may run no turn. Those that are proven to run one clear by themselves: one more than a block's
// number, a bound that a branch is taken for.
// CHECK-LABEL: func.func @counted
// One tile of zeros for all of them.
// CHECK: %[[ZEROS:.*]] = tile.alloc "zeros"
// CHECK-NOT: tile.alloc "zeros"
// CHECK: tile.gemm %[[ZEROS]]{{.*}} {clear_accum, transpose_b}
// CHECK: tile.load
// CHECK-COUNT-3: tile.gemm %[[ZEROS]]{{.*}} {clear_accum, transpose_b}
// CHECK: tile.for
// CHECK: tile.gemm {{.*}} {clear_accum, transpose_b}
// CHECK-NOT: clear_accum
// CHECK-COUNT-2: tile.gemm {{.*}} clear(%{{.*}})
func.func @counted(%n: index, %A: !tile.buffer<?x64xf16, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c8) npu {
    %v = tile.alloc "count" : !tile.buffer<si32, var>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    %i = tile.load %v[] : !tile.buffer<si32, var>
    %m = arith.index_cast %i : i32 to index
    tile.for %k = %c0 to %m step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %cid step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    %d = tile.dim %A, 0 : !tile.buffer<?x64xf16, global>
    %blocks = arith.ceildivsi %d, %c64 : index
    tile.for %k = %c0 to %blocks step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.for %j = %c0 to %c8 step %c1 {
      tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
      tile.for %k = %j to %c1 step %c1 {
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
      }
    }
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    %next = arith.addi %cid, %c1 : index
    tile.for %k = %c0 to %next step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    %some = arith.cmpi slt, %c0, %n : index
    scf.if %some {
      tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
      tile.for %k = %c0 to %n step %c1 {
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----
// Tiles with a dim before their two.
// CHECK-LABEL: func.func @leading
// CHECK: %[[ZEROS:.*]] = tile.alloc "zeros" : !tile.buffer<1x64x16xf16, L1>
// CHECK: tile.gemm %[[ZEROS]][0, 0, 0] [1, 32, 16] : {{.*}}, %[[ZEROS]] : {{.*}} {clear_accum, transpose_b}
func.func @leading(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<1x32x64xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<1x64x64xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<1x32x64xf32, fragment>
    tile.fill %c : !tile.buffer<1x32x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %a : !tile.buffer<1x32x64xf16, shared>, %b : !tile.buffer<1x64x64xf16, shared> into %c : !tile.buffer<1x32x64xf32, fragment>
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

// -----
// A condition of the gemm's own counts no more where it clears always.
// CHECK-LABEL: func.func @own_condition
// CHECK-NOT: tile.fill
// CHECK: tile.gemm {{.*}} into %{{.*}} : !tile.buffer<64x64xf32, fragment> {clear_accum}
func.func @own_condition(%n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    %first = arith.cmpi eq, %n, %c0 : index
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment> clear(%first)
  }
  return
}
