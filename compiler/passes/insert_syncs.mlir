// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --insert-syncs --split-input-file | FileCheck %s

// Each thread has its own elements: its number, its row of four, its place in a grid; a loop goes on, and
// nobody waits.
// CHECK-LABEL: func.func @own_elements
// CHECK-NOT: tile.sync
func.func @own_elements() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %rows = tile.alloc "rows" : !tile.buffer<256xf32, shared>
    %grid = tile.alloc "grid" : !tile.buffer<8x8xf32, shared>
    %first = arith.muli %t, %c4 : index
    %row = arith.divui %t, %c8 : index
    %column = arith.remui %t, %c8 : index
    tile.for %k = %c0 to %c8 step %c1 {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      %a = tile.load %s[%t] : !tile.buffer<64xf32, shared>
      tile.for %j = %c0 to %c4 step %c1 {
        %at = arith.addi %first, %j : index
        tile.store %a, %rows[%at] : !tile.buffer<256xf32, shared>
      }
      tile.for %j = %c0 to %c4 step %c1 {
        %at = arith.addi %first, %j : index
        %b = tile.load %rows[%at] : !tile.buffer<256xf32, shared>
        tile.store %b, %grid[%row, %column] : !tile.buffer<8x8xf32, shared>
      }
      %c = tile.load %grid[%row, %column] : !tile.buffer<8x8xf32, shared>
      tile.store %c, %s[%t] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// A neighbour's element, in a loop: after the store, and before the next iteration's.
// CHECK-LABEL: func.func @neighbours
// CHECK: tile.for
// CHECK: tile.sync block
// CHECK-NEXT: tile.store
// CHECK: tile.sync block
// CHECK-NEXT: tile.load
func.func @neighbours() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %other = arith.subi %c63, %t : index
    tile.for %k = %c0 to %c63 step %c1 {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      %a = tile.load %s[%other] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// Two buffers in turn: what is read lies in one of them, what is written in the other, in each turn of the inner loop.
// CHECK-LABEL: func.func @two_in_turn
// CHECK: tile.for
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: arith.xori
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: tile.for
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.sync
func.func @two_in_turn() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<2x64xf32, shared>
    tile.for %k = %c0 to %c2 step %c1 {
      %now = arith.index_cast %k : index to i32
      %flipped = arith.xori %now, %one : i32
      %next = arith.index_cast %flipped : i32 to index
      tile.for %i = %c0 to %c2 step %c1 {
        %a = tile.load %s[%k, %i] : !tile.buffer<2x64xf32, shared>
        tile.store %a, %s[%next, %t] : !tile.buffer<2x64xf32, shared>
      }
    }
  }
  return
}

// -----

// Only some threads enter the branch: all wait before it and after it. Where the user has said so, once is
// enough.
// CHECK-LABEL: func.func @some_threads
// CHECK: tile.store
// CHECK: tile.sync block
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.sync
// CHECK: }
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.sync
func.func @some_threads() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
    %is_first = arith.cmpi eq, %t, %c0 : index
    scf.if %is_first {
      %a = tile.load %s[%c1] : !tile.buffer<64xf32, shared>
      tile.store %a, %s[%c0] : !tile.buffer<64xf32, shared>
    }
    %b = tile.load %s[%c0] : !tile.buffer<64xf32, shared>
    tile.sync block
    tile.store %b, %s[%t] : !tile.buffer<64xf32, shared>
  }
  return
}

// -----

