// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-forward-fills --split-input-file | FileCheck %s

// Also in a loop behind the fill. An element that the fill leaves stays one.
// CHECK-LABEL: func.func @filled
// CHECK-SAME: %[[COLUMN:[a-z0-9]+]]: i32
// CHECK: npu.duplicate
// CHECK: npu.set_value %[[COLUMN]] to
// CHECK: tile.for
// CHECK: npu.set_value %[[COLUMN]] to
// CHECK: %[[OTHER:.*]] = npu.get_value
// CHECK: npu.set_value %[[OTHER]] to
func.func @filled(%C: !tile.buffer<64xsi32, global>, %column: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%n) npu {
    %columns = tile.alloc "columns" : !tile.buffer<16xsi32, UB>
    npu.duplicate %columns[%c0] : !tile.buffer<16xsi32, UB>, %column count(%c8)
    %first = npu.get_value %columns[%c0] : !tile.buffer<16xsi32, UB>
    npu.set_value %first to %C[%c0] : !tile.buffer<64xsi32, global>
    tile.for %i = %c0 to %n step %c1 {
      %second = npu.get_value %columns[%c1] : !tile.buffer<16xsi32, UB>
      npu.set_value %second to %C[%c1] : !tile.buffer<64xsi32, global>
    }
    %ninth = npu.get_value %columns[%c8] : !tile.buffer<16xsi32, UB>
    npu.set_value %ninth to %C[%c8] : !tile.buffer<64xsi32, global>
  }
  return
}

// -----
// Nor of a tile that something else writes, that is filled in a branch, or whose bytes may be another tile's.
// CHECK-LABEL: func.func @not_known
// CHECK-COUNT-3: npu.get_value
// CHECK-NOT: npu.get_value
func.func @not_known(%C: !tile.buffer<64xsi32, global>, %number: i32, %n: index, %yes: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8xsi32, UB>
    %y = tile.alloc "y" : !tile.buffer<8xsi32, UB>
    %z = tile.alloc "z" at 0 : !tile.buffer<8xsi32, UB>
    npu.duplicate %x[%c0] : !tile.buffer<8xsi32, UB>, %number count(%c8)
    npu.set_value %number to %x[%c1] : !tile.buffer<8xsi32, UB>
    scf.if %yes {
      npu.duplicate %y[%c0] : !tile.buffer<8xsi32, UB>, %number count(%c8)
    }
    npu.duplicate %z[%c0] : !tile.buffer<8xsi32, UB>, %number count(%c8)
    %a = npu.get_value %x[%c0] : !tile.buffer<8xsi32, UB>
    %b = npu.get_value %y[%c0] : !tile.buffer<8xsi32, UB>
    %c = npu.get_value %z[%c0] : !tile.buffer<8xsi32, UB>
    npu.set_value %a to %C[%c0] : !tile.buffer<64xsi32, global>
    npu.set_value %b to %C[%c1] : !tile.buffer<64xsi32, global>
    npu.set_value %c to %C[%c8] : !tile.buffer<64xsi32, global>
  }
  return
}
