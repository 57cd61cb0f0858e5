// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-fold-clears --ascend-place-buffers --split-input-file --verify-diagnostics | FileCheck %s

// By use; what is cleared before the loop, the first gemm clears.
// CHECK-LABEL: func.func @gemm
// CHECK: tile.alloc "A_shared" : !tile.buffer<64x64xf16, L1>
// CHECK: tile.alloc "C_local" : !tile.buffer<64x64xf32, L0C>
// CHECK: tile.alloc "bias" : !tile.buffer<64xf32, UB>
// CHECK-NOT: tile.fill
// CHECK: tile.for %[[K:.*]] = %[[C0:.*]] to
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %[[C0]] : index
// CHECK-NEXT: tile.gemm {{.*}} into %{{.*}} : !tile.buffer<64x64xf32, L0C> clear(%[[FIRST]])
func.func @gemm(%A: !tile.buffer<64x256xf16, global>, %B: !tile.buffer<64xf32, global>, %C: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    %bias = tile.alloc "bias" : !tile.buffer<64xf32, shared>
    tile.copy %B : !tile.buffer<64xf32, global> to %bias : !tile.buffer<64xf32, shared>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %c4 step %c1 {
      tile.copy %A[0, %k] [64, 64] : !tile.buffer<64x256xf16, global> to %a : !tile.buffer<64x64xf16, shared>
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.copy %c : !tile.buffer<64x64xf32, fragment> to %C : !tile.buffer<64x64xf32, global>
  }
  return
}

// -----
// A gemm's result that is scaled: a twin on the vector cores.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[C:.*]] = tile.alloc "C_local" : !tile.buffer<64x64xf32, L0C>
// CHECK-NEXT: %[[UB:.*]] = tile.alloc "C_local_ub" : !tile.buffer<64x64xf32, UB>
// CHECK: tile.gemm {{.*}} into %[[C]] : !tile.buffer<64x64xf32, L0C> {clear_accum}
// CHECK-NEXT: tile.copy %[[C]] : !tile.buffer<64x64xf32, L0C> to %[[UB]] : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: tile.load %[[UB]]
// CHECK: tile.copy %[[UB]] : !tile.buffer<64x64xf32, UB> to %
func.func @scaled(%C: !tile.buffer<64x64xf32, global>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    tile.parallel (%i, %j) in [64, 64] {
      %v = tile.load %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
    }
    tile.copy %c : !tile.buffer<64x64xf32, fragment> to %C : !tile.buffer<64x64xf32, global>
  }
  return
}

// -----
// Vector instructions make what a gemm reads.
// CHECK-LABEL: func.func @dequantised
// CHECK: %[[A:.*]] = tile.alloc "A_shared" : !tile.buffer<64x64xf16, L1>
// CHECK-NEXT: %[[UB:.*]] = tile.alloc "A_shared_ub" : !tile.buffer<64x64xf16, UB>
// CHECK: tile.store %{{.*}}, %[[UB]]
// CHECK: tile.copy %[[UB]] : !tile.buffer<64x64xf16, UB> to %[[A]] : !tile.buffer<64x64xf16, L1>
// CHECK-NEXT: tile.gemm %[[A]]
func.func @dequantised(%n: index) {
  %half = arith.constant 0.5 : f16
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.parallel (%i, %j) in [64, 64] {
      tile.store %half, %a[%i, %j] : !tile.buffer<64x64xf16, shared>
    }
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment> {clear_accum}
  }
  return
}

