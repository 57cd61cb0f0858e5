// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics
// What passes leave for each other may also be written by hand: it must be what a pass could have left.

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.packed' is 0 but from 1 to 4 is expected}}
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 0 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.packed' is -1 but from 1 to 4 is expected}}
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = -1 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.packed' is an integer, not unit}}
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.packed' is 2 but rows of 'f32' are interleaved}}
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x31xbf16, shared>
    %B = tile.alloc : !tile.buffer<31x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.packed' is 2 but a has no multiple of so many products}}
    tile.gemm %A : !tile.buffer<12x31xbf16, shared>, %B : !tile.buffer<31x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xbf16, shared>
    %B = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.tiles' stands on a gemm whose b is packed}}
    tile.gemm %A : !tile.buffer<12x32xbf16, shared>, %B : !tile.buffer<32x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.tiles}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x4xbf16, shared>
    %B = tile.alloc : !tile.buffer<4x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.tiles' stands on a gemm of 4 products and 32 columns, which fill no tiles}}
    tile.gemm %A : !tile.buffer<12x4xbf16, shared>, %B : !tile.buffer<4x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x64xbf16, shared>
    %B = tile.alloc : !tile.buffer<64x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.tiles' stands on a gemm of 64 products and 32 columns, which fill no tiles}}
    tile.gemm %A : !tile.buffer<12x64xbf16, shared>, %B : !tile.buffer<64x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64, cpu.tiles, cpu.pieces = 3 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xbf16, shared>
    %B = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.pieces' is 4 but from 1 to 3 is expected}}
    tile.gemm %A : !tile.buffer<12x32xbf16, shared>, %B : !tile.buffer<32x32xbf16, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 2 : i64, cpu.tiles, cpu.pieces = 4 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<12x32xf32, shared>
    %B = tile.alloc : !tile.buffer<32x32xf32, shared>
    %C = tile.alloc : !tile.buffer<12x32xf32, fragment>
    // expected-error @+1 {{'cpu.sums' is 0 but from 1 to 1048576 is expected}}
    tile.gemm %A : !tile.buffer<12x32xf32, shared>, %B : !tile.buffer<32x32xf32, shared>
      into %C : !tile.buffer<12x32xf32, fragment> {cpu.packed = 1 : i64, cpu.sums = 0 : i64}
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.packed' stands on tile.gemm only}}
    %A = tile.alloc {cpu.packed = 2 : i64} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.offset' is -64 but from 0 to 9223372036854775807 is expected}}
    %A = tile.alloc {cpu.offset = -64 : i64} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.offset' is an integer, not "here"}}
    %A = tile.alloc {cpu.offset = "here"} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.turns' is 0 but from 1 to 9223372036854775807 is expected}}
    %A = tile.alloc {cpu.turns = 0 : i64} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.element_bytes' is 2147483648 but from 0 to 16 is expected}}
    %A = tile.alloc {cpu.element_bytes = 2147483648 : i64} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.strip_cost' is 0 but from 1 to 9223372036854775807 is expected}}
    %A = tile.alloc {cpu.strip_cost = 0 : i64} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    // expected-error @+1 {{'cpu.tile_shape' is two numbers from 1 to 16, not array<i64: 0, 16>}}
    %A = tile.alloc {cpu.tile_shape = array<i64: 0, 16>} : !tile.buffer<12x32xf32, shared>
  }
  return
}

// -----

func.func @kernel(%n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %A = tile.alloc : !tile.buffer<16x32xbf16, shared>
    %B = tile.alloc : !tile.buffer<32x32xbf16, shared>
    %C = tile.alloc : !tile.buffer<16x32xf32, fragment>
    // expected-error @+1 {{'cpu.tiles' stands on a gemm of known extents}}
    tile.gemm %A : !tile.buffer<16x32xbf16, shared>, %B[0, 0] [32, %n] : !tile.buffer<32x32xbf16, shared>
      into %C[0, 0] [16, %n] : !tile.buffer<16x32xf32, fragment> {cpu.packed = 2 : i64, cpu.tiles}
  }
  return
}
