// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-make-entry-points --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @scale_grid(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: %[[G:.*]] = arith.ceildivui %[[N]]
// CHECK: llvm.store
// CHECK-LABEL: func.func @scale_blocks(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64, %arg4: !llvm.ptr)
// CHECK-SAME: cpu.blocks
// The tensor's address is in slot 0, the scalar in slot 1, the symbol in slot 2; the tensor has N * 2 + 1 columns.
// CHECK: llvm.getelementptr inbounds %arg0[2]
// CHECK: llvm.getelementptr inbounds %arg0[0]
// CHECK: arith.muli
// CHECK: %[[COLUMNS:.*]] = arith.addi
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %c4{{.*}}, %[[COLUMNS]], %[[COLUMNS]], %{{.*}} : !llvm.ptr, index, index, index, index to
// CHECK: llvm.getelementptr inbounds %arg0[1]
// CHECK: llvm.load {{.*}} -> f32
// CHECK: tile.for %[[B:.*]] =
// CHECK: arith.remui %[[B]]
// CHECK: arith.divui %[[B]]
// CHECK-NOT: tile.launch
func.func @scale(%A: !tile.buffer<4x?xf32, global> {tile.name = "A", tile.shape = affine_map<()[N] -> (4, N * 2 + 1)>},
                 %s: f32 {tile.name = "s"}, %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %g = arith.ceildivui %N, %c2 : index
  tile.launch (%bx, %by) in (%g, %c2) threads(128) {
    tile.store %s, %A[%by, %bx] : !tile.buffer<4x?xf32, global>
  }
  return
}

// Each launch has two functions, which hold what it needs of what stands before it.

// CHECK-LABEL: func.func @two_grid(
// CHECK-NOT: tile.alloc
// CHECK-NOT: arith.divui
// CHECK-LABEL: func.func @two_blocks(
// CHECK: tile.alloc "space"
// CHECK-NOT: arith.divui
// CHECK: tile.for
// CHECK: tile.store
// CHECK-LABEL: func.func @two_grid_1(
// CHECK: %[[HALF:.*]] = arith.divui
// CHECK: arith.index_cast %[[HALF]]
// CHECK-LABEL: func.func @two_blocks_1(
// CHECK: tile.alloc "space"
// CHECK: tile.for
// CHECK: tile.load
// CHECK-NOT: tile.launch
func.func @two(%A: !tile.buffer<?xf32, global> {tile.name = "A", tile.shape = affine_map<()[N] -> (N)>},
               %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %space = tile.alloc "space" {cpu.offset = 0 : i64} : !tile.buffer<64xf32, global>
  tile.launch (%bx) in (%N) threads(128) {
    tile.store %one, %space[%bx] : !tile.buffer<64xf32, global>
  }
  %half = arith.divui %N, %c2 : index
  tile.launch (%bx) in (%half) threads(32) {
    %value = tile.load %space[%bx] : !tile.buffer<64xf32, global>
    tile.store %value, %A[%bx] : !tile.buffer<?xf32, global>
  }
  return
}

// -----

// A launch with tiles configures them, also behind what others may run in it, and releases them in the end.
// CHECK: module attributes {{.*}}cpu.tiles
// CHECK-DAG: llvm.mlir.global internal constant @tiles_tiles_16_16(dense<{{.*}}> : tensor<64xi8>) {{.*}}alignment = 64 : i64
// CHECK-DAG: llvm.mlir.global internal constant @tiles_tiles_5_16(
// CHECK-LABEL: func.func @tiles_blocks
// CHECK-SAME: cpu.tiles
// CHECK: %[[WHOLE:.*]] = llvm.mlir.addressof @tiles_tiles_16_16
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[WHOLE]])
// CHECK: tile.for
// CHECK: %[[REST:.*]] = llvm.mlir.addressof @tiles_tiles_5_16
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[REST]])
// CHECK: tile.print
// CHECK: llvm.mlir.addressof @tiles_tiles_16_16
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
func.func @tiles() attributes {tile.kernel, cpu.scratch_bytes = 64 : i64} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) attributes {cpu.tiles} {
    %nowhere = llvm.mlir.zero : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%nowhere) {cpu.tile_shape = array<i64: 5, 16>} : (!llvm.ptr) -> ()
    tile.print "b", %b : index
  }
  return
}
