// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-structure-exits --ascend-plain-exits --canonicalize --split-input-file | FileCheck %s

// There and back.
// CHECK-LABEL: func.func @both
// CHECK-NOT: exit_state
// CHECK: tile.for
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: tile.break
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: tile.continue
// CHECK-NEXT: }
// CHECK-NEXT: tile.store
func.func @both(%x: !tile.buffer<16xf32, global> {tile.name = "X"}, %a: i1, %b: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%c1) npu {
    tile.for %i = %c0 to %c16 step %c1 {
      scf.if %a { tile.break }
      scf.if %b { tile.continue }
      tile.store %v, %x[%i] : !tile.buffer<16xf32, global>
    }
  }
  return
}

// -----
// CHECK-LABEL: func.func @asked
// CHECK-NOT: exit_state
// CHECK-NOT: goes_on
// CHECK: tile.while {
// CHECK-NEXT: %[[N:.*]] = tile.load
// CHECK-NEXT: %[[C:.*]] = arith.cmpi slt, %[[N]]
// CHECK-NEXT: tile.condition %[[C]]
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: tile.break
func.func @asked(%n: !tile.buffer<4xsi32, global> {tile.name = "N"}, %o: !tile.buffer<4xsi32, global> {tile.name = "O"}, %a: i1, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    tile.while {
      %now = tile.load %n[%c0] : !tile.buffer<4xsi32, global>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      scf.if %a { tile.break }
      tile.store %v, %o[%c0] : !tile.buffer<4xsi32, global>
    }
  }
  return
}

// -----
// What its body writes, the body asks for.
// CHECK-LABEL: func.func @asked_in_the_body
// CHECK-NOT: exit_state
// CHECK-NOT: goes_on
// CHECK: tile.while {
// CHECK-NEXT: tile.condition %true
// CHECK-NEXT: } do {
// CHECK-NEXT: %[[N:.*]] = tile.load
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sge, %[[N]]
// CHECK-NEXT: scf.if %[[C]] {
// CHECK-NEXT: tile.break
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: tile.break
func.func @asked_in_the_body(%n: !tile.buffer<4xsi32, global> {tile.name = "N"}, %a: i1, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    tile.while {
      %now = tile.load %n[%c0] : !tile.buffer<4xsi32, global>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      scf.if %a { tile.break }
      tile.store %v, %n[%c0] : !tile.buffer<4xsi32, global>
    }
  }
  return
}

// -----
// The flags that the way out still sets; waits and sets of idle iterations are the same.
// CHECK-LABEL: func.func @flags
// CHECK: tile.for
// CHECK-NEXT: ascend.wait_flag mte3 to mte2, %c3
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: ascend.set_flag mte3 to mte2, %c3
// CHECK-NEXT: tile.break
// CHECK-NEXT: }
// CHECK-NEXT: tile.store
// CHECK: ascend.set_flag mte3 to mte2
func.func @flags(%x: !tile.buffer<16xf32, global> {tile.name = "X"}, %a: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %state = tile.alloc "exit_state" {ascend.exit_state} : !tile.buffer<si32, var>
    tile.store %zero, %state[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %c16 step %c1 {
      %s = tile.load %state[] : !tile.buffer<si32, var>
      %goes = arith.cmpi ne, %s, %two : i32
      %e = arith.constant 3 : index
      ascend.wait_flag mte3 to mte2, %e
      scf.if %goes {
        tile.store %zero, %state[] : !tile.buffer<si32, var>
        scf.if %a {
          tile.store %two, %state[] : !tile.buffer<si32, var>
        }
        %t = tile.load %state[] : !tile.buffer<si32, var>
        %still = arith.cmpi eq, %t, %zero : i32
        scf.if %still {
          tile.store %v, %x[%i] : !tile.buffer<16xf32, global>
        }
      }
      %f = arith.constant 3 : index
      ascend.set_flag mte3 to mte2, %f
    }
  }
  return
}

// -----
// Another event than is waited for: idle iterations matter.
// CHECK-LABEL: func.func @other_event
// CHECK: exit_state
// CHECK-NOT: tile.break
func.func @other_event(%x: !tile.buffer<16xf32, global> {tile.name = "X"}, %a: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %state = tile.alloc "exit_state" {ascend.exit_state} : !tile.buffer<si32, var>
    tile.store %zero, %state[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %c16 step %c1 {
      %s = tile.load %state[] : !tile.buffer<si32, var>
      %goes = arith.cmpi ne, %s, %two : i32
      ascend.wait_flag mte3 to mte2, %c0
      scf.if %goes {
        tile.store %zero, %state[] : !tile.buffer<si32, var>
        scf.if %a {
          tile.store %two, %state[] : !tile.buffer<si32, var>
        }
      }
      ascend.set_flag mte3 to mte2, %c1
    }
  }
  return
}

// -----
// Nothing follows that it would skip: the iteration ends anyway.
// CHECK-LABEL: func.func @last
// CHECK: tile.for
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
func.func @last(%x: !tile.buffer<16xf32, global> {tile.name = "X"}, %a: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%c1) npu {
    tile.for %i = %c0 to %c16 step %c1 {
      tile.store %v, %x[%i] : !tile.buffer<16xf32, global>
      scf.if %a { tile.continue }
    }
  }
  return
}

// -----
// The exit brings along the barrier that the next iteration, which is idle, comes to.
// CHECK-LABEL: func.func @a_barrier_ahead
// CHECK-NOT: exit_state
// CHECK: tile.for
// CHECK-NEXT: ascend.pipe_barrier mte3
// CHECK-NEXT: tile.store
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK-NEXT: ascend.pipe_barrier mte3
// CHECK-NEXT: tile.break
func.func @a_barrier_ahead(%x: !tile.buffer<16xf32, global> {tile.name = "X"}, %a: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %on = arith.constant 0 : i32
  %left = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %state = tile.alloc "exit_state" {ascend.exit_state} : !tile.buffer<si32, var>
    tile.store %on, %state[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %c16 step %c1 {
      %now = tile.load %state[] : !tile.buffer<si32, var>
      %runs = arith.cmpi ne, %now, %left : i32
      ascend.pipe_barrier mte3
      scf.if %runs {
        tile.store %on, %state[] : !tile.buffer<si32, var>
        tile.store %v, %x[%i] : !tile.buffer<16xf32, global>
        scf.if %a { tile.store %left, %state[] : !tile.buffer<si32, var> }
      }
    }
  }
  return
}
