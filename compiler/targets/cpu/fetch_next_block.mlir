// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-fetch-next-block --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-fetch-next-block=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=PAGES
// RUN: tilewright-opt %s --cpu-fetch-next-block=cpu=avx512 --split-input-file | FileCheck %s --check-prefix=PAGES

// The next row's 256 lines are asked for by the nest that computes: 64 strips of 64 elements, 4 lines each.
// CHECK-LABEL: func.func @rows
// CHECK: tile.launch (%[[B:.*]]) in
// CHECK: %[[NEXT:.*]] = arith.addi %[[B]], %c1
// CHECK: %[[ROW:.*]] = arith.muli %[[NEXT]], %c4096
// CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %
// CHECK: tile.copy
// CHECK: scf.for %[[STRIP:.*]] = %{{.*}} to %c64
// CHECK: scf.for %{{.*}} to %c4
// CHECK: %[[LINE:.*]] = llvm.getelementptr %[[ADDRESS]]
// CHECK: "llvm.intr.prefetch"(%[[LINE]])
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [1, 64] {
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK: tile.load %{{.*}}[%[[I]], %[[COLUMN]]]
func.func @rows(%X: !tile.buffer<4096x4096xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<4096x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
  }
  return
}

// -----

// A tensor that stays in the second-level cache, and a tile that all blocks read, are left alone.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: prefetch
// CHECK: return
func.func @alone(%X: !tile.buffer<16x4096xf32, global> {tile.name = "X"},
                 %W: !tile.buffer<4096x4096xf32, global> {tile.name = "W"}) attributes {tile.kernel} {
  %n = arith.constant 16 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    %w = tile.alloc "w" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<16x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment>
    tile.copy %W[3, 0] [1, 4096] : !tile.buffer<4096x4096xf32, global> to %w : !tile.buffer<1x4096xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      tile.store %v, %w[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
  }
  return
}

// -----

// A loop over strips that FuseReductions left asks, too: 256 lines in 16 strips.
// CHECK-LABEL: func.func @strips
// CHECK: llvm.getelementptr
// CHECK: tile.copy
// CHECK: scf.for %[[STRIP:.*]] = %{{.*}} to %c16
// CHECK: arith.muli %[[STRIP]], %c16
// CHECK: scf.for %{{.*}} to %c16
// CHECK: llvm.intr.prefetch
// CHECK: tile.load
func.func @strips(%X: !tile.buffer<4096x4096xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<4096x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment>
    scf.for %strip = %c0 to %c16 step %c1 {
      %v = tile.load %x[%c0, %strip] in_bounds : !tile.buffer<1x4096xf32, fragment>
    } {cpu.strip_cost = 4096 : i64}
  }
  return
}

// -----

// A copy that only says what is read in place is gone, and its buffer; the next one is asked for all the same.
// CHECK-LABEL: func.func @note
// CHECK-NOT: tile.alloc "x"
// CHECK-NOT: tile.copy
// CHECK: prefetch
func.func @note(%X: !tile.buffer<4096x4096xbf16, global> {tile.name = "X"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<4096x4096xbf16, global> to %x : !tile.buffer<1x4096xf32, fragment> {cpu.in_place}
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %X[%b, %j] in_bounds : !tile.buffer<4096x4096xbf16, global>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
  }
  return
}

// -----

// On x86 the two pages that the next block writes are asked for by this one before it writes, from the first
// element of the row on, to the first-level cache. A small tensor is not, nor one whose place depends on memory.
// PAGES-LABEL: func.func @written
// PAGES: tile.launch (%[[B:.*]]) in
// PAGES: tile.copy
// PAGES: %[[NEXT:.*]] = arith.addi %[[B]], %c1
// PAGES: %[[TWICE:.*]] = arith.muli %[[NEXT]], %c2{{.*}} : index
// PAGES: %[[ROW:.*]] = arith.addi %[[TWICE]], %c0
// PAGES: %[[FLAT:.*]] = arith.muli %[[ROW]], %c4096
// PAGES: %[[WIDE:.*]] = arith.index_cast %[[FLAT]]
// PAGES: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[%[[WIDE]]] : {{.*}} bf16
// PAGES: %[[FIRST:.*]] = llvm.getelementptr %[[PLACE]]
// PAGES: "llvm.intr.prefetch"(%[[FIRST]]) <{cache = 1 : i32, hint = 3 : i32
// PAGES: %[[SECOND:.*]] = llvm.getelementptr %[[PLACE]]
// PAGES: "llvm.intr.prefetch"(%[[SECOND]]) <{cache = 1 : i32, hint = 3 : i32
// PAGES-NOT: prefetch
// PAGES: scf.for
// CHECK-LABEL: func.func @written
// CHECK-NOT: prefetch
// CHECK: tile.copy
func.func @written(%X: !tile.buffer<4096x4096xf32, global> {tile.name = "X"},
                   %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"},
                   %Z: !tile.buffer<16x4096xbf16, global> {tile.name = "Z"},
                   %V: !tile.buffer<4096x4096xbf16, global> {tile.name = "V"},
                   %P: !tile.buffer<16xsi64, global> {tile.name = "P"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  %c0 = arith.constant 0 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<4096x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment>
    %where = tile.load %P[%c0] in_bounds : !tile.buffer<16xsi64, global>
    %place = arith.index_cast %where : i64 to index
    %two = arith.constant 2 : index
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.truncf %v : f32 to bf16
      %t = arith.muli %b, %two : index
      %row = arith.addi %t, %i : index
      tile.store %w, %Y[%row, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
      tile.store %w, %Z[%i, %j] in_bounds : !tile.buffer<16x4096xbf16, global>
      tile.store %w, %V[%place, %j] in_bounds : !tile.buffer<4096x4096xbf16, global>
    }
  }
  return
}

// -----

// A nest that does less than half of what the costliest does asks for nothing.
// CHECK-LABEL: func.func @unlike
// CHECK: tile.copy
// CHECK-NOT: prefetch
// CHECK: tile.parallel
// CHECK-SAME: in [1, 4096]
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK: prefetch
// CHECK: tile.parallel
// CHECK-SAME: in [1, 64]
// CHECK: math.exp
func.func @unlike(%X: !tile.buffer<4096x4096xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %X[%b, 0] [1, 4096] : !tile.buffer<4096x4096xf32, global> to %x : !tile.buffer<1x4096xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.maximumf %v, %v : f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = math.exp %v : f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
  }
  return
}
