// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-structure-exits --split-input-file | FileCheck %s

// What follows the break runs while nothing has left the loop; so do the iterations.
// CHECK-LABEL: func.func @left
// CHECK: %[[STATE:.*]] = tile.alloc "exit_state" {ascend.exit_state} : !tile.buffer<si32, var>
// CHECK: tile.store %{{.*}}, %[[STATE]][]
// CHECK: tile.for
// CHECK: %[[NOW:.*]] = tile.load %[[STATE]][]
// CHECK: %[[RUNS:.*]] = arith.cmpi ne, %[[NOW]]
// CHECK: scf.if %[[RUNS]]
// CHECK: tile.print "a"
// CHECK: scf.if %{{.*}} {
// CHECK: tile.store %{{.*}}, %[[STATE]][]
// CHECK-NEXT: }
// CHECK: tile.load %[[STATE]][]
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: tile.print "b"
// CHECK-NOT: tile.break
// CHECK: return
func.func @left(%c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    tile.for %i = %c0 to %n step %c1 {
      tile.print "a"
      scf.if %c {
        tile.break
      }
      tile.print "b"
    }
  }
  return
}

// -----
// Only the rest of an iteration is left out; what is dead goes.
// CHECK-LABEL: func.func @next
// CHECK: tile.for
// CHECK-NEXT: arith.constant 0 : i32
// CHECK-NEXT: tile.store
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.print "dead"
// CHECK: tile.print "b"
// CHECK-NOT: tile.continue
// CHECK: return
func.func @next(%c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    tile.for %i = %c0 to %n step %c1 {
      scf.if %c {
        tile.continue
        tile.print "dead"
      }
      tile.print "b"
    }
  }
  return
}

// -----
// The inner loop's exit is its own; a while asks no more once it has been left.
// CHECK-LABEL: func.func @inner
// CHECK: tile.for
// CHECK-NOT: exit_state
// CHECK: tile.print "before"
// CHECK: tile.alloc "exit_state"
// CHECK: tile.alloc "goes_on"
// CHECK: tile.while
// CHECK: scf.if
// CHECK: tile.print "asked"
// CHECK: tile.condition
// CHECK: tile.print "behind"
func.func @inner(%c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    tile.for %i = %c0 to %n step %c1 {
      tile.print "before"
      tile.while {
        tile.print "asked"
        tile.condition %c
      } do {
        scf.if %c {
          tile.break
        }
      }
      tile.print "behind"
    }
  }
  return
}

// -----
// What a body writes is asked for at its beginning, or the condition would ask once more than the body runs.
// CHECK-LABEL: func.func @asks_what_it_writes
// CHECK: tile.while {
// CHECK-NOT: %x
// CHECK: } do {
// CHECK: tile.load %[[X:.*]][%c0] : !tile.buffer<16xsi32, UB>
// CHECK: scf.if
// CHECK: tile.store %{{.*}}, %{{.*}}[] : !tile.buffer<si32, var>
// CHECK: scf.if
// CHECK: tile.fill %[[X]]
func.func @asks_what_it_writes(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<16xsi32, UB>
    tile.while {
      %now = tile.load %x[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      tile.fill %x : !tile.buffer<16xsi32, UB> with %v : i32
    }
  }
  return
}

// -----
// What it doesn't write is asked for where it was.
// CHECK-LABEL: func.func @asks_other_elements
// CHECK: tile.while {
// CHECK-NEXT: tile.load
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: tile.condition
func.func @asks_other_elements(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<16xsi32, UB>
    %y = tile.alloc "y" : !tile.buffer<16xsi32, UB>
    tile.while {
      %now = tile.load %x[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      tile.fill %y : !tile.buffer<16xsi32, UB> with %v : i32
    }
  }
  return
}

// -----
// Two tiles with addresses may be one.
// CHECK-LABEL: func.func @shares_bytes
// CHECK: tile.while {
// CHECK-NOT: %x
// CHECK: } do {
// CHECK: tile.load %{{.*}}[%c0] : !tile.buffer<16xsi32, UB>
func.func @shares_bytes(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<16xsi32, UB>
    %y = tile.alloc "y" at 32 : !tile.buffer<16xsi32, UB>
    tile.while {
      %now = tile.load %x[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      tile.fill %y : !tile.buffer<16xsi32, UB> with %v : i32
    }
  }
  return
}

// -----
// Of two that lie side by side the one isn't the other.
// CHECK-LABEL: func.func @beside
// CHECK: tile.while {
// CHECK: tile.load %{{.*}}[%c0] : !tile.buffer<16xsi32, UB>
// CHECK: } do {
// CHECK-NOT: tile.load
// CHECK: return
func.func @beside(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<16xsi32, UB>
    %y = tile.alloc "y" at 64 : !tile.buffer<16xsi32, UB>
    tile.while {
      %now = tile.load %x[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      tile.fill %y : !tile.buffer<16xsi32, UB> with %v : i32
    }
  }
  return
}
