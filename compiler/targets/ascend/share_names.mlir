// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-share-names --cse --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @grid
// CHECK: arith.ceildivsi %{{.*}} loc("nb"
// CHECK-NOT: arith.ceildivsi
// CHECK: arith.muli {{.*}} loc("first"
// CHECK: arith.muli {{.*}} loc("second"
func.func @grid(%n: index) {
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %count = arith.ceildivsi %n, %c64 : index
  tile.launch (%block) in (%count) npu {
    %t = tile.alloc "t" : !tile.buffer<64x64xf32, L0C>
    %nb = arith.ceildivsi %n, %c64 : index loc("nb")
    %first = arith.muli %block, %nb : index loc("first")
    %second = arith.muli %nb, %nb : index loc("second")
    // What has a name keeps it.
    %again = arith.muli %block, %nb : index loc("again")
    npu.require %true "{} {} {}" (%first, %second, %again)
  }
  return
}
