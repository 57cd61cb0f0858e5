// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// Symbols, a strided tensor, a scalar whose dtype has no sign in arith, and a block clipped at the edge.

// CHECK-LABEL: func.func @scale_rows
// CHECK-SAME: tile.shape = affine_map<()[s0, s1] -> (s0, s1 * 2)>
// CHECK: tile.parallel (%{{.*}}, %{{.*}}) in [64, %{{.*}}] {
func.func @scale_rows(%A: !tile.buffer<?x?xui8, global, strided>
                        {tile.name = "A", tile.shape = affine_map<()[M, N] -> (M, N * 2)>,
                         tile.strides = affine_map<()[M, N] -> (N * 4, 1)>},
                      %factor: i8 {tile.name = "factor", tile.dtype = ui8},
                      %M: index {tile.symbol = "M"}, %N: index {tile.symbol = "N"}) attributes {tile.kernel} {
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivui %M, %c64 : index
  tile.launch (%bx) in (%blocks) threads(128) {
    %columns = tile.dim %A, 1 : !tile.buffer<?x?xui8, global, strided>
    %m = arith.muli %bx, %c64 : index
    tile.parallel (%i, %j) in [64, %columns] {
      %row = arith.addi %m, %i : index
      %old = tile.load %A[%row, %j] : !tile.buffer<?x?xui8, global, strided>
      %new = arith.muli %old, %factor : i8
      tile.store %new, %A[%row, %j] in_bounds : !tile.buffer<?x?xui8, global, strided>
    }
  }
  return
}
