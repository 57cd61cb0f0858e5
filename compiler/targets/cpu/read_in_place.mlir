// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-read-in-place --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-read-in-place=cpu=avx2 --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-read-in-place=cpu=neon --split-input-file | FileCheck %s --check-prefix=NEON

// What reads the row before the nest that fills it anew, that nest with it, reads the tensor; the copy is a note.
// NEON-NOT: in_place
// CHECK-LABEL: func.func @rows
// CHECK: tile.launch (%[[B:.*]]) in
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK: tile.copy {{.*}}cpu.in_place
// CHECK: %[[ROW:.*]] = tile.alloc "x"
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [1, 4096] {
// CHECK: %[[V:.*]] = tile.load %arg0[%[[B]], %[[J]]] in_bounds
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[V]] : bf16 to f32
// CHECK-NEXT: tile.store %[[W]], %[[ROW]][%[[I]], %[[J]]] in_bounds
// CHECK: tile.reduce max %[[ROW]]
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [1, 4096] {
// CHECK: %[[V:.*]] = tile.load %arg0[%[[B]], %[[J]]] in_bounds
// CHECK: arith.extf %[[V]] : bf16 to f32
// CHECK: tile.store %{{.*}}, %[[X]][%[[I]], %[[J]]]
// CHECK: tile.load %[[X]]
func.func @rows(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    %m = tile.alloc "m" : !tile.buffer<1xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.reduce max %x : !tile.buffer<1x4096xf32, fragment> dim 1 into %m : !tile.buffer<1xf32, fragment> clear
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %l = tile.load %m[%i] in_bounds : !tile.buffer<1xf32, fragment>
      %d = arith.subf %v, %l : f32
      tile.store %d, %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.truncf %v : f32 to bf16
      tile.store %w, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
  }
  return
}

// -----

// In place where Y is X: each element is read before it is written.
// CHECK-LABEL: func.func @last
// CHECK: cpu.in_place
// CHECK: tile.load %arg0
func.func @last(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.truncf %v : f32 to bf16
      tile.store %w, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
  }
  return
}

// -----

// If Y is X, the second nest would read what the first one wrote.
// CHECK-LABEL: func.func @written
// CHECK-NOT: cpu.in_place
func.func @written(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                   %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    %m = tile.alloc "m" : !tile.buffer<1xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %s = arith.addf %v, %v : f32
      %w = arith.truncf %s : f32 to bf16
      tile.store %w, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
    tile.reduce max %x : !tile.buffer<1x4096xf32, fragment> dim 1 into %m : !tile.buffer<1xf32, fragment> clear
  }
  return
}

// -----

// If Y is X, elements are written before their neighbours are read: in another order, or with an index apart.
// CHECK-LABEL: func.func @turned
// CHECK-NOT: cpu.in_place
func.func @turned(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                  %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  %last = arith.constant 4095 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.truncf %v : f32 to bf16
      %k = arith.subi %last, %j : index
      tile.store %w, %Y[%b, %k] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @apart
// CHECK-NOT: cpu.in_place
func.func @apart(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                 %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  %zero = arith.constant 0 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %zero] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.truncf %v : f32 to bf16
      tile.store %w, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
  }
  return
}

// -----

// Of float32, a row that is only read; one that a nest fills anew is copied.
// CHECK-LABEL: func.func @wide
// CHECK: tile.copy %arg0{{.*}}cpu.in_place
// CHECK-NOT: cpu.in_place
// CHECK: tile.load %arg0
// CHECK-NOT: arith.extf
// CHECK: return
func.func @wide(%X: !tile.buffer<8192x4096xf32, global> {tile.name = "X"},
                %Y: !tile.buffer<8192x4096xf32, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<8192x4096xf32, global> to %y : !tile.buffer<1x4096xf32, fragment> {source_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %u = tile.load %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.addf %v, %u : f32
      tile.store %w, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xf32, global>
    }
  }
  return
}
