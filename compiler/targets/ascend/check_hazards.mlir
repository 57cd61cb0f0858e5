// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-check-hazards --split-input-file --verify-diagnostics
// What nothing orders is a warning; flags that don't match are errors.

func.func @no_flag(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    // expected-note@+1 {{the earlier one is here}}
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    // expected-warning@+2 {{abs needs what T.copy to UB writes to 'x', but nothing orders them: set a flag from MTE2 to V: T.set_flag("mte2", "v", id) behind the earlier one and T.wait_flag("mte2", "v", id) before this one}}
    // expected-note@+1 {{the earlier one is here}}
    npu.unary abs %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
    // expected-warning@+1 {{ln needs what abs writes to 'y', but nothing orders them: add a barrier of V: T.pipe_barrier("v") between them}}
    npu.unary ln %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB> count(%c64) // expected-note {{the vendor's compiler orders these two by itself; a kernel that relies on it runs on the host with --cce-auto-sync=on in compile_flags, or with TILEWRIGHT_ASCEND=relaxed}}
  }
  return
}

// -----
// Boxes are compared dim by dim only where each is known to lie within the dims: the elements of a column may be
// counted in the dim of one element behind it, whole rows in their own dim, and of all else nothing is known.
func.func @parts_of_tensors(%A: !tile.buffer<16x1xf32, global>, %B: !tile.buffer<4x8x1xf32, global>,
                            %C: !tile.buffer<16x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    // expected-note@+1 {{the earlier one is here}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %A[8, 0] [1, 8] : !tile.buffer<16x1xf32, global>
    npu.load_ub %A[0, 0] [8, 1] : !tile.buffer<16x1xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 8
    ascend.pipe_barrier mte2
    // expected-warning@+1 {{T.copy to UB needs what T.copy from UB writes, but nothing orders them}}
    npu.load_ub %A[0, 8] [1, 8] : !tile.buffer<16x1xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 8
    ascend.pipe_barrier all

    // expected-note@+1 {{the earlier one is here}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[1, 0, 0] [1, 1, 16] : !tile.buffer<4x8x1xf32, global>
    npu.load_ub %B[3, 0, 0] [1, 8, 1] : !tile.buffer<4x8x1xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 8
    ascend.pipe_barrier mte2
    // expected-warning@+1 {{T.copy to UB needs what T.copy from UB writes, but nothing orders them}}
    npu.load_ub %B[2, 0, 0] [1, 8, 1] : !tile.buffer<4x8x1xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 8
    ascend.pipe_barrier all

    // expected-note@+1 {{the earlier one is here}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[2, 60] [1, 8] : !tile.buffer<16x64xf32, global>
    // expected-warning@+1 {{T.copy to UB needs what T.copy from UB writes, but nothing orders them}}
    npu.load_ub %C[3, 0] [1, 8] : !tile.buffer<16x64xf32, global> to %y[%c0] : !tile.buffer<64xf32, UB> pitch 8
  }
  return
}

// -----
func.func @between_cores(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    // expected-note@+1 {{the earlier one is here}}
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
    // expected-warning@+1 {{T.copy to UB needs what T.copy from L0C writes, but nothing orders them: set a cross-core flag on FIX: T.set_cross_flag("fix", id) behind the earlier one and T.wait_cross_flag(id) before this one}}
    npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
  }
  return
}

// -----
func.func @never_set(%n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{event 0 from MTE2 to V is waited for, but nothing has set it}}
    ascend.wait_flag mte2 to v, %c0
  }
  return
}

// -----
func.func @set_twice(%n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    ascend.set_flag mte2 to v, %c0
    // expected-error@+1 {{event 0 from MTE2 to V is set again before anything waited for it}}
    ascend.set_flag mte2 to v, %c0
    ascend.wait_flag mte2 to v, %c0
    ascend.wait_flag mte2 to v, %c0
  }
  return
}

// -----
func.func @still_set(%n: index) {
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{event 3 from V to MTE3 is still set when the kernel ends}}
    ascend.set_flag v to mte3, %c3
  }
  return
}

// -----
func.func @one_branch(%n: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{event 0 from MTE2 to V is set, or waited for, in one branch only}}
    scf.if %yes {
      ascend.set_flag mte2 to v, %c0
    }
  }
  return
}

