// SPDX-License-Identifier: Apache-2.0
// A pass on its own brings what it makes, and leaves what is no kernel as it is.
// RUN: not tilewright-opt %root/compiler/ir/kernels/fused_gemm.mlir --ascend-split-cube-vector 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: tilewright-opt %s --ascend-check-kernel | FileCheck %s
// RUN: tilewright-opt %s --ascend-insert-flags | FileCheck %s
// RUN: tilewright-opt %s --ascend-share-vector-work | FileCheck %s
// RUN: tilewright-opt %s --ascend-check-hazards | FileCheck %s
// RUN: tilewright-opt %s --ascend-split-cube-vector | FileCheck %s

// SPLIT: fused_gemm.mlir:19:3: error: 'ascend.scope' op stands outside of a launch on an NPU
// CHECK: func.func private @declared
// CHECK: func.func @plain
func.func private @declared(%n: index)
func.func @plain(%n: index) {
  return
}
