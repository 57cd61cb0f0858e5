// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-multiply-by-pieces=cpu=sapphirerapids --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-multiply-by-pieces=cpu=znver5 --split-input-file | FileCheck %s --check-prefix=NOTILES
// RUN: tilewright-opt %s --cpu-multiply-by-pieces=cpu=sapphirerapids --cpu-pack-gemm-operands=cpu=sapphirerapids --cpu-lower-gemm=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=LOWERED

// a is cut before the loop, which leaves it as it is; b in each turn, after it was turned. Each number minus its first two
// pieces is the third; 16 words hold the upper halves of 32 numbers, or those of a pair of rows.
// NOTILES-NOT: cpu.pieces
// CHECK-LABEL: func.func @kept
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<64x192xbf16, shared>
// CHECK: tile.view %[[A]] : {{.*}} to !tile.buffer<4x2x3x16x16xsi32, shared>
// CHECK: scf.for
// CHECK: arith.subf
// CHECK: arith.subf
// CHECK: vector.shuffle
// CHECK: tile.for
// CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [64, 64]
// CHECK: %[[TURNED:.*]] = tile.alloc : !tile.buffer<64x64xf32, shared>
// CHECK: tile.copy %{{.*}} to %[[TURNED]] : {{.*}} {transpose}
// CHECK: %[[B:.*]] = tile.alloc : !tile.buffer<192x64xbf16, shared>
// CHECK: tile.view %[[B]] : {{.*}} to !tile.buffer<2x2x3x16x32xsi32, shared>
// CHECK: arith.shrui
// CHECK: tile.gemm %[[A]] : {{.*}}, %[[B]] : {{.*}} into %{{.*}} {cpu.packed = 2 : i64, cpu.pieces = 3 : i64, cpu.tiles}
// Six products of 2 x 2 tiles in each of two turns of a loop; from each to the next one of two tiles stays.
// LOWERED-LABEL: func.func @kept
// LOWERED: scf.for %{{.*}} = %{{.*}} to %c2
// LOWERED-COUNT-4: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-4: x86.tilestored64
func.func @kept(%K: !tile.buffer<512x64xf32, global> {tile.name = "K"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c1) threads(128) {
    %q = tile.alloc "q" : !tile.buffer<64x64xf32, shared>
    %k = tile.alloc "k" : !tile.buffer<64x64xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<64x64xf32, fragment>
    tile.copy %K[0, 0] [64, 64] : !tile.buffer<512x64xf32, global> to %q : !tile.buffer<64x64xf32, shared>
    tile.for %step = %c0 to %c8 step %c1 {
      %at = arith.muli %step, %c64 : index
      tile.copy %K[%at, 0] [64, 64] : !tile.buffer<512x64xf32, global> to %k : !tile.buffer<64x64xf32, shared>
      tile.gemm %q : !tile.buffer<64x64xf32, shared>, %k : !tile.buffer<64x64xf32, shared> into %s : !tile.buffer<64x64xf32, fragment> {transpose_b}
    }
  }
  return
}

// -----

// What the loop changes is cut in each turn, and so is a part whose place it changes.
// CHECK-LABEL: func.func @changed
// CHECK-NOT: arith.subf
// CHECK: tile.for
// CHECK: arith.subf
// CHECK: tile.gemm {{.*}}cpu.pieces
// CHECK: tile.fill
// CHECK: tile.for
// CHECK: arith.subf
// CHECK: tile.gemm {{.*}}cpu.pieces
func.func @changed(%x: f32 {tile.name = "x", tile.dtype = f32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%b) in (%c1) threads(128) {
    %p = tile.alloc "p" : !tile.buffer<128x64xf32, shared>
    %v = tile.alloc "v" : !tile.buffer<4x64x128xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<128x128xf32, fragment>
    tile.for %step = %c0 to %c4 step %c1 {
      tile.gemm %p : !tile.buffer<128x64xf32, shared>, %v[%step, 0, 0] [1, 64, 128] : !tile.buffer<4x64x128xf32, shared> into %s : !tile.buffer<128x128xf32, fragment>
      tile.fill %p : !tile.buffer<128x64xf32, shared> with %x : f32
    }
    tile.for %step = %c0 to %c4 step %c1 {
      tile.gemm %p : !tile.buffer<128x64xf32, shared>, %v[%step, 0, 0] [1, 64, 128] : !tile.buffer<4x64x128xf32, shared> into %s : !tile.buffer<128x128xf32, fragment>
    }
  }
  return
}

