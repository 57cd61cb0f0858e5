// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// The fused GEMM of the tutorial: C = max(scale * (A @ B), 0), blocks of 64x64x32.

// CHECK-LABEL: func.func @gemm_fused
// CHECK: tile.launch (%[[BX:.*]], %[[BY:.*]]) in (%{{.*}}, %{{.*}}) threads(128) {
// CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] [64, 32] : !tile.buffer<1024x1024xf16, global> to %{{.*}} : !tile.buffer<64x32xf16, shared>
// CHECK: tile.gemm %{{.*}} : !tile.buffer<64x32xf16, shared>, %{{.*}} : !tile.buffer<32x64xf16, shared> into %{{.*}} : !tile.buffer<64x64xf32, fragment>
func.func @gemm_fused(%A: !tile.buffer<1024x1024xf16, global> {tile.name = "A"},
                      %B: !tile.buffer<1024x1024xf16, global> {tile.name = "B"},
                      %C: !tile.buffer<1024x1024xf16, global> {tile.name = "C"},
                      %scale: f32 {tile.name = "scale"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx, %by) in (%c16, %c16) threads(128) {
    %A_shared = tile.alloc "A_shared" : !tile.buffer<64x32xf16, shared>
    %B_shared = tile.alloc "B_shared" : !tile.buffer<32x64xf16, shared>
    %C_local = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    tile.fill %C_local : !tile.buffer<64x64xf32, fragment> with %zero : f32
    %m = arith.muli %by, %c64 : index
    %n = arith.muli %bx, %c64 : index
    tile.for %k = %c0 to %c32 step %c1 pipelined(3) {
      %kk = arith.muli %k, %c32 : index
      tile.copy %A[%m, %kk] [64, 32] : !tile.buffer<1024x1024xf16, global>
        to %A_shared : !tile.buffer<64x32xf16, shared>
      tile.copy %B[%kk, %n] [32, 64] : !tile.buffer<1024x1024xf16, global>
        to %B_shared : !tile.buffer<32x64xf16, shared>
      tile.gemm %A_shared : !tile.buffer<64x32xf16, shared>, %B_shared : !tile.buffer<32x64xf16, shared>
        into %C_local : !tile.buffer<64x64xf32, fragment>
    }
    tile.parallel (%i, %j) in [64, 64] {
      %acc = tile.load %C_local[%i, %j] : !tile.buffer<64x64xf32, fragment>
      %scaled = arith.mulf %acc, %scale : f32
      %relu = arith.maximumf %scaled, %zero : f32
      tile.store %relu, %C_local[%i, %j] : !tile.buffer<64x64xf32, fragment>
    }
    tile.copy %C_local : !tile.buffer<64x64xf32, fragment>
      to %C[%m, %n] [64, 64] : !tile.buffer<1024x1024xf16, global>
  }
  return
}
