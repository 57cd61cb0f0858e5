// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-plan-memory --split-input-file | FileCheck %s
// Addresses on chip.

// One behind the other, in blocks of 32 bytes, around what the user has placed.
// CHECK-LABEL: func.func @in_order
// CHECK: tile.alloc "a" at 0 : !tile.buffer<10xf32, UB>
// CHECK: tile.alloc "here" at 64 : !tile.buffer<16xf32, UB>
// CHECK: tile.alloc "b" at 128 : !tile.buffer<3x4xf32, UB>
// CHECK: tile.alloc "c" at 0 : !tile.buffer<16x16xf16, L0A>
// CHECK: tile.alloc "d" at 512 : !tile.buffer<16x16xf16, L0A>
func.func @in_order(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<10xf32, UB>
    %here = tile.alloc "here" at 64 : !tile.buffer<16xf32, UB>
    %b = tile.alloc "b" : !tile.buffer<3x4xf32, UB>
    %c = tile.alloc "c" : !tile.buffer<16x16xf16, L0A>
    %d = tile.alloc "d" : !tile.buffer<16x16xf16, L0A>
  }
  return
}

// -----
// Of buffers with one name, only the first has it alone: the others have a number.
// CHECK-LABEL: func.func @names
// CHECK: tile.alloc "t" at 0
// CHECK: tile.alloc "t_1" at 64
// CHECK: tile.alloc "t_2" at 128
// CHECK: tile.alloc "t_3" at 0
// CHECK: tile.alloc "t" : !tile.buffer<1xf32, local>
func.func @names(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "t" : !tile.buffer<16xf32, UB>
    %b = tile.alloc "t_1" : !tile.buffer<16xf32, UB>
    %c = tile.alloc "t" : !tile.buffer<16xf32, UB>
    %d = tile.alloc "t" : !tile.buffer<16x16xf16, L0A>
    %e = tile.alloc "t" : !tile.buffer<1xf32, local>
  }
  return
}

// -----
// Workspaces lie in the memory of the launch.
// CHECK-LABEL: func.func @workspaces
// CHECK-SAME: ascend.workspace_bytes = 6144
// CHECK: tile.alloc "w0" at 0 : !tile.buffer<3x100xf32, global>
// CHECK: tile.alloc "w1" at 1536 : !tile.buffer<3x16x24xf32, global>
func.func @workspaces(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %w0 = tile.alloc "w0" : !tile.buffer<3x100xf32, global>
    %w1 = tile.alloc "w1" : !tile.buffer<3x16x24xf32, global>
  }
  return
}

// -----
// Too much to lie side by side: what the loop overwrites before it reads it shares bytes with what it needs later.
// CHECK-LABEL: func.func @shared
// CHECK: tile.alloc "x" at 0 : !tile.buffer<128x128xf32, UB>
// CHECK: tile.alloc "y" at 65536 : !tile.buffer<128x128xf32, UB>
// CHECK: tile.alloc "z" at 0 : !tile.buffer<128x128xf32, UB>
// CHECK: tile.alloc "kept" at 131072 : !tile.buffer<64x128xf32, UB>
func.func @shared(%A: !tile.buffer<128x128xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 16384 : index
  %half = arith.constant 8192 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<128x128xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<128x128xf32, UB>
    %z = tile.alloc "z" : !tile.buffer<128x128xf32, UB>
    %kept = tile.alloc "kept" : !tile.buffer<64x128xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.load_ub %A[0, 0] [128, 128] : !tile.buffer<128x128xf32, global> to %x[%c0] : !tile.buffer<128x128xf32, UB> pitch 128
      npu.unary exp %y[%c0] : !tile.buffer<128x128xf32, UB>, %x[%c0] : !tile.buffer<128x128xf32, UB> count(%size)
      npu.unary ln %z[%c0] : !tile.buffer<128x128xf32, UB>, %y[%c0] : !tile.buffer<128x128xf32, UB> count(%size)
      npu.binary add %kept[%c0] : !tile.buffer<64x128xf32, UB>, %z[%c0] : !tile.buffer<128x128xf32, UB>, %kept[%c0] : !tile.buffer<64x128xf32, UB> count(%half)
    }
  }
  return
}

