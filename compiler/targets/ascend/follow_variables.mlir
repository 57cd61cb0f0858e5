// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-follow-variables --split-input-file | FileCheck %s

// A branch that only some runs take ends the loop, and so does its step: there is no second turn. What is asked of t
// in that one has one answer.
// CHECK-LABEL: func.func @set_to_its_end
// CHECK-NOT: tile.while
// CHECK: scf.if
// CHECK: tile.print "few"
// CHECK-NOT: scf.if
// CHECK: tile.print "a"
// CHECK-NOT: tile.print "later"
// CHECK: return
func.func @set_to_its_end(%n: i32) {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i32
  %four = arith.constant 4 : i32
  %nine = arith.constant 9 : i32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %two, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %four : i32
      tile.condition %c
    } do {
      %few = arith.cmpi slt, %n, %two : i32
      scf.if %few {
        tile.print "few"
        tile.store %nine, %t[] : !tile.buffer<si32, var>
      }
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %next = arith.addi %now, %two : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
      %then = tile.load %t[] : !tile.buffer<si32, var>
      %is_later = arith.cmpi sge, %then, %four : i32
      scf.if %is_later {
        tile.print "a"
      } else {
        tile.print "later"
      }
    }
  }
  return
}

// -----
// What a loop asks of an argument holds in it; how many turns there are is told where something else may end it, too.
// CHECK-LABEL: func.func @by_an_argument
// CHECK: tile.while
// CHECK: tile.print "a"
// CHECK-NOT: tile.print "never"
// CHECK: attributes {ascend.most_turns = 3 : i64}
// CHECK: tile.while
// CHECK: tile.print "b"
// CHECK: attributes {ascend.all_turns, ascend.most_turns = 3 : i64}
func.func @by_an_argument(%n: i32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %three : i32
      %d = arith.cmpi slt, %now, %n : i32
      %both = arith.andi %c, %d : i1
      tile.condition %both
    } do {
      tile.print "a"
      %none = arith.cmpi slt, %n, %one : i32
      scf.if %none {
        tile.print "never"
      }
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi ne, %now, %three : i32
      tile.condition %c
    } do {
      tile.print "b"
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// By twos, a number may come past the greatest of its type, and begins anew below 0.
// CHECK-LABEL: func.func @wraps_round
// CHECK: tile.while
// CHECK: tile.print "wrapped"
// CHECK: } do {
// CHECK: tile.print "up"
// CHECK-NOT: tile.print "wrapped by ones"
// CHECK: return
func.func @wraps_round(%n: i32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %n : i32
      tile.condition %c
    } do {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %below = arith.cmpi slt, %now, %zero : i32
      scf.if %below {
        tile.print "wrapped"
      }
      %next = arith.addi %now, %two : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %n : i32
      tile.condition %c
    } do {
      tile.print "up"
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %below = arith.cmpi slt, %now, %zero : i32
      scf.if %below {
        tile.print "wrapped by ones"
      }
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// The first element of the tile is what fills it, and what lies behind its tensor is 0, until a copy that may bring
// other numbers there. Row 1 is another one.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: tile.print "less"
// CHECK: tile.print "filled"
// CHECK-NOT: tile.print "not behind"
// CHECK: tile.print "behind"
// CHECK: scf.if
// CHECK: tile.print "unknown"
// CHECK-NOT: tile.print "other row"
// CHECK: return
func.func @elements(%a: !tile.buffer<8x4xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %no = arith.constant false
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<2x8xf32, UB>
    tile.fill %x : !tile.buffer<2x8xf32, UB> with %one : f32
    tile.while {
      %v = tile.load %x[%c0, %c0] : !tile.buffer<2x8xf32, UB>
      %c = arith.cmpf olt, %v, %one : f32
      tile.condition %c
    } do {
      tile.print "less"
    }
    tile.print "filled"
    tile.copy %a[%cid, 0] [1, 8] : !tile.buffer<8x4xf32, global> to %x[0, 0] [1, 8] : !tile.buffer<2x8xf32, UB>
    %behind = tile.load %x[%c0, %c4] : !tile.buffer<2x8xf32, UB>
    %is_not = arith.cmpf one, %behind, %zero : f32
    scf.if %is_not {
      tile.print "not behind"
    }
    tile.print "behind"
    %within = tile.load %x[%c0, %c0] : !tile.buffer<2x8xf32, UB>
    %is = arith.cmpf olt, %within, %zero : f32
    scf.if %is {
      tile.print "unknown"
    }
    %row = tile.load %x[%c1, %c0] : !tile.buffer<2x8xf32, UB>
    %is_other = arith.cmpf olt, %row, %one : f32
    scf.if %is_other {
      tile.print "other row"
    }
    tile.while {
      tile.condition %no
    } do {
    }
  }
  return
}

// -----
// A loop that is left in its first turn has no second; a break that never comes goes.
// CHECK-LABEL: func.func @exits
// CHECK: tile.while
// CHECK: tile.break
// CHECK: attributes {ascend.most_turns = 1 : i64}
// CHECK: tile.while
// CHECK-NOT: tile.break
// CHECK: attributes {ascend.all_turns, ascend.most_turns = 2 : i64}
func.func @exits(%n: i32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %n : i32
      tile.condition %c
    } do {
      tile.print "a"
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %few = arith.cmpi slt, %n, %two : i32
      %first = arith.cmpi eq, %now, %zero : i32
      scf.if %few {
        tile.break
      }
      scf.if %first {
        tile.break
      }
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %two : i32
      tile.condition %c
    } do {
      tile.print "b"
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
      %never = arith.cmpi sgt, %next, %two : i32
      scf.if %never {
        tile.break
      }
    }
  }
  return
}

