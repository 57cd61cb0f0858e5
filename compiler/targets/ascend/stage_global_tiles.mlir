// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-stage-global-tiles --split-input-file | FileCheck %s

// A rectangle that is written and a row that is read.
// CHECK-LABEL: func.func @rectangle
func.func @rectangle(%C: !tile.buffer<100x64xf32, global> {tile.name = "C"}, %B: !tile.buffer<64xf32, global> {tile.name = "B"}, %n: index) {
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    // CHECK: %[[ROW:.*]] = arith.muli
    // CHECK: %[[B:.*]] = tile.alloc "staged" : !tile.buffer<64xf32, UB>
    // CHECK: tile.copy %{{.*}} : !tile.buffer<64xf32, global> to %[[B]]
    // CHECK: %[[C:.*]] = tile.alloc "staged" : !tile.buffer<16x64xf32, UB>
    // CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [16, 64]
    // CHECK: tile.load %[[B]][%[[J]]] in_bounds
    // CHECK: tile.store %{{.*}}, %[[C]][%[[I]], %[[J]]] in_bounds
    // CHECK: tile.copy %[[C]] : !tile.buffer<16x64xf32, UB> to %{{.*}}[%[[ROW]], 0] [16, 64]
    tile.parallel (%i, %j) in [16, 64] {
      %v = tile.load %x[%i, %j] : !tile.buffer<16x64xf32, UB>
      %b = tile.load %B[%j] : !tile.buffer<64xf32, global>
      %s = arith.addf %v, %b : f32
      %first = arith.muli %cid, %c16 : index
      %row = arith.addi %first, %i : index
      tile.store %s, %C[%row, %j] : !tile.buffer<100x64xf32, global>
    }
  }
  return
}

// -----
// What is stored is read again, or picked by another index, or large: it stays.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tile.copy
func.func @stays(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %D: !tile.buffer<64x64xf32, global> {tile.name = "D"}, %n: index) {
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%n) npu {
    tile.parallel (%i, %j) in [16, 64] {
      %v = tile.load %D[%i, %j] : !tile.buffer<64x64xf32, global>
      tile.store %v, %C[%i, %j] : !tile.buffer<64x64xf32, global>
      %w = tile.load %C[%i, %j] : !tile.buffer<64x64xf32, global>
      tile.store %w, %D[%i, %j] : !tile.buffer<64x64xf32, global>
    }
    tile.parallel (%i, %j) in [16, 32] {
      %at = arith.muli %j, %c2 : index
      %v = tile.load %D[%i, %at] : !tile.buffer<64x64xf32, global>
      tile.store %v, %C[%i, %j] : !tile.buffer<64x64xf32, global>
    }
    tile.parallel (%i, %j) in [64, 64] {
      %v = tile.load %D[%j, %i] : !tile.buffer<64x64xf32, global>
      tile.store %v, %C[%i, %j] : !tile.buffer<64x64xf32, global>
    }
    tile.parallel (%i, %j) in [1024, 64] {
      %v = tile.load %D[%i, %j] : !tile.buffer<64x64xf32, global>
      tile.store %v, %C[%i, %j] : !tile.buffer<64x64xf32, global>
    }
  }
  return
}