// -----
// What a gemm adds to what vector instructions have written, they add.
// CHECK-LABEL: func.func @adds_to_vectors
// CHECK: %[[C:.*]] = tile.alloc "C_local" : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: %[[UB:.*]] = tile.alloc "C_local_product_ub" : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: %[[PRODUCT:.*]] = tile.alloc "C_local_product" : !tile.buffer<64x64xf32, L0C>
// CHECK: tile.fill %[[C]]
// CHECK: tile.gemm {{.*}} into %[[PRODUCT]] : !tile.buffer<64x64xf32, L0C> {clear_accum}
// CHECK-NEXT: tile.copy %[[PRODUCT]] : {{.*}} to %[[UB]]
// CHECK-NEXT: tile.parallel (%[[I:.*]], %[[J:.*]]) in [64, 64] {
// CHECK-DAG: %[[OLD:.*]] = tile.load %[[C]][%[[I]], %[[J]]]
// CHECK-DAG: %[[MORE:.*]] = tile.load %[[UB]][%[[I]], %[[J]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[MORE]] : f32
// CHECK-NEXT: tile.store %[[SUM]], %[[C]][%[[I]], %[[J]]]
func.func @adds_to_vectors(%n: index) {
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %one : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----
// Steps of k are one product, also of a second gemm; that the first one clears in the first turn of the
// outer loop, the vector unit does.
// CHECK-LABEL: func.func @adds_in_steps
// CHECK: tile.for %[[R:.*]] =
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[R]], %
// CHECK: %[[CLEARS:.*]] = arith.andi %{{.*}}, %[[FIRST]] : i1
// CHECK-NEXT: scf.if %[[CLEARS]] {
// CHECK: tile.fill %[[C:.*]] : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: }
// CHECK: tile.for %[[K:.*]] = %[[C0:.*]] to
// CHECK: arith.andi
// CHECK-NEXT: %[[START:.*]] = arith.cmpi eq, %[[K]], %[[C0]] : index
// CHECK-NEXT: tile.gemm {{.*}} into %[[PRODUCT:.*]] : !tile.buffer<64x64xf32, L0C> clear(%[[START]])
// CHECK-NEXT: }
// CHECK-NEXT: tile.gemm {{.*}} into %[[PRODUCT]] : !tile.buffer<64x64xf32, L0C>{{$}}
// CHECK-NEXT: tile.copy %[[PRODUCT]]
// CHECK-NEXT: tile.parallel
func.func @adds_in_steps() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.for %r = %c0 to %c2 step %c1 {
      tile.for %k = %c0 to %c2 step %c1 {
        %start = arith.cmpi eq, %k, %c0 : index
        %first = arith.cmpi eq, %r, %c0 : index
        %clears = arith.andi %start, %first : i1
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment> clear(%clears)
      }
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
      tile.parallel (%i, %j) in [64, 64] {
        %v = tile.load %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
        %w = arith.addf %v, %v : f32
        tile.store %w, %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----
// A loop that may run no turn, or turns without the gemm, begins with a product of zeros.
// CHECK-LABEL: func.func @adds_maybe
// CHECK: tile.gemm %[[ZEROS:.*]] {{.*}} into %[[PRODUCT:.*]] : !tile.buffer<64x64xf32, L0C> {clear_accum, transpose_b}
// CHECK-NEXT: tile.for
// CHECK: scf.if
// CHECK: tile.gemm {{.*}} into %[[PRODUCT]] : !tile.buffer<64x64xf32, L0C>{{$}}
// CHECK: }
// CHECK: tile.copy %[[PRODUCT]]
// CHECK-NEXT: tile.parallel
func.func @adds_maybe(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %one : f32
    tile.for %k = %c0 to %n step %c1 {
      %some = arith.cmpi ne, %k, %c1 : index
      scf.if %some {
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----
// Of a part that a gemm writes, its copy takes that part only, right behind it.
// CHECK-LABEL: func.func @part_after_vectors
// CHECK: %[[C:.*]] = tile.alloc "C_local" : !tile.buffer<2x64x64xf32, L0C>
// CHECK-NEXT: %[[UB:.*]] = tile.alloc "C_local_ub" : !tile.buffer<2x64x64xf32, UB>
// CHECK: tile.fill %[[UB]]
// CHECK: tile.gemm {{.*}} into %[[C]][%[[PART:.*]], 0, 0] [1, 64, 64]
// CHECK-NEXT: tile.copy %[[C]][%[[PART]], 0, 0] [1, 64, 64] : {{.*}} to %[[UB]][%[[PART]], 0, 0] [1, 64, 64]
// CHECK-NEXT: tile.copy %[[UB]] : {{.*}} to %arg
func.func @part_after_vectors(%n: index, %C: !tile.buffer<2x64x64xf32, global>) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<2x64x64xf32, fragment>
    tile.fill %c : !tile.buffer<2x64x64xf32, fragment> with %one : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c[%zero, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment> {clear_accum}
    tile.copy %c : !tile.buffer<2x64x64xf32, fragment> to %C : !tile.buffer<2x64x64xf32, global>
  }
  return
}

// -----
// Behind the loop that adds to it; what computes the part's number in that loop is there again. The parts
// that a nest has changed are not those that are added to.
// CHECK-LABEL: func.func @parts_in_steps
// CHECK: tile.for %[[P:.*]] = %{{.*}} to
// CHECK: tile.for
// CHECK: tile.gemm {{.*}} into %[[C:.*]][%{{.*}}, 0, 0] [1, 64, 64]
// CHECK-NEXT: }
// CHECK-NEXT: %[[PART:.*]] = arith.subi %{{.*}}, %[[P]] : index
// CHECK-NEXT: tile.copy %[[C]][%[[PART]], 0, 0] [1, 64, 64] {{.*}}[%[[PART]], 0, 0] [1, 64, 64]
// CHECK-NEXT: tile.parallel
func.func @parts_in_steps(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<2x64x64xf32, fragment>
    tile.for %p = %c0 to %c2 step %c1 {
      tile.for %k = %c0 to %c2 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        %part = arith.subi %c1, %p : index
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c[%part, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment> clear(%first)
      }
      tile.parallel (%i, %j) in [64, 64] {
        %other = arith.subi %c1, %p : index
        %v = tile.load %c[%other, %i, %j] : !tile.buffer<2x64x64xf32, fragment>
        %w = arith.addf %v, %v : f32
        tile.store %w, %c[%other, %i, %j] : !tile.buffer<2x64x64xf32, fragment>
      }
    }
  }
  return
}

// -----
// Where the first turn that clears may be left out, a product of zeros clears the tile beside its twin.
// CHECK-LABEL: func.func @cleared_twice
// CHECK: %[[ZEROS:.*]] = tile.alloc "zeros" : !tile.buffer<64x16xf16, L1>
// CHECK: tile.gemm %[[ZEROS]] {{.*}} into %[[C:.*]] : !tile.buffer<64x64xf32, L0C> {clear_accum, transpose_b}
// CHECK-NEXT: tile.fill %[[UB:.*]] : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: tile.for
// CHECK: }
// CHECK-NEXT: tile.copy %[[C]] : {{.*}} to %[[UB]]
// CHECK-NEXT: tile.parallel
func.func @cleared_twice(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %c : !tile.buffer<64x64xf32, fragment> with %zero : f32
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment>
    }
    tile.parallel (%i, %j) in [64, 64] {
      %v = tile.load %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----
// A loop of the gemm that may run no turn leaves what a nest has changed before.
// CHECK-LABEL: func.func @maybe_no_turn
// CHECK: tile.gemm {{.*}} into %[[C:.*]] : !tile.buffer<64x64xf32, L0C> clear(
// CHECK-NEXT: }
// CHECK-NEXT: %[[RUNS:.*]] = arith.cmpi slt, %{{.*}}, %[[N:.*]] : index
// CHECK-NEXT: scf.if %[[RUNS]] {
// CHECK-NEXT: tile.copy %[[C]] : {{.*}} to %[[UB:.*]] : !tile.buffer<64x64xf32, UB>
// CHECK-NEXT: }
// CHECK-NEXT: tile.parallel
func.func @maybe_no_turn(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.for %r = %c0 to %c2 step %c1 {
      tile.for %k = %c0 to %n step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf32, fragment> clear(%first)
      }
      tile.parallel (%i, %j) in [64, 64] {
        %v = tile.load %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
        %w = arith.addf %v, %v : f32
        tile.store %w, %c[%i, %j] : !tile.buffer<64x64xf32, fragment>
      }
    }
  }
  return
}

// -----
// Only the gemm that may add to the part that is newer in UB leaves its product to the vector unit.
// CHECK-LABEL: func.func @adds_to_some_part
// CHECK: tile.gemm {{.*}} into %[[C:.*]][0, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, L0C> {clear_accum}
// CHECK: tile.fill %[[UB:.*]][1, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, UB>
// CHECK-NEXT: tile.gemm {{.*}} into %[[C]][0, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, L0C>{{$}}
// CHECK-NEXT: tile.copy %[[C]][0, 0, 0] [1, 64, 64] : {{.*}} to %[[UB]][0, 0, 0] [1, 64, 64]
// CHECK: tile.gemm {{.*}} into %[[PRODUCT:.*]] : !tile.buffer<64x64xf32, L0C> {clear_accum}
// CHECK-NEXT: tile.copy %[[PRODUCT]]
// CHECK-NEXT: tile.parallel (%[[I:.*]], %[[J:.*]]) in [64, 64] {
// CHECK: tile.load %[[UB]][%arg0, %[[I]], %[[J]]]
func.func @adds_to_some_part(%n: index) {
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    %c = tile.alloc "C_local" : !tile.buffer<2x64x64xf32, fragment>
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c[0, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment> {clear_accum}
    tile.fill %c[1, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment> with %one : f32
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c[0, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment>
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c[%n, 0, 0] [1, 64, 64] : !tile.buffer<2x64x64xf32, fragment>
  }
  return
}

// -----
func.func @both_ends(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
    // expected-error@+1 {{unsupported on ascend: a tile that one gemm reads and another adds to; copy it to a second tile}}
    %c = tile.alloc "C_local" : !tile.buffer<64x64xf16, fragment>
    tile.gemm %a : !tile.buffer<64x64xf16, shared>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf16, fragment> {clear_accum}
    tile.gemm %c : !tile.buffer<64x64xf16, fragment>, %a : !tile.buffer<64x64xf16, shared> into %c : !tile.buffer<64x64xf16, fragment> {clear_accum}
  }
  return
}

// -----
// CHECK-LABEL: func.func @views
func.func @views(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<4x20xf32, UB>
    // CHECK: tile.view {{.*}} to !tile.buffer<4x40xf16, UB>
    %bits = tile.view %x : !tile.buffer<4x20xf32, UB> to !tile.buffer<4x40xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<4x16xf32, shared>
    // CHECK: tile.view {{.*}} to !tile.buffer<64xf32, UB>
    %flat = tile.view %y : !tile.buffer<4x16xf32, shared> to !tile.buffer<64xf32, shared>
    %halves = tile.view %y : !tile.buffer<4x16xf32, shared> to !tile.buffer<4x32xf16, shared>
    // What is only seen as a sequence is one, and no row of it is padded.
    // CHECK: tile.alloc "mask" : !tile.buffer<64xui8, UB>
    // CHECK-NOT: to !tile.buffer<64xui8
    %mask = tile.alloc "mask" : !tile.buffer<8x8xui8, UB>
    %bytes = tile.view %mask : !tile.buffer<8x8xui8, UB> to !tile.buffer<64xui8, UB>
  }
  return
}

// -----
// Such a sequence comes from global memory in rows that begin at blocks of 32 bytes.
// CHECK-LABEL: func.func @loaded_mask
func.func @loaded_mask(%M: !tile.buffer<8x8xui8, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[ROWS:.*]] = tile.alloc "mask_rows" : !tile.buffer<8x8xui8, UB>
    // CHECK: %[[MASK:.*]] = tile.alloc "mask" : !tile.buffer<64xui8, UB>
    // CHECK: tile.copy %{{.*}} to %[[ROWS]]
    // CHECK: tile.view %[[ROWS]] : !tile.buffer<8x8xui8, UB> to !tile.buffer<8x2xsi32, UB>
    // CHECK: tile.view %[[MASK]] : !tile.buffer<64xui8, UB> to !tile.buffer<16xsi32, UB>
    // CHECK: tile.parallel ({{.*}}) in [8, 2]
    %mask = tile.alloc "mask" : !tile.buffer<8x8xui8, UB>
    tile.copy %M : !tile.buffer<8x8xui8, global> to %mask : !tile.buffer<8x8xui8, UB>
    %bytes = tile.view %mask : !tile.buffer<8x8xui8, UB> to !tile.buffer<64xui8, UB>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<4x20xf32, UB>
    %bits = tile.view %x : !tile.buffer<4x20xf32, UB> to !tile.buffer<4x40xf16, UB>
    // expected-error@+1 {{unsupported on ascend: rows of 20 elements are padded to 24 in UB, so a tile of them cannot be seen as rows of 80}}
    %flat = tile.view %x : !tile.buffer<4x20xf32, UB> to !tile.buffer<80xf32, UB>
    %row = tile.alloc "row" : !tile.buffer<1x35xf32, UB>
    // expected-error@+1 {{unsupported on ascend: a tile with rows of 35 elements cannot be seen as rows of 7, which are padded to 8 in UB}}
    %rows = tile.view %row : !tile.buffer<1x35xf32, UB> to !tile.buffer<5x7xf32, UB>
  }
  return
}

