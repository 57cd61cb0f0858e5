// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-add-workspaces --split-input-file --verify-diagnostics | FileCheck %s

// Both directions. The second half of a copy stands where its target is first used, so that the other core has time.
// CHECK-LABEL: func.func @both_ways
// CHECK-DAG: %[[W0:.*]] = tile.alloc "workspace_0" : !tile.buffer<24x64x32xf16, global>
// CHECK-DAG: %[[W1:.*]] = tile.alloc "workspace_1" : !tile.buffer<24x64x32xf16, global>
// CHECK: tile.copy %[[C:.*]] : !tile.buffer<64x32xf32, L0C> to %[[W0]][%[[CID:.*]], 0, 0] [1, 64, 32] : !tile.buffer<24x64x32xf16, global> {relu, target_in_bounds = array<i1: true, true, true>}
// CHECK-NEXT: tile.fill
// CHECK-NEXT: tile.copy %[[W0]][%[[CID]], 0, 0] [1, 64, 32] : !tile.buffer<24x64x32xf16, global> to %[[X:.*]] : !tile.buffer<64x32xf16, UB>
// CHECK-NEXT: tile.copy %[[X]] : !tile.buffer<64x32xf16, UB> to %[[W1]][%[[CID]], 0, 0] [1, 64, 32]
// CHECK-NEXT: tile.copy %[[W1]][%[[CID]], 0, 0] [1, 64, 32] : !tile.buffer<24x64x32xf16, global> to %{{.*}}[0, 32] [64, 32] : !tile.buffer<64x64xf16, L1>
func.func @both_ways() {
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%c24) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x32xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    %l1 = tile.alloc "l1" : !tile.buffer<64x64xf16, L1>
    tile.copy %c : !tile.buffer<64x32xf32, L0C> to %x : !tile.buffer<64x32xf16, UB> {relu}
    tile.fill %y : !tile.buffer<64xf32, UB> with %zero : f32
    tile.copy %x : !tile.buffer<64x32xf16, UB> to %l1[0, 32] [64, 32] : !tile.buffer<64x64xf16, L1>
  }
  return
}

// -----
// A grid that is known at run time only: a workspace of each block.
// CHECK-LABEL: func.func @grid
// CHECK: %[[W:.*]] = tile.alloc "workspace_0" {ascend.per_block} : !tile.buffer<64x32xf32, global>
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x32xf32, L0C> to %[[W]] : !tile.buffer<64x32xf32, global>
// CHECK: tile.copy %[[W]] : !tile.buffer<64x32xf32, global> to %{{.*}} : !tile.buffer<64x32xf32, UB>
func.func @grid(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x32xf32, UB>
    tile.copy %c : !tile.buffer<64x32xf32, L0C> to %x : !tile.buffer<64x32xf32, UB>
  }
  return
}

// -----
// Parts that each vector core has: the cube core copies both at once.
// CHECK-LABEL: func.func @halves
func.func @halves() {
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%c2) npu {
    // CHECK-DAG: %[[W0:.*]] = tile.alloc "workspace_0" : !tile.buffer<2x64x32xf32, global>
    // CHECK-DAG: %[[W1:.*]] = tile.alloc "workspace_1" : !tile.buffer<2x64x32xf32, global>
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<32x32xf32, UB>
    %l1 = tile.alloc "l1" : !tile.buffer<128x32xf32, L1>
    %vid = ascend.vector_id
    %row = arith.muli %vid, %c32 : index
    // CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [64, 32] : !tile.buffer<64x32xf32, L0C> to %[[W0]][%{{.*}}, 0, 0] [1, 64, 32]
    // CHECK: tile.copy %[[W0]][%{{.*}}, %{{.*}}, 0] [1, 32, 32] : {{.*}} to %{{.*}} : !tile.buffer<32x32xf32, UB>
    tile.copy %c[%row, 0] [32, 32] : !tile.buffer<64x32xf32, L0C> to %x : !tile.buffer<32x32xf32, UB>
    // CHECK: tile.copy %{{.*}} : !tile.buffer<32x32xf32, UB> to %[[W1]][%{{.*}}, %{{.*}}, 0] [1, 32, 32]
    // CHECK: tile.copy %[[W1]][%{{.*}}, 0, 0] [1, 64, 32] : {{.*}} to %{{.*}}[%{{.*}}, 0] [64, 32] : !tile.buffer<128x32xf32, L1>
    tile.copy %x : !tile.buffer<32x32xf32, UB> to %l1[%row, 0] [32, 32] : !tile.buffer<128x32xf32, L1>
  }
  return
}

// -----
func.func @parts_that_do_not_join() {
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c2) npu {
    %x = tile.alloc "x" : !tile.buffer<32x32xf32, UB>
    %l1 = tile.alloc "l1" : !tile.buffer<128x32xf32, L1>
    %vid = ascend.vector_id
    %row = arith.muli %vid, %c64 : index
    // expected-error@+1 {{unsupported on ascend: a copy between the cube core and parts of the vector cores that do not join; let the parts be `vid * rows` apart, with as many rows}}
    tile.copy %x : !tile.buffer<32x32xf32, UB> to %l1[%row, 0] [32, 32] : !tile.buffer<128x32xf32, L1>
  }
  return
}

// -----
func.func @extents(%n: index) {
  %c24 = arith.constant 24 : index
  tile.launch (%cid) in (%c24) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x32xf32, UB>
    %vid = ascend.vector_id
    %rows = arith.addi %n, %vid : index
    // expected-error@+1 {{unsupported on ascend: a copy between cube and vector memories whose extents are not those of both vector cores; take as many rows and columns for each}}
    tile.copy %c[0, 0] [%rows, 32] : !tile.buffer<64x32xf32, L0C> to %x[0, 0] [%rows, 32] : !tile.buffer<64x32xf32, UB>
  }
  return
}

