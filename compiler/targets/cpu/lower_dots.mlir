// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-dots --split-input-file | FileCheck %s --check-prefix=PLAIN
// RUN: tilewright-opt %s --cpu-lower-dots=cpu=znver5 --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-lower-dots=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2

// Rows of W come straight from global memory, where the copy is known to be inside: no tile of it is left. A block of 4
// rows of A asks for a half of the next 4 rows of W, since there are two. Without vdpbf16ps all stays.
// CHECK-LABEL: func.func @from_global
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<6x256xbf16, shared>
// CHECK-NOT: tile.alloc : !tile.buffer<32x256xbf16, shared>
// CHECK-NOT: tile.copy
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c8
// CHECK: %[[SUMS:.*]]:16 = scf.for %{{.*}} = %c0{{.*}} to %c256{{.*}} step %c32{{.*}} iter_args
// CHECK: builtin.unrealized_conversion_cast %arg0
// CHECK-COUNT-4: llvm.load {{.*}} vector<16xf32>
// CHECK-COUNT-2: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: scf.yield
// CHECK: %[[HALF:.*]] = vector.shuffle %[[SUMS]]#0, %[[SUMS]]#1 [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} vector<4xf32>
// CHECK: arith.addf %[[OLD]]
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-2: llvm.intr.prefetch
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: llvm.call_intrinsic
// CHECK-NOT: tile.gemm
// PLAIN-LABEL: func.func @from_global
// PLAIN: tile.gemm
// AVX2-LABEL: func.func @from_global
// AVX2: tile.gemm
func.func @from_global(%W: !tile.buffer<4096x256xbf16, global> {tile.name = "W"}) attributes {tile.kernel} {
  %c128 = arith.constant 128 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c128) threads(128) {
    %A = tile.alloc : !tile.buffer<6x256xbf16, shared>
    %w = tile.alloc : !tile.buffer<32x256xbf16, shared>
    %C = tile.alloc : !tile.buffer<6x32xf32, fragment>
    %row = arith.muli %b, %c32 : index
    tile.copy %W[%row, 0] [32, 256] : !tile.buffer<4096x256xbf16, global> to %w : !tile.buffer<32x256xbf16, shared>
      {source_in_bounds = array<i1: true, true>}
    tile.gemm %A : !tile.buffer<6x256xbf16, shared>, %w : !tile.buffer<32x256xbf16, shared>
      into %C : !tile.buffer<6x32xf32, fragment> {transpose_b}
  }
  return
}

// -----

// What may lie outside is brought on chip, as zeros. Float32 needs no more than AVX-512. A clear at run time is a fill.
// PLAIN-LABEL: func.func @ragged
// PLAIN: tile.copy
// PLAIN: scf.if %{{.*}} {
// PLAIN: tile.fill
// PLAIN: scf.for {{.*}} step %c16{{.*}} iter_args
// PLAIN-NOT: llvm.intr.prefetch
// PLAIN-COUNT-16: math.fma
// PLAIN-NOT: tile.gemm
// AVX2-LABEL: func.func @ragged
// AVX2: tile.gemm
func.func @ragged(%W: !tile.buffer<50x256xf32, global> {tile.name = "W"}, %flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c2) threads(128) {
    %A = tile.alloc : !tile.buffer<4x256xf32, shared>
    %w = tile.alloc : !tile.buffer<32x256xf32, shared>
    %C = tile.alloc : !tile.buffer<4x32xf32, fragment>
    %row = arith.muli %b, %c32 : index
    tile.copy %W[%row, 0] [32, 256] : !tile.buffer<50x256xf32, global> to %w : !tile.buffer<32x256xf32, shared>
      {source_in_bounds = array<i1: false, true>}
    tile.gemm %A : !tile.buffer<4x256xf32, shared>, %w : !tile.buffer<32x256xf32, shared>
      into %C : !tile.buffer<4x32xf32, fragment> clear(%flag) {transpose_b}
  }
  return
}

// -----

// More rows, b not transposed, a short depth, a result narrower than float32: the packed micro-kernels.
// PLAIN-LABEL: func.func @others
// PLAIN-COUNT-4: tile.gemm
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: tile.gemm
func.func @others() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %tall = tile.alloc : !tile.buffer<20x256xf32, shared>
    %A = tile.alloc : !tile.buffer<4x256xf32, shared>
    %W = tile.alloc : !tile.buffer<32x256xf32, shared>
    %C = tile.alloc : !tile.buffer<20x32xf32, fragment>
    tile.gemm %tall : !tile.buffer<20x256xf32, shared>, %W : !tile.buffer<32x256xf32, shared>
      into %C : !tile.buffer<20x32xf32, fragment> {transpose_b}
    %D = tile.alloc : !tile.buffer<4x32xf32, fragment>
    %V = tile.alloc : !tile.buffer<256x32xf32, shared>
    tile.gemm %A : !tile.buffer<4x256xf32, shared>, %V : !tile.buffer<256x32xf32, shared>
      into %D : !tile.buffer<4x32xf32, fragment>
    tile.gemm %A[0, 0] [4, 128] : !tile.buffer<4x256xf32, shared>, %W[0, 0] [32, 128] : !tile.buffer<32x256xf32, shared>
      into %D : !tile.buffer<4x32xf32, fragment> {transpose_b}
    %half = tile.alloc : !tile.buffer<4x32xf16, fragment>
    tile.gemm %A : !tile.buffer<4x256xf32, shared>, %W : !tile.buffer<32x256xf32, shared>
      into %half : !tile.buffer<4x32xf16, fragment> {transpose_b}
  }
  return
}