// -----
// What is stored twice has the second number; an atomic add becomes one of a tile.
// CHECK-LABEL: func.func @in_order
// CHECK: %[[FIRST:.*]] = tile.alloc "staged"
// CHECK: %[[SECOND:.*]] = tile.alloc "staged"
// CHECK: %[[ADDED:.*]] = tile.alloc "staged"
// CHECK: tile.parallel
// CHECK: tile.copy %[[FIRST]] {{.*}} to %arg0
// CHECK-NEXT: tile.copy %[[SECOND]] {{.*}} to %arg0
// CHECK-NEXT: tile.atomic_tile add %[[ADDED]] {{.*}} into %arg1
func.func @in_order(%C: !tile.buffer<64xf32, global>, %D: !tile.buffer<64xf32, global>, %v: f32, %w: f32) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    tile.parallel (%i) in [64] {
      tile.store %v, %C[%i] : !tile.buffer<64xf32, global>
      tile.store %w, %C[%i] : !tile.buffer<64xf32, global>
      tile.atomic add %D[%i], %w : f32 : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
// The cube core has no elements of L0C: what only stores a gemm's tile is a copy, which rounds.
// CHECK-LABEL: func.func @product
func.func @product(%C: !tile.buffer<1x100x64xf16, global> {tile.name = "C"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    ascend.scope cube {
      // CHECK: %[[ROW:.*]] = arith.muli
      // CHECK: tile.copy %{{.*}} : !tile.buffer<16x64xf32, L0C> to %{{.*}}[0, %[[ROW]], 0] [1, 16, 64]
      // CHECK-NOT: tile.parallel
      tile.parallel (%i, %j) in [16, 64] {
        %v = tile.load %c[%i, %j] : !tile.buffer<16x64xf32, L0C>
        %h = arith.truncf %v : f32 to f16
        %first = arith.muli %cid, %c16 : index
        %row = arith.addi %first, %i : index
        tile.store %h, %C[%c0, %row, %j] : !tile.buffer<1x100x64xf16, global>
      }
    }
  }
  return
}

// -----
// What is computed with is no copy, nor is a transposed one: vector cores do that. Values are for both.
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%A: !tile.buffer<32x64xf16, global>, %C: !tile.buffer<100x64xf16, global> {tile.name = "C"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    // CHECK: ascend.scope cube {
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.for %[[T:.*]] =
    // CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[T]]
    // CHECK-NEXT: ascend.scope cube {
    // CHECK-NEXT: ascend.pipe_barrier all
    // CHECK-NEXT: }
    // CHECK-NEXT: ascend.scope vector {
    // CHECK: tile.parallel
    // CHECK: arith.addf
    // CHECK: tile.copy %{{.*}} : !tile.buffer<16x64xf16, UB> to {{.*}}ascend.once}
    // CHECK-NEXT: }
    // CHECK-NEXT: ascend.scope cube {
    // CHECK-NEXT: ascend.pipe_barrier m
    // CHECK: ascend.scope vector {
    // CHECK: tile.parallel
    ascend.scope cube {
      tile.copy %A : !tile.buffer<32x64xf16, global> to %a : !tile.buffer<32x64xf16, L1>
      tile.for %t = %c0 to %n step %c1 {
        %row = arith.muli %t, %c16 : index
        ascend.pipe_barrier all
        tile.parallel (%i, %j) in [16, 64] {
          %v = tile.load %c[%i, %j] : !tile.buffer<16x64xf32, L0C>
          %s = arith.addf %v, %v : f32
          %h = arith.truncf %s : f32 to f16
          %at = arith.addi %row, %i : index
          tile.store %h, %C[%at, %j] : !tile.buffer<100x64xf16, global>
        }
        ascend.pipe_barrier m
      }
      tile.parallel (%i, %j) in [16, 16] {
        %v = tile.load %c[%i, %j] : !tile.buffer<16x64xf32, L0C>
        %h = arith.truncf %v : f32 to f16
        tile.store %h, %C[%j, %i] : !tile.buffer<100x64xf16, global>
      }
    }
  }
  return
}

// -----
// What they do in the scope's place knows the cube core's vid, which is 0: numbers of it are made anew.
// CHECK-LABEL: func.func @vid_of_the_scope
func.func @vid_of_the_scope(%C: !tile.buffer<32x64xf32, global> {tile.name = "C"}, %n: index) {
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" : !tile.buffer<32x64xf32, L0C>
    // CHECK: %[[VID:.*]] = ascend.vector_id
    // CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[VID]], %[[SIDE:.*]]
    // CHECK-NEXT: ascend.scope vector {
    // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
    // CHECK-NEXT: %[[START:.*]] = arith.muli %[[ZERO]], %[[SIDE]]
    // CHECK-NOT: %[[FIRST]]
    // CHECK: tile.copy %{{.*}} : !tile.buffer<16x64xf32, UB> to %arg0[%[[START]], 0] {{.*}}ascend.once}
    // CHECK: ascend.scope cube {
    // CHECK-NEXT: tile.copy {{.*}}[%[[FIRST]], 0]
    %vid = ascend.vector_id
    %first = arith.muli %vid, %c16 : index
    ascend.scope cube {
      tile.parallel (%i, %j) in [16, 64] {
        %row = arith.addi %first, %i : index
        %v = tile.load %c[%row, %j] : !tile.buffer<32x64xf32, L0C>
        %s = arith.addf %v, %v : f32
        tile.store %s, %C[%row, %j] : !tile.buffer<32x64xf32, global>
      }
      tile.copy %c[%first, 0] [16, 64] : !tile.buffer<32x64xf32, L0C> to %C[%first, 0] [16, 64] : !tile.buffer<32x64xf32, global>
    }
  }
  return
}

