// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-deepen-gemms=cpu=znver5 --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-deepen-gemms=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --cpu-deepen-gemms=cpu=znver5 --mark-in-bounds --split-input-file | FileCheck %s --check-prefix=BOUNDS

// Four turns of 32 steps become one of 128, which are 256 bytes; b is transposed, and lies in a tensor of three dims. The
// last turn begins at 12, so that nothing lies outside. Without an instruction for bfloat16 it is multiplied as float32.
// CHECK-LABEL: func.func @shallow
// CHECK-DAG: %[[A:.*]] = tile.alloc "A" : !tile.buffer<128x128xbf16, shared>
// CHECK-DAG: %[[B:.*]] = tile.alloc "B" : !tile.buffer<64x128xbf16, shared>
// CHECK: tile.for %[[K:.*]] = %{{.*}} to %c16 step %c4{{.*}} pipelined(3)
// CHECK: %[[AT:.*]] = arith.muli %[[K]], %c32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK: tile.copy %{{.*}}[%{{.*}}, %[[AT]]] [128, 128] : {{.*}} to %[[A]]
// CHECK: tile.copy %{{.*}}[2, 0, %{{.*}}] [1, 64, 128] : {{.*}} to %[[B]]
// CHECK: tile.gemm %[[A]] : {{.*}}, %[[B]] : {{.*}} into %{{.*}} clear(%[[FIRST]]) {transpose_b}
// AVX2-LABEL: func.func @shallow
// AVX2: tile.alloc "A" : !tile.buffer<128x64xbf16, shared>
// AVX2: tile.for {{.*}} step %c2
// BOUNDS-LABEL: func.func @shallow
// BOUNDS: tile.copy {{.*}} [128, 128] {{.*}}source_in_bounds = array<i1: true, true>
// BOUNDS: tile.copy {{.*}} [1, 64, 128] {{.*}}source_in_bounds = array<i1: true, true, true>
func.func @shallow(%X: !tile.buffer<256x512xbf16, global> {tile.name = "X"},
                   %Y: !tile.buffer<4x64x512xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  tile.launch (%b) in (%c2) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<128x32xbf16, shared>
    %B = tile.alloc "B" : !tile.buffer<64x32xbf16, shared>
    %C = tile.alloc "C" : !tile.buffer<128x64xf32, fragment>
    tile.for %k = %c0 to %c16 step %c1 pipelined(3) {
      %m = arith.muli %b, %c128 : index
      %at = arith.muli %k, %c32 : index
      %also = arith.addi %at, %c0 : index
      %first = arith.cmpi eq, %k, %c0 : index
      tile.copy %X[%m, %at] [128, 32] : !tile.buffer<256x512xbf16, global> to %A : !tile.buffer<128x32xbf16, shared>
      tile.copy %Y[2, 0, %also] [1, 64, 32] : !tile.buffer<4x64x512xbf16, global> to %B : !tile.buffer<64x32xbf16, shared>
      tile.gemm %A : !tile.buffer<128x32xbf16, shared>, %B : !tile.buffer<64x32xbf16, shared>
        into %C : !tile.buffer<128x64xf32, fragment> clear(%first) {transpose_b}
    }
  }
  return
}

// -----

// Nine turns are divided by three, not by four; one tile is for both gemms.
// CHECK-LABEL: func.func @by_three
// CHECK: tile.alloc "A" : !tile.buffer<16x48xf32, shared>
// CHECK: step %c3
// CHECK: tile.gemm {{.*}}<16x48xf32, shared>, {{.*}}<48x16xf32, shared>
// CHECK: tile.gemm {{.*}}<16x48xf32, shared>, {{.*}}<48x16xf32, shared>
func.func @by_three(%X: !tile.buffer<16x144xf32, global> {tile.name = "X"},
                    %Y: !tile.buffer<144x16xf32, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<16x16xf32, shared>
    %E = tile.alloc "E" : !tile.buffer<16x16xf32, shared>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    %D = tile.alloc "D" : !tile.buffer<16x16xf32, fragment>
    tile.for %k = %c0 to %c9 step %c1 {
      %at = arith.muli %c16, %k : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %A : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %B : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %E : !tile.buffer<16x16xf32, shared>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %E : !tile.buffer<16x16xf32, shared> into %D : !tile.buffer<16x16xf32, fragment>
    }
  }
  return
}

// -----

// Both add to the same sums, whose order would change.
// CHECK-LABEL: func.func @same_sums
// CHECK-NOT: 16x48
func.func @same_sums(%X: !tile.buffer<16x144xf32, global> {tile.name = "X"},
                     %Y: !tile.buffer<144x16xf32, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<16x16xf32, shared>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    tile.for %k = %c0 to %c9 step %c1 {
      %at = arith.muli %k, %c16 : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %A : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %B : !tile.buffer<16x16xf32, shared>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
  }
  return
}

