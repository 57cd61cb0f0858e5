// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-pack-gemm-operands --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-pack-gemm-operands=cpu=znver5 --split-input-file | FileCheck %s --check-prefix=ZEN
// RUN: tilewright-opt %s --cpu-pack-gemm-operands=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --cpu-pack-gemm-operands=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=INTEL

// Operands narrower than the accumulator are widened on chip; b becomes panels of 16 columns, transposed block by
// block; micro-kernels see to the run-time clear.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: tile.fill
// CHECK: %[[C:.*]] = tile.alloc : !tile.buffer<64x32xf32, fragment>
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<64x16xf32, shared>
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x16xf16, shared> to %[[A]]
// CHECK: %[[B:.*]] = tile.alloc : !tile.buffer<16x32xf32, shared>
// CHECK: %[[PANELS:.*]] = tile.view %[[B]] : {{.*}} to !tile.buffer<2x16x16xf32, shared>
// CHECK: scf.for %[[P:.*]] = %c0{{.*}} to %c2{{.*}} step %c1{{.*}} {
// CHECK: %[[N:.*]] = arith.muli %[[P]], %c16
// CHECK: tile.copy %{{.*}}[%[[N]], 0] [16, 16] : !tile.buffer<32x16xf16, shared> to %[[PANELS]][%[[P]], 0, 0] [1, 16, 16] : {{.*}} {transpose}
// CHECK: tile.gemm %[[A]] : !tile.buffer<64x16xf32, shared>, %[[B]] : !tile.buffer<16x32xf32, shared> into %[[C]] : {{.*}} clear(%arg0) {cpu.packed = 1 : i64}
// CHECK-NOT: transpose_b
// On AVX2 a panel is two vectors wide, on Intel's AVX-512 too where a micro-kernel is. Sums of narrow floats go on from C there, too.
// AVX2-LABEL: func.func @narrow
// AVX2: tile.view %{{.*}} to !tile.buffer<2x16x16xf32, shared>
// AVX2: tile.gemm {{.*}} clear(%arg0) {cpu.in_order, cpu.packed = 1 : i64}
// INTEL-LABEL: func.func @narrow
// INTEL: tile.view %{{.*}} to !tile.buffer<1x16x32xf32, shared>
func.func @narrow(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf16, shared>
    %B = tile.alloc : !tile.buffer<32x16xf16, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.gemm %A : !tile.buffer<64x16xf16, shared>, %B : !tile.buffer<32x16xf16, shared>
      into %C : !tile.buffer<64x32xf32, fragment> clear(%flag) {transpose_b}
  }
  return
}

// -----

// What is on chip and in the accumulator's type stays where panels would not pay: few rows, or columns that fill no
// vectors. A transposed a stays too.
// CHECK-LABEL: func.func @ready
// CHECK-NOT: tile.copy
// CHECK-NOT: tile.parallel
// CHECK: tile.gemm {{.*}} {transpose_a}
// CHECK: tile.gemm {{.*}}<12x40xf32, fragment>
// CHECK-NOT: cpu.packed
func.func @ready() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x64xf32, shared>
    %B = tile.alloc : !tile.buffer<16x40xf32, shared>
    %C = tile.alloc : !tile.buffer<64x40xf32, fragment>
    tile.gemm %A : !tile.buffer<16x64xf32, shared>, %B : !tile.buffer<16x40xf32, shared>
      into %C : !tile.buffer<64x40xf32, fragment> {transpose_a}
    %D = tile.alloc : !tile.buffer<12x40xf32, fragment>
    %E = tile.alloc : !tile.buffer<12x16xf32, shared>
    tile.gemm %E : !tile.buffer<12x16xf32, shared>, %B : !tile.buffer<16x40xf32, shared>
      into %D : !tile.buffer<12x40xf32, fragment>
  }
  return
}

// -----

// A float16 result accumulates in float32 and is rounded once.
// CHECK-LABEL: func.func @half_result
// CHECK: %[[SUM:.*]] = tile.alloc : !tile.buffer<64x32xf32, shared>
// CHECK: tile.copy %[[C:.*]] : !tile.buffer<64x32xf16, fragment> to %[[SUM]]
// CHECK: tile.gemm {{.*}} into %[[SUM]]
// CHECK: tile.copy %[[SUM]] : !tile.buffer<64x32xf32, shared> to %[[C]]
func.func @half_result() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf16, fragment>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<64x32xf16, fragment>
  }
  return
}

