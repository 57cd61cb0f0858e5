// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-lazy-choices --split-input-file | FileCheck %s

// What one side of a choice alone needs moves to its branch, and so do the choices within it.
// CHECK-LABEL: func.func @sides
func.func @sides(%i: index, %none: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  tile.launch (%block) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<64xsi64, UB>
    %b = tile.alloc "b" : !tile.buffer<64xsi64, UB>
    // CHECK-NOT: tile.load
    // CHECK: %[[IN:.*]] = arith.cmpi slt
    // CHECK-NEXT: %[[Y:.*]] = scf.if %[[IN]] -> (i64) {
    // CHECK-NEXT:   %[[X:.*]] = tile.load
    // CHECK-NEXT:   %[[POSITIVE:.*]] = arith.cmpi sgt, %[[X]]
    // CHECK-NEXT:   %[[INNER:.*]] = scf.if %[[POSITIVE]] -> (i64) {
    // CHECK-NEXT:     %[[OTHER:.*]] = tile.load
    // CHECK-NEXT:     %[[SUM:.*]] = arith.addi %[[X]], %[[OTHER]]
    // CHECK-NEXT:     scf.yield %[[SUM]]
    // CHECK-NEXT:   } else {
    // CHECK-NEXT:     scf.yield
    // CHECK-NEXT:   }
    // CHECK-NEXT:   scf.yield %[[INNER]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   scf.yield
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.store %[[Y]]
    %x = tile.load %a[%i] : !tile.buffer<64xsi64, UB>
    %y = tile.load %b[%i] : !tile.buffer<64xsi64, UB>
    %sum = arith.addi %x, %y : i64
    %positive = arith.cmpi sgt, %x, %zero : i64
    %inner = arith.select %positive, %sum, %none : i64
    %in = arith.cmpi slt, %i, %c0 : index
    %chosen = arith.select %in, %inner, %none : i64
    tile.store %chosen, %b[%i] : !tile.buffer<64xsi64, UB>
  }
  return
}

// -----
// A second condition is asked for where the first leaves it open.
// CHECK-LABEL: func.func @conditions
func.func @conditions(%i: index, %first: i1) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  tile.launch (%block) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<64xsi32, UB>
    // CHECK: %[[BOTH:.*]] = scf.if %arg1 -> (i1) {
    // CHECK:   tile.load
    // CHECK:   scf.yield
    // CHECK: } else {
    // CHECK:   %[[FALSE:.*]] = arith.constant false
    // CHECK:   scf.yield %[[FALSE]]
    // CHECK: %[[EITHER:.*]] = scf.if %arg1 -> (i1) {
    // CHECK:   %[[TRUE:.*]] = arith.constant true
    // CHECK:   scf.yield %[[TRUE]]
    // CHECK: } else {
    // CHECK:   tile.load
    %x = tile.load %a[%i] : !tile.buffer<64xsi32, UB>
    %positive = arith.cmpi sgt, %x, %zero : i32
    %both = arith.andi %first, %positive : i1
    %y = tile.load %a[%i] : !tile.buffer<64xsi32, UB>
    %negative = arith.cmpi slt, %y, %zero : i32
    %either = arith.ori %first, %negative : i1
    %same = arith.xori %both, %either : i1
    %number = arith.extui %same : i1 to i32
    tile.store %number, %a[%i] : !tile.buffer<64xsi32, UB>
  }
  return
}

// -----
// What others need, too, stays, and so does what is read before a write; numbers and variables cost nothing.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: scf.if
func.func @stays(%i: index, %in: i1, %none: i32) {
  %c1 = arith.constant 1 : index
  tile.launch (%block) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<64xsi32, UB>
    %v = tile.alloc "v" : !tile.buffer<si32, var>
    %x = tile.load %a[%i] : !tile.buffer<64xsi32, UB>
    %shared = arith.select %in, %x, %none : i32
    %sum = arith.addi %shared, %x : i32
    %y = tile.load %a[%i] : !tile.buffer<64xsi32, UB>
    tile.store %sum, %a[%i] : !tile.buffer<64xsi32, UB>
    %before = arith.select %in, %y, %none : i32
    %own = tile.load %v[] : !tile.buffer<si32, var>
    %number = arith.addi %own, %none : i32
    %plain = arith.select %in, %number, %none : i32
    %all = arith.addi %before, %plain : i32
    tile.store %all, %a[%i] : !tile.buffer<64xsi32, UB>
  }
  return
}
