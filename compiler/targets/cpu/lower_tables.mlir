// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-tables --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-lower-tables=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2

// Both halves of a byte less 8: bits of bfloat16 in a register, -8 to 7, twice.
// CHECK-LABEL: func.func @weights
// CHECK-NOT: tile.parallel
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c4
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c2{{.*}} step
// CHECK: arith.muli %[[J]], %c32
// CHECK: %[[BYTES:.*]] = llvm.load {{.*}} vector<32xi8>
// CHECK: %[[INDEX:.*]] = arith.extui %[[BYTES]] : vector<32xi8> to vector<32xi16>
// CHECK-NOT: arith.sitofp
// CHECK: %[[TABLE:.*]] = arith.constant dense<[-16128, -16160, -16192, -16224, -16256, -16320, -16384, -16512, 0, 16256, 16384, 16448, 16512, 16544, 16576, 16608, -16128, {{.*}}, 16608]> : vector<32xi16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.hi.512"(%[[TABLE]], %[[INDEX]])
// CHECK: llvm.store
// CHECK: %[[HIGH:.*]] = arith.shrui %[[INDEX]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.hi.512"(%{{.*}}, %[[HIGH]])
// CHECK: llvm.store
// AVX2-LABEL: func.func @weights
// AVX2: tile.parallel
func.func @weights(%W: !tile.buffer<4x64xui8, global> {tile.name = "W"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %c15 = arith.constant 15 : i32
  tile.launch (%b) in (%c1) threads(128) {
    %low = tile.alloc : !tile.buffer<4x64xbf16, shared>
    %high = tile.alloc : !tile.buffer<4x64xbf16, shared>
    tile.parallel (%i, %j) in [4, 64] {
      %byte = tile.load %W[%i, %j] in_bounds : !tile.buffer<4x64xui8, global>
      %both = arith.extui %byte : i8 to i32
      %0 = arith.andi %both, %c15 : i32
      %1 = arith.subi %0, %c8 : i32
      %2 = arith.sitofp %1 : i32 to bf16
      tile.store %2, %low[%i, %j] in_bounds : !tile.buffer<4x64xbf16, shared>
      %3 = arith.shrsi %both, %c4 : i32
      %4 = arith.subi %3, %c8 : i32
      %5 = arith.sitofp %4 : i32 to bf16
      tile.store %5, %high[%i, %j] in_bounds : !tile.buffer<4x64xbf16, shared>
    }
  }
  return
}

// -----

// More than 4 bits, a factor from elsewhere, a row of bytes that isn't read straight on, a length that isn't whole vectors.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: tile.parallel
// CHECK-NOT: tile.parallel
func.func @others(%W: !tile.buffer<64x64xui8, global> {tile.name = "W"}, %scale: bf16 {tile.name = "scale"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : i8
  %c31 = arith.constant 31 : i8
  tile.launch (%b) in (%c1) threads(128) {
    %low = tile.alloc : !tile.buffer<64xbf16, shared>
    tile.parallel (%j) in [64] {
      %byte = tile.load %W[%b, %j] in_bounds : !tile.buffer<64x64xui8, global>
      %0 = arith.andi %byte, %c31 : i8
      %1 = arith.uitofp %0 : i8 to bf16
      tile.store %1, %low[%j] in_bounds : !tile.buffer<64xbf16, shared>
    }
    tile.parallel (%j) in [64] {
      %byte = tile.load %W[%b, %j] in_bounds : !tile.buffer<64x64xui8, global>
      %0 = arith.andi %byte, %c15 : i8
      %1 = arith.uitofp %0 : i8 to bf16
      %2 = arith.mulf %1, %scale : bf16
      tile.store %2, %low[%j] in_bounds : !tile.buffer<64xbf16, shared>
    }
    tile.parallel (%j) in [64] {
      %byte = tile.load %W[%j, %b] in_bounds : !tile.buffer<64x64xui8, global>
      %0 = arith.andi %byte, %c15 : i8
      %1 = arith.uitofp %0 : i8 to bf16
      tile.store %1, %low[%j] in_bounds : !tile.buffer<64xbf16, shared>
    }
    tile.parallel (%j) in [48] {
      %byte = tile.load %W[%b, %j] in_bounds : !tile.buffer<64x64xui8, global>
      %0 = arith.andi %byte, %c15 : i8
      %1 = arith.uitofp %0 : i8 to bf16
      tile.store %1, %low[%j] in_bounds : !tile.buffer<64xbf16, shared>
    }
  }
  return
}