// -----
func.func @unbalanced(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{event 0 from MTE2 to V is not set as often as it is waited for in an iteration of this loop}}
    tile.for %i = %c0 to %n step %c1 {
      ascend.set_flag mte2 to v, %c0
    }
  }
  return
}

// -----
// An element at an unknown place is still one of its own buffer: the load to another one needs no flag.
func.func @somewhere_in_its_buffer(%A: !tile.buffer<64xf32, global>, %n: index, %any: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %indices = tile.alloc "indices" at 0 : !tile.buffer<64xsi32, UB>
    %x = tile.alloc "x" at 256 : !tile.buffer<64xf32, UB>
    // expected-note@+1 {{the earlier one is here}}
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    %index = npu.get_value %indices[%any] : !tile.buffer<64xsi32, UB>
    // expected-warning@+1 {{reading an element needs what T.copy to UB writes to 'x', but nothing orders them: set a flag from MTE2 to S}}
    %element = npu.get_value %x[%any] : !tile.buffer<64xf32, UB> // expected-note {{the vendor's compiler orders these two by itself; a kernel that relies on it runs on the host with --cce-auto-sync=on in compile_flags, or with TILEWRIGHT_ASCEND=relaxed}}
  }
  return
}

// -----
// A kernel's own flags between cores: what stands behind the wait is ordered, in each core's own text.
func.func @own_flags(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %c3 step %c1 {
        ascend.wait_cross_flag %c1
        npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      ascend.set_cross_flag mte2, %c1
      tile.for %i = %c0 to %c3 step %c1 {
        ascend.wait_cross_flag %c0
        ascend.pipe_barrier mte2
        npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
        %last = arith.constant 2 : index
        %more = arith.cmpi slt, %i, %last : index
        scf.if %more {
          ascend.set_cross_flag mte2, %c1
        }
      }
    }
  }
  return
}

// -----
// Without the flag back, the next store doesn't wait for the load.
func.func @no_flag_back(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %c3 step %c1 {
        // expected-warning@+1 {{T.copy from L0C overwrites what T.copy to UB reads, but nothing orders them: set a cross-core flag on MTE2}}
        npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %c3 step %c1 {
        ascend.wait_cross_flag %c0
        ascend.pipe_barrier mte2
        // expected-note@+1 {{the earlier one is here}}
        npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
      }
    }
  }
  return
}

// -----
// Each core waits for the other.
func.func @deadlock(%n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    ascend.scope cube {
      // expected-error@+1 {{cross-core flag 0 of the cube core is waited for, but nothing has set it}}
      ascend.wait_cross_flag %c0
      ascend.set_cross_flag fix, %c0
    }
    ascend.scope vector {
      // expected-error@+1 {{cross-core flag 0 of the vector cores is waited for, but nothing has set it}}
      ascend.wait_cross_flag %c0
      ascend.set_cross_flag mte2, %c0
    }
  }
  return
}

// -----
// A store and a load of one core, with a flag to all vector cores between.
func.func @one_kind(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    %y = tile.alloc "y" at 16384 : !tile.buffer<64x64xf32, UB>
    npu.store_ub %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
    ascend.set_cross_flag mte3, %c0 mode 0
    ascend.wait_cross_flag %c0
    npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %y[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
  }
  return
}

