// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-skip-stages --split-input-file | FileCheck %s

// A row comes and goes through shared memory: it comes to the fragment, and goes from the nest. What the place is made of
// stands before the nest then.
// CHECK-LABEL: func.func @row
// CHECK: tile.launch (%[[B:.*]]) in
// CHECK-NOT: tile.alloc "s"
// CHECK: %[[P:.*]] = tile.alloc "p"
// CHECK: tile.copy %arg0[%[[B]], 0] [1, 4096] {{.*}} to %[[P]] {{.*}} {source_in_bounds = array<i1: true, true>}
// CHECK-NOT: tile.copy
// CHECK: %[[TWICE:.*]] = arith.muli %[[B]]
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [1, 4096]
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[SHORT:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: tile.store %[[SHORT]], %arg1[%[[TWICE]], %[[J]]] in_bounds
// CHECK-NOT: tile.copy
func.func @row(%A: !tile.buffer<4096x4096xbf16, global> {tile.name = "A"},
               %B: !tile.buffer<8192x4096xbf16, global> {tile.name = "B"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  %two = arith.constant 2 : index
  tile.launch (%b) in (%n) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<1x4096xbf16, shared>
    %p = tile.alloc "p" : !tile.buffer<1x4096xf32, fragment>
    tile.copy %A[%b, 0] [1, 4096] : !tile.buffer<4096x4096xbf16, global> to %s : !tile.buffer<1x4096xbf16, shared> {source_in_bounds = array<i1: true, true>}
    tile.copy %s : !tile.buffer<1x4096xbf16, shared> to %p : !tile.buffer<1x4096xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %p[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
      %w = arith.addf %v, %v : f32
      tile.store %w, %p[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.copy %p : !tile.buffer<1x4096xf32, fragment> to %s : !tile.buffer<1x4096xbf16, shared>
    %twice = arith.muli %b, %two : index
    tile.copy %s : !tile.buffer<1x4096xbf16, shared> to %B[%twice, 0] [1, 4096] : !tile.buffer<8192x4096xbf16, global> {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// float32 that is rounded to bfloat16 on its way to float32 goes that way; so does what comes from a tensor that something
// may write to meanwhile, and from outside of it.
// CHECK-LABEL: func.func @needed
// CHECK: tile.copy %[[P:.*]] : {{.*}} to %[[S:[0-9]+]] : !tile.buffer<1x64xbf16, shared>
// CHECK: tile.copy %[[S]] : {{.*}} to %[[P]]
// CHECK: tile.copy %arg0[0, 0] {{.*}} to %[[T:[0-9]+]] : !tile.buffer<1x64xf32, shared>
// CHECK: tile.copy %[[P]] : {{.*}} to %arg1
// CHECK: tile.copy %[[T]] : {{.*}} to %[[P]]
// CHECK: tile.copy %arg0[63, 1] {{.*}} to %[[U:[0-9]+]] : !tile.buffer<1x64xf32, shared>
// CHECK: tile.copy %[[U]] : {{.*}} to %[[P]]
func.func @needed(%A: !tile.buffer<64x64xf32, global> {tile.name = "A"},
                  %B: !tile.buffer<64x64xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %n = arith.constant 1 : index
  tile.launch (%b) in (%n) threads(128) {
    %p = tile.alloc "p" : !tile.buffer<1x64xf32, fragment>
    %s = tile.alloc "s" : !tile.buffer<1x64xbf16, shared>
    %t = tile.alloc "t" : !tile.buffer<1x64xf32, shared>
    %u = tile.alloc "u" : !tile.buffer<1x64xf32, shared>
    tile.copy %p : !tile.buffer<1x64xf32, fragment> to %s : !tile.buffer<1x64xbf16, shared>
    tile.copy %s : !tile.buffer<1x64xbf16, shared> to %p : !tile.buffer<1x64xf32, fragment>
    tile.copy %A[0, 0] [1, 64] : !tile.buffer<64x64xf32, global> to %t : !tile.buffer<1x64xf32, shared> {source_in_bounds = array<i1: true, true>}
    tile.copy %p : !tile.buffer<1x64xf32, fragment> to %B[0, 0] [1, 64] : !tile.buffer<64x64xf32, global> {target_in_bounds = array<i1: true, true>}
    tile.copy %t : !tile.buffer<1x64xf32, shared> to %p : !tile.buffer<1x64xf32, fragment>
    tile.copy %A[63, 1] [1, 64] : !tile.buffer<64x64xf32, global> to %u : !tile.buffer<1x64xf32, shared> {source_in_bounds = array<i1: true, false>}
    tile.copy %u : !tile.buffer<1x64xf32, shared> to %p : !tile.buffer<1x64xf32, fragment>
  }
  return
}

// -----

// A stage that a loop fills after it was read keeps what the turn before left there; one that a nest reads isn't a stage.
// CHECK-LABEL: func.func @kept
// CHECK: tile.copy %{{.*}} to %{{.*}} : !tile.buffer<64xf32, fragment>
// CHECK: tile.copy %arg0[%{{.*}}] [64] {{.*}} to %[[S:[0-9]+]] : !tile.buffer<64xf32, shared>
// CHECK: tile.copy %arg0[0] [64] {{.*}} to %[[T:[0-9]+]] : !tile.buffer<64xf32, shared>
// CHECK: tile.copy %[[T]]
func.func @kept(%A: !tile.buffer<256xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %n = arith.constant 1 : index
  tile.launch (%b) in (%n) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %t = tile.alloc "t" : !tile.buffer<64xf32, shared>
    %p = tile.alloc "p" : !tile.buffer<64xf32, fragment>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c192 = arith.constant 192 : index
    tile.for %k = %c0 to %c192 step %c64 {
      tile.copy %s : !tile.buffer<64xf32, shared> to %p : !tile.buffer<64xf32, fragment>
      tile.copy %A[%k] [64] : !tile.buffer<256xf32, global> to %s : !tile.buffer<64xf32, shared> {source_in_bounds = array<i1: true>}
    }
    tile.copy %A[0] [64] : !tile.buffer<256xf32, global> to %t : !tile.buffer<64xf32, shared> {source_in_bounds = array<i1: true>}
    tile.copy %t : !tile.buffer<64xf32, shared> to %p : !tile.buffer<64xf32, fragment>
    tile.parallel (%i) in [64] {
      %v = tile.load %t[%i] in_bounds : !tile.buffer<64xf32, shared>
      tile.store %v, %p[%i] in_bounds : !tile.buffer<64xf32, fragment>
    }
  }
  return
}

// -----

// A nest keeps its result on chip if that is read again, or if it reads the tensor, by whatever name, that it would write to.
// CHECK-LABEL: func.func @again
// CHECK: tile.store %{{.*}}, %[[P:[0-9]+]][
// CHECK: tile.copy %[[P]] : {{.*}} to %arg1
// CHECK: tile.reduce
// CHECK: tile.store %{{.*}}, %[[Q:[0-9]+]][
// CHECK: tile.copy %[[Q]] : {{.*}} to %arg1
// CHECK: tile.store %{{.*}}, %arg1[
// CHECK-NOT: tile.copy
func.func @again(%A: !tile.buffer<256x64xf32, global> {tile.name = "A"},
                 %B: !tile.buffer<256x64xf32, global> {tile.name = "B"},
                 %W: !tile.buffer<64xf32, global> {tile.name = "W"}) attributes {tile.kernel} {
  %n = arith.constant 64 : index
  %c255 = arith.constant 255 : index
  tile.launch (%b) in (%n) threads(128) {
    %p = tile.alloc "p" : !tile.buffer<4x64xf32, fragment>
    %q = tile.alloc "q" : !tile.buffer<4x64xf32, fragment>
    %r = tile.alloc "r" : !tile.buffer<4x64xf32, fragment>
    %s = tile.alloc "s" : !tile.buffer<4xf32, fragment>
    %c4 = arith.constant 4 : index
    %row = arith.muli %b, %c4 : index
    tile.parallel (%i, %j) in [4, 64] {
      %v = tile.load %W[%j] in_bounds : !tile.buffer<64xf32, global>
      tile.store %v, %p[%i, %j] in_bounds : !tile.buffer<4x64xf32, fragment>
    }
    tile.copy %p : !tile.buffer<4x64xf32, fragment> to %B[%row, 0] [4, 64] : !tile.buffer<256x64xf32, global> {target_in_bounds = array<i1: true, true>}
    tile.reduce sum %p : !tile.buffer<4x64xf32, fragment> dim 1 into %s : !tile.buffer<4xf32, fragment> clear
    tile.parallel (%i, %j) in [4, 64] {
      %v = tile.load %A[%c255, %j] in_bounds : !tile.buffer<256x64xf32, global>
      tile.store %v, %q[%i, %j] in_bounds : !tile.buffer<4x64xf32, fragment>
    }
    tile.copy %q : !tile.buffer<4x64xf32, fragment> to %B[%row, 0] [4, 64] : !tile.buffer<256x64xf32, global> {target_in_bounds = array<i1: true, true>}
    tile.parallel (%i, %j) in [4, 64] {
      %v = tile.load %W[%j] in_bounds : !tile.buffer<64xf32, global>
      tile.store %v, %r[%i, %j] in_bounds : !tile.buffer<4x64xf32, fragment>
    }
    tile.copy %r : !tile.buffer<4x64xf32, fragment> to %B[%row, 0] [4, 64] : !tile.buffer<256x64xf32, global> {target_in_bounds = array<i1: true, true>}
  }
  return
}

// -----

// Nor does it write where it may read by another name: a view, a tensor of as many bits, one that says that it overlaps.
// CHECK-LABEL: func.func @names
// CHECK: tile.copy %[[P:[0-9]+]] : {{.*}} to %arg0
// CHECK: tile.copy %[[P]] : {{.*}} to %arg0
// CHECK: tile.copy %[[P]] : {{.*}} to %arg2
func.func @names(%A: !tile.buffer<8x64xf32, global> {tile.name = "A"},
                 %B: !tile.buffer<1024xf16, global> {tile.name = "B"},
                 %C: !tile.buffer<64xf32, global> {tile.name = "C", tile.overlaps}) attributes {tile.kernel} {
  %n = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %V = tile.view %A : !tile.buffer<8x64xf32, global> to !tile.buffer<512xf32, global>
  tile.launch (%b) in (%n) threads(32) {
    %p = tile.alloc "p" : !tile.buffer<64xf32, fragment>
    tile.parallel (%i) in [64] {
      %r = arith.subi %c63, %i : index
      %v = tile.load %V[%r] in_bounds : !tile.buffer<512xf32, global>
      tile.store %v, %p[%i] in_bounds : !tile.buffer<64xf32, fragment>
    }
    tile.copy %p : !tile.buffer<64xf32, fragment> to %A[0, 0] [1, 64] : !tile.buffer<8x64xf32, global> {target_in_bounds = array<i1: true, true>}
    tile.parallel (%i) in [64] {
      %r = arith.subi %c63, %i : index
      %v = tile.load %B[%r] in_bounds : !tile.buffer<1024xf16, global>
      %w = arith.extf %v : f16 to f32
      tile.store %w, %p[%i] in_bounds : !tile.buffer<64xf32, fragment>
    }
    tile.copy %p : !tile.buffer<64xf32, fragment> to %A[0, 0] [1, 64] : !tile.buffer<8x64xf32, global> {target_in_bounds = array<i1: true, true>}
    tile.parallel (%i) in [64] {
      %r = arith.subi %c63, %i : index
      %v = tile.load %A[%b, %r] in_bounds : !tile.buffer<8x64xf32, global>
      tile.store %v, %p[%i] in_bounds : !tile.buffer<64xf32, fragment>
    }
    tile.copy %p : !tile.buffer<64xf32, fragment> to %C[0] [64] : !tile.buffer<64xf32, global> {target_in_bounds = array<i1: true>}
  }
  return
}

// -----

// A tensor at the address of a tile holds what that tile does, and goes its way.
// CHECK-LABEL: func.func @address
// CHECK: tile.copy %[[M:[0-9]+]] : {{.*}} to %[[S:[0-9]+]] : !tile.buffer<64xf32, shared>
// CHECK: tile.fill
// CHECK: tile.copy %[[S]]
func.func @address() attributes {tile.kernel} {
  %n = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7.0 : f32
  tile.launch (%b) in (%n) threads(32) {
    %t = tile.alloc "t" : !tile.buffer<64xf32, shared>
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %q = tile.alloc "q" : !tile.buffer<64xf32, fragment>
    %a = tile.address %t[%c0] : !tile.buffer<64xf32, shared>
    %M = tile.tensor_at %a : !tile.buffer<64xf32, global>
    tile.copy %M : !tile.buffer<64xf32, global> to %s : !tile.buffer<64xf32, shared> {source_in_bounds = array<i1: true>}
    tile.fill %t : !tile.buffer<64xf32, shared> with %seven : f32
    tile.copy %s : !tile.buffer<64xf32, shared> to %q : !tile.buffer<64xf32, fragment>
    tile.parallel (%i) in [64] {
      %v = tile.load %q[%i] in_bounds : !tile.buffer<64xf32, fragment>
      tile.store %v, %t[%i] in_bounds : !tile.buffer<64xf32, shared>
    }
  }
  return
}
