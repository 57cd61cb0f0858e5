// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-gemm --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-lower-gemm=cpu=znver5 --split-input-file | FileCheck %s --check-prefix=ZEN
// RUN: tilewright-opt %s --cpu-lower-gemm=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --cpu-lower-gemm=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=INTEL

// 12 rows of 2 vectors stay in registers; of 20 rows and 40 columns, 8 rows and 8 columns are left.
// CHECK-LABEL: func.func @edges
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> f32
// CHECK: vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: tile.gemm
func.func @edges() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<20x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x40xf32, shared>
    %C = tile.alloc : !tile.buffer<20x40xf32, fragment>
    tile.gemm %A : !tile.buffer<20x16xf32, shared>, %B : !tile.buffer<16x40xf32, shared>
      into %C : !tile.buffer<20x40xf32, fragment>
  }
  return
}

// -----

// Integers multiply and add; a cleared accumulator is not loaded.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: llvm.load {{.*}} -> vector
// CHECK: arith.constant dense<0> : vector<16xi32>
// CHECK: scf.for
// CHECK: arith.muli {{.*}} : vector<16xi32>
// CHECK: arith.addi {{.*}} : vector<16xi32>
func.func @integers() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<4x16xsi32, shared>
    %B = tile.alloc : !tile.buffer<16x16xsi32, shared>
    %C = tile.alloc : !tile.buffer<4x16xsi32, fragment>
    tile.gemm %A : !tile.buffer<4x16xsi32, shared>, %B : !tile.buffer<16x16xsi32, shared>
      into %C : !tile.buffer<4x16xsi32, fragment> {clear_accum}
  }
  return
}

// -----

// Panels are read straight on: vector n of row k is at n * 32 * 16 + 16 k.
// CHECK-LABEL: func.func @panels
// CHECK: scf.for
// CHECK: llvm.getelementptr inbounds %{{.*}}[512] : {{.*}} f32
// CHECK: math.fma
// ZEN-LABEL: func.func @panels
func.func @panels() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 1 : i64}
  }
  return
}

// -----

// ZEN-LABEL: func.func @pairs
// ZEN: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step
// ZEN: vector.bitcast {{.*}} : vector<16xf32> to vector<32xbf16>
// ZEN: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @pairs() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xbf16, shared>
    %B = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    tile.gemm %A : !tile.buffer<12x32xbf16, shared>, %B : !tile.buffer<32x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64}
  }
  return
}

// -----

// What the shift of b by 128 adds is summed up first, 16, 4 and 1 of a row's 21 groups at a time, and taken off the
// accumulators.
// ZEN-LABEL: func.func @bytes
// ZEN: scf.for %[[ROW:.*]] = %c0{{.*}} to %c12
// ZEN: arith.constant dense<-2139062144> : vector<16xi32>
// ZEN: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// ZEN: vector.reduction <add>
// ZEN: arith.constant dense<-2139062144> : vector<4xi32>
// ZEN: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"
// ZEN: arith.constant dense<[-2139062144, 0, 0, 0]> : vector<4xi32>
// ZEN: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"
// ZEN: llvm.store
// ZEN-COUNT-12: vector.broadcast {{.*}} : i32 to vector<16xi32>
// ZEN: scf.for %{{.*}} = %c0{{.*}} to %c21
func.func @bytes() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x84xsi8, shared>
    %B = tile.alloc : !tile.buffer<84x32xsi8, shared>
    %C = tile.alloc : !tile.buffer<12x32xsi32, fragment>
    %S = tile.alloc : !tile.buffer<12xsi32, shared>
    %0 = builtin.unrealized_conversion_cast %S : !tile.buffer<12xsi32, shared> to !llvm.ptr {cpu.row_sums}
    tile.gemm %A : !tile.buffer<12x84xsi8, shared>, %B : !tile.buffer<84x32xsi8, shared>
      into %C : !tile.buffer<12x32xsi32, fragment> {cpu.packed = 4 : i64}
  }
  return
}

// -----

// Each micro-kernel of 12 rows asks for its part of 12 rows of the next a, 96 bytes each, and of 12 of the 24 rows of
// the next b, whose 32 columns are two lines.
// CHECK-LABEL: func.func @ahead
// CHECK-COUNT-48: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-NOT: cpu.ahead
// ZEN-LABEL: func.func @ahead
func.func @ahead(%G: !tile.buffer<24x32xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<24x24xf32, shared>
    %B = tile.alloc : !tile.buffer<24x32xf32, shared>
    %C = tile.alloc : !tile.buffer<24x32xf32, fragment>
    %next = builtin.unrealized_conversion_cast %G : !tile.buffer<24x32xf32, global> to !llvm.ptr
    %0:2 = builtin.unrealized_conversion_cast %next, %c128 : !llvm.ptr, index to !llvm.ptr, index {cpu.ahead = "a", cpu.element_bytes = 4 : i64}
    %1:2 = builtin.unrealized_conversion_cast %next, %c128 : !llvm.ptr, index to !llvm.ptr, index {cpu.ahead = "b", cpu.element_bytes = 4 : i64}
    tile.gemm %A : !tile.buffer<24x24xf32, shared>, %B : !tile.buffer<24x32xf32, shared>
      into %C : !tile.buffer<24x32xf32, fragment> {clear_accum, cpu.packed = 1 : i64}
  }
  return
}