// -----

// A copy from global memory for b alone is packed as it arrives; its bounds are still to be checked. The shared
// buffer is gone.
// CHECK-LABEL: func.func @arrives
// CHECK-NOT: "B_shared"
// CHECK: %[[STAGE:.*]] = tile.alloc : !tile.buffer<16x32xf32, shared>
// CHECK: %[[PANELS:.*]] = tile.view %[[STAGE]]
// CHECK: tile.parallel (%[[K:.*]], %[[P:.*]], %[[J:.*]]) in [16, 2, 16] {
// CHECK: %[[V:.*]] = tile.load %{{.*}}[%c3, {{.*}}, %c1{{.*}}, {{.*}}] : !tile.buffer<4x?x2x?xf32, global>
// CHECK: tile.store %[[V]], %[[PANELS]][%[[P]], %[[K]], %[[J]]] in_bounds
// CHECK: tile.gemm {{.*}}, %[[STAGE]]
// AVX2-LABEL: func.func @arrives
// AVX2: tile.parallel ({{.*}}) in [16, 2, 16] {
func.func @arrives(
    %G: !tile.buffer<4x?x2x?xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc "B_shared" : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.copy %G[%c3, %b, 1, 0] [1, 16, 1, 32] : !tile.buffer<4x?x2x?xf32, global> to %B : !tile.buffer<16x32xf32, shared>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<64x32xf32, fragment>
  }
  return
}

// -----

// Who else reads the shared buffer, or a write to global memory in between, keeps the copy.
// CHECK-LABEL: func.func @stays
// CHECK: tile.copy %{{.*}} to %[[B:.*]] : !tile.buffer<16x48xf32, shared>
// CHECK: tile.parallel
// CHECK: tile.load %[[B]][
// CHECK: tile.gemm
// CHECK: tile.copy %{{.*}} to %[[D:.*]] : !tile.buffer<16x48xf32, shared>
// CHECK: tile.copy %{{.*}} to %arg0
// CHECK: tile.load %[[D]][
func.func @stays(%G: !tile.buffer<16x48xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x48xf32, shared>
    %C = tile.alloc : !tile.buffer<64x48xf32, fragment>
    tile.copy %G : !tile.buffer<16x48xf32, global> to %B : !tile.buffer<16x48xf32, shared>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x48xf32, shared>
      into %C : !tile.buffer<64x48xf32, fragment>
    %D = tile.alloc : !tile.buffer<16x48xf32, shared>
    tile.copy %G : !tile.buffer<16x48xf32, global> to %D : !tile.buffer<16x48xf32, shared>
    tile.copy %B : !tile.buffer<16x48xf32, shared> to %G : !tile.buffer<16x48xf32, global>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %D : !tile.buffer<16x48xf32, shared>
      into %C : !tile.buffer<64x48xf32, fragment>
  }
  return
}

// -----

// Where the machine has vdpbf16ps, bfloat16 stays, in pairs; elsewhere it is widened.
// CHECK-LABEL: func.func @pairs
// CHECK: arith.extf
// ZEN-LABEL: func.func @pairs
// ZEN: %[[A:.*]] = tile.alloc : !tile.buffer<16x16xbf16, shared>
// ZEN-COUNT-2: llvm.load {{.*}} -> vector<32xi16>
// ZEN-NOT: prefetch
// ZEN: vector.shuffle {{.*}} [0, 32, 1, 33, 2, 34,
// ZEN: vector.shuffle {{.*}} [16, 48, 17, 49, 18, 50,
// ZEN: vector.bitcast {{.*}} : vector<32xi16> to vector<16xi32>
// ZEN-COUNT-2: llvm.store {{.*}} : vector<16xi32>
// ZEN: tile.gemm %[[A]] {{.*}} {cpu.packed = 2 : i64}
func.func @pairs() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xbf16, shared>
    %B = tile.alloc : !tile.buffer<16x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x32xf32, fragment>
    tile.gemm %A : !tile.buffer<16x16xbf16, shared>, %B : !tile.buffer<16x32xbf16, shared>
      into %C : !tile.buffer<16x32xf32, fragment>
  }
  return
}

