// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-expand-reductions --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @rows
func.func @rows(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<32xf32, UB>
    %c = tile.alloc "c" : !tile.buffer<1x128xf32, UB>
    // CHECK: %[[S:.*]] = tile.alloc "scratch" {ascend.temporary} : !tile.buffer<8224xui8, UB>
    // CHECK: npu.reduce max {{.*}} scratch %[[S]]{{.*}} of 8224 size 32 x 128 pitch 128 dim 1 clear
    tile.reduce max %x : !tile.buffer<32x128xf32, UB> dim 1 into %m : !tile.buffer<32xf32, UB> clear
    // What the target held takes part.
    // CHECK: npu.reduce sum {{.*}} dim 1{{$}}
    tile.reduce sum %x : !tile.buffer<32x128xf32, UB> dim 1 into %m : !tile.buffer<32xf32, UB>
    // CHECK: npu.reduce sum {{.*}} of 32 size 32 x 128 pitch 128 dim 0 clear
    tile.reduce sum %x : !tile.buffer<32x128xf32, UB> dim 0 into %c : !tile.buffer<1x128xf32, UB> clear
  }
  return
}

// -----
// Rows that lie too far apart for one instruction have rows of scratch memory, too.
// CHECK-LABEL: func.func @far_rows
// CHECK: npu.reduce max {{.*}} of 2080 size 8 x 32 pitch 4096 dim 1 clear
func.func @far_rows(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x4096xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<8xf32, UB>
    tile.reduce max %x[0, 64] [8, 32] : !tile.buffer<8x4096xf32, UB> dim 1 into %m : !tile.buffer<8xf32, UB> clear
  }
  return
}

// -----
// Of integers: the first line, then one after the other.
// CHECK-LABEL: func.func @integers
// CHECK: tile.parallel (%[[J:.*]]) in [128]
// CHECK: tile.load %[[X:.*]][%c0{{.*}}, %[[J]]]
// CHECK: tile.for %[[I:.*]] = %c1
// CHECK: tile.parallel (%[[J2:.*]]) in [128]
// CHECK: %[[NEXT:.*]] = tile.load %[[X]][%[[I]], %[[J2]]]
// CHECK: %[[OLD:.*]] = tile.load %{{.*}}[%[[J2]]]
// CHECK: arith.addi %[[OLD]], %[[NEXT]]
func.func @integers(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x128xsi32, UB>
    %m = tile.alloc "m" : !tile.buffer<128xsi32, UB>
    tile.reduce sum %x : !tile.buffer<8x128xsi32, UB> dim 0 into %m : !tile.buffer<128xsi32, UB> clear
  }
  return
}

// -----
// Of magnitudes: a tile of them first.
// CHECK-LABEL: func.func @magnitudes
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK: %[[ABS:.*]] = tile.alloc "magnitudes" {ascend.temporary} : !tile.buffer<1024xf32, UB>
// CHECK: npu.unary abs %[[ABS]][%{{.*}}] : {{.*}}, %[[X]][%{{.*}}]
// CHECK-NEXT: ascend.pipe_barrier v
// CHECK-NEXT: npu.reduce max %{{.*}}, %[[ABS]][
func.func @magnitudes(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<8xf32, UB>
    tile.reduce absmax %x : !tile.buffer<8x128xf32, UB> dim 1 into %m : !tile.buffer<8xf32, UB> clear
  }
  return
}

// -----
// Of some columns: what lies between them is not read.
// CHECK-LABEL: func.func @magnitudes_of_part
// CHECK: %[[ABS:.*]] = tile.alloc "magnitudes" {ascend.temporary} : !tile.buffer<4x32xf32, UB>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in [4, 32] {
// CHECK-DAG: %[[ROW:.*]] = arith.addi %[[I]], %{{.*}}
// CHECK-DAG: %[[COLUMN:.*]] = arith.addi %[[J]], %{{.*}}
// CHECK: tile.load %{{.*}}[%[[ROW]], %[[COLUMN]]] in_bounds
// CHECK: math.absf
// CHECK: tile.store %{{.*}}, %[[ABS]][%[[I]], %[[J]]] in_bounds
// CHECK: ascend.pipe_barrier v
// CHECK: npu.reduce max %{{.*}}, %[[ABS]][{{.*}} size 4 x 32 pitch 32 dim 1 clear
func.func @magnitudes_of_part(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<4xf32, UB>
    tile.reduce absmax %x[4, 64] [4, 32] : !tile.buffer<8x128xf32, UB> dim 1 into %m : !tile.buffer<4xf32, UB> clear
  }
  return
}

