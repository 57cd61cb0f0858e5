// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-part-variables --split-input-file | FileCheck %s

// Behind the loop that elements of UB end, it is another variable, which begins with what the first one is.
// CHECK-LABEL: func.func @changed_later
// CHECK: %[[N:.*]] = tile.alloc "n" : !tile.buffer<si32, var>
// CHECK: tile.for
// CHECK: tile.store %{{.*}}, %[[N]][]
// CHECK: tile.gemm
// CHECK: %[[M:.*]] = tile.alloc "n" : !tile.buffer<si32, var>
// CHECK: %[[NOW:.*]] = tile.load %[[N]][]
// CHECK: tile.store %[[NOW]], %[[M]][]
// CHECK: tile.while
// CHECK: tile.load %[[M]][]
// CHECK: tile.store %{{.*}}, %[[M]][]
// CHECK-NOT: %[[N]]
// CHECK: return
func.func @changed_later(%C: !tile.buffer<16xsi32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %u = tile.alloc "u" : !tile.buffer<16xsi32, UB>
    %n = tile.alloc "n" : !tile.buffer<si32, var>
    tile.store %zero, %n[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %c4 step %c1 {
      %was = tile.load %n[] : !tile.buffer<si32, var>
      %is = arith.addi %was, %one : i32
      tile.store %is, %n[] : !tile.buffer<si32, var>
      tile.gemm %a[%c0, %c0] [16, 16] : !tile.buffer<16x16xf16, L1>, %a[%c0, %c0] [16, 16] : !tile.buffer<16x16xf16, L1> into %c[%c0, %c0] [16, 16] : !tile.buffer<16x16xf32, L0C>
    }
    tile.while {
      %asked = tile.load %u[%c0] : !tile.buffer<16xsi32, UB>
      %more = arith.cmpi slt, %asked, %one : i32
      tile.condition %more
    } do {
      %was = tile.load %n[] : !tile.buffer<si32, var>
      %is = arith.addi %was, %one : i32
      tile.store %is, %n[] : !tile.buffer<si32, var>
    }
    %last = tile.load %n[] : !tile.buffer<si32, var>
    tile.store %last, %C[%c0] : !tile.buffer<16xsi32, global>
  }
  return
}

// -----
// Nothing reads it before: it stays one.
// CHECK-LABEL: func.func @of_vectors
// CHECK: tile.alloc "n"
// CHECK-NOT: tile.alloc "n"
// CHECK: return
func.func @of_vectors(%C: !tile.buffer<16xsi32, global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %u = tile.alloc "u" : !tile.buffer<16xsi32, UB>
    %n = tile.alloc "n" : !tile.buffer<si32, var>
    tile.store %zero, %n[] : !tile.buffer<si32, var>
    tile.gemm %a[%c0, %c0] [16, 16] : !tile.buffer<16x16xf16, L1>, %a[%c0, %c0] [16, 16] : !tile.buffer<16x16xf16, L1> into %c[%c0, %c0] [16, 16] : !tile.buffer<16x16xf32, L0C>
    %asked = tile.load %u[%c0] : !tile.buffer<16xsi32, UB>
    %more = arith.cmpi slt, %asked, %one : i32
    scf.if %more {
      tile.store %one, %n[] : !tile.buffer<si32, var>
    }
    %last = tile.load %n[] : !tile.buffer<si32, var>
    tile.store %last, %C[%c0] : !tile.buffer<16xsi32, global>
  }
  return
}