// -----

// Packed straight from a tensor, whose rows lie far apart, rows further on are asked for meanwhile.
// ZEN-LABEL: func.func @pairs_of_a_tensor
// ZEN: arith.constant 16 : index
// ZEN: llvm.load {{.*}} -> vector<32xi16>
// ZEN: "llvm.intr.prefetch"{{.*}}hint = 3
// ZEN: llvm.load {{.*}} -> vector<32xi16>
// ZEN: "llvm.intr.prefetch"{{.*}}hint = 3
// ZEN: vector.shuffle
func.func @pairs_of_a_tensor(%G: !tile.buffer<16x32xbf16, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xbf16, shared>
    %B = tile.alloc : !tile.buffer<16x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x32xf32, fragment>
    tile.copy %G : !tile.buffer<16x32xbf16, global> to %B : !tile.buffer<16x32xbf16, shared> {source_in_bounds = array<i1: true, true>}
    tile.gemm %A : !tile.buffer<16x16xbf16, shared>, %B : !tile.buffer<16x32xbf16, shared>
      into %C : !tile.buffer<16x32xf32, fragment>
  }
  return
}

// -----

// Bytes in fours (here one by one: 32 columns fill no 64 lanes) where the machine has vpdpbusd; where both sides are signed, b becomes unsigned, and rows of
// a are summed up.
// CHECK-LABEL: func.func @bytes
// CHECK: arith.extsi
// ZEN-LABEL: func.func @bytes
// ZEN: tile.parallel ({{.*}}) in [4, 2, 16] {
// ZEN-COUNT-3: arith.shli
// ZEN: arith.xori {{.*}} : i32
// ZEN: %[[SUMS:.*]] = tile.alloc : !tile.buffer<16xsi32, shared>
// ZEN: unrealized_conversion_cast %[[SUMS]] {{.*}} {cpu.row_sums}
// ZEN-NEXT: tile.gemm
// ZEN: %[[VIEW:.*]] = tile.view {{.*}} to !tile.buffer<32x4xsi32, shared>
// ZEN: tile.copy %[[VIEW]]{{.*}} {transpose}
// ZEN-NOT: cpu.row_sums
// ZEN: tile.gemm %{{.*}} {cpu.packed = 4 : i64}
func.func @bytes() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xsi8, shared>
    %B = tile.alloc : !tile.buffer<16x32xsi8, shared>
    %C = tile.alloc : !tile.buffer<16x32xsi32, fragment>
    tile.gemm %A : !tile.buffer<16x16xsi8, shared>, %B : !tile.buffer<16x32xsi8, shared>
      into %C : !tile.buffer<16x32xsi32, fragment>
    %D = tile.alloc : !tile.buffer<16x16xui8, shared>
    %E = tile.alloc : !tile.buffer<32x16xsi8, shared>
    tile.gemm %D : !tile.buffer<16x16xui8, shared>, %E : !tile.buffer<32x16xsi8, shared>
      into %C : !tile.buffer<16x32xsi32, fragment> {transpose_b}
  }
  return
}

// -----

// In a pipelined loop the gemm learns where the next turn's tiles are: 16 columns of A and 16 rows of G further on. Not
// where that depends on memory.
// CHECK-LABEL: func.func @ahead
// CHECK: tile.for %[[K:.*]] = {{.*}} pipelined(2)
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.muli %[[NEXT]], %c16{{.*}} : index
// The last turn's address is outside of G: it may not claim to be inside.
// CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %
// CHECK: builtin.unrealized_conversion_cast %[[ADDRESS]], %{{.*}} : !llvm.ptr, index to !llvm.ptr, index {cpu.ahead = "b", cpu.element_bytes = 4 : i64}
// CHECK-NEXT: tile.gemm
// CHECK-NOT: cpu.ahead
func.func @ahead(
    %G: !tile.buffer<?x32xf32, global> {tile.name = "G"},
    %I: !tile.buffer<8xsi32, global> {tile.name = "I"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x32xf32, shared>
    %D = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.for %k = %c0 to %c8 step %c1 pipelined(2) {
      %row = arith.muli %k, %c16 : index
      tile.copy %G[%row, 0] [16, 32] : !tile.buffer<?x32xf32, global> to %B : !tile.buffer<16x32xf32, shared>
      tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x32xf32, shared>
        into %C : !tile.buffer<64x32xf32, fragment>
      %i = tile.load %I[%k] : !tile.buffer<8xsi32, global>
      %there = arith.index_cast %i : i32 to index
      tile.copy %G[%there, 0] [16, 32] : !tile.buffer<?x32xf32, global> to %D : !tile.buffer<16x32xf32, shared>
      tile.gemm %A : !tile.buffer<64x16xf32, shared>, %D : !tile.buffer<16x32xf32, shared>
        into %C : !tile.buffer<64x32xf32, fragment>
    }
  }
  return
}

