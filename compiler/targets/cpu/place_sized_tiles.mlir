// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-place-sized-tiles | FileCheck %s
// RUN: tilewright-opt %s --cpu-place-sized-tiles --cpu-plan-scratch --cpu-make-entry-points | FileCheck %s --check-prefix=FREED

// Numbers that stand in the launch are made before it.
// CHECK-LABEL: func.func @rows
// CHECK: %[[HALF:.*]] = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK: %[[ROWS:.*]] = arith.index_cast %[[HALF]] : index to i64
// CHECK: %[[NATURAL:.*]] = arith.cmpi sge, %[[ROWS]]
// CHECK: arith.minsi
// CHECK: %[[BYTES:.*]] = arith.divui
// CHECK: %[[MORE:.*]] = arith.addi %[[BYTES]]
// CHECK: %[[PLACE:.*]] = tile.call "malloc"(%[[MORE]]) : (i64) -> i64
// CHECK: arith.cmpi sle, %[[BYTES]]
// CHECK: arith.cmpi ne, %[[PLACE]]
// CHECK: tile.launch
// CHECK: tile.assert %[[NATURAL]], "dim 0 of 's' is {}, but it cannot be negative" {tile.check, tile.tells}
// CHECK: tile.assert %{{.*}}, "'s' takes more than the 268435456 bytes that the cpu target has for a tile, or there is no memory for it"
// CHECK: %[[S:.*]] = tile.tensor_at %[[PLACE]] dims(%[[HALF]]) : !tile.buffer<?x4xf32, global>
// CHECK: tile.view %[[S]] dims(%{{.*}}) : !tile.buffer<?x4xf32, global> to !tile.buffer<?xf32, global>
// CHECK: tile.fill %[[S]][0, 0] [%{{.*}}, 4] : !tile.buffer<?x4xf32, global>
// CHECK-NOT: alloc_sized

// It is freed once, behind all blocks.
// FREED: func.func @rows_grid
// FREED-NOT: malloc
// FREED: func.func @rows_blocks
// FREED: %[[MADE:.*]] = tile.call "malloc"
// FREED: tile.for
// FREED: {{^    }}}
// FREED-NEXT: tile.call "free"(%[[MADE]]) : (i64) -> ()
// FREED-NEXT: return
func.func @rows(%A: !tile.buffer<?x4xf32, global> {tile.name = "A", tile.shape = affine_map<()[n] -> (n, 4)>},
                %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %half = arith.floordivsi %n, %c2 : index
    %s = tile.alloc_sized "s" (%half) : !tile.buffer<?x4xf32, shared>
    %all = arith.muli %half, %c4 : index
    %v = tile.view %s dims(%all) : !tile.buffer<?x4xf32, shared> to !tile.buffer<?xf32, shared>
    tile.fill %s[0, 0] [%half, 4] : !tile.buffer<?x4xf32, shared> with %zero : f32
    tile.fill %v[0] [%all] : !tile.buffer<?xf32, shared> with %zero : f32
  }
  return
}
