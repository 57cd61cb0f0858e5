// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-expand-small-floats | FileCheck %s

// CHECK-LABEL: func.func @add
// CHECK: arith.shli {{.*}} : i32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.cmpf uno
// CHECK: arith.select {{.*}} : i32
// CHECK-NEXT: arith.constant 16
// CHECK-NEXT: arith.shrui {{.*}} : i32
// CHECK-NEXT: arith.trunci {{.*}} : i32 to i16
// CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @add(%a: bf16, %b: bf16) -> bf16 {
  %c = arith.addf %a, %b : bf16
  return %c : bf16
}

// Instructions do float16 <-> float32: nothing to do. But float64 goes by way of "round to odd".
// CHECK-LABEL: func.func @half
// CHECK-NEXT: arith.extf {{.*}} : f16 to f32
// CHECK-NEXT: arith.truncf {{.*}} : f32 to f16
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: arith.cmpf one
// CHECK: arith.ori
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @half(%a: f16, %d: f64) -> (f16, f16) {
  %w = arith.extf %a : f16 to f32
  %n = arith.truncf %w : f32 to f16
  %h = arith.truncf %d : f64 to f16
  return %n, %h : f16, f16
}

// CHECK-LABEL: func.func @vectors
// CHECK: arith.bitcast {{.*}} : vector<16xf8E4M3FN> to vector<16xi8>
// CHECK-NOT: f8E4M3FN to vector<16xf32>
// CHECK: return {{.*}} : vector<16xf32>
func.func @vectors(%a: vector<16xf8E4M3FN>) -> vector<16xf32> {
  %w = arith.extf %a : vector<16xf8E4M3FN> to vector<16xf32>
  return %w : vector<16xf32>
}

// A long integer must not be rounded twice.
// CHECK-LABEL: func.func @integer
// CHECK: arith.andi {{.*}} : i64
// CHECK: arith.sitofp {{.*}} : i64 to f64
// CHECK-NOT: i64 to bf16
func.func @integer(%a: i64) -> bf16 {
  %c = arith.sitofp %a : i64 to bf16
  return %c : bf16
}

// One number on all lanes, as bits.
// CHECK-LABEL: func.func @lanes
// CHECK: %[[BITS:.*]] = arith.bitcast {{.*}} : bf16 to i16
// CHECK: %[[ALL:.*]] = vector.broadcast %[[BITS]] : i16 to vector<16xi16>
// CHECK: arith.bitcast %[[ALL]] : vector<16xi16> to vector<16xbf16>
func.func @lanes(%a: bf16) -> vector<16xbf16> {
  %all = vector.broadcast %a : bf16 to vector<16xbf16>
  return %all : vector<16xbf16>
}

// Whole numbers of at most 8 bits, as 4-bit weights less 8, need no rounding, nor float64; 257 does.
// CHECK-LABEL: func.func @weights
// CHECK: %[[F:.*]] = arith.sitofp {{.*}} : i32 to f32
// CHECK-NEXT: %[[B:.*]] = arith.bitcast %[[F]] : f32 to i32
// CHECK-NEXT: arith.constant 16
// CHECK-NEXT: %[[U:.*]] = arith.shrui %[[B]]
// CHECK-NEXT: %[[H:.*]] = arith.trunci %[[U]] : i32 to i16
// CHECK-NEXT: arith.bitcast %[[H]] : i16 to bf16
// CHECK: arith.uitofp {{.*}} : i32 to f32
// CHECK-NEXT: arith.bitcast
// CHECK-NEXT: arith.constant 16
// CHECK-NEXT: arith.shrui
// CHECK-NOT: arith.cmpf
// CHECK: arith.uitofp {{.*}} : i32 to f32
// CHECK: arith.cmpf uno
// CHECK: return
func.func @weights(%byte: i8) -> (bf16, bf16, bf16) {
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %c15 = arith.constant 15 : i32
  %both = arith.extui %byte : i8 to i32
  %low = arith.andi %both, %c15 : i32
  %weight = arith.subi %low, %c8 : i32
  %a = arith.sitofp %weight : i32 to bf16
  %high = arith.shrui %both, %c4 : i32
  %wide = arith.uitofp %high : i32 to f32
  %b = arith.truncf %wide : f32 to bf16
  %more = arith.addi %both, %c2 : i32
  %wider = arith.uitofp %more : i32 to f32
  %c = arith.truncf %wider : f32 to bf16
  return %a, %b, %c : bf16, bf16, bf16
}

// Up to 24 bits float32 is exact; one more goes by way of float64.
// CHECK-LABEL: func.func @half_weights
// CHECK: arith.sitofp {{.*}} : i32 to f32
// CHECK-NEXT: arith.truncf {{.*}} : f32 to f16
// CHECK: arith.uitofp {{.*}} : i32 to f64
func.func @half_weights(%word: i32) -> (f16, f16) {
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %top = arith.shrui %word, %c8 : i32
  %a = arith.sitofp %top : i32 to f16
  %more = arith.shrui %word, %c7 : i32
  %b = arith.uitofp %more : i32 to f16
  return %a, %b : f16, f16
}

// A sum that float64 has not in full gets an odd last digit; then it is rounded once more.
// CHECK-LABEL: func.func @fused
// CHECK: arith.mulf {{.*}} : vector<8xf64>
// CHECK: arith.select {{.*}} : vector<8xi1>, vector<8xi64>
// CHECK: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
// CHECK-NOT: math.fma
// CHECK-LABEL: func.func @fused_halves
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.select {{.*}} : i32
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @fused(%a: vector<8xbf16>, %b: vector<8xbf16>) -> vector<8xbf16> {
  %c = math.fma %a, %b, %a : vector<8xbf16>
  return %c : vector<8xbf16>
}
func.func @fused_halves(%a: f16, %b: f16) -> f16 {
  %c = math.fma %a, %b, %b : f16
  return %c : f16
}
