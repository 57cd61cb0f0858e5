// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-forward-variables --canonicalize --split-input-file | FileCheck %s

// A variable that has been assigned to once, or at last, is that number, also in a loop behind it.
// CHECK-LABEL: func.func @assigned_once
// CHECK-SAME: %[[C:.*]]: !tile.buffer<64xsi32, global>
// CHECK-NOT: "debug"
// CHECK: %[[P:.*]] = npu.get_value
// CHECK: tile.for
// CHECK-NOT: npu.duplicate
// CHECK: npu.set_value %[[P]] to
func.func @assigned_once(%C: !tile.buffer<64xsi32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %count = arith.constant 8 : index
  tile.launch (%cid) in (%n) npu {
    %debug = tile.alloc "debug" : !tile.buffer<si32, var>
    %x = tile.alloc "x" : !tile.buffer<si32, var>
    %t = tile.alloc "t" : !tile.buffer<8xsi32, UB>
    tile.store %zero, %debug[] : !tile.buffer<si32, var>
    tile.store %zero, %x[] : !tile.buffer<si32, var>
    %p = npu.get_value %C[%c1] : !tile.buffer<64xsi32, global>
    tile.store %p, %x[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %n step %c1 {
      %d = tile.load %debug[] : !tile.buffer<si32, var>
      %on = arith.cmpi sgt, %d, %zero : i32
      scf.if %on {
        npu.duplicate %t[%c0] : !tile.buffer<8xsi32, UB>, %zero count(%count)
      }
      %now = tile.load %x[] : !tile.buffer<si32, var>
      npu.set_value %now to %C[%i] : !tile.buffer<64xsi32, global>
    }
  }
  return
}

// -----
// Not what a turn before, or a branch, may have assigned, nor what comes from another variable's turns.
// CHECK-LABEL: func.func @assigned_in_turns
// CHECK: tile.for
// CHECK: %[[A:.*]] = tile.load %{{.*}}[]
// CHECK: npu.set_value %[[A]] to
// CHECK: scf.if
// CHECK: %[[B:.*]] = tile.load %{{.*}}[]
// CHECK: npu.set_value %[[B]] to
// CHECK: %[[N:.*]] = arith.addi
// CHECK: tile.store %[[N]], %[[X:.*]][]
// CHECK: %[[D:.*]] = tile.load %[[X]][]
// CHECK: npu.set_value %[[D]] to
func.func @assigned_in_turns(%C: !tile.buffer<64xsi32, global>, %n: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<si32, var>
    %y = tile.alloc "y" : !tile.buffer<si32, var>
    tile.store %zero, %x[] : !tile.buffer<si32, var>
    tile.store %zero, %y[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %n step %c1 {
      %a = tile.load %x[] : !tile.buffer<si32, var>
      npu.set_value %a to %C[%i] : !tile.buffer<64xsi32, global>
      scf.if %yes {
        tile.store %one, %y[] : !tile.buffer<si32, var>
      }
      %b = tile.load %y[] : !tile.buffer<si32, var>
      npu.set_value %b to %C[%i] : !tile.buffer<64xsi32, global>
      %c = tile.load %x[] : !tile.buffer<si32, var>
      %next = arith.addi %c, %one : i32
      tile.store %next, %x[] : !tile.buffer<si32, var>
      %d = tile.load %x[] : !tile.buffer<si32, var>
      npu.set_value %d to %C[%i] : !tile.buffer<64xsi32, global>
    }
  }
  return
}

// -----
// What only a variable asks for that nobody asks for isn't read. That the kernel has asked for `vid` is kept.
// CHECK-LABEL: func.func @read_for_nothing
// CHECK: tile.launch
// CHECK-SAME: ascend.asks_vid
// CHECK-NOT: npu.get_value
// CHECK-NOT: tile.store
// CHECK: return
func.func @read_for_nothing(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %vid = ascend.vector_id
    %t = tile.alloc "t" : !tile.buffer<8xf32, UB>
    %last = tile.alloc "last" : !tile.buffer<f32, var>
    tile.store %zero, %last[] : !tile.buffer<f32, var>
    tile.for %i = %c0 to %n step %c1 {
      %y = npu.get_value %t[%vid] : !tile.buffer<8xf32, UB>
      %sum = tile.load %last[] : !tile.buffer<f32, var>
      %more = arith.addf %sum, %y : f32
      tile.store %more, %last[] : !tile.buffer<f32, var>
    }
  }
  return
}