// -----
// What lies in fractals has its rows apart: only a view of the same rows sees the tile.
func.func @other_rows_of_fractals() {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<2x32x64xf16, L1>
    %first = tile.view %a : !tile.buffer<2x32x64xf16, L1> to !tile.buffer<1x2x32x64xsi16, L1>
    // expected-error@+1 {{unsupported on ascend: a tile in L1 lies there in fractals, of which a view as other rows or elements would take the wrong ones; copy it to a second tile of that shape in UB or global memory}}
    %rows = tile.view %a : !tile.buffer<2x32x64xf16, L1> to !tile.buffer<64x64xf16, L1>
  }
  return
}

// -----
// What a gemm writes to a view of a tile that vector instructions use comes from a tile of its own. A view
// that nothing uses is none.
// CHECK-LABEL: func.func @a_view_as_result
// CHECK: %[[C:.*]] = tile.alloc "c" : !tile.buffer<1x32x32xf32, UB>
// CHECK: %[[PRODUCT:.*]] = tile.alloc "c_product" : !tile.buffer<32x32xf32, L0C>
// CHECK: %[[FLAT:.*]] = tile.view %[[C]] : {{.*}} to !tile.buffer<32x32xf32, UB>
// CHECK-NOT: tile.view
// CHECK: tile.gemm {{.*}} into %[[PRODUCT]] : !tile.buffer<32x32xf32, L0C> {clear_accum}
// CHECK-NEXT: tile.copy %[[PRODUCT]] : {{.*}} to %[[FLAT]]
// CHECK-NEXT: tile.fill %[[C]]
func.func @a_view_as_result() {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<1x32x32xf32, fragment>
    %flat = tile.view %c : !tile.buffer<1x32x32xf32, fragment> to !tile.buffer<32x32xf32, fragment>
    %none = tile.view %c : !tile.buffer<1x32x32xf32, fragment> to !tile.buffer<1024xf32, fragment>
    tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared> into %flat : !tile.buffer<32x32xf32, fragment> {clear_accum}
    tile.fill %c : !tile.buffer<1x32x32xf32, fragment> with %zero : f32
  }
  return
}

