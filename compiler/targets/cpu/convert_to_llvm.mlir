// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-convert-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @math
// CHECK: llvm.intr.exp
// CHECK: llvm.call @erff
func.func @math(%x: f32) -> f32 {
  %e = math.exp %x : f32
  %f = math.erf %e : f32
  return %f : f32
}

// Near 0, log(1 + x) and exp(x) - 1 would have no correct digit.
// CHECK-LABEL: llvm.func @near_zero
// CHECK: llvm.call @log1pf
// CHECK: llvm.call @expm1
func.func @near_zero(%x: f32, %y: f64) -> (f32, f64) {
  %l = math.log1p %x : f32
  %e = math.expm1 %y : f64
  return %l, %e : f32, f64
}

// CHECK-LABEL: llvm.func @saturates
// CHECK: llvm.call_intrinsic "llvm.fptosi.sat"
// CHECK: llvm.call_intrinsic "llvm.fptoui.sat"
func.func @saturates(%x: f32) -> (i32, i8) {
  %i = arith.fptosi %x : f32 to i32
  %u = arith.fptoui %x : f32 to i8
  return %i, %u : i32, i8
}

// No division ends the process; one by a harmless constant is left alone.
// CHECK-LABEL: llvm.func @divides
// CHECK: llvm.icmp "eq" %arg1, %{{.*}} : i32
// CHECK: llvm.icmp "eq" %arg1, %{{.*}} : i32
// CHECK: llvm.select
// CHECK: llvm.sdiv
// CHECK: llvm.sub
// CHECK: llvm.select
// CHECK: llvm.select
// CHECK-NOT: llvm.select
// CHECK: llvm.udiv
func.func @divides(%a: i32, %b: i32) -> (i32, i32) {
  %c7 = arith.constant 7 : i32
  %q = arith.divsi %a, %b : i32
  %r = arith.divui %q, %c7 : i32
  return %q, %r : i32, i32
}

// A shift by the width or more shifts all bits out; one by a known distance is left alone.
// CHECK-LABEL: llvm.func @shifts
// CHECK: %[[IN:.*]] = llvm.icmp "ule" %arg1, %{{.*}} : i32
// CHECK: %[[LEFT:.*]] = llvm.shl %arg0, %arg1 : i32
// CHECK: %[[ALL:.*]] = llvm.select %[[IN]], %[[LEFT]], %{{.*}} : i1, i32
// CHECK: %[[MOST:.*]] = llvm.intr.umin(%arg1, %{{.*}}) : (i32, i32) -> i32
// CHECK: llvm.ashr %[[ALL]], %[[MOST]] : i32
// CHECK-NOT: llvm.select
// CHECK: llvm.lshr
func.func @shifts(%a: i32, %b: i32) -> i32 {
  %c7 = arith.constant 7 : i32
  %l = arith.shli %a, %b : i32
  %r = arith.shrsi %l, %b : i32
  %u = arith.shrui %r, %c7 : i32
  return %u : i32
}