// -----
// Of rows that are known at run time only there is room for all of the tile.
// CHECK-LABEL: func.func @some_rows
// CHECK: %[[W:.*]] = tile.alloc "workspace_0" : !tile.buffer<24x64x32xf32, global>
// CHECK: tile.copy %{{.*}}[0, 0] [%arg0, 32] : !tile.buffer<64x32xf32, L0C> to %[[W]][%{{.*}}, 0, 0] [1, %arg0, 32]
// CHECK: tile.copy %[[W]][%{{.*}}, 0, 0] [1, %arg0, 32] {{.*}} to %{{.*}}[0, 0] [%arg0, 32] : !tile.buffer<64x32xf32, UB>
func.func @some_rows(%n: index) {
  %c24 = arith.constant 24 : index
  tile.launch (%cid) in (%c24) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x32xf32, UB>
    tile.copy %c[0, 0] [%n, 32] : !tile.buffer<64x32xf32, L0C> to %x[0, 0] [%n, 32] : !tile.buffer<64x32xf32, UB>
  }
  return
}

// -----
// The iterations of a pipelined loop take turns: the cube core goes on while the vector cores read.
// CHECK-LABEL: func.func @turns
// CHECK: %[[W:.*]] = tile.alloc "workspace_0" : !tile.buffer<24x2x64x32xf32, global>
// CHECK: tile.for %[[K:.*]] = %c0 to
// CHECK: %[[TURN:.*]] = arith.remsi %[[K]], %c2
// CHECK: tile.copy %{{.*}} to %[[W]][%{{.*}}, %[[TURN]], 0, 0] [1, 1, 64, 32]
// CHECK: tile.copy %[[W]][%{{.*}}, %[[TURN]], 0, 0] [1, 1, 64, 32]
func.func @turns(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  tile.launch (%cid) in (%c24) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x32xf32, UB>
    tile.for %k = %c0 to %n step %c1 pipelined(2) {
      tile.copy %c : !tile.buffer<64x32xf32, L0C> to %x : !tile.buffer<64x32xf32, UB>
    }
  }
  return
}

// -----
// What a variable holds for sure, as a part's number, is taken for it.
// CHECK-LABEL: func.func @parts_by_a_variable
// CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [32, 32] : !tile.buffer<32x32xf32, L0C> to
func.func @parts_by_a_variable() {
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%c2) npu {
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x32xf32, UB>
    %var = tile.alloc "row" : !tile.buffer<si32, var>
    %vid = ascend.vector_id
    %row = arith.muli %vid, %c16 : index
    %number = arith.index_cast %row : index to i32
    tile.store %number, %var[] : !tile.buffer<si32, var>
    %held = tile.load %var[] : !tile.buffer<si32, var>
    %there = arith.index_cast %held : i32 to index
    tile.copy %c[%there, 0] [16, 32] : !tile.buffer<32x32xf32, L0C> to %x : !tile.buffer<16x32xf32, UB>
  }
  return
}

// -----
func.func @parts_by_a_changed_variable() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant 0 : i32
  tile.launch (%cid) in (%c2) npu {
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x32xf32, UB>
    %var = tile.alloc "row" : !tile.buffer<si32, var>
    %vid = ascend.vector_id
    %row = arith.muli %vid, %c16 : index
    %number = arith.index_cast %row : index to i32
    tile.store %number, %var[] : !tile.buffer<si32, var>
    tile.for %t = %c0 to %c2 step %c1 {
      %held = tile.load %var[] : !tile.buffer<si32, var>
      %there = arith.index_cast %held : i32 to index
      // expected-error@+1 {{a copy between the cube core and parts of the vector cores that do not join}}
      tile.copy %c[%there, 0] [16, 32] : !tile.buffer<32x32xf32, L0C> to %x : !tile.buffer<16x32xf32, UB>
      tile.store %none, %var[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// One that holds the same for both is an offset like any other.
// CHECK-LABEL: func.func @both_by_a_variable
// CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [16, 32] : !tile.buffer<32x32xf32, L0C> to
func.func @both_by_a_variable() {
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.launch (%cid) in (%c2) npu {
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x32xf32, UB>
    %var = tile.alloc "row" : !tile.buffer<si32, var>
    tile.store %c0, %var[] : !tile.buffer<si32, var>
    %old = tile.load %var[] : !tile.buffer<si32, var>
    %next = arith.addi %old, %c1 : i32
    tile.store %next, %var[] : !tile.buffer<si32, var>
    %held = tile.load %var[] : !tile.buffer<si32, var>
    %there = arith.index_cast %held : i32 to index
    tile.copy %c[%there, 0] [16, 32] : !tile.buffer<32x32xf32, L0C> to %x : !tile.buffer<16x32xf32, UB>
  }
  return
}

// -----
// A tile that both vector cores have whole for the gemms of their block: one of them stores it.
// CHECK-LABEL: func.func @once
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: tile.copy {{.*}}, UB> to {{.*}}, global>
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: tile.copy {{.*}}, global> to {{.*}}, L1>
func.func @once(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xf16, UB>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    tile.copy %x : !tile.buffer<64x64xf16, UB> to %a : !tile.buffer<64x64xf16, L1> {ascend.once}
  }
  return
}

// -----

// Outside of a launch nothing is done.
// CHECK-LABEL: func.func @nowhere
// CHECK-NOT: workspace
// CHECK: return
func.func @nowhere() {
  %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
  %x = tile.alloc "x" : !tile.buffer<64x32xf32, UB>
  tile.copy %c : !tile.buffer<64x32xf32, L0C> to %x : !tile.buffer<64x32xf32, UB>
  return
}
