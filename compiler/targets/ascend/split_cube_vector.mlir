// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-split-cube-vector --split-input-file --verify-diagnostics | FileCheck %s

// Loops go to both, instructions and flags to whose they are; a loop that does nothing on one core is dropped there.
// CHECK-LABEL: func.func @both
// CHECK: tile.launch
// CHECK-NEXT: ascend.scope cube {
// CHECK: tile.alloc "c"
// CHECK-NOT: tile.alloc
// CHECK: tile.for
// CHECK: npu.store_l0c
// CHECK-NEXT: ascend.set_cross_flag fix
// CHECK-NOT: load_ub
// CHECK-NOT: unary
// CHECK: ascend.scope vector {
// CHECK: tile.alloc "x"
// CHECK-NOT: tile.alloc
// CHECK: tile.for
// CHECK-NOT: store_l0c
// CHECK: ascend.wait_cross_flag
// CHECK-NEXT: npu.load_ub
// CHECK-NEXT: ascend.set_flag mte2 to v
// CHECK-NEXT: ascend.wait_flag mte2 to v
// CHECK-NEXT: tile.for
// CHECK-NEXT: npu.unary exp
func.func @both(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      ascend.scope cube {
        ascend.set_cross_flag fix, %c0
      }
      ascend.scope vector {
        ascend.wait_cross_flag %c0
      }
      npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      ascend.set_flag mte2 to v, %c0
      ascend.wait_flag mte2 to v, %c0
      tile.for %j = %c0 to %n step %c1 {
        npu.unary exp %x[%j] : !tile.buffer<64x64xf32, UB>, %x[%j] : !tile.buffer<64x64xf32, UB> count(%i)
      }
    }
  }
  return
}

// -----
// A kernel of one kind of core: mutable scalars stay where they are read.
// CHECK-LABEL: func.func @vector_only
// CHECK-NOT: ascend.scope cube
// CHECK: ascend.scope vector {
// CHECK: tile.alloc "count"
// CHECK: tile.store
// CHECK: npu.unary
// CHECK-NOT: tile.alloc "dead"
func.func @vector_only(%n: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %count = tile.alloc "count" : !tile.buffer<si32, var>
    %dead = tile.alloc "dead" : !tile.buffer<si32, var>
    tile.store %one, %count[] : !tile.buffer<si32, var>
    tile.store %one, %dead[] : !tile.buffer<si32, var>
    %v = tile.load %count[] : !tile.buffer<si32, var>
    %i = arith.index_cast %v : i32 to index
    npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%i)
  }
  return
}

// -----
func.func @cube_needs_ub(%A: !tile.buffer<64x64xf16, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xsi32, UB>
    %l1 = tile.alloc "l1" at 0 : !tile.buffer<16x64xf16, L1>
    // expected-error@+1 {{unsupported on ascend: the cube core needs this value, but only the vector core can read it: take what the cube core does out of the loop or branch that asks for it, or ask an element of a tensor}}
    %v = npu.get_value %x[%c0] : !tile.buffer<64xsi32, UB>
    %i = arith.index_cast %v : i32 to index
    // expected-note@+1 {{it is needed here}}
    npu.load_l1 %A[%i, 0] [16, 64] : !tile.buffer<64x64xf16, global> to %l1[%c0] : !tile.buffer<16x64xf16, L1> rows 16
  }
  return
}

// -----
// A scope that only sets a flag uses its core, too: the other one waits for it.
// CHECK-LABEL: func.func @only_a_flag
// CHECK: ascend.scope cube {
// CHECK: ascend.wait_cross_flag
// CHECK: ascend.scope vector {
// CHECK-NOT: store_l0c
// CHECK: ascend.set_cross_flag mte2
func.func @only_a_flag(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    ascend.scope cube {
      ascend.wait_cross_flag %c0
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
    }
    ascend.scope vector {
      ascend.set_cross_flag mte2, %c0
    }
  }
  return
}

// -----

// What only one kind of core does, only that one checks: the loop of the other has nothing left.
// CHECK-LABEL: func.func @requirements
// CHECK: ascend.scope cube
// CHECK: npu.require %{{.*}} "of the cube core: {}"
// CHECK: npu.require %{{.*}} "of both"
// CHECK: ascend.scope vector
// CHECK-NOT: tile.for
// CHECK-NOT: of the cube core
// CHECK: npu.require %{{.*}} "of both"
func.func @requirements(%n: index, %first: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  tile.launch (%cid) in (%n) npu {
    %l = tile.alloc "l" : !tile.buffer<16x16xf16, L1>
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      %j = arith.addi %i, %first : index
      %good = arith.cmpi sge, %j, %c0 : index
      npu.require %good "of the cube core: {}" (%j) on cube
      npu.fill_l1 %l[%c0] : !tile.buffer<16x16xf16, L1> bytes 512
    }
    npu.require %true "of both" ()
    npu.unary exp %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c1)
  }
  return
}

// -----
// A loop of the vector core that an element of UB ends: the cube core has none of it, nor what says that it is over.
// CHECK-LABEL: func.func @left_by_an_element
// CHECK: ascend.scope cube {
// CHECK-NOT: tile.while
// CHECK-NOT: var
// CHECK: npu.store_l0c
// CHECK: ascend.scope vector {
// CHECK: tile.while
// CHECK: npu.get_value
// CHECK: tile.store %{{.*}}, %{{.*}}[] : !tile.buffer<si32, var>
func.func @left_by_an_element(%W: !tile.buffer<64x64xf32, global>, %n: i32, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<16xsi32, UB>
    %state = tile.alloc "state" : !tile.buffer<si32, var>
    tile.store %zero, %state[] : !tile.buffer<si32, var>
    tile.while {
      %now = tile.load %state[] : !tile.buffer<si32, var>
      %more = arith.cmpi ne, %now, %two : i32
      tile.condition %more
    } do {
      %element = npu.get_value %x[%c0] : !tile.buffer<16xsi32, UB>
      %over = arith.cmpi sgt, %element, %v : i32
      scf.if %over {
        tile.store %two, %state[] : !tile.buffer<si32, var>
      }
      npu.duplicate %x[%c0] : !tile.buffer<16xsi32, UB>, %v count(%c16)
    }
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
  }
  return
}

// -----
// What waits for another core, nothing needs but the wait itself.
// CHECK-LABEL: func.func @waits
// CHECK: tile.while {
// CHECK-NEXT: npu.get_value
func.func @waits(%W: !tile.buffer<16xsi32, global>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    tile.while {
      %now = npu.get_value %W[%c0] : !tile.buffer<16xsi32, global>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
    }
  }
  return
}

// -----
// A check belongs to what copies the part.
// CHECK-LABEL: func.func @checks
// CHECK: ascend.scope cube
// CHECK: npu.check_part "l"
// CHECK: ascend.scope vector
// CHECK-NOT: npu.check_part "l"
// CHECK: npu.check_part "x"
// CHECK-NOT: npu.check_part
// CHECK: return
func.func @checks(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %l = tile.alloc "l" : !tile.buffer<16x16xf16, L1>
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %n step %c1 {
      npu.check_part "l" [16, 16] written part(%i, %c1, %c0, %c1) on cube
      npu.fill_l1 %l[%c0] : !tile.buffer<16x16xf16, L1> bytes 512
    }
    npu.check_part "x" [64] part(%n, %c1) on vector
    npu.unary exp %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c1)
  }
  return
}
