// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-check-hazards --split-input-file --verify-diagnostics
// Elements that the scalar units of several cores write to one line of their caches, and copies beside such.

func.func @elements(%C: !tile.buffer<4x64xf32, global> {tile.name = "C"}, %D: !tile.buffer<4x16xf32, global>) {
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c192 = arith.constant 192 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c2) threads(1) npu {
    %at = arith.addi %cid, %c192 : index
    // expected-warning@+1 {{the scalar units of block 0 and block 1 write 'C'[3, 0] and 'C'[3, 1], which lie in one 64-byte cache line; the line that is written back last may undo the other: let each core write lines of its own, or copy from UB}}
    npu.set_value %one to %C[%at] : !tile.buffer<4x64xf32, global>
    // Lines of their own.
    %own = arith.muli %cid, %c16 : index
    npu.set_value %one to %D[%own] : !tile.buffer<4x16xf32, global>
  }
  return
}

// -----
// The first turn of a loop, on both vector cores of a block.
func.func @by_vector_cores(%C: !tile.buffer<64xf32, global> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c1) npu {
    %vid = ascend.vector_id
    tile.for %i = %c0 to %c8 step %c1 {
      %pair = arith.muli %i, %c2 : index
      %at = arith.addi %pair, %vid : index
      // expected-warning@+1 {{the scalar units of vector core 0 of block 0 and vector core 1 of block 0 write 'C'[0] and 'C'[1]}}
      npu.set_value %one to %C[%at] : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
// A copy of another block.
func.func @beside_a_copy(%C: !tile.buffer<64xf32, global> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c4) threads(1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %first = arith.cmpi eq, %cid, %c0 : index
    scf.if %first {
      // expected-note@+1 {{the element is written here}}
      npu.set_value %one to %C[%c0] : !tile.buffer<64xf32, global>
    } else {
      %at = arith.muli %cid, %c8 : index
      // expected-warning@+1 {{this copy writes 'C'[8] in block 1, over which the scalar unit's data cache of block 0 may write back older bytes of a 64-byte line, as it writes 'C'[0]: let each core write lines of its own, or copy from UB}}
      npu.store_ub %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 to %C[%at] [8] : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
// Nothing is sure: of what data says, of an unknown number of blocks, of where cores may wait for each other.
func.func @not_sure(%C: !tile.buffer<64xf32, global>, %n: index) {
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%n) threads(1) npu {
    npu.set_value %one to %C[%cid] : !tile.buffer<64xf32, global>
  }
  return
}

// -----
func.func @in_a_branch(%C: !tile.buffer<64xf32, global>, %yes: i1) {
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c4) threads(1) npu {
    scf.if %yes {
      npu.set_value %one to %C[%cid] : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----
func.func @with_meetings(%C: !tile.buffer<64xf32, global>) {
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%cid) in (%c4) threads(1) npu {
    npu.set_value %one to %C[%cid] : !tile.buffer<64xf32, global>
    ascend.sync_all
  }
  return
}