// -----
// CHECK-LABEL: func.func @other_rows_of_a_result
// CHECK: tile.alloc "c" : !tile.buffer<2x16x32xf32, L0C>
// CHECK-NEXT: %[[UB:.*]] = tile.alloc "c_ub" : !tile.buffer<2x16x32xf32, UB>
// CHECK: tile.view %[[UB]]
func.func @other_rows_of_a_result(%C: !tile.buffer<32x32xf32, global>) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x32xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<2x16x32xf32, L0C>
    %rows = tile.view %c : !tile.buffer<2x16x32xf32, L0C> to !tile.buffer<32x32xf32, L0C>
    tile.gemm %a : !tile.buffer<16x32xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c[0, 0, 0] [1, 16, 32] : !tile.buffer<2x16x32xf32, L0C> {clear_accum}
    tile.gemm %a : !tile.buffer<16x32xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c[1, 0, 0] [1, 16, 32] : !tile.buffer<2x16x32xf32, L0C> {clear_accum}
    tile.copy %rows : !tile.buffer<32x32xf32, L0C> to %C : !tile.buffer<32x32xf32, global>
  }
  return
}

// -----

// What one gemm computes and another reads stays with the cube core; what it can't convert goes through UB.
// CHECK-LABEL: func.func @product_as_operand
// CHECK: tile.alloc "h" : !tile.buffer<64x64xf16, L1>
// CHECK: tile.alloc "i" : !tile.buffer<64x64xsi8, L1>
// CHECK: tile.alloc "t" : !tile.buffer<64x64xsi32, L0C>
// CHECK: %[[P:.*]] = tile.alloc "product" : !tile.buffer<64x64xsi32, UB>
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x64xf32, L0C> to %{{.*}} : !tile.buffer<64x64xf16, L1>
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x64xsi32, L0C> to %[[P]]
// CHECK: tile.copy %[[P]] : {{.*}} to %{{.*}} : !tile.buffer<64x64xsi8, L1> {ascend.once}
func.func @product_as_operand() {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %h = tile.alloc "h" : !tile.buffer<64x64xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    %i = tile.alloc "i" : !tile.buffer<64x64xsi8, shared>
    %t = tile.alloc "t" : !tile.buffer<64x64xsi32, fragment>
    tile.gemm %h : !tile.buffer<64x64xf16, shared>, %h : !tile.buffer<64x64xf16, shared> into %s : !tile.buffer<64x64xf32, fragment> {clear_accum}
    tile.copy %s : !tile.buffer<64x64xf32, fragment> to %h : !tile.buffer<64x64xf16, shared>
    tile.gemm %i : !tile.buffer<64x64xsi8, shared>, %i : !tile.buffer<64x64xsi8, shared> into %t : !tile.buffer<64x64xsi32, fragment> {clear_accum}
    tile.copy %t : !tile.buffer<64x64xsi32, fragment> to %i : !tile.buffer<64x64xsi8, shared>
  }
  return
}

