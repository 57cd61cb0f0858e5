// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-check-hazards --split-input-file --verify-diagnostics
// What the two vector cores of a block do to the same bytes of a tensor, beside flags between cores and in turns of loops.

// Nobody tells the second core that the first one has stored: the flag from the cube core tells of its own work.
func.func @beside_flags(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %W: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    ascend.scope cube {
      %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      ascend.set_cross_flag fix, %c0
    }
    ascend.scope vector {
      %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
      %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
      scf.if %isFirst {
        // expected-note@+1 {{the other one's store is here}}
        npu.store_ub %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64 to %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      }
      ascend.wait_cross_flag %c0
      scf.if %isFirst {
      } else {
        // expected-warning@+1 {{one vector core of a block reads here what the other one stores of 'C', and nothing orders them: put T.sync_all() between them, or let each keep to a part of its own, by vid}}
        npu.load_ub %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
    }
  }
  return
}

// -----
// The cube core waits for both vector cores and tells both: what one has stored the other one may read.
func.func @by_way_of_the_cube_core(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    ascend.scope cube {
      ascend.wait_cross_flag %c0
      ascend.set_cross_flag mte2, %c1
    }
    ascend.scope vector {
      %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
      %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
      scf.if %isFirst {
        npu.store_ub %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64 to %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      }
      ascend.set_cross_flag mte3, %c0
      ascend.wait_cross_flag %c1
      npu.load_ub %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// A flag between the vector cores of a block: in the second turn nothing tells that the first turn's load is over.
func.func @flags_of_vector_cores(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %c3 step %c1 {
      scf.if %isFirst {
        // expected-note@+1 {{the other one's store is here}}
        npu.store_ub %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64 to %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      }
      ascend.set_cross_flag mte3, %c0 mode 1
      ascend.wait_cross_flag %c0
      scf.if %isFirst {
      } else {
        // expected-warning@+1 {{one vector core of a block reads here what the other one stores of 'C'}}
        npu.load_ub %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
      ascend.pipe_barrier all
    }
  }
  return
}

// -----
// A meeting at the end of each turn does.
func.func @flags_and_meetings(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
    tile.for %i = %c0 to %c3 step %c1 {
      scf.if %isFirst {
        npu.store_ub %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64 to %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      }
      ascend.set_cross_flag mte3, %c0 mode 1
      ascend.wait_cross_flag %c0
      scf.if %isFirst {
      } else {
        npu.load_ub %C[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
      ascend.pipe_barrier all
      ascend.sync_all
    }
  }
  return
}

// -----
// Rows of one turn of the first core, and of the turn before of the second one.
func.func @in_turns(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %D: !tile.buffer<64x64xf32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %x = tile.alloc "x" at 0 : !tile.buffer<1x64xf32, UB>
    tile.for %i = %c0 to %c4 step %c1 {
      %row = arith.addi %i, %vid : index
      // expected-warning@+1 {{what the two vector cores of a block store here of 'C' overlaps, in one turn of a loop or another, and nothing orders them: let each keep to a part of its own, by vid}}
      npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %C[%row, 0] [1, 64] : !tile.buffer<64x64xf32, global>
      %twice = arith.muli %i, %c2 : index
      %own = arith.addi %twice, %vid : index
      npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %D[%own, 0] [1, 64] : !tile.buffer<64x64xf32, global>
    }
  }
  return
}

// -----
// Of branches that exclude each other, or of which nobody knows whether both are taken, nothing is said.
func.func @in_branches(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %D: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %x = tile.alloc "x" at 0 : !tile.buffer<32x64xf32, UB>
    %y = tile.alloc "y" at 8192 : !tile.buffer<32x64xf32, UB>
    %own = arith.muli %vid, %c32 : index
    %others = arith.subi %c32, %own : index
    %isLarge = arith.cmpi sgt, %n, %c5 : index
    scf.if %isLarge {
      npu.store_ub %x[%c0] : !tile.buffer<32x64xf32, UB> pitch 64 to %C[%own, 0] [32, 64] : !tile.buffer<64x64xf32, global>
    } else {
      npu.load_ub %C[%others, 0] [32, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<32x64xf32, UB> pitch 64
    }
    ascend.pipe_barrier all
    %isOne = arith.cmpi eq, %n, %c1 : index
    scf.if %isOne {
      npu.load_ub %C[%others, 0] [32, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<32x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// An element of a tensor that only the cube core needs, the vector cores don't read.
func.func @elements(%D: !tile.buffer<64xsi32, global> {tile.name = "D"}, %E: !tile.buffer<64xsi32, global> {tile.name = "E"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : i32
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %a = tile.alloc "a" at 0 : !tile.buffer<16x16xf16, L0A>
    %b = tile.alloc "b" at 0 : !tile.buffer<16x16xf16, L0B>
    %c = tile.alloc "c" at 0 : !tile.buffer<16x16xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 64 : index
    scf.if %isFirst {
      npu.set_value %c5 to %D[%c0] : !tile.buffer<64xsi32, global> on vector
      // expected-note@+1 {{the other one's store is here}}
      npu.set_value %c5 to %E[%c0] : !tile.buffer<64xsi32, global> on vector
    }
    ascend.scope vector {
      ascend.set_cross_flag s, %c0
    }
    ascend.scope cube {
      ascend.wait_cross_flag %c0
    }
    %d = npu.get_value %D[%c0] : !tile.buffer<64xsi32, global>
    %isLess = arith.cmpi slt, %d, %c5 : i32
    scf.if %isLess {
      npu.mmad %a[%c0] : !tile.buffer<16x16xf16, L0A>, %b[%c0] : !tile.buffer<16x16xf16, L0B> into %c[%c0] : !tile.buffer<16x16xf32, L0C> size 16 x 16 x 16 init(%isLess)
    }
    // expected-warning@+1 {{one vector core of a block reads here what the other one stores of 'E'}}
    %e = npu.get_value %E[%c0] : !tile.buffer<64xsi32, global>
    %isSmall = arith.cmpi slt, %e, %c5 : i32
    scf.if %isSmall {
      npu.duplicate %x[%c0] : !tile.buffer<64xf32, UB>, %zero count(%count)
    }
  }
  return
}

// -----
// One core stores where the loop of the other one has no turn.
func.func @excluded(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i32
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %isSecond = arith.cmpi eq, %vid, %c1 : index
    %turns = arith.index_cast %n : i32 to index
    %x = tile.alloc "x" at 0 : !tile.buffer<1x64xf32, UB>
    tile.for %i = %c0 to %turns step %c1 {
      scf.if %isFirst {
        npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %C[%i, 0] [1, 64] : !tile.buffer<64x64xf32, global>
      }
    }
    %isNone = arith.cmpi eq, %n, %none : i32
    scf.if %isNone {
      scf.if %isSecond {
        npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %C[0, 0] [1, 64] : !tile.buffer<64x64xf32, global>
      }
    }
  }
  return
}

// -----
// There is a run with both.
func.func @not_excluded(%C: !tile.buffer<64x64xf32, global> {tile.name = "C"}, %n: i32 {tile.dtype = si32, tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %isSecond = arith.cmpi eq, %vid, %c1 : index
    %turns = arith.index_cast %n : i32 to index
    %x = tile.alloc "x" at 0 : !tile.buffer<1x64xf32, UB>
    tile.for %i = %c0 to %turns step %c1 {
      scf.if %isFirst {
        // expected-note@+1 {{the other one's store is here}}
        npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %C[%i, 0] [1, 64] : !tile.buffer<64x64xf32, global>
      }
    }
    %isOne = arith.cmpi eq, %n, %one : i32
    scf.if %isOne {
      scf.if %isSecond {
        // expected-warning@+1 {{one vector core of a block stores here what the other one stores of 'C', and nothing orders them: put T.sync_all() between them, or let each keep to a part of its own, by vid}}
        npu.store_ub %x[%c0] : !tile.buffer<1x64xf32, UB> pitch 64 to %C[0, 0] [1, 64] : !tile.buffer<64x64xf32, global>
      }
    }
  }
  return
}