// -----
// A flag in a branch of which nothing is known: of what it orders is said only that it is the host's.
func.func @not_known(%W: !tile.buffer<64x64xf32, global>, %n: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64x64xf32, UB>
    ascend.scope cube {
      npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
      scf.if %yes {
        // expected-remark@+1 {{the compiler can't follow the kernel's flags between cores through the branches and loops around them: what they order isn't checked while it is compiled, but the host checks it}}
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      scf.if %yes {
        ascend.wait_cross_flag %c0
      }
      npu.load_ub %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%c0] : !tile.buffer<64x64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// The sums say that both vector cores run: what they store besides is stored twice.
func.func @both_store(%C: !tile.buffer<64xf32, global>, %D: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    // expected-note@+2 {{both run because the kernel adds to global memory here}}
    // expected-warning@+1 {{both vector cores of a block add the same here, so that it counts twice: add it where `vid == 0`, a part of its own on each, by vid, or launch one with threads=1}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[0] [64] : !tile.buffer<64xf32, global> atomic_add
    // expected-warning@+1 {{both vector cores of a block store this at the same place, and nothing orders them: store where `vid == 0`, or launch one with threads=1}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %D[0] [64] : !tile.buffer<64xf32, global>
  }
  return
}

// -----
// The cube core is none of the vector cores: its vid is 0.
func.func @part_of_cube(%W: !tile.buffer<64x64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%n) npu {
    %vid = ascend.vector_id
    %row = arith.muli %vid, %c32 : index
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    // expected-warning@+1 {{the cube core stores this, once per block and with a vid of 0, so nobody stores the part of vid 1: copy all of the tile without vid}}
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[%row, 0] [32, 64] : !tile.buffer<64x64xf32, global>
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %W[0, 0] [64, 64] : !tile.buffer<64x64xf32, global>
  }
  return
}

// -----
// One of them stores, or there is only one.
func.func @one_stores(%C: !tile.buffer<64xf32, global>, %D: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    // expected-warning@+1 {{both vector cores of a block add the same here, so that it counts twice: add it where `vid == 0`, a part of its own on each, by vid, or launch one with threads=1}}
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[0] [64] : !tile.buffer<64xf32, global> atomic_add
    scf.if %isFirst {
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %D[0] [64] : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
// Of a tile that the tensor's edge cuts, the most rows and columns that it can have count: events in turn order the
// two tiles, each for itself.
func.func @cut_tiles(%A: !tile.buffer<?x32xf32, global>, %B: !tile.buffer<?x32xf32, global>, %n: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %trips = arith.ceildivsi %rows, %c16 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x16x32xf32, UB>
    ascend.set_flag mte3 to mte2, %c0
    ascend.set_flag mte3 to mte2, %c1
    tile.for %i = %c0 to %trips step %c1 {
      %turn = arith.remui %i, %c2 : index
      %first = arith.muli %i, %c16 : index
      %left = arith.subi %rows, %first : index
      %least = arith.minsi %left, %c16 : index
      %count = arith.maxsi %least, %c0 : index
      %offset = arith.muli %turn, %c512 : index
      ascend.wait_flag mte3 to mte2, %turn
      npu.load_ub %A[%first, 0] [%count, 32] : !tile.buffer<?x32xf32, global> to %x[%offset] : !tile.buffer<2x16x32xf32, UB> pitch 32
      ascend.set_flag mte2 to mte3, %turn
      ascend.wait_flag mte2 to mte3, %turn
      npu.store_ub %x[%offset] : !tile.buffer<2x16x32xf32, UB> pitch 32 to %B[%first, 0] [%count, 32] : !tile.buffer<?x32xf32, global>
      ascend.set_flag mte3 to mte2, %turn
    }
    ascend.wait_flag mte3 to mte2, %c0
    ascend.wait_flag mte3 to mte2, %c1
  }
  return
}

// -----
// The same with one flag less.
func.func @cut_tiles_too_early(%A: !tile.buffer<?x32xf32, global>, %B: !tile.buffer<?x32xf32, global>, %n: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %trips = arith.ceildivsi %rows, %c16 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x16x32xf32, UB>
    tile.for %i = %c0 to %trips step %c1 {
      %turn = arith.remui %i, %c2 : index
      %first = arith.muli %i, %c16 : index
      %left = arith.subi %rows, %first : index
      %least = arith.minsi %left, %c16 : index
      %count = arith.maxsi %least, %c0 : index
      %offset = arith.muli %turn, %c512 : index
      // expected-note-re@+2 {{for example from turn {{[0-9]+}} to turn {{[0-9]+}} of the loop in line 356}}
      // expected-warning@+1 {{T.copy to UB overwrites what T.copy from UB of an earlier iteration reads of 'x', but nothing orders them}}
      npu.load_ub %A[%first, 0] [%count, 32] : !tile.buffer<?x32xf32, global> to %x[%offset] : !tile.buffer<2x16x32xf32, UB> pitch 32
      ascend.set_flag mte2 to mte3, %turn
      ascend.wait_flag mte2 to mte3, %turn
      npu.store_ub %x[%offset] : !tile.buffer<2x16x32xf32, UB> pitch 32 to %B[%first, 0] [%count, 32] : !tile.buffer<?x32xf32, global> // expected-note {{the earlier one is here}}
    }
  }
  return
}

