// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-expand-exponentials | FileCheck %s
// RUN: tilewright-opt %s --cpu-expand-exponentials=cpu=avx2 | FileCheck %s --check-prefix=AVX2

// CHECK-LABEL: func.func @powers
// CHECK-COUNT-2: arith.select
// CHECK: %[[T:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: %[[N:.*]] = arith.subf %[[T]]
// CHECK: arith.subf %{{.*}}, %[[N]]
// CHECK-COUNT-6: math.fma
// CHECK: %[[BITS:.*]] = arith.bitcast %[[T]] : f32 to i32
// CHECK: llvm.call_intrinsic "llvm.ldexp"
// CHECK-COUNT-9: math.fma
// CHECK: llvm.call_intrinsic "llvm.ldexp"
// CHECK: math.exp %{{.*}} : f64
// AVX2-LABEL: func.func @powers
// AVX2: arith.constant 0x4B4000FE : f32
// AVX2: arith.shrui
// AVX2: arith.subi
// AVX2-NOT: arith.addi
// AVX2-COUNT-2: arith.mulf
// AVX2-NOT: ldexp
func.func @powers(%x: f32, %d: f64) -> (f32, f32, f64) {
  %a = math.exp2 %x : f32
  %b = math.exp %x : f32
  %c = math.exp %d : f64
  return %a, %b, %c : f32, f32, f64
}
