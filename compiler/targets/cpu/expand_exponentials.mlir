// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-expand-exponentials | FileCheck %s
// RUN: tilewright-opt %s --cpu-expand-exponentials=cpu=avx2 | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --cpu-expand-exponentials=fast | FileCheck %s --check-prefix=FAST
// RUN: tilewright-opt %s '--cpu-expand-exponentials=fast cpu=avx2' | FileCheck %s --check-prefix=TURN
// RUN: tilewright-opt %s '--cpu-expand-exponentials=fast bits=13' | FileCheck %s --check-prefix=SHORT
// RUN: tilewright-opt %s '--cpu-expand-exponentials=fast bits=13 cpu=avx2' | FileCheck %s --check-prefix=SHORT-TURN
// RUN: tilewright-opt %s --cpu-expand-exponentials=most=87 | FileCheck %s --check-prefix=MOST
// RUN: tilewright-opt %s '--cpu-expand-exponentials=fast most=0 cpu=avx2' | FileCheck %s --check-prefix=MOST
// RUN: tilewright-opt %s '--cpu-expand-exponentials=most=88' | FileCheck %s --check-prefix=LEAST

// Where arguments are small enough they are kept from below only; 88 is too large for exp.
// MOST-LABEL: func.func @powers
// MOST-NOT: arith.cmpf ogt
// MOST: arith.cmpf olt
// MOST-NOT: arith.cmpf ogt
// MOST: math.exp %{{.*}} : f64
// LEAST-LABEL: func.func @powers
// LEAST: arith.cmpf ogt

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
// FAST-LABEL: func.func @powers
// FAST-COUNT-2: arith.select
// FAST: %[[T:.*]] = arith.addf
// FAST: arith.mulf
// FAST-COUNT-5: math.fma
// FAST: %[[BITS:.*]] = arith.bitcast %[[T]] : f32 to i32
// FAST: %[[N:.*]] = arith.shli %[[BITS]]
// FAST: %[[POWER:.*]] = arith.bitcast %[[N]] : i32 to f32
// FAST: arith.mulf %{{.*}}, %[[POWER]] : f32
// FAST: arith.mulf %{{.*}} : f32
// FAST-COUNT-2: arith.select
// FAST-COUNT-5: math.fma
// FAST: math.exp %{{.*}} : f64
// TURN-LABEL: func.func @powers
// TURN: %[[N:.*]] = arith.subf
// TURN: %[[REST:.*]] = arith.subf %{{.*}}, %[[N]]
// TURN-NOT: arith.mulf
// TURN: %[[A:.*]] = math.fma %{{.*}}, %[[REST]], %{{.*}} : f32
// TURN: %[[B:.*]] = math.fma %[[A]], %[[REST]], %{{.*}} : f32
// TURN: %[[C:.*]] = math.fma %[[B]], %[[REST]], %{{.*}} : f32
// TURN: %[[D:.*]] = math.fma %[[C]], %[[REST]], %{{.*}} : f32
// TURN: math.fma %[[D]], %[[REST]], %{{.*}} : f32
func.func @powers(%x: f32, %d: f64) -> (f32, f32, f64) {
  %a = math.exp2 %x : f32
  %b = math.exp %x : f32
  %c = math.exp %d : f64
  return %a, %b, %c : f32, f32, f64
}

// Where 13 bits are enough: three powers.
// SHORT-LABEL: func.func @vectors
// SHORT: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// SHORT-COUNT-3: math.fma %{{.*}} : vector<16xf32>
// SHORT-NOT: math.fma
// SHORT: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// SHORT-TURN-LABEL: func.func @vectors
// SHORT-TURN-COUNT-3: math.fma %{{.*}} : vector<32xf32>
// SHORT-TURN-NOT: math.fma
// SHORT-TURN: return
//
// Whole vectors of AVX-512 with fast math: two instructions made for it, and five powers.
// FAST-LABEL: func.func @vectors
// FAST-NOT: arith.select
// FAST: %[[X:.*]] = vector.shuffle %[[ALL:.*]], %[[ALL]] [0, 1,
// FAST: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]],
// FAST-COUNT-5: math.fma %{{.*}} : vector<16xf32>
// FAST: %[[A:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
// FAST: %[[Y:.*]] = vector.shuffle %[[ALL]], %[[ALL]] [16, 17,
// FAST: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[Y]],
// FAST: %[[B:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[Y]],
// FAST: vector.shuffle %[[A]], %[[B]] [0, 1,
// FAST: return
// CHECK-LABEL: func.func @vectors
// CHECK-NOT: mask.scalef
// TURN-LABEL: func.func @vectors
// TURN-NOT: mask.scalef
func.func @vectors(%x: vector<32xf32>) -> vector<32xf32> {
  %a = math.exp2 %x : vector<32xf32>
  return %a : vector<32xf32>
}

// Beside products two powers, and a factor from a table in two registers by the low bits of a sum rounded down.
// FAST-LABEL: func.func @beside
// FAST: %[[REST:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X:[^,]*]],
// FAST-COUNT-2: math.fma %{{.*}} : vector<16xf32>
// FAST-NOT: math.fma
// FAST: %[[SUM:.*]] = llvm.call_intrinsic "llvm.x86.avx512.add.ps.512"(%[[X]],
// FAST: %[[BITS:.*]] = arith.bitcast %[[SUM]]
// FAST: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"(%{{.*}}, %[[BITS]],
// FAST: arith.mulf
// FAST: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
// FAST: return
func.func @beside(%x: vector<16xf32>) -> vector<16xf32> {
  %a = math.exp2 %x {cpu.beside_products} : vector<16xf32>
  return %a : vector<16xf32>
}
