// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-plan-scratch | FileCheck %s

// CHECK-LABEL: func.func @share
// CHECK-SAME: cpu.scratch_bytes = 4160 : i64
func.func @share(%x: !tile.buffer<64xf32, global> {tile.name = "x"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    // CHECK: tile.alloc "first" {cpu.offset = 0 : i64}
    %first = tile.alloc "first" : !tile.buffer<512xf32, shared>
    tile.fill %first : !tile.buffer<512xf32, shared> with %zero : f32
    // Used in the loop and allocated before it: it lives as long as the whole loop, beside "inside".
    // CHECK: tile.alloc "around" {cpu.offset = 0 : i64}
    %around = tile.alloc "around" : !tile.buffer<512xf32, shared>
    // CHECK: tile.alloc "n" : !tile.buffer<si32, var>
    %n = tile.alloc "n" : !tile.buffer<si32, var>
    tile.for %i = %c0 to %c8 step %c1 {
      // CHECK: tile.alloc "inside" {cpu.offset = 2048 : i64}
      %inside = tile.alloc "inside" : !tile.buffer<512xf32, shared>
      tile.fill %inside : !tile.buffer<512xf32, shared> with %zero : f32
      tile.copy %inside : !tile.buffer<512xf32, shared> to %around : !tile.buffer<512xf32, shared>
      // A bool takes a byte, and every buffer a cache line at least.
      // CHECK: tile.alloc "flags" {cpu.offset = 4096 : i64}
      %flags = tile.alloc "flags" : !tile.buffer<3xi1, shared>
      %view = tile.view %flags : !tile.buffer<3xi1, shared> to !tile.buffer<3xui8, shared>
      tile.copy %view : !tile.buffer<3xui8, shared> to %inside[0] [3] : !tile.buffer<512xf32, shared>
    }
  }
  return
}

// Buffers of one launch are gone before the next begins; workspaces are there for all.

// CHECK-LABEL: func.func @launches
// CHECK-SAME: cpu.scratch_bytes = 2048 : i64, cpu.workspace_bytes = 512 : i64
func.func @launches(%x: !tile.buffer<64xf32, global> {tile.name = "x"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: tile.alloc "all" {cpu.offset = 0 : i64}
  %all = tile.alloc "all" : !tile.buffer<64xf32, global>
  tile.launch (%b) in (%c1) threads(128) {
    // CHECK: tile.alloc "first" {cpu.offset = 0 : i64}
    %first = tile.alloc "first" : !tile.buffer<512xf32, shared>
    tile.fill %first : !tile.buffer<512xf32, shared> with %zero : f32
    tile.copy %first[0] [64] : !tile.buffer<512xf32, shared> to %all : !tile.buffer<64xf32, global>
  }
  tile.launch (%b) in (%c1) threads(128) {
    // CHECK: tile.alloc "second" {cpu.offset = 0 : i64}
    %second = tile.alloc "second" : !tile.buffer<512xf32, shared>
    tile.fill %second : !tile.buffer<512xf32, shared> with %zero : f32
    // CHECK: tile.alloc "own" {cpu.offset = 256 : i64}
    %own = tile.alloc "own" : !tile.buffer<64xf32, global>
    tile.copy %second[0] [64] : !tile.buffer<512xf32, shared> to %own : !tile.buffer<64xf32, global>
  }
  return
}

// A place for sums is in use in the gemm behind its note: C, which first the gemm touches, lies elsewhere.
// CHECK-LABEL: func.func @row_sums
// CHECK: tile.alloc {cpu.offset = 0 : i64} : !tile.buffer<16x32xsi32, fragment>
// CHECK: tile.alloc {cpu.offset = {{[1-9].*}}} : !tile.buffer<16xsi32, shared>
func.func @row_sums() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x16xsi8, shared>
    %B = tile.alloc : !tile.buffer<16x32xsi8, shared>
    %C = tile.alloc : !tile.buffer<16x32xsi32, fragment>
    %S = tile.alloc : !tile.buffer<16xsi32, shared>
    %0 = builtin.unrealized_conversion_cast %S : !tile.buffer<16xsi32, shared> to !llvm.ptr {cpu.row_sums}
    tile.gemm %A : !tile.buffer<16x16xsi8, shared>, %B : !tile.buffer<16x32xsi8, shared>
      into %C : !tile.buffer<16x32xsi32, fragment> {cpu.packed = 4 : i64}
  }
  return
}