// -----

// Tiles whose parts overlap, of a number of turns that isn't known, or that others use, stay.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: step %c{{[2-9]}}
func.func @stay(%X: !tile.buffer<16x144xf32, global> {tile.name = "X"},
                %Y: !tile.buffer<144x16xf32, global> {tile.name = "Y"}, %n: index {tile.name = "n", tile.dtype = si64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<16x16xf32, shared>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    tile.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c8 : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %A : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %B : !tile.buffer<16x16xf32, shared>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
    %D = tile.alloc "D" : !tile.buffer<16x16xf32, shared>
    %E = tile.alloc "E" : !tile.buffer<16x16xf32, shared>
    tile.for %k = %c0 to %n step %c1 {
      %at = arith.muli %k, %c16 : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %D : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %E : !tile.buffer<16x16xf32, shared>
      tile.gemm %D : !tile.buffer<16x16xf32, shared>, %E : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
    %F = tile.alloc "F" : !tile.buffer<16x16xf32, shared>
    %G = tile.alloc "G" : !tile.buffer<16x16xf32, shared>
    tile.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c16 : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %F : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %G : !tile.buffer<16x16xf32, shared>
      tile.gemm %F : !tile.buffer<16x16xf32, shared>, %G : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
    tile.copy %F : !tile.buffer<16x16xf32, shared> to %C : !tile.buffer<16x16xf32, fragment>
  }
  return
}

// A gemm's sums that another one multiplies stay: each turn multiplies what has been summed so far.
// CHECK-LABEL: func.func @sums_multiplied
// CHECK-NOT: step %c{{[2-9]}}
func.func @sums_multiplied(%X: !tile.buffer<16x144xf32, global> {tile.name = "X"},
                           %Y: !tile.buffer<144x16xf32, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<16x16xf32, shared>
    %S = tile.alloc "S" : !tile.buffer<16x16xf32, fragment>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    tile.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c16 : index
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<16x144xf32, global> to %A : !tile.buffer<16x16xf32, shared>
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %B : !tile.buffer<16x16xf32, shared>
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %S : !tile.buffer<16x16xf32, fragment> clear(%first)
      tile.gemm %S : !tile.buffer<16x16xf32, fragment>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
  }
  return
}

// Gemms of no elements leave at most a fill behind.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: tile.gemm
// CHECK: scf.if %{{.*}} {
// CHECK: tile.fill %{{.*}} : !tile.buffer<16x16xf32, fragment>
// CHECK-NOT: tile.gemm
// CHECK: return
func.func @empty(%X: !tile.buffer<16x144xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x0xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<0x16xf32, shared>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    %D = tile.alloc "D" : !tile.buffer<16x16xf32, shared>
    tile.for %k = %c0 to %c8 step %c1 {
      tile.copy %X[0, 0] [16, 0] : !tile.buffer<16x144xf32, global> to %A : !tile.buffer<16x0xf32, shared>
      tile.copy %X[0, 0] [0, 16] : !tile.buffer<16x144xf32, global> to %B : !tile.buffer<0x16xf32, shared>
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm %A : !tile.buffer<16x0xf32, shared>, %B : !tile.buffer<0x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment> clear(%first)
    }
    tile.gemm %B : !tile.buffer<0x16xf32, shared>, %D : !tile.buffer<16x16xf32, shared> into %B : !tile.buffer<0x16xf32, shared>
  }
  return
}

// A padding that each turn has of its own stays.
// CHECK-LABEL: func.func @own_padding
// CHECK-NOT: step %c{{[2-9]}}
func.func @own_padding(%X: !tile.buffer<10x144xf32, global> {tile.name = "X"},
                       %Y: !tile.buffer<144x16xf32, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc "A" : !tile.buffer<16x16xf32, shared>
    %B = tile.alloc "B" : !tile.buffer<16x16xf32, shared>
    %C = tile.alloc "C" : !tile.buffer<16x16xf32, fragment>
    tile.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c16 : index
      %turn = arith.index_cast %k : index to i32
      %pad = arith.sitofp %turn : i32 to f32
      tile.copy %X[0, %at] [16, 16] : !tile.buffer<10x144xf32, global> to %A : !tile.buffer<16x16xf32, shared> pad(%pad : f32)
      tile.copy %Y[%at, 0] [16, 16] : !tile.buffer<144x16xf32, global> to %B : !tile.buffer<16x16xf32, shared>
      tile.gemm %A : !tile.buffer<16x16xf32, shared>, %B : !tile.buffer<16x16xf32, shared> into %C : !tile.buffer<16x16xf32, fragment>
    }
  }
  return
}