// -----
// Of extents that the kernel knows: instructions count so many rows and columns. A part that may leave its tile is checked.
// CHECK-LABEL: func.func @counts
// CHECK-SAME: %[[M:[^:]*]]: index, %[[N:[^:]*]]: index, %[[I:[^:]*]]: i8)
func.func @counts(%m: index, %n: index, %i: i8) {
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : i8
  %few = arith.andi %i, %c31 : i8
  %small = arith.index_castui %few : i8 to index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x128xf32, UB>
    %r = tile.alloc "r" : !tile.buffer<32xf32, UB>
    %c = tile.alloc "c" : !tile.buffer<128xf32, UB>
    // CHECK: npu.check_part "x" [32, 128] part(%{{c0.*}}, %[[M]], %{{c0.*}}, %[[N]]) on vector
    // CHECK: npu.check_part "r" [32] written part(%{{c0.*}}, %[[M]]) on vector
    // CHECK-DAG: %[[ROWS:.*]] = arith.maxsi %[[M]], %{{c0.*}}
    // CHECK-DAG: %[[COLUMNS:.*]] = arith.maxsi %[[N]], %{{c0.*}}
    // CHECK: npu.reduce max {{.*}} of 8224 size 32 x 128 counts(%[[ROWS]] x %[[COLUMNS]]) pitch 128 dim 1 clear
    tile.reduce max %x[0, 0] [%m, %n] : !tile.buffer<32x128xf32, UB> dim 1 into %r[0] [%m] : !tile.buffer<32xf32, UB> clear
    // CHECK-NOT: npu.check_part
    // CHECK: npu.reduce sum {{.*}} of 32 size 31 x 8 counts(%[[SMALL:.*]] x %{{c8.*}}) pitch 128 dim 0{{$}}
    tile.reduce sum %x[0, 8] [%small, 8] : !tile.buffer<32x128xf32, UB> dim 0 into %c[0] [8] : !tile.buffer<128xf32, UB>
    // Magnitudes of none are 0 at most.
    // CHECK: npu.duplicate %{{.*}}count(%{{c8.*}})
    // CHECK: %[[ABS:.*]] = tile.alloc "magnitudes" {ascend.temporary} : !tile.buffer<32x8xf32, UB>
    // CHECK: tile.for
    // CHECK: npu.unary abs %[[ABS]][{{.*}}count(%{{c8.*}})
    // CHECK: ascend.pipe_barrier v
    // CHECK: npu.reduce max %{{.*}}, %[[ABS]][{{.*}} counts(%[[SMALL]] x %{{c8.*}}) pitch 8 dim 0{{$}}
    tile.reduce absmax %x[0, 8] [%small, 8] : !tile.buffer<32x128xf32, UB> dim 0 into %c[0] [8] : !tile.buffer<128xf32, UB> clear
  }
  return
}

// -----
// Integers go line by line, if there is one.
// CHECK-LABEL: func.func @lines_as_the_kernel_knows
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[ROWS:.*]], %c0
// CHECK: scf.if %[[ANY]]
// CHECK: tile.load
// CHECK: else
// CHECK: tile.store %c0{{.*}}
// CHECK: tile.for %{{.*}} = %c1 to %[[ROWS]]
func.func @lines_as_the_kernel_knows(%n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x128xsi32, UB>
    %m = tile.alloc "m" : !tile.buffer<128xsi32, UB>
    tile.reduce sum %x[0, 0] [%n, 128] : !tile.buffer<8x128xsi32, UB> dim 0 into %m : !tile.buffer<128xsi32, UB> clear
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x128xui8, UB>
    %m = tile.alloc "m" : !tile.buffer<32xui8, UB>
    // expected-error@+1 {{unsupported on ascend: a reduction by max of uint8 elements}}
    tile.reduce max %x : !tile.buffer<32x128xui8, UB> dim 1 into %m : !tile.buffer<32xui8, UB> clear
  }
  return
}

