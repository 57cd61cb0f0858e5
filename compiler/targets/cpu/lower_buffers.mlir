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

// No machine adds to a float of 16 bits atomically: its bits are exchanged until nobody came between.
// CHECK-LABEL: func.func @small_blocks
func.func @small(%A: !tile.buffer<32xf16, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f16
  tile.launch (%b) in (%c1) threads(128) {
    // CHECK: %[[FIRST:.*]] = llvm.load {{.*}} atomic monotonic {alignment = 2 : i64} : !llvm.ptr -> i16
    // CHECK: %[[OLD:.*]] = scf.while (%[[SEEN:.*]] = %[[FIRST]]) : (i16) -> i16 {
    // CHECK: %[[F:.*]] = arith.bitcast %[[SEEN]] : i16 to f16
    // CHECK: %[[SUM:.*]] = arith.addf %[[F]], %{{.*}} : f16
    // CHECK: %[[NEW:.*]] = arith.bitcast %[[SUM]] : f16 to i16
    // CHECK: llvm.cmpxchg %{{.*}}, %[[SEEN]], %[[NEW]] acq_rel monotonic
    // CHECK: scf.condition
    // CHECK: arith.bitcast %[[OLD]] : i16 to f16
    tile.atomic add %A[%b], %one : f16 order(acq_rel) in_bounds : !tile.buffer<32xf16, global>
  }
  return
}

// A bool lies in memory as a byte, and is updated as one.
// CHECK-LABEL: func.func @bools_blocks
func.func @bools(%A: !tile.buffer<32xi1, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %yes = arith.constant true
  tile.launch (%b) in (%c1) threads(128) {
    // CHECK: %[[BYTE:.*]] = arith.extui %{{.*}} : i1 to i8
    // CHECK: %[[OLD:.*]] = llvm.atomicrmw umax %{{.*}}, %[[BYTE]] monotonic : !llvm.ptr, i8
    // CHECK: arith.cmpi ne, %[[OLD]]
    // CHECK: llvm.atomicrmw _or {{.*}} : !llvm.ptr, i8
    %old = tile.atomic max %A[%b], %yes : i1 order(relaxed) in_bounds : !tile.buffer<32xi1, global> -> i1
    tile.atomic add %A[%b], %old : i1 order(relaxed) in_bounds : !tile.buffer<32xi1, global>
  }
  return
}

// One by one, too, an element is found where it lies apart.
// CHECK-LABEL: func.func @apart_blocks
func.func @apart(%X: !tile.buffer<64xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c64) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<64xf32, fragment>
    // CHECK: %[[WITHIN:.*]] = arith.remui %[[B:.*]], %c32
    // CHECK: %[[START:.*]] = arith.subi %[[B]], %[[WITHIN]]
    // CHECK: %[[ODD:.*]] = arith.remui %[[WITHIN]], %c2
    // CHECK: %[[HALF:.*]] = arith.muli %[[ODD]], %c16
    // CHECK: %[[PART:.*]] = arith.addi %[[START]], %[[HALF]]
    // CHECK: %[[PAIR:.*]] = arith.divui %[[WITHIN]], %c2
    // CHECK: arith.addi %[[PART]], %[[PAIR]]
    %v = tile.load %s[%b] in_bounds {cpu.apart = 32 : i64} : !tile.buffer<64xf32, fragment>
    tile.store %v, %X[%b] in_bounds : !tile.buffer<64xf32, global>
  }
  return
}

// What lies at an address may be any buffer whose address was taken, and what shares its bytes, but not another.
// CHECK-LABEL: func.func @by_address_blocks
func.func @by_address(%X: !tile.buffer<64xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %u = tile.alloc "u" : !tile.buffer<32xf32, shared>
    %v = tile.view %s : !tile.buffer<64xf32, shared> to !tile.buffer<8x8xf32, shared>
    %place = tile.address %v[%c1, %c1] : !tile.buffer<8x8xf32, shared>
    %t = tile.tensor_at %place : !tile.buffer<4xf32, global>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[ANY:[a-z_0-9]+]]], {{.*}}noalias_scopes = [#[[U:[a-z_0-9]+]]]}
    tile.store %one, %s[%c1] in_bounds : !tile.buffer<64xf32, shared>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[U]]], {{.*}}noalias_scopes = [#[[ANY]]]}
    tile.store %one, %u[%c1] in_bounds : !tile.buffer<32xf32, shared>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[ANY]]], {{.*}}noalias_scopes = [#[[U]]]}
    tile.store %one, %t[%c1] in_bounds : !tile.buffer<4xf32, global>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[ANY]]], {{.*}}noalias_scopes = [#[[U]]]}
    tile.store %one, %X[%c1] in_bounds : !tile.buffer<64xf32, global>
  }
  return
}

// Without memory at an address, nothing but calls goes by one.
// CHECK-LABEL: func.func @given_away_blocks
func.func @given_away(%X: !tile.buffer<64xf32, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    %place = tile.address %s[%c1] : !tile.buffer<64xf32, shared>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[S:[a-z_0-9]+]]], {{.*}}noalias_scopes = [#[[GLOBAL:[a-z_0-9]+]]]}
    tile.store %one, %s[%c1] in_bounds : !tile.buffer<64xf32, shared>
    // CHECK: llvm.store {{.*}} {alias_scopes = [#[[GLOBAL]]], {{.*}}noalias_scopes = [#[[S]]]}
    tile.store %one, %X[%c1] in_bounds : !tile.buffer<64xf32, global>
  }
  return
}