// -----

// A run of memory that is only multiplied is read where it is, from loops behind its copy, too; b, whose rows lie close
// and are one micro-kernel wide, as it is.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: tile.copy
// CHECK: tile.gemm %{{[a-zA-Z0-9_]*}}[{{.*}}, 0] [64, 32] : !tile.buffer<256x32xf32, global>, %{{.*}} : !tile.buffer<32x32xf32, shared>
// CHECK-NOT: cpu.packed
// CHECK: return
func.func @in_place(%A: !tile.buffer<256x32xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c4) threads(128) {
    %a = tile.alloc : !tile.buffer<64x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %start = arith.muli %b, %c64 : index
    tile.copy %A[%start, 0] [64, 32] : !tile.buffer<256x32xf32, global> to %a : !tile.buffer<64x32xf32, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.for %i = %c0 to %c4 step %c1 {
      tile.gemm %a : !tile.buffer<64x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
        into %C : !tile.buffer<64x32xf32, fragment>
    }
  }
  return
}

// -----

// In a pipelined loop a gemm that reads in place learns of the next tile in each of the 6 turns of the loops inside, and
// which one it is. Not where how many there are isn't known.
// CHECK-LABEL: func.func @in_place_ahead
// CHECK: tile.for %[[K:.*]] = {{.*}} pipelined(2)
// CHECK: tile.for %[[I:.*]] = %
// CHECK: tile.for %[[J:.*]] = %
// CHECK: scf.if
// CHECK: %[[OUTER:.*]] = arith.muli %[[I]], %c2{{.*}} : index
// CHECK: %[[TURN:.*]] = arith.addi %[[J]], %[[OUTER]] : index
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK: arith.muli %[[NEXT]], %c64{{.*}} : index
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %{{.*}}, %[[TURN]] : !llvm.ptr, index, index to !llvm.ptr, index, index {cpu.ahead = "a", cpu.element_bytes = 4 : i64, cpu.turns = 6 : i64}
// CHECK-NEXT: tile.gemm
// CHECK-NOT: cpu.ahead
func.func @in_place_ahead(%A: !tile.buffer<256x32xf32, global> {tile.name = "A"},
    %n: index {tile.name = "n"}, %flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc : !tile.buffer<64x32xf32, shared>
    %d = tile.alloc : !tile.buffer<64x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.for %k = %c0 to %c4 step %c1 pipelined(2) {
      %start = arith.muli %k, %c64 : index
      tile.copy %A[%start, 0] [64, 32] : !tile.buffer<256x32xf32, global> to %a : !tile.buffer<64x32xf32, shared>
        {source_in_bounds = array<i1: true, true>}
      tile.for %i = %c0 to %c3 step %c1 {
        tile.for %j = %c0 to %c2 step %c1 {
          scf.if %flag {
            tile.gemm %a : !tile.buffer<64x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
              into %C : !tile.buffer<64x32xf32, fragment>
          }
        }
      }
      tile.copy %A[%start, 0] [64, 32] : !tile.buffer<256x32xf32, global> to %d : !tile.buffer<64x32xf32, shared>
        {source_in_bounds = array<i1: true, true>}
      tile.for %i = %c0 to %n step %c1 {
        tile.gemm %d : !tile.buffer<64x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
          into %C : !tile.buffer<64x32xf32, fragment>
      }
    }
  }
  return
}

// -----

