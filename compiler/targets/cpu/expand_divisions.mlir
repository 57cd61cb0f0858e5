// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-expand-divisions=cpu=sapphirerapids | FileCheck %s
// RUN: tilewright-opt %s '--cpu-expand-divisions=cpu=sapphirerapids bits=13' | FileCheck %s --check-prefix=SHORT
// RUN: tilewright-opt %s --cpu-expand-divisions=cpu=znver4 | FileCheck %s --check-prefix=KEPT
// RUN: tilewright-opt %s --cpu-expand-divisions=cpu=avx2 | FileCheck %s --check-prefix=KEPT

// KEPT-NOT: rcp14
// KEPT: arith.divf
// KEPT-NOT: rcp14

// CHECK-LABEL: func.func @of_vectors
// CHECK-SAME: (%[[X:.*]]: vector<16xf32>, %[[D:.*]]: vector<16xf32>)
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"(%[[D]],
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[R]]
// CHECK: %[[N:.*]] = arith.negf %[[D]]
// CHECK: %[[E:.*]] = math.fma %[[N]], %[[Q]], %[[X]]
// CHECK: %[[F:.*]] = math.fma %[[E]], %[[R]], %[[Q]]
// CHECK: %[[IS:.*]] = arith.cmpf one, %[[F]], %[[Q]]
// CHECK: %[[G:.*]] = arith.select %[[IS]], %[[F]], %[[Q]]
// CHECK: return %[[G]]
// SHORT-LABEL: func.func @of_vectors
// SHORT-COUNT-2: math.fma
func.func @of_vectors(%x: vector<16xf32>, %d: vector<16xf32>) -> vector<16xf32> {
  %q = arith.divf %x, %d : vector<16xf32>
  return %q : vector<16xf32>
}

// Vectors of the machine one by one.
// CHECK-LABEL: func.func @of_wide_vectors
// CHECK-COUNT-2: rcp14
// CHECK-NOT: arith.divf
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
func.func @of_wide_vectors(%x: vector<32xf32>, %d: vector<32xf32>) -> vector<32xf32> {
  %q = arith.divf %x, %d : vector<32xf32>
  return %q : vector<32xf32>
}

// CHECK-LABEL: func.func @of_exponentials
// CHECK-COUNT-2: math.fma
// SHORT-LABEL: func.func @of_exponentials
// SHORT: rcp14
// SHORT-NOT: math.fma
// SHORT: return
func.func @of_exponentials(%x: vector<16xf32>) -> vector<16xf32> {
  %one = arith.constant dense<1.0> : vector<16xf32>
  %e = math.exp %x : vector<16xf32>
  %d = arith.addf %e, %one : vector<16xf32>
  %q = arith.divf %x, %d : vector<16xf32>
  return %q : vector<16xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: arith.divf
func.func @others(%a: f32, %b: vector<16xf64>, %c: vector<8xf32>) -> (f32, vector<16xf64>, vector<8xf32>) {
  %x = arith.divf %a, %a : f32
  %y = arith.divf %b, %b : vector<16xf64>
  %z = arith.divf %c, %c : vector<8xf32>
  return %x, %y, %z : f32, vector<16xf64>, vector<8xf32>
}
