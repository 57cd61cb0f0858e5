// SPDX-License-Identifier: Apache-2.0
// RUN: not tilewright-opt %s 2>&1 | FileCheck %s
// What a verifier says has the place in the kernel, not that in the IR.

// CHECK: kernel.py:21:9: error: 'tile.copy' op copy source has extents 128 but target has 64
func.func @f(%A: !tile.buffer<128xf32, global>, %s: !tile.buffer<64xf32, shared>) {
  tile.copy %A : !tile.buffer<128xf32, global> to %s : !tile.buffer<64xf32, shared> loc("kernel.py":21:9)
  return
}
