// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-store-results --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-store-results --cpu-lower-gemm --split-input-file | FileCheck %s --check-prefix=LOWERED

// The last turn stores where the copy would; the copy is gone.
// CHECK-LABEL: func.func @last_turn
// CHECK: %[[PLACE:.*]] = llvm.getelementptr
// CHECK: tile.for %[[K:.*]] = %{{.*}} to %[[UPPER:.*]] step %[[STEP:.*]] {
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %[[STEP]]
// CHECK: %[[LAST:.*]] = arith.cmpi sge, %[[NEXT]], %[[UPPER]]
// CHECK: unrealized_conversion_cast %[[PLACE]], %{{.*}}, %[[LAST]] {{.*}} {cpu.result = bf16}
// CHECK-NEXT: tile.gemm
// CHECK-NOT: tile.copy
// LOWERED-LABEL: func.func @last_turn
// LOWERED: %[[LAST:.*]] = arith.cmpi sge
// LOWERED: scf.if %[[LAST]] {
// LOWERED: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// LOWERED: llvm.store {{.*}} : vector<16xi16>
// LOWERED: } else {
// LOWERED: llvm.store {{.*}} : vector<16xf32>
func.func @last_turn(%out : !tile.buffer<64x64xbf16, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<24x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<24x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.gemm %A : !tile.buffer<24x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %C : !tile.buffer<24x32xf32, fragment>
    }
    %n = arith.muli %b, %c32 : index
    tile.copy %C : !tile.buffer<24x32xf32, fragment> to %out[%c0, %n] [24, 32] : !tile.buffer<64x64xbf16, global>
      {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// One turn: nothing is stored to the accumulators. A loop that may have no turn keeps the copy for that.
// CHECK-LABEL: func.func @one_turn
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: unrealized_conversion_cast {{.*}}, %[[TRUE]] {{.*}} {cpu.result = f32}
// CHECK-NOT: tile.copy
// CHECK: tile.for
// CHECK: unrealized_conversion_cast {{.*}} {cpu.result = f32}
// CHECK: scf.if
// CHECK: tile.copy
// LOWERED-LABEL: func.func @one_turn
// LOWERED-NOT: scf.if
// LOWERED: llvm.store {{.*}} : vector<16xf32>
func.func @one_turn(%out : !tile.buffer<64x64xf32, global> {tile.name = "out"}, %turns : index {tile.symbol = "turns"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<8x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<8x32xf32, fragment> {clear_accum}
    tile.copy %C : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
    %D = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %k = %c0 to %turns step %c1 {
      tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %D : !tile.buffer<8x32xf32, fragment>
    }
    tile.copy %D : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// The copy stays where something else reads the accumulators, where rows may lie outside, where something behind
// the gemm or between loop and copy touches memory, where the loop may be left, where elements are converted
// otherwise, and where an operand is read in its tensor, which may be the result's.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: cpu.result
// CHECK-COUNT-7: tile.copy
// CHECK-NOT: tile.copy
func.func @left_alone(%out : !tile.buffer<64x64xf32, global> {tile.name = "out"}, %ints : !tile.buffer<64x64xsi32, global> {tile.name = "ints"},
                      %in : !tile.buffer<8x16xf32, global> {tile.name = "in"}, %stop : i1 {tile.name = "stop"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<8x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %read = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %read : !tile.buffer<8x32xf32, fragment>
    tile.copy %read : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
    %x = tile.load %read[%c0, %c0] : !tile.buffer<8x32xf32, fragment>
    tile.store %x, %out[%c0, %c1] : !tile.buffer<64x64xf32, global>
    %outside = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %outside : !tile.buffer<8x32xf32, fragment>
    tile.copy %outside : !tile.buffer<8x32xf32, fragment> to %out[%c0, %b] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, false>}
    %behind = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %behind : !tile.buffer<8x32xf32, fragment>
      tile.store %zero, %out[%c0, %c0] : !tile.buffer<64x64xf32, global>
    }
    tile.copy %behind : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
    %between = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %between : !tile.buffer<8x32xf32, fragment>
    tile.store %zero, %out[%c0, %c0] : !tile.buffer<64x64xf32, global>
    tile.copy %between : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
    %stopped = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      scf.if %stop {
        tile.break
      }
      tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %stopped : !tile.buffer<8x32xf32, fragment>
    }
    tile.copy %stopped : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
    %converted = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %converted : !tile.buffer<8x32xf32, fragment>
    tile.copy %converted : !tile.buffer<8x32xf32, fragment> to %ints[%c0, %c0] [8, 32] : !tile.buffer<64x64xsi32, global>
      {target_in_bounds = array<i1: true, true>}
    %in_place = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %in : !tile.buffer<8x16xf32, global>, %B : !tile.buffer<16x32xf32, shared>
      into %in_place : !tile.buffer<8x32xf32, fragment>
    tile.copy %in_place : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// A loop around may go on with the sums, which then are needed. It doesn't where they are filled or cleared in each turn.
// CHECK-LABEL: func.func @running_sums
// CHECK-COUNT-2: tile.copy
// CHECK-NOT: tile.copy
// CHECK: cpu.result
// CHECK-NOT: tile.copy
// CHECK: cpu.result
// CHECK-NOT: tile.copy
// LOWERED-LABEL: func.func @running_sums
func.func @running_sums(%out : !tile.buffer<64x64xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<8x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.fill %C : !tile.buffer<8x32xf32, fragment> with %zero : f32
    tile.for %o = %c0 to %c4 step %c1 {
      tile.for %k = %c0 to %c4 step %c1 {
        tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %C : !tile.buffer<8x32xf32, fragment>
      }
      tile.copy %C : !tile.buffer<8x32xf32, fragment> to %out[%o, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
        {target_in_bounds = array<i1: true, true>}
    }
    %D = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %o = %c0 to %c4 step %c1 {
      %clear = arith.cmpi eq, %o, %c0 : index
      tile.for %k = %c0 to %c4 step %c1 {
        tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %D : !tile.buffer<8x32xf32, fragment> clear(%clear)
      }
      tile.copy %D : !tile.buffer<8x32xf32, fragment> to %out[%o, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
        {target_in_bounds = array<i1: true, true>}
    }
    %E = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %o = %c0 to %c4 step %c1 {
      tile.fill %E : !tile.buffer<8x32xf32, fragment> with %zero : f32
      tile.for %k = %c0 to %c4 step %c1 {
        tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %E : !tile.buffer<8x32xf32, fragment>
      }
      tile.copy %E : !tile.buffer<8x32xf32, fragment> to %out[%o, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
        {target_in_bounds = array<i1: true, true>}
    }
    %F = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.for %o = %c0 to %c4 step %c1 {
      tile.for %k = %c0 to %c4 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        tile.gemm %A : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %F : !tile.buffer<8x32xf32, fragment> clear(%first)
      }
      tile.copy %F : !tile.buffer<8x32xf32, fragment> to %out[%o, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
        {target_in_bounds = array<i1: true, true>}
    }
  }
  return
}

// -----

// a is read where it lies, and may be the result's tensor: then the copy does it, after all products.
// CHECK-LABEL: func.func @perhaps_one_tensor
// CHECK-COUNT-2: llvm.ptrtoint
// CHECK: %[[APART:.*]] = arith.ori
// CHECK: unrealized_conversion_cast {{.*}}, %[[APART]] {{.*}} {cpu.result = f32}
// CHECK-NEXT: tile.gemm
// CHECK: %[[NEEDED:.*]] = arith.xori %[[APART]]
// CHECK: scf.if %[[NEEDED]] {
// CHECK-NEXT: tile.copy
// LOWERED-LABEL: func.func @perhaps_one_tensor
func.func @perhaps_one_tensor(%A : !tile.buffer<8x16xf32, global> {tile.name = "A"}, %out : !tile.buffer<64x64xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<8x32xf32, fragment>
    tile.gemm %A : !tile.buffer<8x16xf32, global>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<8x32xf32, fragment> {clear_accum}
    tile.copy %C : !tile.buffer<8x32xf32, fragment> to %out[%c0, %c0] [8, 32] : !tile.buffer<64x64xf32, global>
      {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// A branch of the last turn of a loop around: what it computes of the place is computed before.
// CHECK-LABEL: func.func @branch
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %arg{{.*}}, %c3
// CHECK: arith.muli %arg{{.*}}, %c16
// CHECK: unrealized_conversion_cast %{{.*}}, %{{.*}}, %[[LAST]] {{.*}} {cpu.result = f32}
// CHECK-NEXT: tile.gemm
// CHECK-NOT: tile.copy
// LOWERED-LABEL: func.func @branch
func.func @branch(%out : !tile.buffer<64x32xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<4x16x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.for %p = %c0 to %c4 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        %last = arith.cmpi eq, %k, %c3 : index
        tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> clear(%first)
        scf.if %last {
          %m = arith.muli %p, %c16 : index
          tile.copy %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> to %out[%m, %c0] [16, 32] : !tile.buffer<64x32xf32, global>
            {target_in_bounds = array<i1: true, true>}
        }
      }
    }
  }
  return
}

// -----

// Another turn than the last: the sums are still needed.
// CHECK-LABEL: func.func @branch_before
// CHECK-NOT: cpu.result
// CHECK: tile.copy
// LOWERED-LABEL: func.func @branch_before
func.func @branch_before(%out : !tile.buffer<64x32xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<4x16x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.for %p = %c0 to %c4 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        %last = arith.cmpi eq, %k, %c2 : index
        tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> clear(%first)
        scf.if %last {
          %m = arith.muli %p, %c16 : index
          tile.copy %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> to %out[%m, %c0] [16, 32] : !tile.buffer<64x32xf32, global>
            {target_in_bounds = array<i1: true, true>}
        }
      }
    }
  }
  return
}