// Not where something may write there meanwhile, or where rows lie apart.
// CHECK-LABEL: func.func @not_in_place
// CHECK: tile.copy
// CHECK: tile.copy
func.func @not_in_place(%A: !tile.buffer<256x32xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c4) threads(128) {
    %a = tile.alloc : !tile.buffer<64x32xf32, shared>
    %h = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %H = tile.alloc : !tile.buffer<16x32xf32, shared>
    %C = tile.alloc : !tile.buffer<64x32xf32, fragment>
    tile.copy %A[0, 0] [64, 32] : !tile.buffer<256x32xf32, global> to %a : !tile.buffer<64x32xf32, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.for %i = %c0 to %c4 step %c1 {
      tile.gemm %a : !tile.buffer<64x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
        into %C : !tile.buffer<64x32xf32, fragment>
      tile.store %zero, %A[%i, %i] in_bounds : !tile.buffer<256x32xf32, global>
    }
    tile.copy %A[0, 0] [64, 16] : !tile.buffer<256x32xf32, global> to %h : !tile.buffer<64x16xf32, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.gemm %h : !tile.buffer<64x16xf32, shared>, %H : !tile.buffer<16x32xf32, shared>
      into %C : !tile.buffer<64x32xf32, fragment>
  }
  return
}

// -----

// Three vectors of columns are no pairs: on AVX2, too, their panels are one vector wide. Nor may micro-kernels clear what
// is staged.
// AVX2-LABEL: func.func @odd
// AVX2: scf.if %arg0
// AVX2: tile.fill
// AVX2: tile.view %{{.*}} to !tile.buffer<3x16x8xf32, shared>
// AVX2: tile.gemm
// AVX2-NOT: clear
// AVX2: return
// CHECK-LABEL: func.func @odd
// ZEN-LABEL: func.func @odd
func.func @odd(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x24xf32, shared>
    %C = tile.alloc : !tile.buffer<64x24xf16, fragment>
    tile.gemm %A : !tile.buffer<64x16xf32, shared>, %B : !tile.buffer<16x24xf32, shared>
      into %C : !tile.buffer<64x24xf16, fragment> clear(%flag)
  }
  return
}

// -----

// What b's copy brings before the loop is packed there, once.
// CHECK-LABEL: func.func @early
// CHECK-NOT: tile.copy
// CHECK: tile.parallel
// CHECK: tile.for
// CHECK-NOT: tile.parallel
// CHECK: tile.gemm {{.*}} {cpu.packed = 1 : i64}
// ZEN-LABEL: func.func @early
// AVX2-LABEL: func.func @early
func.func @early(%G: !tile.buffer<16x64xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x64xf32, shared>
    %C = tile.alloc : !tile.buffer<16x64xf32, fragment>
    tile.copy %G : !tile.buffer<16x64xf32, global> to %B : !tile.buffer<16x64xf32, shared>
    tile.for %i = %c0 to %c4 step %c1 {
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x64xf32, shared>
        into %C : !tile.buffer<16x64xf32, fragment>
    }
  }
  return
}

// -----

// Not where the loop fills b anew.
// CHECK-LABEL: func.func @late
// CHECK: tile.for
// CHECK: tile.parallel
// CHECK: tile.gemm
// ZEN-LABEL: func.func @late
// AVX2-LABEL: func.func @late
func.func @late(%G: !tile.buffer<16x64xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc : !tile.buffer<16x64xf32, shared>
    %C = tile.alloc : !tile.buffer<16x64xf32, fragment>
    tile.copy %G : !tile.buffer<16x64xf32, global> to %B : !tile.buffer<16x64xf32, shared>
    tile.for %i = %c0 to %c4 step %c1 {
      tile.store %zero, %B[%i, %i] in_bounds : !tile.buffer<16x64xf32, shared>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x64xf32, shared>
        into %C : !tile.buffer<16x64xf32, fragment>
    }
  }
  return
}

// -----