// -----
// What begins before its tensor is padded. Of guarded stores the part is copied that the guard leaves, and nothing of the guard stays.
// CHECK-LABEL: func.func @guarded
func.func @guarded(%X: !tile.buffer<?xf32, global> {tile.name = "X"}, %Y: !tile.buffer<?xf32, global> {tile.name = "Y"}, %m: i32, %n: index) {
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[FIRST:.*]] = arith.muli
    // CHECK: %[[END:.*]] = arith.subi %{{.*}}, %[[FIRST]] : index
    // CHECK: %[[BEFORE:.*]] = arith.subi %[[FIRST]]
    // CHECK: tile.copy %{{.*}}[%[[BEFORE]]] [64] : !tile.buffer<?xf32, global> to %[[X:.*]] :
    // CHECK: %[[Y:.*]] = tile.alloc "staged"
    // CHECK: %[[LESS:.*]] = arith.minsi %{{.*}}, %[[END]] : index
    // CHECK: %[[COUNT:.*]] = arith.maxsi %[[LESS]]
    // CHECK: tile.parallel
    // CHECK-NOT: scf.if
    // CHECK: tile.store %{{.*}}, %[[Y]]
    // CHECK: tile.copy %[[Y]][0] [%[[COUNT]]] : !tile.buffer<64xf32, UB> to %{{.*}}[%[[FIRST]]] [%[[COUNT]]]
    tile.parallel (%i) in [64] {
      %first = arith.muli %cid, %c64 : index
      %at = arith.addi %first, %i : index
      %before = arith.subi %at, %c3 : index
      %end = arith.index_cast %m : i32 to index
      %isThere = arith.cmpi slt, %at, %end : index
      scf.if %isThere {
        %v = tile.load %X[%before] : !tile.buffer<?xf32, global>
        tile.store %v, %Y[%at] : !tile.buffer<?xf32, global>
      }
    }
  }
  return
}

// -----
// Where the branch does more, it stays, and counts from the first iteration; the tile has numbers where it isn't taken.
// CHECK-LABEL: func.func @kept
func.func @kept(%Y: !tile.buffer<?xf32, global> {tile.name = "Y"}, %m: index, %v: f32, %n: index) {
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    // CHECK: %[[COUNT:.*]] = arith.maxsi
    // CHECK: tile.fill %{{.*}} : !tile.buffer<64xf32, UB> with
    // CHECK: tile.parallel (%[[I:.*]]) in [64]
    // CHECK: %[[TAKEN:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : index
    // CHECK: scf.if %[[TAKEN]]
    // CHECK: tile.store %{{.*}}, %{{.*}}[%[[I]]] in_bounds
    // CHECK: tile.copy %{{.*}}[0] [%[[COUNT]]]
    tile.parallel (%i) in [64] {
      %first = arith.muli %cid, %c64 : index
      %at = arith.addi %first, %i : index
      %isThere = arith.cmpi sge, %m, %at : index
      scf.if %isThere {
        tile.store %v, %x[%i] : !tile.buffer<64xf32, UB>
        tile.store %v, %Y[%at] : !tile.buffer<?xf32, global>
      }
    }
  }
  return
}

