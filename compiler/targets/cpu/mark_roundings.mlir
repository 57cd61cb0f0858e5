// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-mark-roundings --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-mark-roundings=short --split-input-file | FileCheck %s --check-prefix=SHORT

// Everything comes of bfloat16, through memory on chip, sums and exponentials; the multiple of an exponential is rough
// where those are short, the sum with one isn't.
// CHECK-LABEL: func.func @known
// CHECK: arith.truncf %{{.*}} {cpu.short_nans} : f32 to bf16
// CHECK: arith.truncf %{{.*}} {cpu.short_nans} : f32 to bf16
// SHORT-LABEL: func.func @known
// SHORT: arith.truncf %{{.*}} {cpu.rough, cpu.short_nans} : f32 to bf16
// SHORT: arith.truncf %{{.*}} {cpu.short_nans} : f32 to bf16
func.func @known(%X: !tile.buffer<16x64xbf16, global> {tile.name = "X"},
                 %Y: !tile.buffer<16x64xbf16, global> {tile.name = "Y"},
                 %Z: !tile.buffer<16x64xbf16, global> {tile.name = "Z"}) attributes {tile.kernel} {
  %n = arith.constant 16 : index
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x64xf32, fragment>
    %e = tile.alloc "e" : !tile.buffer<1x64xf32, fragment>
    %total = tile.alloc "total" : !tile.buffer<1xf32, fragment>
    tile.copy %X[%b, 0] [1, 64] : !tile.buffer<16x64xbf16, global> to %x : !tile.buffer<1x64xf32, fragment>
    tile.parallel (%i, %j) in [1, 64] {
      %v = tile.load %x[%i, %j] : !tile.buffer<1x64xf32, fragment>
      %p = math.exp2 %v : f32
      tile.store %p, %e[%i, %j] : !tile.buffer<1x64xf32, fragment>
    }
    tile.reduce sum %e : !tile.buffer<1x64xf32, fragment> dim 1 into %total : !tile.buffer<1xf32, fragment> clear
    tile.parallel (%i, %j) in [1, 64] {
      %p = tile.load %e[%i, %j] : !tile.buffer<1x64xf32, fragment>
      %t = tile.load %total[%c0] : !tile.buffer<1xf32, fragment>
      %q = arith.divf %p, %t : f32
      %r = arith.truncf %q : f32 to bf16
      tile.store %r, %Y[%b, %j] : !tile.buffer<16x64xbf16, global>
      %s = arith.addf %p, %one : f32
      %u = arith.truncf %s : f32 to bf16
      tile.store %u, %Z[%b, %j] : !tile.buffer<16x64xbf16, global>
    }
  }
  return
}

// -----

// A tensor of float32 may hold any NaN; so may memory on chip that is filled from one, or by a gemm, or seen through a
// view. A buffer that more than exponentials are stored to isn't rough.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: cpu.short_nans
// CHECK: tile.alloc "known"
// SHORT-LABEL: func.func @unknown
// SHORT-NOT: cpu.rough
// SHORT: return
func.func @unknown(%X: !tile.buffer<16x64xf32, global> {tile.name = "X"},
                   %Y: !tile.buffer<16x64xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, fragment>
    %a = tile.alloc "a" : !tile.buffer<16x64xbf16, shared>
    %w = tile.alloc "w" : !tile.buffer<64x64xbf16, shared>
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, fragment>
    %m = tile.alloc "m" : !tile.buffer<16x64xf32, fragment>
    %view = tile.view %m : !tile.buffer<16x64xf32, fragment> to !tile.buffer<1024xf32, fragment>
    tile.copy %X : !tile.buffer<16x64xf32, global> to %x : !tile.buffer<16x64xf32, fragment>
    tile.gemm %a : !tile.buffer<16x64xbf16, shared>, %w : !tile.buffer<64x64xbf16, shared> into %c : !tile.buffer<16x64xf32, fragment>
    tile.parallel (%i, %j) in [16, 64] {
      tile.store %two, %m[%i, %j] : !tile.buffer<16x64xf32, fragment>
    }
    tile.parallel (%i, %j) in [16, 64] {
      %u = tile.load %X[%i, %j] : !tile.buffer<16x64xf32, global>
      %v = tile.load %x[%i, %j] : !tile.buffer<16x64xf32, fragment>
      %s = tile.load %c[%i, %j] : !tile.buffer<16x64xf32, fragment>
      %t = tile.load %m[%i, %j] : !tile.buffer<16x64xf32, fragment>
      %u2 = arith.mulf %u, %two : f32
      %v2 = arith.mulf %v, %two : f32
      %s2 = arith.mulf %s, %two : f32
      %t2 = arith.mulf %t, %two : f32
      %ur = arith.truncf %u2 : f32 to bf16
      %vr = arith.truncf %v2 : f32 to bf16
      %sr = arith.truncf %s2 : f32 to bf16
      %tr = arith.truncf %t2 : f32 to bf16
      tile.store %ur, %Y[%i, %j] : !tile.buffer<16x64xbf16, global>
      tile.store %vr, %Y[%i, %j] : !tile.buffer<16x64xbf16, global>
      tile.store %sr, %Y[%i, %j] : !tile.buffer<16x64xbf16, global>
      tile.store %tr, %Y[%i, %j] : !tile.buffer<16x64xbf16, global>
    }
    // In a circle: it holds what it was filled with, a constant, times two.
    %k = tile.alloc "known" : !tile.buffer<64xf32, fragment>
    tile.fill %k : !tile.buffer<64xf32, fragment> with %two : f32
    tile.parallel (%j) in [64] {
      %v = tile.load %k[%j] : !tile.buffer<64xf32, fragment>
      %v2 = arith.mulf %v, %two : f32
      tile.store %v2, %k[%j] : !tile.buffer<64xf32, fragment>
      // CHECK: arith.truncf %{{.*}} {cpu.short_nans} : f32 to bf16
      %r = arith.truncf %v2 : f32 to bf16
      tile.store %r, %Y[%b, %j] : !tile.buffer<16x64xbf16, global>
    }
  }
  return
}