// -----
// What two gemms read goes to L1 once, also where the second is in a loop; once more, where something changes it.
// CHECK-LABEL: func.func @shared_operand
func.func @shared_operand(%B: !tile.buffer<32x32xf16, global>, %C: !tile.buffer<32x32xf32, global>, %v: f16, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[P:.*]] = tile.alloc "p" : !tile.buffer<32x32xf16, L1>
    // CHECK: %[[UB:.*]] = tile.alloc "p_ub" : !tile.buffer<32x32xf16, UB>
    %p = tile.alloc "p" : !tile.buffer<32x32xf16, shared>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, shared>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, fragment>
    tile.copy %B : !tile.buffer<32x32xf16, global> to %b : !tile.buffer<32x32xf16, shared>
    tile.parallel (%i, %j) in [32, 32] {
      tile.store %v, %p[%i, %j] : !tile.buffer<32x32xf16, shared>
    }
    // CHECK: tile.copy %[[UB]] {{.*}} to %[[P]]
    // CHECK-NEXT: tile.gemm %[[P]]
    // CHECK-NOT: tile.copy
    // CHECK: tile.gemm %[[P]]
    tile.gemm %p : !tile.buffer<32x32xf16, shared>, %b : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment> {clear_accum}
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %p : !tile.buffer<32x32xf16, shared>, %b : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment>
    }
    tile.parallel (%i, %j) in [32, 32] {
      tile.store %v, %p[%i, %j] : !tile.buffer<32x32xf16, shared>
    }
    // CHECK: tile.copy %[[UB]] {{.*}} to %[[P]]
    // CHECK-NEXT: tile.gemm %[[P]]
    tile.gemm %p : !tile.buffer<32x32xf16, shared>, %b : !tile.buffer<32x32xf16, shared> into %c : !tile.buffer<32x32xf32, fragment>
    tile.copy %c : !tile.buffer<32x32xf32, fragment> to %C : !tile.buffer<32x32xf32, global>
  }
  return
}