// -----
// Columns that are cut, and rows of which nothing is known: those may reach into the other tile.
func.func @cut_columns(%A: !tile.buffer<64x?xf16, global>, %n: index, %most: index, %any: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %c32 = arith.constant 32 : index
  %columns = arith.minsi %most, %c32 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x32x32xf16, L1>
    npu.load_l1 %A[0, 0] [32, %columns] : !tile.buffer<64x?xf16, global> to %x[%c0] : !tile.buffer<2x32x32xf16, L1> rows 32
    npu.load_l1 %A[0, 0] [32, %columns] : !tile.buffer<64x?xf16, global> to %x[%c1024] : !tile.buffer<2x32x32xf16, L1> rows 32
    ascend.pipe_barrier mte2
    npu.load_l1 %A[0, 0] [32, %any] : !tile.buffer<64x?xf16, global> to %x[%c0] : !tile.buffer<2x32x32xf16, L1> rows 32 // expected-note {{the earlier one is here}}
    // expected-warning@+1 {{T.copy to L1 overwrites what T.copy to L1 writes to 'x', but nothing orders them: add a barrier of MTE2}}
    npu.load_l1 %A[0, 0] [32, %columns] : !tile.buffer<64x?xf16, global> to %x[%c1024] : !tile.buffer<2x32x32xf16, L1> rows 32
  }
  return
}

// -----
// A loop of unknown length that loads one tile ahead: all turns but the last one load, and wait for the slot.
func.func @loads_ahead(%A: !tile.buffer<?xf32, global>, %B: !tile.buffer<?xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x64xf32, UB>
    %trips = arith.addi %cid, %c1 : index
    %last = arith.subi %trips, %c1 : index
    npu.load_ub %A[0] [64] : !tile.buffer<?xf32, global> to %x[%c0] : !tile.buffer<2x64xf32, UB> pitch 64
    ascend.set_flag mte2 to mte3, %c0
    tile.for %i = %c0 to %trips step %c1 {
      %next = arith.addi %i, %c1 : index
      %ahead = arith.remui %next, %c2 : index
      %turn = arith.remui %i, %c2 : index
      %offset = arith.muli %turn, %c64 : index
      %offset_ahead = arith.muli %ahead, %c64 : index
      %at = arith.muli %i, %c64 : index
      %at_ahead = arith.muli %next, %c64 : index
      %is_later = arith.cmpi sge, %i, %c1 : index
      %goes_on = arith.cmpi slt, %i, %last : index
      scf.if %goes_on {
        scf.if %is_later {
          ascend.wait_flag mte3 to mte2, %ahead
        }
        npu.load_ub %A[%at_ahead] [64] : !tile.buffer<?xf32, global> to %x[%offset_ahead] : !tile.buffer<2x64xf32, UB> pitch 64
        ascend.set_flag mte2 to mte3, %ahead
      }
      ascend.wait_flag mte2 to mte3, %turn
      npu.store_ub %x[%offset] : !tile.buffer<2x64xf32, UB> pitch 64 to %B[%at] [64] : !tile.buffer<?xf32, global>
      %before_last = arith.subi %trips, %c2 : index
      %is_waited_for = arith.cmpi slt, %i, %before_last : index
      scf.if %is_waited_for {
        ascend.set_flag mte3 to mte2, %turn
      }
    }
  }
  return
}

// -----
// One less than an int32 that a loop ends at is no number that wrapped round: in an iteration it is 1 or more. The
// last one sets no flag, as the first one waits for none.
func.func @last_by_an_argument(%A: !tile.buffer<?x64xf32, global>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %end = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    tile.for %i = %c0 to %end step %c1 {
      %isLater = arith.cmpi sgt, %i, %c0 : index
      scf.if %isLater {
        ascend.wait_flag mte3 to mte2, %c0
      }
      npu.load_ub %A[%i, 0] [1, 64] : !tile.buffer<?x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      ascend.set_flag mte2 to mte3, %c0
      ascend.wait_flag mte2 to mte3, %c0
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %A[%i, 0] [1, 64] : !tile.buffer<?x64xf32, global>
      %number = arith.index_cast %i : index to i32
      %last = arith.subi %n, %one : i32
      %isNotLast = arith.cmpi ne, %number, %last : i32
      scf.if %isNotLast {
        ascend.set_flag mte3 to mte2, %c0
      }
    }
  }
  return
}

