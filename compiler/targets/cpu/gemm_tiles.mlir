// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-gemm=cpu=sapphirerapids --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-pack-gemm-operands=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=PACKED

// 2 x 2 tiles share what they load; the fifth column of tiles goes by four rows. Their sums are loaded.
// CHECK-LABEL: func.func @pairs
// CHECK: tile.launch {{.*}} attributes {cpu.tiles}
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}} step %c1
// CHECK-COUNT-2: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK: scf.for
// CHECK-COUNT-2: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK-NOT: ldtilecfg
func.func @pairs() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<64x64xbf16, shared>
    %B = tile.alloc : !tile.buffer<64x80xbf16, shared>
    %C = tile.alloc : !tile.buffer<64x80xf32, fragment>
    tile.gemm %A : !tile.buffer<64x64xbf16, shared>, %B : !tile.buffer<64x80xbf16, shared>
      into %C : !tile.buffer<64x80xf32, fragment> {cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}

// -----

// Bytes with and without a sign, no shift. Sums that count as 0 are not loaded. Of 21 rows, 5 get tiles of their own.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: ldtilecfg
// CHECK-COUNT-2: "llvm.x86.tilezero"
// CHECK: "llvm.x86.tdpbsud"
// CHECK-NOT: vpdpbusd
// CHECK: "llvm.x86.ldtilecfg"(%{{.*}}) {cpu.tile_shape = array<i64: 5, 16>}
// CHECK: "llvm.x86.tilezero"
// CHECK: "llvm.x86.tdpbsud"
// CHECK: "llvm.x86.ldtilecfg"(%{{.*}}) {cpu.tile_shape = array<i64: 16, 16>}
func.func @bytes() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<21x128xsi8, shared>
    %B = tile.alloc : !tile.buffer<128x32xui8, shared>
    %C = tile.alloc : !tile.buffer<21x32xsi32, fragment>
    tile.gemm %A : !tile.buffer<21x128xsi8, shared>, %B : !tile.buffer<128x32xui8, shared>
      into %C : !tile.buffer<21x32xsi32, fragment> {clear_accum, cpu.packed = 4 : i64, cpu.tiles}
  }
  return
}

// -----