// -----
// Of a part that begins within a block of 32 bytes the elements before the next one are stored one by one.
// CHECK-LABEL: func.func @from_a_number
func.func @from_a_number(%Y: !tile.buffer<?x64xf32, global> {tile.name = "Y"}, %v: f32, %m: index, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[Y:.*]] = tile.alloc "staged" : !tile.buffer<16x64xf32, UB>
    // CHECK: %[[FROM:.*]] = arith.maxsi %arg2, %{{.*}} : index
    // CHECK: %[[FIRST:.*]] = arith.minsi %[[FROM]], %c64
    // CHECK: %[[COUNT:.*]] = arith.maxsi
    // CHECK: %[[UP:.*]] = arith.addi %[[FIRST]], %c7
    // CHECK: %[[BLOCKS:.*]] = arith.divsi %[[UP]], %c8
    // CHECK: %[[BLOCK:.*]] = arith.muli %[[BLOCKS]], %c8
    // CHECK: %[[BEFORE:.*]] = arith.subi %[[BLOCK]], %[[FIRST]]
    // CHECK: %[[LEFT:.*]] = arith.subi %[[COUNT]], %[[BEFORE]]
    // CHECK: %[[REST:.*]] = arith.maxsi %[[LEFT]]
    // CHECK: tile.parallel
    // CHECK-NOT: scf.if
    // CHECK: tile.for %[[I:.*]] = %{{.*}} to %{{.*}} step
    // CHECK: tile.for %[[J:.*]] = %[[FIRST]] to %{{.*}} step
    // CHECK: tile.load %[[Y]][%[[I]], %[[J]]]
    // CHECK: tile.store %{{.*}}, %arg0[%[[I]], %[[J]]]
    // CHECK: tile.copy %[[Y]][0, %[[BLOCK]]] [16, %[[REST]]] : {{.*}} to %arg0[0, %[[BLOCK]]] [16, %[[REST]]]
    tile.parallel (%i, %j) in [16, 64] {
      %isFrom = arith.cmpi sge, %j, %m : index
      scf.if %isFrom {
        tile.store %v, %Y[%i, %j] : !tile.buffer<?x64xf32, global>
      }
    }
  }
  return
}

// -----
// All rows but one are two parts. What two conditions leave is up to four.
// CHECK-LABEL: func.func @some_rows
func.func @some_rows(%Y: !tile.buffer<?x64xf32, global> {tile.name = "Y"}, %v: f32, %m: index, %n: index) {
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: tile.copy %{{.*}}[0, 0] [%{{.*}}, 64] : {{.*}} to %arg0[0, 0]
    // CHECK-NEXT: tile.copy %{{.*}}[4, 0] [12, 64] : {{.*}} to %arg0[4, 0] [12, 64]
    tile.parallel (%i, %j) in [16, 64] {
      %isOther = arith.cmpi ne, %i, %c3 : index
      scf.if %isOther {
        tile.store %v, %Y[%i, %j] : !tile.buffer<?x64xf32, global>
      }
    }
    // CHECK: tile.copy %{{.*}}[0, 0] [%[[LESS:.*]], 64] : {{.*}} to %arg0[0, 0]
    // CHECK-NEXT: tile.copy %{{.*}}[8, 0] [8, 64] : {{.*}} to %arg0[8, 0] [8, 64]
    // CHECK-NOT: tile.copy
    tile.parallel (%i, %j) in [16, 64] {
      %isBelow = arith.cmpi slt, %i, %c3 : index
      %isFrom = arith.cmpi sge, %i, %c8 : index
      %isEither = arith.ori %isBelow, %isFrom : i1
      scf.if %isEither {
        tile.store %v, %Y[%i, %j] : !tile.buffer<?x64xf32, global>
      }
    }
  }
  return
}

// -----
// What a guard keeps from before the tensor begins at its first element.
// CHECK-LABEL: func.func @inside
func.func @inside(%Y: !tile.buffer<?xf32, global> {tile.name = "Y"}, %v: f32, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[BLOCK:.*]] = arith.muli
    // CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[BLOCK]]
    // CHECK: %[[START:.*]] = arith.maxsi %[[SUM]], %{{.*}} : index
    // CHECK: tile.parallel
    // CHECK: tile.for
    // CHECK: tile.copy %{{.*}}[%[[BLOCK]]] [%[[REST:.*]]] : {{.*}} to %arg0[%[[START]]] [%[[REST]]]
    tile.parallel (%i) in [64] {
      %at = arith.subi %i, %m : index
      %isThere = arith.cmpi sge, %at, %c0 : index
      scf.if %isThere {
        tile.store %v, %Y[%at] : !tile.buffer<?xf32, global>
      }
    }
  }
  return
}