// -----

// Of a read in place 4 turns share the next one: each asks for a quarter of its 48 lines, from 12 lines times the turn
// on, for the first-level cache. Of a whose columns are the rows, too.
// CHECK-LABEL: func.func @ahead_by_turns
// CHECK: tile.for %[[TURN:.*]] = %
// CHECK: arith.muli %[[TURN]], %c768{{.*}} : index
// CHECK-COUNT-12: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.fma
// CHECK: arith.muli %[[TURN]], %c768{{.*}} : index
// CHECK-COUNT-12: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-NOT: cpu.ahead
func.func @ahead_by_turns(%A: !tile.buffer<12x64xf32, global> {tile.name = "A"},
    %At: !tile.buffer<64x12xf32, global> {tile.name = "At"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  tile.launch (%b) in (%c1) threads(128) {
    %B = tile.alloc : !tile.buffer<64x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    %next = builtin.unrealized_conversion_cast %A : !tile.buffer<12x64xf32, global> to !llvm.ptr
    tile.for %i = %c0 to %c4 step %c1 {
      %0:3 = builtin.unrealized_conversion_cast %next, %c256, %i : !llvm.ptr, index, index to !llvm.ptr, index, index {cpu.ahead = "a", cpu.element_bytes = 4 : i64, cpu.turns = 4 : i64}
      tile.gemm %A : !tile.buffer<12x64xf32, global>, %B : !tile.buffer<64x32xf32, shared>
        into %C : !tile.buffer<12x32xf32, fragment> {clear_accum}
      %1:3 = builtin.unrealized_conversion_cast %next, %c256, %i : !llvm.ptr, index, index to !llvm.ptr, index, index {cpu.ahead = "a", cpu.element_bytes = 4 : i64, cpu.turns = 4 : i64}
      tile.gemm %At : !tile.buffer<64x12xf32, global>, %B : !tile.buffer<64x32xf32, shared>
        into %C : !tile.buffer<12x32xf32, fragment> {clear_accum, transpose_a}
    }
  }
  return
}

// -----

// Each asks for c of the rows after its own. Where c counts as 0 it isn't loaded, and nothing is asked for.
// CHECK-LABEL: func.func @clear
// CHECK: %[[STARTS:.*]]:24 = scf.if %arg0
// CHECK-NOT: prefetch
// CHECK: } else {
// CHECK-COUNT-24: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// CHECK-NOT: prefetch
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[STARTS]]#0
// AVX2-LABEL: func.func @clear
// AVX2: %[[SUMS:.*]]:12 = scf.for
// AVX2: scf.if %arg0 {
// AVX2-NOT: arith.addf
// AVX2: } else {
// AVX2: arith.addf
func.func @clear(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    tile.gemm %A : !tile.buffer<12x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> clear(%flag) {cpu.packed = 1 : i64}
  }
  return
}

// -----

// On AVX2 the sums begin at 0 while c comes nearer, and c is added in the end. 16 columns are one panel.
// AVX2-LABEL: func.func @late
// AVX2-COUNT-6: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
// AVX2-NOT: llvm.intr.prefetch
// AVX2: %[[SUMS:.*]]:12 = scf.for
// AVX2: %[[K:.*]] = arith.muli %{{.*}}, %c16{{.*}} : index
// AVX2: llvm.getelementptr inbounds %{{.*}}[8] : {{.*}} f32
// AVX2: math.fma
// AVX2: %[[C:.*]] = llvm.load {{.*}} -> vector<8xf32>
// AVX2-NEXT: %[[SUM:.*]] = arith.addf %[[C]], %[[SUMS]]#0
// AVX2-NEXT: llvm.store %[[SUM]]
// CHECK-LABEL: func.func @late
// CHECK-NOT: arith.addf
// ZEN-LABEL: func.func @late
func.func @late() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<6x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x16xf32, shared>
    %C = tile.alloc : !tile.buffer<6x16xf32, fragment>
    tile.gemm %A : !tile.buffer<6x32xf32, shared>, %B : !tile.buffer<32x16xf32, shared>
      into %C : !tile.buffer<6x16xf32, fragment> {cpu.packed = 1 : i64}
  }
  return
}

// -----