// -----

// A float16 has two pieces, which all meet. The last ones' sum tells what isn't finite, which vectors multiply.
// CHECK-LABEL: func.func @halves
// CHECK: tile.view {{.*}} to !tile.buffer<2x2x2x16x16xsi32, shared>
// CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK-COUNT-2: arith.subf
// CHECK-NOT: arith.subf
// CHECK: vector.shuffle
// CHECK: %[[SUM:.*]] = vector.reduction <add>
// CHECK: %[[ODD:.*]] = arith.cmpf uno, %[[SUM]], %[[SUM]] : f32
// CHECK: scf.if %[[ODD]] {
// CHECK: math.fma
// CHECK: } else {
// CHECK: tile.gemm {{.*}}<32x128xbf16, shared>, {{.*}}<128x32xbf16, shared>{{.*}} {cpu.packed = 2 : i64, cpu.pieces = 2 : i64, cpu.tiles}
// LOWERED-LABEL: func.func @halves
// LOWERED-COUNT-4: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-2: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-4: x86.tilestored64
func.func @halves() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<32x64xf16, shared>
    %h = tile.alloc "h" : !tile.buffer<64x32xf16, shared>
    %s = tile.alloc "s" : !tile.buffer<32x32xf32, fragment>
    tile.gemm %a : !tile.buffer<32x64xf16, shared>, %h : !tile.buffer<64x32xf16, shared> into %s : !tile.buffer<32x32xf32, fragment>
  }
  return
}

// -----

// A float of 8 bits is one piece, and so is the bfloat16 beside it.
// CHECK-LABEL: func.func @bytes
// CHECK: arith.extf {{.*}} : vector<16xf8E4M3FN> to vector<16xf32>
// CHECK-NOT: arith.subf
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK-NOT: scf.if
// CHECK: tile.gemm {{.*}}<32x64xbf16, shared>, {{.*}}<64x32xbf16, shared>{{.*}} {cpu.packed = 2 : i64, cpu.pieces = 1 : i64, cpu.tiles}
// LOWERED-LABEL: func.func @bytes
// LOWERED-COUNT-4: x86.tileloadd64
// LOWERED-COUNT-4: x86.tdpbf16ps
// LOWERED-COUNT-4: x86.tilestored64
func.func @bytes() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<32x64xf8E4M3FN, shared>
    %h = tile.alloc "h" : !tile.buffer<64x32xbf16, shared>
    %s = tile.alloc "s" : !tile.buffer<32x32xf32, fragment>
    tile.gemm %a : !tile.buffer<32x64xf8E4M3FN, shared>, %h : !tile.buffer<64x32xbf16, shared> into %s : !tile.buffer<32x32xf32, fragment>
  }
  return
}

// -----

// Too few rows and columns for what cutting costs, depths that don't make whole tiles, [K, M], exponents alone: as before.
// CHECK-LABEL: func.func @others
// CHECK-NOT: cpu.pieces
func.func @others(%x: f32 {tile.name = "x", tile.dtype = f32}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %a = tile.alloc "a" : !tile.buffer<32x32xf32, shared>
    %d = tile.alloc "d" : !tile.buffer<128x48xf32, shared>
    %e = tile.alloc "e" : !tile.buffer<48x128xf32, shared>
    %f = tile.alloc "f" : !tile.buffer<128x128xf32, shared>
    %h = tile.alloc "h" : !tile.buffer<128x128xf8E8M0FNU, shared>
    %s = tile.alloc "s" : !tile.buffer<32x32xf32, fragment>
    %t = tile.alloc "t" : !tile.buffer<128x128xf32, fragment>
    tile.gemm %a : !tile.buffer<32x32xf32, shared>, %a : !tile.buffer<32x32xf32, shared> into %s : !tile.buffer<32x32xf32, fragment>
    tile.gemm %d : !tile.buffer<128x48xf32, shared>, %e : !tile.buffer<48x128xf32, shared> into %t : !tile.buffer<128x128xf32, fragment>
    tile.gemm %f : !tile.buffer<128x128xf32, shared>, %f : !tile.buffer<128x128xf32, shared> into %t : !tile.buffer<128x128xf32, fragment> {transpose_a}
    tile.gemm %h : !tile.buffer<128x128xf8E8M0FNU, shared>, %h : !tile.buffer<128x128xf8E8M0FNU, shared> into %t : !tile.buffer<128x128xf32, fragment>
  }
  return
}