// -----
func.func @other_dtype(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<32xsi32, UB>
    // expected-error@+1 {{unsupported on ascend: a reduction of float32 elements into a tile of int32; reduce into one of the same dtype and convert that (T.tile.cast)}}
    tile.reduce max %x : !tile.buffer<32x128xf32, UB> dim 1 into %m : !tile.buffer<32xsi32, UB> clear
  }
  return
}

// -----
// A running sum: one line after the other, small floats in float32.
// CHECK-LABEL: func.func @running
// CHECK: %[[TOTALS:.*]] = tile.alloc "totals" : !tile.buffer<64xf32, UB>
// CHECK: tile.parallel (%{{.*}}) in [64] {
// CHECK: tile.store %{{.*}}, %[[TOTALS]]
// CHECK: tile.for %[[I:.*]] = %c0 to %c8
// CHECK: %[[LINE:.*]] = arith.subi %c7, %[[I]]
// CHECK: tile.parallel (%[[J:.*]]) in [64] {
// CHECK: %[[NEXT:.*]] = tile.load %{{.*}}[%[[LINE]], %[[J]]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[NEXT]]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[WIDE]]
// CHECK: tile.store %[[SUM]], %[[TOTALS]][%[[J]]]
// CHECK: arith.truncf %[[SUM]]
func.func @running(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf16, UB>
    tile.scan sum %x : !tile.buffer<8x64xf16, UB> dim 0 into %x : !tile.buffer<8x64xf16, UB> reverse
  }
  return
}

// -----
// CHECK-LABEL: func.func @running_max
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: arith.cmpf ogt
// CHECK: arith.select
func.func @running_max(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf32, UB>
    tile.scan max %x : !tile.buffer<8x64xf32, UB> dim 0 into %x : !tile.buffer<8x64xf32, UB>
  }
  return
}

// -----
func.func @running_bytes(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xsi8, UB>
    // expected-error@+1 {{unsupported on ascend: a running sum of int8 elements of this tile; there are those of static tiles of floats and of signed integers of 16 or 32 bits in UB}}
    tile.scan sum %x : !tile.buffer<8x64xsi8, UB> dim 0 into %x : !tile.buffer<8x64xsi8, UB>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x128xf32, L1>
    %m = tile.alloc "m" : !tile.buffer<32xf32, UB>
    // expected-error@+1 {{unsupported on ascend: a reduction with a tile in L1; the vector unit reduces tiles in UB, so copy it to one}}
    tile.reduce max %x : !tile.buffer<32x128xf32, L1> dim 1 into %m : !tile.buffer<32xf32, UB> clear
  }
  return
}

// -----
// CHECK-LABEL: func.func @result_within_a_block
// CHECK: %[[X:.*]] = tile.alloc "x"
// CHECK: %[[M:.*]] = tile.alloc "m"
// CHECK: %[[RESULTS:.*]] = tile.alloc "results"
// CHECK: npu.reduce sum %[[RESULTS]][%{{.*}}] : !tile.buffer<1xf32, UB>, %[[X]][
// CHECK: %[[SUM:.*]] = tile.load %[[RESULTS]]
// CHECK: tile.store %[[SUM]], %[[M]][%{{.*}}]
func.func @result_within_a_block(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<128xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<32xf32, UB>
    // expected-remark@+1 {{the scalar unit stores what this reduction gives, element by element: its target begins at byte 12 of its buffer, but the vector unit stores to UB from whole blocks of 32 bytes on}}
    tile.reduce sum %x : !tile.buffer<128xf32, UB> dim 0 into %m[3] [1] : !tile.buffer<32xf32, UB> clear
  }
  return
}