// -----
// The cube core waits until both vector cores have set a flag: in each arm one does, or only one at all.
// That the compiler can't follow them is nothing to tell beside that.
func.func @flags_of_one_vector_core(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %vid = ascend.vector_id
    ascend.scope cube {
      ascend.wait_cross_flag %c0
      ascend.wait_cross_flag %c1
    }
    ascend.scope vector {
      %first = arith.cmpi eq, %vid, %c0 : index
      scf.if %first {
        // expected-error@+1 {{cross-core flag 0 is set by vector core 0 of a block only, but the cube core waits for both: set it outside of the branch on the vector core's number}}
        ascend.set_cross_flag mte3, %c0
        ascend.set_cross_flag mte3, %c1
      } else {
        ascend.set_cross_flag mte2, %c1
      }
    }
  }
  return
}

// -----
// What both add is not the same: of another row, computed with vid, or of a tile that vid leaves as it is on one.
func.func @each_adds_its_own(%A: !tile.buffer<2x64xf32, global>, %C: !tile.buffer<64xf32, global>, %s: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %vid = ascend.vector_id
    %isFirst = arith.cmpi eq, %vid, %c0 : index
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB>
    %z = tile.alloc "z" at 512 : !tile.buffer<64xf32, UB>
    npu.load_ub %A[%vid, 0] [1, 64] : !tile.buffer<2x64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    ascend.pipe_barrier all
    npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[0] [64] : !tile.buffer<64xf32, global> atomic_add
    npu.scalar add %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB>, %s count(%c64)
    ascend.pipe_barrier all
    npu.store_ub %y[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[0] [64] : !tile.buffer<64xf32, global> atomic_add
    scf.if %isFirst {
      npu.load_ub %A[0, 0] [1, 64] : !tile.buffer<2x64xf32, global> to %z[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
    ascend.pipe_barrier all
    npu.store_ub %z[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[0] [64] : !tile.buffer<64xf32, global> atomic_add
  }
  return
}

// -----
// However many turns there are.
func.func @twice_a_turn(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  tile.launch (%cid) in (%m) npu {
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        ascend.set_cross_flag fix, %c0
        // expected-error@+1 {{cross-core flag 0 of the vector cores is still set when the kernel ends}}
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %n step %c1 {
        ascend.wait_cross_flag %c0
      }
    }
  }
  return
}

// -----
// Nor does it matter that nothing is known of the loops.
func.func @never_waited_for(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  tile.launch (%cid) in (%m) npu {
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        // expected-error@+1 {{cross-core flag 0 of the vector cores is still set when the kernel ends}}
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %n step %c1 {
      }
    }
  }
  return
}

// -----
// All of a long loop counts.
func.func @without_one_wait(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  tile.launch (%cid) in (%m) npu {
    ascend.scope cube {
      tile.for %i = %c0 to %c100 step %c1 {
        // expected-error@+1 {{cross-core flag 0 of the vector cores is still set when the kernel ends}}
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %c100 step %c1 {
        %other = arith.cmpi ne, %i, %c2 : index
        scf.if %other {
          ascend.wait_cross_flag %c0
        }
      }
    }
  }
  return
}

// -----
// The third turn is one that only some runs have.
func.func @without_one_wait_of_some(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  tile.launch (%cid) in (%m) npu {
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        // expected-warning@+1 {{cross-core flag 0 of the vector cores is still set when the kernel ends, with each number of turns of its loops from 3 on as the compiler has followed}}
        ascend.set_cross_flag fix, %c0
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %n step %c1 {
        %other = arith.cmpi ne, %i, %c2 : index
        scf.if %other {
          ascend.wait_cross_flag %c0
        }
      }
    }
  }
  return
}

// -----
// A long loop without flags between the cores: those around it are followed all the same.
func.func @beside_a_long_loop(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      // expected-error@+1 {{cross-core flag 0 of the cube core is waited for, but nothing has set it}}
      ascend.wait_cross_flag %c0
    }
    ascend.scope vector {
      tile.for %i = %c0 to %c64 step %c1 {
        ascend.pipe_barrier mte2
        npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
      }
    }
  }
  return
}