// Pairs are read in place, too, but not where all rows of a micro-kernel fall into one set of the first-level cache.
// CHECK-LABEL: func.func @rows_of_pairs
// AVX2-LABEL: func.func @rows_of_pairs
// ZEN-LABEL: func.func @rows_of_pairs
// ZEN: tile.gemm {{.*}} : !tile.buffer<64x1024xbf16, global>
// ZEN: tile.copy
// ZEN: tile.gemm {{.*}} !tile.buffer<16x2048xbf16, shared>
func.func @rows_of_pairs(%A: !tile.buffer<64x1024xbf16, global> {tile.name = "A"},
    %F: !tile.buffer<64x2048xbf16, global> {tile.name = "F"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc : !tile.buffer<16x1024xbf16, shared>
    %f = tile.alloc : !tile.buffer<16x2048xbf16, shared>
    %B = tile.alloc : !tile.buffer<1024x32xbf16, shared>
    %G = tile.alloc : !tile.buffer<2048x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x32xf32, fragment>
    tile.copy %A[%c0, 0] [16, 1024] : !tile.buffer<64x1024xbf16, global> to %a : !tile.buffer<16x1024xbf16, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.gemm %a : !tile.buffer<16x1024xbf16, shared>, %B : !tile.buffer<1024x32xbf16, shared>
      into %C : !tile.buffer<16x32xf32, fragment>
    tile.copy %F[%c0, 0] [16, 2048] : !tile.buffer<64x2048xbf16, global> to %f : !tile.buffer<16x2048xbf16, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.gemm %f : !tile.buffer<16x2048xbf16, shared>, %G : !tile.buffer<2048x32xbf16, shared>
      into %C : !tile.buffer<16x32xf32, fragment>
  }
  return
}

// -----

// What a copy converts is not read past it, for the copy may round. The panels of such a b are made behind the copy, also
// before the loop.
// CHECK-LABEL: func.func @converted
// CHECK: tile.copy %{{.*}} : !tile.buffer<16x16xf32, global> to %[[A:.*]] : !tile.buffer<16x16xbf16, shared>
// CHECK: tile.copy %{{.*}} : !tile.buffer<16x64xf32, global> to %[[B:.*]] : !tile.buffer<16x64xbf16, shared>
// CHECK-NOT: tile.for
// CHECK: tile.load %[[B]]
// CHECK: tile.for
// CHECK: tile.copy %[[A]] :
// CHECK: tile.gemm
// ZEN-LABEL: func.func @converted
// ZEN: tile.copy %{{.*}} : !tile.buffer<16x64xf32, global> to %[[B:.*]] : !tile.buffer<16x64xbf16, shared>
// ZEN-NOT: tile.for
// ZEN-COUNT-2: llvm.load {{.*}} -> vector<32xi16>
// ZEN: tile.for
// ZEN: tile.gemm {{.*}} {cpu.packed = 2 : i64}
// AVX2-LABEL: func.func @converted
func.func @converted(%F: !tile.buffer<16x16xf32, global> {tile.name = "F"},
    %G: !tile.buffer<16x64xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xbf16, shared>
    %B = tile.alloc : !tile.buffer<16x64xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x64xf32, fragment>
    tile.copy %F : !tile.buffer<16x16xf32, global> to %A : !tile.buffer<16x16xbf16, shared>
    tile.copy %G : !tile.buffer<16x64xf32, global> to %B : !tile.buffer<16x64xbf16, shared>
    tile.for %i = %c0 to %c4 step %c1 {
      tile.gemm %A : !tile.buffer<16x16xbf16, shared>, %B : !tile.buffer<16x64xbf16, shared>
        into %C : !tile.buffer<16x64xf32, fragment>
    }
  }
  return
}

// -----

// float32 has all values of float8: where elements stay single, the source is read; elements that are joined come from
// the tile.
// CHECK-LABEL: func.func @widened
// CHECK-NOT: tile.copy %{{.*}} to %{{.*}}xbf16, shared>
// CHECK: tile.copy %{{.*}}xf8E4M3FN, global> to %{{.*}}xf32, shared>
// CHECK: tile.load {{.*}} : !tile.buffer<16x64xf8E4M3FN, global>
// CHECK: tile.gemm {{.*}} {cpu.packed = 1 : i64}
// ZEN-LABEL: func.func @widened
// ZEN: tile.copy %{{.*}} to %[[B:.*]] : !tile.buffer<16x64xbf16, shared>
// ZEN-COUNT-2: llvm.load {{.*}} -> vector<32xi16>
// ZEN: tile.gemm {{.*}} {cpu.packed = 2 : i64}
// AVX2-LABEL: func.func @widened
func.func @widened(%F: !tile.buffer<16x16xf8E4M3FN, global> {tile.name = "F"},
    %G: !tile.buffer<16x64xf8E4M3FN, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xbf16, shared>
    %B = tile.alloc : !tile.buffer<16x64xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x64xf32, fragment>
    tile.copy %F : !tile.buffer<16x16xf8E4M3FN, global> to %A : !tile.buffer<16x16xbf16, shared>
    tile.copy %G : !tile.buffer<16x64xf8E4M3FN, global> to %B : !tile.buffer<16x64xbf16, shared>
    tile.gemm %A : !tile.buffer<16x16xbf16, shared>, %B : !tile.buffer<16x64xbf16, shared>
      into %C : !tile.buffer<16x64xf32, fragment>
  }
  return
}