// A branch that all threads take alike, whatever it depends on, may wait inside.
// CHECK-LABEL: func.func @all_alike
// CHECK: scf.if
// CHECK: tile.store
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
func.func @all_alike(%n: !tile.buffer<1xsi32, global> {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %given = tile.load %n[%c0] : !tile.buffer<1xsi32, global>
    %is_set = arith.cmpi sgt, %given, %zero : i32
    scf.if %is_set {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      %b = tile.load %s[%c1] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// In a branch that a group takes: what others wrote before is waited for by all before it, what the group
// itself wrote by the group.
// CHECK-LABEL: func.func @groups
// CHECK: tile.store
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.copy
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NOT: tile.sync
// CHECK: } {tile.thread_groups
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
func.func @groups(%A: !tile.buffer<64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %r = tile.alloc "r" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c32 : index
    tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
    scf.if %below {
      tile.copy %s : !tile.buffer<64xf32, shared> to %A : !tile.buffer<64xf32, global>
      tile.store %v, %r[%t] : !tile.buffer<64xf32, shared>
      %a = tile.load %r[%c1] : !tile.buffer<64xf32, shared>
    } {tile.thread_groups = [array<i64: 0, 32>, array<i64: 32, 64>]}
    %b = tile.load %r[%c1] : !tile.buffer<64xf32, shared>
  }
  return
}

// -----

// In a branch of some threads, these wait for each other: behind a loop of which each takes turns of its own,
// and before the next turn of one that all of them go through. The branch is their group's, then.
// CHECK-LABEL: func.func @in_a_branch
// CHECK: scf.if
// CHECK-NEXT: tile.for
// CHECK-NEXT: tile.load
// CHECK-NEXT: }
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.for
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-SAME: tile.thread_groups = [array<i64: 0, 16>, array<i64: 16, 64>]
func.func @in_a_branch() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c16 : index
    %other = arith.subi %c15, %t : index
    scf.if %below {
      tile.for %i = %t to %c16 step %c1 {
        %a = tile.load %s[%i] : !tile.buffer<64xf32, shared>
      }
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      tile.for %i = %c0 to %c2 step %c1 {
        %a = tile.load %s[%other] : !tile.buffer<64xf32, shared>
        tile.store %a, %s[%t] : !tile.buffer<64xf32, shared>
      }
    } else {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// A branch in a branch: what the inner one hands over is waited for by its threads, before and behind it all of
// the outer one's wait. The threads of a branch that is known in the run are neighbours.
// CHECK-LABEL: func.func @nested
// CHECK: scf.if
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.store
// CHECK-NEXT: } {tile.thread_groups = []}
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NEXT: } {tile.thread_groups = [array<i64: 0, 48>, array<i64: 48, 64>]}
func.func @nested(%n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c48 : index
    %some = arith.cmpi slt, %t, %n : index
    scf.if %below {
      tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
      scf.if %some {
        %a = tile.load %s[%c0] : !tile.buffer<64xf32, shared>
        tile.store %a, %s[%t] : !tile.buffer<64xf32, shared>
      }
      %b = tile.load %s[%c1] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// Threads that aren't neighbours, as numbers alone say who they are.
// CHECK-LABEL: func.func @every_fourth
// CHECK: tile.store
// CHECK-NEXT: tile.sync block
// CHECK-NEXT: tile.load
// CHECK-NEXT: } {tile.thread_groups = [array<i64: 0, 1, 4, 5>, array<i64: 1, 4, 5, 8>]}
func.func @every_fourth() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(8) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<8xf32, shared>
    %rest = arith.remui %t, %c4 : index
    %is_fourth = arith.cmpi eq, %rest, %c0 : index
    scf.if %is_fourth {
      tile.store %v, %s[%t] : !tile.buffer<8xf32, shared>
      %a = tile.load %s[%c4] : !tile.buffer<8xf32, shared>
    }
  }
  return
}

// -----

// Nobody waits, and the branch is no group's: each thread of it has its own elements, which others of the block
// would share; a warp has met; one thread is alone; a fragment is nobody else's.
// CHECK-LABEL: func.func @own_elements_in_a_branch
// CHECK-NOT: tile.sync block
// CHECK-NOT: tile.thread_groups
func.func @own_elements_in_a_branch() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %r = tile.alloc "r" : !tile.buffer<64xf32, shared>
    %q = tile.alloc "q" : !tile.buffer<64xf32, shared>
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    %column = arith.remui %t, %c8 : index
    %first = arith.cmpi slt, %t, %c8 : index
    scf.if %first {
      tile.store %v, %s[%column] : !tile.buffer<64xf32, shared>
      %a = tile.load %s[%t] : !tile.buffer<64xf32, shared>
      tile.store %v, %f[%c1] : !tile.buffer<64xf32, fragment>
      %b = tile.load %f[%c1] : !tile.buffer<64xf32, fragment>
    }
    %below = arith.cmpi slt, %t, %c32 : index
    %other = arith.subi %c31, %t : index
    scf.if %below {
      tile.store %v, %r[%t] : !tile.buffer<64xf32, shared>
      tile.sync warp
      %a = tile.load %r[%other] : !tile.buffer<64xf32, shared>
    }
    %is_one = arith.cmpi eq, %t, %c1 : index
    scf.if %is_one {
      tile.store %v, %q[%c1] : !tile.buffer<64xf32, shared>
      %a = tile.load %q[%c1] : !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// What lies `n` behind the elements of the threads below `n` is none of theirs, read or written first, on either side
// of a branch, by a variable that isn't written between; and one thread is alone, whichever it is.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: tile.thread_groups
func.func @halves(%n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<128xf32, shared>
    %far = arith.addi %t, %n : index
    %half = tile.alloc "half" : !tile.buffer<si32, var>
    %thirty = arith.constant 30 : i32
    tile.store %thirty, %half[] : !tile.buffer<si32, var>
    %below = arith.cmpi slt, %t, %n : index
    scf.if %below {
      %a = tile.load %s[%far] : !tile.buffer<128xf32, shared>
      tile.store %a, %s[%t] : !tile.buffer<128xf32, shared>
    }
    %above = arith.cmpi sle, %n, %t : index
    scf.if %above {
    } else {
      tile.store %v, %s[%far] : !tile.buffer<128xf32, shared>
      %a = tile.load %s[%t] : !tile.buffer<128xf32, shared>
    }
    %first = tile.load %half[] : !tile.buffer<si32, var>
    %first_index = arith.index_cast %first : i32 to index
    %below_half = arith.cmpi slt, %t, %first_index : index
    %is_positive = arith.cmpi sgt, %n, %c0 : index
    %both = arith.andi %below_half, %is_positive : i1
    scf.if %both {
      %again = tile.load %half[] : !tile.buffer<si32, var>
      %again_index = arith.index_cast %again : i32 to index
      %other = arith.addi %t, %again_index : index
      %a = tile.load %s[%other] : !tile.buffer<128xf32, shared>
      tile.store %a, %s[%t] : !tile.buffer<128xf32, shared>
    }
    %is_one = arith.cmpi eq, %t, %n : index
    scf.if %is_one {
      tile.store %v, %s[%c0] : !tile.buffer<128xf32, shared>
      %a = tile.load %s[%c0] : !tile.buffer<128xf32, shared>
    }
  }
  return
}

// -----

// One more thread, one element less, another variable or another value of it, and they meet.
// CHECK-LABEL: func.func @no_halves
// CHECK-COUNT-4: tile.thread_groups
func.func @no_halves(%n: index {tile.name = "n"}, %m: index {tile.name = "m"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<128xf32, shared>
    %far = arith.addi %t, %n : index
    %half = tile.alloc "half" : !tile.buffer<si32, var>
    %thirty = arith.constant 30 : i32
    tile.store %thirty, %half[] : !tile.buffer<si32, var>
    %up_to = arith.cmpi sle, %t, %n : index
    scf.if %up_to {
      %a = tile.load %s[%far] : !tile.buffer<128xf32, shared>
      tile.store %a, %s[%t] : !tile.buffer<128xf32, shared>
    }
    %below = arith.cmpi slt, %t, %n : index
    scf.if %below {
      %near = arith.subi %far, %c1 : index
      tile.store %v, %s[%near] : !tile.buffer<128xf32, shared>
      %a = tile.load %s[%t] : !tile.buffer<128xf32, shared>
    }
    %below_other = arith.cmpi slt, %t, %m : index
    scf.if %below_other {
      %a = tile.load %s[%far] : !tile.buffer<128xf32, shared>
      tile.store %a, %s[%t] : !tile.buffer<128xf32, shared>
    }
    %first = tile.load %half[] : !tile.buffer<si32, var>
    %first_index = arith.index_cast %first : i32 to index
    %below_half = arith.cmpi slt, %t, %first_index : index
    %one = arith.constant 1 : i32
    tile.store %one, %half[] : !tile.buffer<si32, var>
    scf.if %below_half {
      %again = tile.load %half[] : !tile.buffer<si32, var>
      %again_index = arith.index_cast %again : i32 to index
      %other = arith.addi %t, %again_index : index
      %a = tile.load %s[%other] : !tile.buffer<128xf32, shared>
      tile.store %a, %s[%t] : !tile.buffer<128xf32, shared>
    }
  }
  return
}

// -----

// Not all of a branch come by, or go on in the loop: no barrier can stand there.
// CHECK-LABEL: func.func @not_all_come_by
// CHECK-NOT: tile.sync block
// CHECK-NOT: tile.thread_groups
func.func @not_all_come_by(%A: !tile.buffer<64xsi32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %v = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) threads(64) {
    %t = tile.thread_id 0
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %r = tile.alloc "r" : !tile.buffer<64xf32, shared>
    %q = tile.alloc "q" : !tile.buffer<64xf32, shared>
    %below = arith.cmpi slt, %t, %c32 : index
    %other = arith.subi %c31, %t : index
    scf.if %below {
      tile.for %i = %t to %c32 step %c1 {
        tile.store %v, %s[%t] : !tile.buffer<64xf32, shared>
        %a = tile.load %s[%other] : !tile.buffer<64xf32, shared>
      }
      %number = tile.load %A[%t] : !tile.buffer<64xsi32, global>
      %some = arith.cmpi sgt, %number, %zero : i32
      scf.if %some {
        tile.store %v, %r[%t] : !tile.buffer<64xf32, shared>
        %a = tile.load %r[%other] : !tile.buffer<64xf32, shared>
      }
    }
    tile.while {
      tile.condition %below
    } do {
      scf.if %below {
        tile.store %v, %q[%t] : !tile.buffer<64xf32, shared>
        %a = tile.load %q[%other] : !tile.buffer<64xf32, shared>
        tile.break
      }
    }
  }
  return
}
