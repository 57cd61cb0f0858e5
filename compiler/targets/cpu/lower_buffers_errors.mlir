// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-buffers --split-input-file --verify-diagnostics
// What the passes before it would have lowered, or given a place, is told at the op.

func.func @tile_op(%slots: !llvm.ptr, %scratch: !llvm.ptr) {
  %one = arith.constant 1.0 : f32
  %s = tile.alloc "s" {cpu.offset = 0 : i64} : !tile.buffer<64xf32, shared>
  // expected-error@+1 {{'tile.fill' op isn't lowered yet, and uses a buffer}}
  tile.fill %s : !tile.buffer<64xf32, shared> with %one : f32
  return
}

// -----
func.func @no_scratch(%n: index) {
  // expected-error@+1 {{'tile.alloc' op has no place in memory yet}}
  %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
  return
}

// -----
func.func @no_arguments(%n: index) {
  // expected-error@+1 {{'tile.alloc' op has no place in memory yet}}
  %s = tile.alloc "s" {cpu.offset = 0 : i64} : !tile.buffer<64xf32, shared>
  return
}

// -----
func.func @tensor(%A: !tile.buffer<64xf32, global>, %i: index) {
  // expected-error@+1 {{'tile.load' op uses a buffer that has no address yet}}
  %v = tile.load %A[%i] : !tile.buffer<64xf32, global>
  return
}

// -----
func.func @strange_cast(%pointer: !llvm.ptr) {
  // expected-error@+1 {{isn't lowered yet, and uses a buffer}}
  %A = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to !tile.buffer<64xf32, global>
  return
}

// -----
// A value that only some paths give has no address, whichever op gives it.
func.func @chosen(%c: i1) {
  %v = tile.alloc "v" : !tile.buffer<f32, var>
  %w = tile.alloc "w" : !tile.buffer<f32, var>
  // expected-error@+1 {{'arith.select' op isn't lowered yet, and uses a buffer}}
  %x = arith.select %c, %v, %w : !tile.buffer<f32, var>
  return
}
