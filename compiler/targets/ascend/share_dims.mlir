// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-share-dims --cse | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[M:[a-z0-9]+]]: index {tile.symbol = "m"}
func.func @rows(%A: !tile.buffer<?x64xf32, global> {tile.name = "A", tile.shape = affine_map<()[m] -> (m, 64)>},
                %B: !tile.buffer<?xf32, global> {tile.name = "B", tile.shape = affine_map<()[m] -> (m)>},
                %C: !tile.buffer<?xf32, global> {tile.name = "C", tile.shape = affine_map<()[m] -> (m + 1)>},
                %m: index {tile.symbol = "m"}) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  tile.launch (%block) in (%c1) npu {
    %a = tile.dim %A, 0 : !tile.buffer<?x64xf32, global>
    %ofA = arith.minsi %a, %c16 : index
    %b = tile.dim %B, 0 : !tile.buffer<?xf32, global>
    %ofB = arith.minsi %b, %c16 : index
    // What is computed of a symbol is read from the tensor.
    %c = tile.dim %C, 0 : !tile.buffer<?xf32, global>
    %ofC = arith.minsi %c, %c16 : index
    // CHECK: %[[BOTH:.*]] = arith.minsi %[[M]],
    // CHECK: %[[DIM:.*]] = tile.dim
    // CHECK: %[[OTHER:.*]] = arith.minsi %[[DIM]],
    // CHECK: npu.require %{{.*}} "{} {} {}"(%[[BOTH]], %[[BOTH]], %[[OTHER]])
    npu.require %true "{} {} {}" (%ofA, %ofB, %ofC)
  }
  return
}
