// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-multiply-by-sums=cpu=znver4 --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-multiply-by-sums=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=OTHERS
// RUN: tilewright-opt %s --cpu-multiply-by-sums=cpu=znver4 --cpu-pack-gemm-operands=cpu=znver4 --cpu-lower-gemm=cpu=znver4 --split-input-file | FileCheck %s --check-prefix=LOWERED

// a, which the loop keeps, is prepared before it, from the tensor that its copy reads; b in each turn. Each row's largest
// magnitude as bits, its own products, its terms behind it; the same of the columns of each panel of b.
// OTHERS-NOT: cpu.sums
// CHECK-LABEL: func.func @kept
// CHECK-NOT: tile.copy
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<64x112xf32, shared>
// CHECK: scf.for
// CHECK: builtin.unrealized_conversion_cast %arg0
// CHECK: arith.maxui
// CHECK: vector.reduction <maxui>
// CHECK: arith.mulf
// CHECK: math.fma
// CHECK: vector.reduction <add>, %{{.*}} fastmath<reassoc>
// CHECK: arith.negf
// CHECK: tile.for
// CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [96, 32]
// CHECK: %[[B:.*]] = tile.alloc : !tile.buffer<99x32xf32, shared>
// CHECK: tile.view %[[B]] : {{.*}} to !tile.buffer<2x99x16xf32, shared>
// CHECK: arith.maxui
// CHECK: math.fma
// CHECK: tile.gemm %[[A]][0, 0] [64, 96] : {{.*}}, %[[B]][0, 0] [96, 32] : {{.*}} into %{{.*}} {cpu.packed = 1 : i64, cpu.sums = 32 : i64}
// Of what is finite three streams of each row meet: two additions and one multiplication for a pair, one for the third. Else
// there are multiplications alone.
// LOWERED-LABEL: func.func @kept
// LOWERED: tile.for
// LOWERED: %[[FINITE:.*]] = arith.cmpf olt
// LOWERED: scf.if %[[FINITE]]
// LOWERED: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c16
// LOWERED-COUNT-16: arith.subf
// LOWERED: scf.for %{{.*}} = %c0{{.*}} to %c32
// LOWERED: arith.addf
// LOWERED: arith.addf
// LOWERED: math.fma
// LOWERED-COUNT-31: math.fma
// LOWERED-NOT: math.fma
// LOWERED-COUNT-16: llvm.x86.avx512.mask.scalef.ps.512
// LOWERED: } else {
// LOWERED: scf.for %{{.*}} = %c0{{.*}} to %c96
// LOWERED-COUNT-16: math.fma
// LOWERED-NOT: math.fma
// LOWERED-COUNT-16: llvm.x86.avx512.mask.scalef.ps.512
func.func @kept(%A: !tile.buffer<64x96xf32, global> {tile.name = "A"},
                %B: !tile.buffer<768x32xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c96 = arith.constant 96 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<64x96xf32, shared>
    %k = tile.alloc "k" : !tile.buffer<96x32xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<64x32xf32, fragment>
    tile.copy %A[0, 0] [64, 96] : !tile.buffer<64x96xf32, global> to %a : !tile.buffer<64x96xf32, shared> {source_in_bounds = array<i1: true, true>}
    tile.for %step = %c0 to %c8 step %c1 {
      %at = arith.muli %step, %c96 : index
      tile.copy %B[%at, 0] [96, 32] : !tile.buffer<768x32xf32, global> to %k : !tile.buffer<96x32xf32, shared>
      tile.gemm %a : !tile.buffer<64x96xf32, shared>, %k : !tile.buffer<96x32xf32, shared> into %s : !tile.buffer<64x32xf32, fragment>
    }
  }
  return
}

// -----

// Steps that are no pairs and no third of one come behind them; b as [N, K] is turned first, and widened after.
// a that is [K, M] is turned as well.
// CHECK-LABEL: func.func @rest
// CHECK: tile.copy %{{.*}} to %{{.*}} : !tile.buffer<96x128xf32, shared> {transpose}
// CHECK: tile.copy %{{.*}} to %[[TURNED:.*]] : !tile.buffer<128x64xf16, shared> {transpose}
// CHECK: arith.extf
// CHECK: tile.gemm {{.*}}cpu.sums = 40
// LOWERED-LABEL: func.func @rest
// LOWERED: scf.for %{{.*}} = %c0{{.*}} to %c40
// LOWERED: scf.for %{{.*}} = %c120{{.*}} to %c128
// LOWERED: } else {
func.func @rest() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<128x96xf32, shared>
    %k = tile.alloc "k" : !tile.buffer<64x128xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<96x64xf32, fragment>
    tile.gemm %a : !tile.buffer<128x96xf32, shared>, %k : !tile.buffer<64x128xf16, shared> into %s : !tile.buffer<96x64xf32, fragment> {transpose_a, transpose_b}
  }
  return
}

// -----

// Not of types with products of their own, of columns that fill no vectors, of too few steps, or where preparing takes longer.
// CHECK-LABEL: func.func @others
// CHECK-NOT: cpu.sums
func.func @others() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<64x64xf32, shared>
    %h = tile.alloc "h" : !tile.buffer<64x64xbf16, shared>
    %n = tile.alloc "n" : !tile.buffer<64x24xf32, shared>
    %w = tile.alloc "w" : !tile.buffer<64x16xf32, shared>
    %x = tile.alloc "x" : !tile.buffer<64x16xf32, shared>
    %y = tile.alloc "y" : !tile.buffer<16x64xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<64x24xf32, fragment>
    %u = tile.alloc "u" : !tile.buffer<64x16xf32, fragment>
    tile.gemm %h : !tile.buffer<64x64xbf16, shared>, %h : !tile.buffer<64x64xbf16, shared> into %s : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a : !tile.buffer<64x64xf32, shared>, %n : !tile.buffer<64x24xf32, shared> into %t : !tile.buffer<64x24xf32, fragment>
    tile.gemm %x : !tile.buffer<64x16xf32, shared>, %y : !tile.buffer<16x64xf32, shared> into %s : !tile.buffer<64x64xf32, fragment>
    tile.gemm %a : !tile.buffer<64x64xf32, shared>, %w : !tile.buffer<64x16xf32, shared> into %u : !tile.buffer<64x16xf32, fragment>
  }
  return
}