// 24 pairs along k are two steps of 12. Whether sums are cleared is known only at run time.
// CHECK-LABEL: func.func @depth
// CHECK: "llvm.x86.ldtilecfg"(%{{.*}}) {cpu.tile_shape = array<i64: 16, 12>}
// CHECK: scf.if %arg0 {
// CHECK-COUNT-4: "llvm.x86.tilezero"
// CHECK: } else {
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}} step %c1
// CHECK: llvm.mlir.constant(96 : i64)
func.func @depth(%flag: i1 {tile.name = "flag"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<32x48xbf16, shared>
    %B = tile.alloc : !tile.buffer<48x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<32x32xf32, fragment>
    tile.gemm %A : !tile.buffer<32x48xbf16, shared>, %B : !tile.buffer<48x32xbf16, shared>
      into %C : !tile.buffer<32x32xf32, fragment> clear(%flag) {cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}

// -----

// The last sums become bfloat16 by way of a place on chip, two vectors at once.
// CHECK-LABEL: func.func @result
// CHECK: scf.if %arg0 {
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: scf.for
// CHECK: "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// CHECK: llvm.store {{.*}} : vector<32xi16>
// CHECK: } else {
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: cpu.result
func.func @result(%last: i1 {tile.name = "last"}, %G: !tile.buffer<32x32xbf16, global> {tile.name = "G"})
    attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %B = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<32x32xf32, fragment>
    %S = tile.alloc : !tile.buffer<4x16x16xf32, shared>
    %to = builtin.unrealized_conversion_cast %G : !tile.buffer<32x32xbf16, global> to !llvm.ptr
    %0:4 = builtin.unrealized_conversion_cast %to, %c64, %last, %S : !llvm.ptr, index, i1, !tile.buffer<4x16x16xf32, shared>
      to !llvm.ptr, index, i1, !tile.buffer<4x16x16xf32, shared> {cpu.result = bf16}
    tile.gemm %A : !tile.buffer<32x32xbf16, shared>, %B : !tile.buffer<32x32xbf16, shared>
      into %C : !tile.buffer<32x32xf32, fragment> {clear_accum, cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}

// -----

// Of rows 2 KB apart, parts of 512 bytes are copied tile by tile, and meet all columns. Sums begin in the first of 4 parts
// and go to their result in the last one. Meanwhile
// the next part is asked for.
// CHECK-LABEL: func.func @parts
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK: scf.for %[[PART:.*]] = %c0{{.*}} to %c3{{.*}} step %c1
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c1
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xi32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c128{{.*}} step %c32
// CHECK: scf.if %[[FIRST]] {
// CHECK: "llvm.x86.tilezero"
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step %c1
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: llvm.store {{.*}} : vector<16xi32>
// CHECK-NOT: tilezero
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 1 : i32}>
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: cpu.stage
func.func @parts(%A: !tile.buffer<64x1024xbf16, global> {tile.name = "A"},
    %G: !tile.buffer<64x128xf32, global> {tile.name = "G"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c2048 = arith.constant 2048 : index
  %last = arith.constant true
  tile.launch (%b) in (%c1) threads(128) {
    %B = tile.alloc : !tile.buffer<1024x128xbf16, shared>
    %C = tile.alloc : !tile.buffer<64x128xf32, fragment>
    %S = tile.alloc : !tile.buffer<32768xui8, shared>
    %next = builtin.unrealized_conversion_cast %A : !tile.buffer<64x1024xbf16, global> to !llvm.ptr
    %to = builtin.unrealized_conversion_cast %G : !tile.buffer<64x128xf32, global> to !llvm.ptr
    %0:2 = builtin.unrealized_conversion_cast %next, %c2048 : !llvm.ptr, index to !llvm.ptr, index {cpu.ahead = "a", cpu.element_bytes = 2 : i64}
    %1 = builtin.unrealized_conversion_cast %S : !tile.buffer<32768xui8, shared> to !llvm.ptr {cpu.stage}
    %2:3 = builtin.unrealized_conversion_cast %to, %c512, %last : !llvm.ptr, index, i1 to !llvm.ptr, index, i1 {cpu.result = f32}
    tile.gemm %A : !tile.buffer<64x1024xbf16, global>, %B : !tile.buffer<1024x128xbf16, shared>
      into %C : !tile.buffer<64x128xf32, fragment> {clear_accum, cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}

// -----

// a is read where it lies. Two rows of b are put in turns by one permutation, 32 columns a panel, 8 lines of it at a time.
// PACKED-LABEL: func.func @packed_pairs
// PACKED: tile.view {{.*}} to !tile.buffer<4x512x32xsi32, shared>
// PACKED: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step
// PACKED: scf.for %{{.*}} = %c0{{.*}} to %c4{{.*}} step
// PACKED: scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step
// PACKED-COUNT-2: llvm.load {{.*}} -> vector<16xi16>
// PACKED: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 32, 33, 2, 3, 34, 35,
// PACKED: llvm.store {{.*}} : vector<16xi32>
// PACKED: tile.alloc : !tile.buffer<32768xui8, shared>
// PACKED-NEXT: unrealized_conversion_cast {{.*}} {cpu.stage}
// PACKED-NEXT: tile.gemm %arg0 {{.*}} {cpu.packed = 2 : i64, cpu.tiles}
// CHECK-LABEL: func.func @packed_pairs
func.func @packed_pairs(%A: !tile.buffer<64x1024xbf16, global> {tile.name = "A"},
    %B: !tile.buffer<1024x128xbf16, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%x) in (%c1) threads(128) {
    %a = tile.alloc : !tile.buffer<64x1024xbf16, shared>
    %b = tile.alloc : !tile.buffer<1024x128xbf16, shared>
    %c = tile.alloc : !tile.buffer<64x128xf32, fragment>
    tile.copy %A : !tile.buffer<64x1024xbf16, global> to %a : !tile.buffer<64x1024xbf16, shared> {source_in_bounds = array<i1: true, true>}
    tile.copy %B : !tile.buffer<1024x128xbf16, global> to %b : !tile.buffer<1024x128xbf16, shared> {source_in_bounds = array<i1: true, true>}
    tile.gemm %a : !tile.buffer<64x1024xbf16, shared>, %b : !tile.buffer<1024x128xbf16, shared>
      into %c : !tile.buffer<64x128xf32, fragment>
  }
  return
}

// -----

// Four rows of bytes with a sign, unshifted; a short row is not copied.
// PACKED-LABEL: func.func @packed_bytes
// PACKED-COUNT-4: llvm.load {{.*}} -> vector<16xi8>
// PACKED: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 32, 48, 1, 17, 33, 49,
// PACKED-NOT: arith.xori
// PACKED-NOT: cpu.row_sums
// PACKED-NOT: cpu.stage
// PACKED: tile.gemm {{.*}} {cpu.packed = 4 : i64, cpu.tiles}
// CHECK-LABEL: func.func @packed_bytes
func.func @packed_bytes(%B: !tile.buffer<64x32xsi8, global> {tile.name = "B"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%x) in (%c1) threads(128) {
    %a = tile.alloc : !tile.buffer<20x64xsi8, shared>
    %b = tile.alloc : !tile.buffer<64x32xsi8, shared>
    %c = tile.alloc : !tile.buffer<20x32xsi32, fragment>
    tile.copy %B : !tile.buffer<64x32xsi8, global> to %b : !tile.buffer<64x32xsi8, shared> {source_in_bounds = array<i1: true, true>}
    tile.gemm %a : !tile.buffer<20x64xsi8, shared>, %b : !tile.buffer<64x32xsi8, shared>
      into %c : !tile.buffer<20x32xsi32, fragment>
  }
  return
}
