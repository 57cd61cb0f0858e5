// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --take-turns | FileCheck %s

// CHECK-LABEL: func.func @two
// CHECK: %[[LOADS:.*]] = arith.cmpi slt
// CHECK: tile.while {
// CHECK: tile.condition
// CHECK: } do {
// CHECK: scf.if
// CHECK: scf.if %[[LOADS]] {
// CHECK: tile.print "load"
// CHECK: scf.if %[[LOADS]] {
// CHECK-NEXT: } else {
// CHECK: tile.print "use"
// CHECK: tile.assert %{{.*}}, "never"
// CHECK-NOT: tile.wait
func.func @two(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<1xsi32, shared>
    %loads = arith.cmpi slt, %t, %c32 : index
    scf.if %loads {
      tile.for %i = %c0 to %c4 step %c1 serial {
        tile.print "load"
        tile.atomic add %s[%c0], %one : i32 : !tile.buffer<1xsi32, shared>
      }
    } else {
      tile.for %i = %c0 to %c4 step %c1 serial {
        %n = tile.load %s[%c0] : !tile.buffer<1xsi32, shared>
        %full = arith.cmpi sgt, %n, %one : i32
        tile.assert %full, "never" {tile.wait}
        tile.print "use"
      }
    }
  }
  return
}

// One side alone has nobody to wait for in turns.

// CHECK-LABEL: func.func @alone
// CHECK-NOT: tile.while
// CHECK: tile.assert %{{.*}}, "never" {tile.wait}
func.func @alone(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %go: i1 {tile.name = "go", tile.dtype = i1}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %below = arith.cmpi slt, %t, %c32 : index
    scf.if %below {
      tile.for %i = %c0 to %c32 step %c1 serial {
        tile.assert %go, "never" {tile.wait}
      }
    }
  }
  return
}

// A while, and loops that are left: each break and continue says where its side goes on.

// CHECK-LABEL: func.func @left
// CHECK: tile.while {
// CHECK-NOT: tile.break
// CHECK-NOT: tile.continue
// CHECK-NOT: tile.wait
// CHECK: tile.print "load"
// CHECK-NOT: tile.while
// CHECK: tile.print "use"
func.func @left(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1 : i32
  tile.launch (%b) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<1xsi32, shared>
    %v = tile.alloc "v" : !tile.buffer<si32, var>
    tile.store %one, %v[] : !tile.buffer<si32, var>
    %loads = arith.cmpi slt, %t, %c32 : index
    scf.if %loads {
      tile.for %i = %c0 to %c4 step %c1 serial {
        %even = arith.cmpi eq, %i, %c2 : index
        scf.if %even {
          tile.continue
        }
        %n = tile.load %s[%c0] : !tile.buffer<1xsi32, shared>
        %empty = arith.cmpi slt, %n, %one : i32
        tile.assert %empty, "never" {tile.wait}
        tile.print "load"
        tile.atomic add %s[%c0], %one : i32 : !tile.buffer<1xsi32, shared>
      }
    } else {
      tile.while {
        %k = tile.load %v[] : !tile.buffer<si32, var>
        %more = arith.cmpi slt, %k, %one : i32
        tile.condition %more
      } do {
        %n = tile.load %s[%c0] : !tile.buffer<1xsi32, shared>
        %full = arith.cmpi sgt, %n, %one : i32
        tile.assert %full, "never" {tile.wait}
        tile.print "use"
        tile.store %n, %v[] : !tile.buffer<si32, var>
        %last = arith.cmpi eq, %n, %one : i32
        scf.if %last {
          tile.break
        }
      }
    }
  }
  return
}
