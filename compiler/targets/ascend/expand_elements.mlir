// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --mark-in-bounds --ascend-expand-elements --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @elements
func.func @elements(%A: !tile.buffer<?x64xf32, global> {tile.name = "A", tile.shape = affine_map<()[N] -> (N, 64)>},
                    %i: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x10xf32, UB>
    // CHECK: %[[INSIDE:.*]] = scf.if %{{.*}} -> (f32) {
    // CHECK:   npu.get_value
    %v = tile.load %A[%i, %c1] : !tile.buffer<?x64xf32, global>
    // Rows of 10 lie 16 apart.
    // CHECK: %[[W:.*]] = npu.get_value %{{.*}}[%c18]
    // CHECK: npu.set_value %[[W]] to %{{.*}}[%c18]
    %w = tile.load %x[%c1, %c2] : !tile.buffer<8x10xf32, UB>
    tile.store %w, %x[%c1, %c2] : !tile.buffer<8x10xf32, UB>
    // CHECK: scf.if %{{.*}} {
    // CHECK:   npu.set_value %[[INSIDE]]
    tile.store %v, %A[%i, %c2] : !tile.buffer<?x64xf32, global>
  }
  return
}

// -----
// What a vector instruction takes as its scalar is read behind a barrier.
// CHECK-LABEL: func.func @scalars
func.func @scalars(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    // CHECK: ascend.pipe_barrier all
    // CHECK-NEXT: %[[V:.*]] = npu.get_value
    // CHECK: npu.scalar mul
    %v = tile.load %x[%i] : !tile.buffer<64xf32, UB>
    %n = arith.negf %v : f32
    npu.scalar mul %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB>, %n count(%c64)
  }
  return
}

// -----
func.func @f(%i: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<16x16xf16, L1>
    // expected-error@+1 {{unsupported on ascend: single elements of L1; cores read and write those of UB (T.alloc_ub) and of tensors}}
    %v = tile.load %x[%c1, %c1] : !tile.buffer<16x16xf16, L1>
    tile.print "v", %v : f16
  }
  return
}

// -----
// In a kernel for both kinds of core, those that alone know the number or the way to it write; else the one
// core that a block has once.
// CHECK-LABEL: func.func @cores
func.func @cores(%A: !tile.buffer<64xf16, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %yes = arith.constant true
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf16, UB>
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L0B>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %vid = ascend.vector_id
    npu.mmad %a[%c0] : !tile.buffer<16x16xf16, L0A>, %b[%c0] : !tile.buffer<16x16xf16, L0B> into %c[%c0] : !tile.buffer<16x16xf32, L0C> size 16 x 16 x 16 init(%yes)
    npu.unary exp %x[%c0] : !tile.buffer<64xf16, UB>, %x[%c0] : !tile.buffer<64xf16, UB> count(%c64)
    // CHECK: npu.get_value %{{.*}}[%c1] : !tile.buffer<64xf16, global> on cube
    // CHECK-NEXT: npu.set_value {{.*}} on cube
    %v = tile.load %A[%c1] : !tile.buffer<64xf16, global>
    tile.store %v, %A[%c0] : !tile.buffer<64xf16, global>
    // CHECK: npu.set_value {{.*}} : !tile.buffer<64xf16, global> on vector
    %w = tile.load %x[%c1] : !tile.buffer<64xf16, UB>
    tile.store %w, %A[%c0] : !tile.buffer<64xf16, global>
    %is = arith.cmpi eq, %vid, %c0 : index
    scf.if %is {
      // CHECK: scf.if
      // CHECK: npu.set_value {{.*}} on vector
      tile.store %w, %A[%c1] : !tile.buffer<64xf16, global>
    }
  }
  return
}

// -----
// An element that goes to the vector cores, since only their scope needs it, is no number that they alone know.
// CHECK-LABEL: func.func @variable
func.func @variable(%A: !tile.buffer<64xsi32, global> {tile.name = "A"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %yes = arith.constant true
  tile.launch (%cid) in (%c1) threads(2) npu attributes {ascend.cores_alike} {
    %x = tile.alloc "x" : !tile.buffer<64xf16, UB>
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L0B>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %vid = ascend.vector_id
    %i = tile.alloc "i" : !tile.buffer<si32, var>
    npu.mmad %a[%c0] : !tile.buffer<16x16xf16, L0A>, %b[%c0] : !tile.buffer<16x16xf16, L0B> into %c[%c0] : !tile.buffer<16x16xf32, L0C> size 16 x 16 x 16 init(%yes)
    npu.unary exp %x[%c0] : !tile.buffer<64xf16, UB>, %x[%c0] : !tile.buffer<64xf16, UB> count(%c64)
    // CHECK: npu.get_value {{.*}} on vector
    %v = tile.load %A[%c1] : !tile.buffer<64xsi32, global>
    %is = arith.cmpi eq, %v, %zero : i32
    scf.if %is {
      ascend.scope vector {
        tile.store %zero, %i[] : !tile.buffer<si32, var>
      }
    }
    tile.store %n, %i[] : !tile.buffer<si32, var>
    // CHECK: npu.set_value {{.*}} on cube
    %w = tile.load %i[] : !tile.buffer<si32, var>
    tile.store %w, %A[%c0] : !tile.buffer<64xsi32, global>
  }
  return
}