// -----
// In kernels without such loops all stays.
// CHECK-LABEL: func.func @no_while
// CHECK: tile.load
func.func @no_while() {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    %now = tile.load %t[] : !tile.buffer<si32, var>
    %is = arith.cmpi eq, %now, %zero : i32
    scf.if %is {
      tile.print "a"
    }
  }
  return
}

// -----
// What an element is goes through nests and copies; a turn, a store or a copy that may change it is followed.
// CHECK-LABEL: func.func @changed_elements
// CHECK: tile.parallel
// CHECK-NOT: tile.print "not two"
// CHECK: tile.print "two"
// CHECK: tile.while
// CHECK: tile.print "not three"
// CHECK: tile.print "changed by a turn"
// CHECK: tile.print "changed by a store"
// CHECK-NOT: tile.print "changed by another row"
// CHECK: return
func.func @changed_elements(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %zero = arith.constant 0 : i32
  %next = arith.constant 1 : i32
  %many = arith.constant 3 : i32
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<4x8xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<4x8xf32, UB>
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.fill %x : !tile.buffer<4x8xf32, UB> with %one : f32
    tile.parallel (%i, %j) in [4, 8] {
      %v = tile.load %x[%i, %j] : !tile.buffer<4x8xf32, UB>
      %w = arith.addf %v, %one : f32
      tile.store %w, %x[%i, %j] : !tile.buffer<4x8xf32, UB>
    }
    tile.copy %x : !tile.buffer<4x8xf32, UB> to %y : !tile.buffer<4x8xf32, UB>
    %a = tile.load %y[%c2, %c7] : !tile.buffer<4x8xf32, UB>
    %is_other = arith.cmpf one, %a, %two : f32
    scf.if %is_other {
      tile.print "not two"
    }
    tile.print "two"
    tile.while {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %c = arith.cmpi slt, %now, %many : i32
      tile.condition %c
    } do {
      %b = tile.load %y[%c2, %c7] : !tile.buffer<4x8xf32, UB>
      %is_not = arith.cmpf one, %b, %three : f32
      scf.if %is_not {
        tile.print "not three"
      } else {
        tile.print "changed by a turn"
      }
      tile.fill %y[2, 0] [1, 8] : !tile.buffer<4x8xf32, UB> with %three : f32
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %then = arith.addi %now, %next : i32
      tile.store %then, %t[] : !tile.buffer<si32, var>
    }
    tile.store %one, %x[%n, %c7] : !tile.buffer<4x8xf32, UB>
    %d = tile.load %x[%c2, %c7] : !tile.buffer<4x8xf32, UB>
    %is_changed = arith.cmpf one, %d, %two : f32
    scf.if %is_changed {
      tile.print "changed by a store"
    }
    %below = arith.remui %n, %c2 : index
    tile.store %two, %y[%c1, %below] : !tile.buffer<4x8xf32, UB>
    %e = tile.load %y[%c0, %c7] : !tile.buffer<4x8xf32, UB>
    %is_row = arith.cmpf one, %e, %two : f32
    scf.if %is_row {
      tile.print "changed by another row"
    }
  }
  return
}