// Where c may be cleared it is added to only if it isn't. 384 rows of a are 384 KB: three times 132, 132 and 120 of them
// meet all columns, from the second-level cache.
// AVX2-LABEL: func.func @parts
// AVX2: scf.for %[[PART:.*]] = %c0{{.*}} to %c264{{.*}} step %c132
// AVX2: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c16
// AVX2: scf.for %[[ROW:.*]] = %c0{{.*}} to %c132{{.*}} step %c6
// AVX2: arith.addi %[[PART]], %[[ROW]]
// AVX2: scf.if %arg0 {
// AVX2-NOT: arith.addf
// AVX2: } else {
// AVX2: arith.addf
// AVX2: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c16
// AVX2: scf.for %{{.*}} = %c0{{.*}} to %c120{{.*}} step %c6
// CHECK-LABEL: func.func @parts
// ZEN-LABEL: func.func @parts
func.func @parts(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<384x256xf32, shared>
    %B = tile.alloc : !tile.buffer<256x64xf32, shared>
    %C = tile.alloc : !tile.buffer<384x64xf32, fragment>
    tile.gemm %A : !tile.buffer<384x256xf32, shared>, %B : !tile.buffer<256x64xf32, shared>
      into %C : !tile.buffer<384x64xf32, fragment> clear(%flag) {cpu.packed = 1 : i64}
  }
  return
}

// -----

// With two multiplications of 512 bits a cycle, 8 rows of 3 vectors stay in registers where there are many columns, and
// four steps of k go at once. A b that does not stay in the second-level cache is asked for panel by panel: 8 rows of 768
// for a 96th of 96 KB.
// CHECK-LABEL: func.func @streamed
// INTEL-LABEL: func.func @streamed
// INTEL-COUNT-16: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// INTEL-NOT: llvm.intr.prefetch
// INTEL: scf.for %{{.*}} = %{{.*}} to %c512{{.*}} step %c4
// INTEL-COUNT-96: math.fma
// INTEL-NOT: math.fma
// INTEL: scf.yield
// The last panel holds one vector; its rows lie as far apart.
// INTEL: scf.for %[[K:.*]] = %{{.*}} to %c512{{.*}} step %c4
// INTEL: %[[ROW:.*]] = arith.muli %[[K]], %c48
// INTEL: vector<16xf32>
// INTEL: scf.yield
func.func @streamed() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<768x512xf32, shared>
    %B = tile.alloc : !tile.buffer<512x1024xf32, shared>
    %C = tile.alloc : !tile.buffer<768x1024xf32, fragment>
    tile.gemm %A : !tile.buffer<768x512xf32, shared>, %B : !tile.buffer<512x1024xf32, shared>
      into %C : !tile.buffer<768x1024xf32, fragment> {clear_accum, cpu.packed = 1 : i64}
  }
  return
}

// -----

// Of b as it lies, 6 rows of 4 vectors.
// CHECK-LABEL: func.func @four_vectors
// INTEL-LABEL: func.func @four_vectors
// INTEL: scf.for
// INTEL: scf.for %{{.*}} = %{{.*}} to %c16{{.*}} step %c4
// INTEL-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// INTEL-COUNT-24: math.fma
// INTEL: llvm.load {{.*}} -> vector<16xf32>
func.func @four_vectors() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<24x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x64xf32, shared>
    %C = tile.alloc : !tile.buffer<24x64xf32, fragment>
    tile.gemm %A : !tile.buffer<24x16xf32, shared>, %B : !tile.buffer<16x64xf32, shared>
      into %C : !tile.buffer<24x64xf32, fragment> {clear_accum}
  }
  return
}

// -----

// On AVX2 64 rows are 54 by 6 and 10 by 5: 4 rows alone would leave the multipliers waiting. 8 rows are no such sum.
// AVX2-LABEL: func.func @mixed
// AVX2: scf.for %{{.*}} = %c0{{.*}} to %c54{{.*}} step %c6
// AVX2: %{{.*}}:12 = scf.for
// AVX2: scf.for %[[ROW:.*]] = %c0{{.*}} to %c10{{.*}} step %c5
// AVX2: arith.addi %[[ROW]], %c54
// AVX2: %{{.*}}:10 = scf.for
// AVX2-NOT: :8 = scf.for
// AVX2: tile.alloc : !tile.buffer<8x16xf32, shared>
// AVX2: %{{.*}}:8 = scf.for
// AVX2: %{{.*}}:8 = scf.for
// CHECK-LABEL: func.func @mixed
// CHECK: %{{.*}}:12 = scf.for
// CHECK: %{{.*}}:8 = scf.for
// ZEN-LABEL: func.func @mixed
// ZEN: %{{.*}}:12 = scf.for
// ZEN: %{{.*}}:8 = scf.for
func.func @mixed() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x16xf32, shared>
    %C = tile.alloc : !tile.buffer<64x16xf32, fragment>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared>
      into %C : !tile.buffer<64x16xf32, fragment>
    %D = tile.alloc : !tile.buffer<8x16xf32, shared>
    %E = tile.alloc : !tile.buffer<8x16xf32, fragment>
    tile.gemm %D : !tile.buffer<8x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared>
      into %E : !tile.buffer<8x16xf32, fragment>
  }
  return
}
