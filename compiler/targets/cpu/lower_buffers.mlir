// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-plan-scratch --cpu-make-entry-points --cpu-lower-buffers | FileCheck %s

// CHECK-LABEL: func.func @access_blocks
func.func @access(%A: !tile.buffer<?x32xi1, global> {tile.name = "A", tile.shape = affine_map<()[M] -> (M, 32)>},
                  %M: index {tile.symbol = "M"}) attributes {tile.kernel} {
  %c3 = arith.constant 3 : index
  tile.launch (%b) in (%M) threads(128) {
    // CHECK: llvm.getelementptr inbounds %arg1[0] : (!llvm.ptr) -> !llvm.ptr, i8
    %s = tile.alloc "s" : !tile.buffer<4x8xf8E4M3FN, shared>
    // Not known to be inside: below M, without a sign, says both that it is not negative.
    // CHECK: %[[OK:.*]] = arith.cmpi ult
    // CHECK: %[[V:.*]] = scf.if %[[OK]] -> (i1) {
    // CHECK: %[[BYTE:.*]] = llvm.load {{.*}} {alias_scopes = [#[[GLOBAL:.*]]], {{.*}} -> i8
    // CHECK: arith.cmpi ne, %[[BYTE]]
    // CHECK: } else {
    // CHECK: arith.constant false
    %v = tile.load %A[%b, %c3] : !tile.buffer<?x32xi1, global>
    // Elements of 8 bits lie in memory as bytes.
    // CHECK: %[[LOADED:.*]] = llvm.load {{.*}} {alias_scopes = [#{{.*}}], {{.*}} -> i8
    // CHECK: arith.bitcast %[[LOADED]] : i8 to f8E4M3FN
    %w = tile.load %s[%c3, %c3] in_bounds : !tile.buffer<4x8xf8E4M3FN, shared>
    // CHECK: %[[BITS:.*]] = arith.bitcast {{.*}} : f8E4M3FN to i8
    // CHECK: llvm.store %[[BITS]]
    tile.store %w, %s[%c3, %c3] in_bounds : !tile.buffer<4x8xf8E4M3FN, shared>
    // CHECK: arith.extui {{.*}} : i1 to i8
    // CHECK: llvm.store
    tile.store %v, %A[%b, %c3] in_bounds : !tile.buffer<?x32xi1, global>
    // CHECK-NOT: tile.sync
    tile.sync block
  }
  return
}