// -----
// A flag to the other core and one back order the two copies, but for n of 0 there are none.
func.func @no_round_trip(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%m) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %n step %c1 {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      // expected-note@+1 {{the earlier one is here}}
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
      tile.for %i = %c0 to %n step %c1 {
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
      }
      // expected-warning@+1 {{T.copy to UB overwrites what T.copy from UB reads of 'x', but nothing orders them: set a flag from MTE3 to MTE2}}
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// Of a long loop the first turns are followed: what only later ones do has no order by them.
func.func @in_a_late_turn(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.for %i = %c0 to %c64 step %c1 {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      tile.for %i = %c0 to %c64 step %c1 {
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
        %late = arith.cmpi eq, %i, %c50 : index
        scf.if %late {
          // expected-note@+1 {{the earlier one is here}}
          npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
          // expected-warning@+1 {{T.copy to UB overwrites what T.copy from UB reads of 'x', but nothing orders them: set a flag from MTE3 to MTE2}}
          npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
        }
      }
    }
  }
  return
}

// -----
// Nor is there one where the cores tell each other in a loop that may have no turn.
func.func @no_turn_of_a_while(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index, %go: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" at 0 : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    ascend.scope cube {
      tile.while {
        tile.condition %go
      } do {
        ascend.wait_cross_flag %c0
        ascend.set_cross_flag fix, %c1
      }
    }
    ascend.scope vector {
      // expected-note@+1 {{the earlier one is here}}
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
      tile.while {
        tile.condition %go
      } do {
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
      }
      // expected-warning@+1 {{T.copy to UB overwrites what T.copy from UB reads of 'x', but nothing orders them: set a flag from MTE3 to MTE2}}
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    }
  }
  return
}

// -----
// A `while` asks once more than its body runs: what was set before it is waited for, and so is what each turn sets.
func.func @asks_with_a_wait(%A: !tile.buffer<16xsi32, global>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<16xsi32, UB>
    npu.duplicate %x[%c0] : !tile.buffer<16xsi32, UB>, %v count(%c16)
    ascend.set_flag v to s, %c0
    tile.while {
      ascend.wait_flag v to s, %c0
      %now = npu.get_value %x[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %now, %v : i32
      tile.condition %more
    } do {
      npu.scalar add %x[%c0] : !tile.buffer<16xsi32, UB>, %x[%c0] : !tile.buffer<16xsi32, UB>, %v count(%c16)
      ascend.set_flag v to s, %c0
    }
  }
  return
}

// -----
// So a set is missing where none stands before the loop.
func.func @asks_with_one_set_too_few(%v: i32, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    // expected-error@+1 {{event 0 from V to S is not set as often as it is waited for in an iteration of this loop}}
    tile.while {
      // expected-error@+1 {{event 0 from V to S is waited for, but nothing has set it}}
      ascend.wait_flag v to s, %c0
      tile.condition %c
    } do {
      ascend.set_flag v to s, %c0
    }
  }
  return
}

// -----
// With threads=2 the kernel has no vid: the compiler shares the work out.
func.func @both_store_of_threads(%D: !tile.buffer<64xf32, global>, %E: !tile.buffer<64xf32, global>, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%n) threads(2) npu attributes {ascend.cores_alike} {
    %vid = ascend.vector_id
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    npu.store_ub %x[%vid] : !tile.buffer<64xf32, UB> pitch 64 to %E[%vid] [1] : !tile.buffer<64xf32, global>
    // expected-warning@+1 {{both vector cores of a block store this at the same place, and nothing orders them: put it into T.Scope("V"), where the first one does it, or launch one with threads=1}}
    npu.store_ub %x[%c1] : !tile.buffer<64xf32, UB> pitch 64 to %D[1] [1] : !tile.buffer<64xf32, global>
  }
  return
}