// -----
// No such parts: five of them, other conditions, and what is stored before the tensor.
// CHECK-LABEL: func.func @other_guards
// CHECK-NOT: tile.copy
func.func @other_guards(%Y: !tile.buffer<?xf32, global> {tile.name = "Y"}, %v: f32, %n: index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    tile.parallel (%i) in [64] {
      %one = arith.cmpi ne, %i, %c3 : index
      %two = arith.cmpi ne, %i, %c5 : index
      %three = arith.cmpi ne, %i, %c7 : index
      %first = arith.andi %one, %two : i1
      %all = arith.andi %first, %three : i1
      scf.if %all {
        tile.store %v, %Y[%i] : !tile.buffer<?xf32, global>
      }
    }
    tile.parallel (%i) in [64] {
      %rest = arith.remsi %i, %c2 : index
      %isOdd = arith.cmpi eq, %rest, %c1 : index
      scf.if %isOdd {
        tile.store %v, %Y[%i] : !tile.buffer<?xf32, global>
      }
    }
    tile.parallel (%i) in [64] {
      %before = arith.subi %i, %c3 : index
      tile.store %v, %Y[%before] : !tile.buffer<?xf32, global>
    }
  }
  return
}

// -----
// Both sides store to one element, whatever decides: one tile, of which all is copied.
// CHECK-LABEL: func.func @either_way
func.func @either_way(%C: !tile.buffer<64xf32, global> {tile.name = "C"}, %D: !tile.buffer<64xf32, global> {tile.name = "D"}, %n: index) {
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[D:.*]] = tile.alloc "staged"
    // CHECK: %[[C:.*]] = tile.alloc "staged"
    // CHECK-NOT: tile.fill
    // CHECK: scf.if
    // CHECK: tile.store %{{.*}}, %[[C]][
    // CHECK: else
    // CHECK: scf.if
    // CHECK: tile.store %{{.*}}, %[[C]][
    // CHECK: else
    // CHECK: tile.store %{{.*}}, %[[C]][
    // CHECK: tile.copy %[[C]] : !tile.buffer<64xf32, UB> to %arg0 :
    tile.parallel (%i) in [64] {
      %v = tile.load %D[%i] : !tile.buffer<64xf32, global>
      %isAbove = arith.cmpf ogt, %v, %zero : f32
      scf.if %isAbove {
        tile.store %v, %C[%i] : !tile.buffer<64xf32, global>
      } else {
        %isBelow = arith.cmpf olt, %v, %zero : f32
        scf.if %isBelow {
          %w = arith.negf %v : f32
          tile.store %w, %C[%i] : !tile.buffer<64xf32, global>
        } else {
          tile.store %zero, %C[%i] : !tile.buffer<64xf32, global>
        }
      }
    }
  }
  return
}

// -----
// One side stores twice, or to another element, or only now and then.
// CHECK-LABEL: func.func @not_either_way
// CHECK-NOT: tile.copy
func.func @not_either_way(%C: !tile.buffer<64xf32, global> {tile.name = "C"}, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %t = tile.alloc "t" : !tile.buffer<64xf32, UB>
    tile.parallel (%i) in [63] {
      %v = tile.load %t[%i] : !tile.buffer<64xf32, UB>
      %isAbove = arith.cmpf ogt, %v, %zero : f32
      scf.if %isAbove {
        tile.store %v, %C[%i] : !tile.buffer<64xf32, global>
      } else {
        %next = arith.addi %i, %c1 : index
        tile.store %zero, %C[%next] : !tile.buffer<64xf32, global>
      }
    }
    tile.parallel (%i) in [64] {
      %v = tile.load %t[%i] : !tile.buffer<64xf32, UB>
      %isAbove = arith.cmpf ogt, %v, %zero : f32
      scf.if %isAbove {
        tile.store %v, %C[%i] : !tile.buffer<64xf32, global>
        tile.store %zero, %C[%i] : !tile.buffer<64xf32, global>
      } else {
        tile.store %zero, %C[%i] : !tile.buffer<64xf32, global>
      }
    }
    tile.parallel (%i) in [64] {
      %v = tile.load %t[%i] : !tile.buffer<64xf32, UB>
      %isAbove = arith.cmpf ogt, %v, %zero : f32
      scf.if %isAbove {
        tile.store %v, %C[%i] : !tile.buffer<64xf32, global>
      } else {
        %isBelow = arith.cmpf olt, %v, %zero : f32
        scf.if %isBelow {
          tile.store %zero, %C[%i] : !tile.buffer<64xf32, global>
        }
      }
    }
  }
  return
}