// -----
// A gemm that begins a sum anew needs nothing of what its result held: the two results of an iteration share bytes.
// CHECK-LABEL: func.func @results
// CHECK: tile.alloc "scores" at 0 : !tile.buffer<64x64xf32, L0C>
// CHECK: tile.alloc "sums" at 0 : !tile.buffer<64x512xf32, L0C>
func.func @results(%S: !tile.buffer<64x64xf32, global>, %O: !tile.buffer<64x512xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %yes = arith.constant true
  %no = arith.constant false
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x16xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<16x512xf16, L0B>
    %scores = tile.alloc "scores" : !tile.buffer<64x64xf32, L0C>
    %sums = tile.alloc "sums" : !tile.buffer<64x512xf32, L0C>
    tile.for %i = %c0 to %n step %c1 {
      npu.mmad %a[%c0] : !tile.buffer<64x16xf16, L0A>, %b[%c0] : !tile.buffer<16x512xf16, L0B> into %scores[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 16 init(%yes)
      npu.mmad %a[%c0] : !tile.buffer<64x16xf16, L0A>, %b[%c0] : !tile.buffer<16x512xf16, L0B> into %scores[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 16 init(%no)
      npu.store_l0c %scores[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %S[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      npu.mmad %a[%c0] : !tile.buffer<64x16xf16, L0A>, %b[%c0] : !tile.buffer<16x512xf16, L0B> into %sums[%c0] : !tile.buffer<64x512xf32, L0C> size 64 x 512 x 16 init(%yes)
      npu.store_l0c %sums[%c0] : !tile.buffer<64x512xf32, L0C> rows 64 to %O[0, 0] [64, 512] : !tile.buffer<64x512xf32, global>
    }
  }
  return
}

// -----
// So does one of extents that are known at run time only, where nothing else has a part of its tile; a load to L0 leaves nothing of
// what was there, either.
// CHECK-LABEL: func.func @results_of_some_rows
// CHECK: tile.alloc "first" at 0 : !tile.buffer<64x512xf16, L0B>
// CHECK: tile.alloc "second" at 0 : !tile.buffer<64x512xf16, L0B>
// CHECK: tile.alloc "scores" at 0 : !tile.buffer<64x64xf32, L0C>
// CHECK: tile.alloc "sums" at 0 : !tile.buffer<64x512xf32, L0C>
func.func @results_of_some_rows(%S: !tile.buffer<64x64xf32, global>, %O: !tile.buffer<64x512xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %yes = arith.constant true
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64x512xf16, L1>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L0A>
    %first = tile.alloc "first" : !tile.buffer<64x512xf16, L0B>
    %second = tile.alloc "second" : !tile.buffer<64x512xf16, L0B>
    %scores = tile.alloc "scores" : !tile.buffer<64x64xf32, L0C>
    %sums = tile.alloc "sums" : !tile.buffer<64x512xf32, L0C>
    tile.for %i = %c0 to %n step %c1 {
      npu.load_l0 %x[%c0] : !tile.buffer<64x512xf16, L1> at (%c0, %c0) to %first[%c0] : !tile.buffer<64x512xf16, L0B> rows 64 size 64 x 512 only(%m, %m)
      npu.mmad %a[%c0] : !tile.buffer<64x64xf16, L0A>, %first[%c0] : !tile.buffer<64x512xf16, L0B> into %scores[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 64 only(%m, %m, %m) init(%yes) {npu.alone}
      npu.store_l0c %scores[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %S[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      npu.load_l0 %x[%c0] : !tile.buffer<64x512xf16, L1> at (%c0, %c0) to %second[%c0] : !tile.buffer<64x512xf16, L0B> rows 64 size 64 x 512 only(%m, %m)
      npu.mmad %a[%c0] : !tile.buffer<64x64xf16, L0A>, %second[%c0] : !tile.buffer<64x512xf16, L0B> into %sums[%c0] : !tile.buffer<64x512xf32, L0C> size 64 x 512 x 64 only(%m, %m, %m) init(%yes) {npu.alone}
      npu.store_l0c %sums[%c0] : !tile.buffer<64x512xf32, L0C> rows 64 to %O[0, 0] [64, 512] : !tile.buffer<64x512xf32, global>
    }
  }
  return
}

// -----
// Of a load of some rows the others stay, so what has them shares no bytes with what the loop needs later, though the latter would.
// CHECK-LABEL: func.func @loads_of_some_rows
// CHECK: tile.alloc "kept" at 262144 : !tile.buffer<512x128xf16, L1>
// CHECK: tile.alloc "whole" at 0 : !tile.buffer<1024x128xf16, L1>
// CHECK: tile.alloc "other" at 0 : !tile.buffer<1024x128xf16, L1>
func.func @loads_of_some_rows(%A: !tile.buffer<1024x128xf16, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %kept = tile.alloc "kept" : !tile.buffer<512x128xf16, L1>
    %whole = tile.alloc "whole" : !tile.buffer<1024x128xf16, L1>
    %other = tile.alloc "other" : !tile.buffer<1024x128xf16, L1>
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L0A>
    tile.for %i = %c0 to %n step %c1 {
      npu.load_l1 %A[0, 0] [%m, 128] : !tile.buffer<1024x128xf16, global> to %kept[%c0] : !tile.buffer<512x128xf16, L1> rows 512
      npu.load_l0 %kept[%c0] : !tile.buffer<512x128xf16, L1> at (%c0, %c0) to %a[%c0] : !tile.buffer<16x16xf16, L0A> rows 512 size 16 x 16
      npu.load_l1 %A[0, 0] [1024, 128] : !tile.buffer<1024x128xf16, global> to %whole[%c0] : !tile.buffer<1024x128xf16, L1> rows 1024
      npu.load_l0 %whole[%c0] : !tile.buffer<1024x128xf16, L1> at (%c0, %c0) to %a[%c0] : !tile.buffer<16x16xf16, L0A> rows 1024 size 16 x 16
      npu.load_l1 %A[0, 0] [1024, 128] : !tile.buffer<1024x128xf16, global> to %other[%c0] : !tile.buffer<1024x128xf16, L1> rows 1024
      npu.load_l0 %other[%c0] : !tile.buffer<1024x128xf16, L1> at (%c0, %c0) to %a[%c0] : !tile.buffer<16x16xf16, L0A> rows 1024 size 16 x 16
    }
  }
  return
}

// -----
// Select works in the last 8 KiB of UB: y takes x's place, though both have room before the system's bytes.
// CHECK-LABEL: func.func @select
func.func @select(%n: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: tile.alloc "x" at 0
    %x = tile.alloc "x" : !tile.buffer<24000xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<32xui8, UB>
    npu.compare_scalar gt %m[%c0] : !tile.buffer<32xui8, UB>, %x[%c0] : !tile.buffer<24000xf32, UB>, %s count(%c64)
    npu.select_scalar %x[%c0] : !tile.buffer<24000xf32, UB>, %m[%c0] : !tile.buffer<32xui8, UB>, %x[%c0] : !tile.buffer<24000xf32, UB>, %s count(%c64)
    // CHECK: tile.alloc "y" at 0
    %y = tile.alloc "y" : !tile.buffer<24000xf32, UB>
    npu.unary exp %y[%c0] : !tile.buffer<24000xf32, UB>, %y[%c0] : !tile.buffer<24000xf32, UB> count(%c64)
  }
  return
}
