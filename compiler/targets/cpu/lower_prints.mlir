// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-plan-scratch --cpu-make-entry-points --cpu-lower-prints | FileCheck %s

// CHECK-DAG: llvm.mlir.global internal constant @{{.*}}("100%% is %e\0A\00")
// CHECK-DAG: llvm.mlir.global internal constant @{{.*}}("s = [\00")
// CHECK-DAG: llvm.mlir.global internal constant @{{.*}}(", %llu\00")
// CHECK-DAG: llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
// CHECK-LABEL: func.func @shows_blocks
// CHECK: %[[WIDE:.*]] = arith.extf {{.*}} : f32 to f64
// CHECK: %[[IS_NAN:.*]] = arith.cmpf uno, %[[WIDE]], %[[WIDE]]
// CHECK: %[[SHOWN:.*]] = arith.select %[[IS_NAN]], %{{.*}}, %[[WIDE]] : f64
// CHECK: llvm.call @snprintf({{.*}}, %[[SHOWN]]) vararg
// CHECK: llvm.getelementptr inbounds %arg4[16]
// CHECK: llvm.call
// CHECK: scf.for
// CHECK: tile.load {{.*}} in_bounds
// CHECK: scf.if
// CHECK-NOT: tile.print
func.func @shows(%x: f32 {tile.name = "x"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<4xui8, shared>
    tile.print "100% is", %x : f32
    tile.print "", %s : !tile.buffer<4xui8, shared>
  }
  return
}