// -----

// A b of 2 MB passes through the second-level cache for each tile of a, and would drive out what of the next one is there
// already: the copy of a asks for its rows itself.
// CHECK-LABEL: func.func @streamed
// CHECK-NOT: cpu.ahead
// CHECK: tile.copy {{.*}} {cpu.rows_ahead = 16 : i64}
// CHECK-NOT: cpu.ahead
// CHECK: tile.gemm {{.*}} {cpu.packed = 1 : i64}
// On Intel's AVX-512 64 vectors are 21 panels of three, and one that holds a single vector.
// INTEL-LABEL: func.func @streamed
// INTEL: tile.view %{{.*}} to !tile.buffer<22x512x48xf32, shared>
// INTEL: tile.parallel (%{{.*}}, %{{.*}}, %{{.*}}) in [512, 21, 48]
// INTEL: tile.parallel (%{{.*}}, %{{.*}}, %{{.*}}) in [512, 1, 16]
// INTEL: tile.copy {{.*}} {cpu.rows_ahead = 16 : i64}
// INTEL: tile.gemm {{.*}}[0, 0] [512, 1024] : !tile.buffer<512x1056xf32, shared>
func.func @streamed(%A: !tile.buffer<256x512xf16, global> {tile.name = "A"},
    %B: !tile.buffer<512x1024xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc : !tile.buffer<64x512xf16, shared>
    %bb = tile.alloc : !tile.buffer<512x1024xf32, shared>
    %c = tile.alloc : !tile.buffer<64x1024xf32, fragment>
    tile.copy %B : !tile.buffer<512x1024xf32, global> to %bb : !tile.buffer<512x1024xf32, shared>
    tile.for %i = %c0 to %c4 step %c1 pipelined(2) {
      %m = arith.muli %i, %c64 : index
      tile.copy %A[%m, 0] [64, 512] : !tile.buffer<256x512xf16, global> to %a : !tile.buffer<64x512xf16, shared>
      tile.gemm %a : !tile.buffer<64x512xf16, shared>, %bb : !tile.buffer<512x1024xf32, shared>
        into %c : !tile.buffer<64x1024xf32, fragment>
    }
  }
  return
}

// -----

// Rows of four vectors that lie close are read as they are on Intel's AVX-512; elsewhere they become panels.
// CHECK-LABEL: func.func @four_vectors
// CHECK: tile.gemm {{.*}} cpu.packed
// INTEL-LABEL: func.func @four_vectors
// INTEL-NOT: cpu.packed
// INTEL: return
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

// 17 vectors of a transposed b: five panels of three, and one of two, copied each.
// CHECK-LABEL: func.func @columns_left
// INTEL-LABEL: func.func @columns_left
// INTEL: tile.view %{{.*}} to !tile.buffer<6x64x48xf32, shared>
// INTEL: scf.for %[[PANEL:.*]] = %c0{{.*}} to %c5{{.*}} step
// INTEL: tile.copy %{{.*}} [48, 64] : {{.*}} to %{{.*}}[%[[PANEL]], 0, 0] [1, 64, 48] : {{.*}} {transpose}
// INTEL: tile.copy %{{.*}} [32, 64] : {{.*}} to %{{.*}} [1, 64, 32] : {{.*}} {transpose}
// ZEN-LABEL: func.func @columns_left
// ZEN: tile.view %{{.*}} to !tile.buffer<17x64x16xf32, shared>
func.func @columns_left() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x64xf32, shared>
    %B = tile.alloc : !tile.buffer<272x64xf32, shared>
    %C = tile.alloc : !tile.buffer<64x272xf32, fragment>
    tile.gemm %A : !tile.buffer<64x64xf32, shared>, %B : !tile.buffer<272x64xf32, shared>
      into %C : !tile.buffer<64x272xf32, fragment> {transpose_b}
  }
  return
}