// -----

// The next turn of the inner loop goes on with the same sums.
// CHECK-LABEL: func.func @branch_of_one
// CHECK-NOT: cpu.result
// CHECK: tile.copy
// LOWERED-LABEL: func.func @branch_of_one
func.func @branch_of_one(%out : !tile.buffer<64x32xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<4x16x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.for %p = %c0 to %c4 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        %last = arith.cmpi eq, %k, %c3 : index
        tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %C[%c2, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> clear(%first)
        scf.if %last {
          %m = arith.muli %p, %c16 : index
          tile.copy %C[%c2, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> to %out[%m, %c0] [16, 32] : !tile.buffer<64x32xf32, global>
            {target_in_bounds = array<i1: true, true>}
        }
      }
    }
  }
  return
}

// -----

// Nothing clears the sums when the loops begin anew.
// CHECK-LABEL: func.func @branch_without_clear
// CHECK-NOT: cpu.result
// CHECK: tile.copy
// LOWERED-LABEL: func.func @branch_without_clear
func.func @branch_without_clear(%out : !tile.buffer<64x32xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<4x16x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.for %p = %c0 to %c4 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        %last = arith.cmpi eq, %k, %c3 : index
        tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
          into %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> 
        scf.if %last {
          %m = arith.muli %p, %c16 : index
          tile.copy %C[%p, %c0, %c0] [1, 16, 32] : !tile.buffer<4x16x32xf32, fragment> to %out[%m, %c0] [16, 32] : !tile.buffer<64x32xf32, global>
            {target_in_bounds = array<i1: true, true>}
        }
      }
    }
  }
  return
}

// -----

// Both in one branch: the sums are those of a block without one.
// CHECK-LABEL: func.func @both_in_a_branch
// CHECK: scf.if
// CHECK: %[[ALWAYS:.*]] = arith.constant true
// CHECK: unrealized_conversion_cast %{{.*}}, %{{.*}}, %[[ALWAYS]] {{.*}} {cpu.result = f32}
// CHECK-NEXT: tile.gemm
// CHECK-NOT: tile.copy
// LOWERED-LABEL: func.func @both_in_a_branch
func.func @both_in_a_branch(%out : !tile.buffer<64x64xf32, global> {tile.name = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<24x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<24x32xf32, fragment>
    %first = arith.cmpi eq, %b, %c0 : index
    scf.if %first {
      tile.gemm %A : !tile.buffer<24x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %C : !tile.buffer<24x32xf32, fragment> {clear_accum}
      tile.copy %C : !tile.buffer<24x32xf32, fragment> to %out[%c0, %c0] [24, 32] : !tile.buffer<64x64xf32, global>
        {target_in_bounds = array<i1: true, true>}
    }
  }
  return
}