// -----
// In loops of unknown length all turns count: the greatest number that fits, and what an inner loop leaves.
// CHECK-LABEL: func.func @unknown_length
// CHECK: tile.while
// CHECK: tile.print "late"
// CHECK: tile.while
// CHECK-NOT: tile.print "never"
// CHECK: return
func.func @unknown_length(%n: i32, %x: !tile.buffer<4xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %forty = arith.constant 40 : i32
  %half = arith.constant 0.5 : f32
  tile.launch (%cid) in (%c1) npu {
    %t = tile.alloc "t" : !tile.buffer<si32, var>
    %ring = tile.alloc "ring" : !tile.buffer<si32, var>
    tile.store %zero, %t[] : !tile.buffer<si32, var>
    tile.store %zero, %ring[] : !tile.buffer<si32, var>
    tile.while {
      %v = tile.load %x[%c0] : !tile.buffer<4xf32, global>
      %c = arith.cmpf olt, %v, %half : f32
      tile.condition %c
    } do {
      %now = tile.load %t[] : !tile.buffer<si32, var>
      %is_late = arith.cmpi eq, %now, %forty : i32
      scf.if %is_late {
        tile.print "late"
      }
      %next = arith.addi %now, %one : i32
      tile.store %next, %t[] : !tile.buffer<si32, var>
    }
    tile.while {
      %v = tile.load %x[%c0] : !tile.buffer<4xf32, global>
      %c = arith.cmpf olt, %v, %half : f32
      tile.condition %c
    } do {
      %now = tile.load %ring[] : !tile.buffer<si32, var>
      %is_last = arith.cmpi eq, %now, %three : i32
      scf.if %is_last {
        tile.store %zero, %ring[] : !tile.buffer<si32, var>
      }
      %slot = tile.load %ring[] : !tile.buffer<si32, var>
      %is_past = arith.cmpi sge, %slot, %three : i32
      scf.if %is_past {
        tile.print "never"
      }
      %next = arith.addi %slot, %one : i32
      tile.store %next, %ring[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// What a row can be where it is read: in turns, and behind them. A counted loop that changes a variable is followed, too.
// CHECK-LABEL: func.func @ranges
// CHECK: tile.for
// CHECK: tile.load %{{.*}}[] {tile.range = array<i64: 0, 5>} : !tile.buffer<si32, var>
// CHECK: tile.load %{{.*}}[] {tile.range = array<i64: 0, 6>} : !tile.buffer<si32, var>
func.func @ranges(%I: !tile.buffer<8xsi32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %v = tile.alloc "v" : !tile.buffer<si32, var>
    tile.store %zero, %v[] : !tile.buffer<si32, var>
    tile.for %q = %c0 to %c6 step %c1 {
      %x = tile.load %I[%q] : !tile.buffer<8xsi32, global>
      %isSmall = arith.cmpi slt, %x, %one : i32
      scf.if %isSmall {
        %now = tile.load %v[] : !tile.buffer<si32, var>
        %next = arith.addi %now, %one : i32
        tile.store %next, %v[] : !tile.buffer<si32, var>
      }
    }
    %last = tile.load %v[] : !tile.buffer<si32, var>
    tile.print "v", %last : i32
  }
  return
}