// -----
// Masks that go together are sequences in the nest, too; what a nest brings along becomes one.
// CHECK-LABEL: func.func @masks_together
func.func @masks_together(%n: index) {
  %c0 = arith.constant 0 : index
  %c0_i8 = arith.constant 0 : i8
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[MASK:.*]] = tile.alloc "mask" : !tile.buffer<64xui8, UB>
    // CHECK: %[[OTHER:.*]] = tile.alloc "other" : !tile.buffer<64xui8, UB>
    %mask = tile.alloc "mask" : !tile.buffer<8x8xui8, UB>
    %other = tile.alloc "other" : !tile.buffer<8x8xui8, shared>
    %bytes = tile.view %mask : !tile.buffer<8x8xui8, UB> to !tile.buffer<64xui8, UB>
    // CHECK: tile.fill %[[OTHER]]
    tile.fill %other : !tile.buffer<8x8xui8, shared> with %c0_i8 : i8
    // CHECK: tile.parallel (%[[I:.*]]) in [64] attributes {function = "bitwise_and"}
    // CHECK: tile.load %[[MASK]][%[[I]]] in_bounds
    // CHECK: tile.load %[[OTHER]][%[[I]]] in_bounds
    // CHECK: tile.store {{.*}}, %[[MASK]][%[[I]]] in_bounds
    tile.parallel (%i, %j) in [8, 8] attributes {function = "bitwise_and"} {
      %a = tile.load %mask[%i, %j] in_bounds : !tile.buffer<8x8xui8, UB>
      %b = tile.load %other[%i, %j] in_bounds : !tile.buffer<8x8xui8, shared>
      %c = arith.andi %a, %b : i8
      tile.store %c, %mask[%i, %j] in_bounds : !tile.buffer<8x8xui8, UB>
    }
  }
  return
}
