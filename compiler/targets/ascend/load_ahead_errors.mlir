// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-load-ahead --split-input-file --verify-diagnostics

func.func @rows() {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    // expected-error @+1 {{'ascend.versions' is 2147483648 but from 1 to 8192 is expected}}
    %x = tile.alloc "x" {ascend.versions = 2147483648 : i64} : !tile.buffer<2x64xf32, UB>
  }
  return
}

// -----

func.func @rows() {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    // expected-error @+1 {{'ascend.versions' is 0 but from 1 to 8192 is expected}}
    %x = tile.alloc "x" {ascend.versions = 0 : i64} : !tile.buffer<2x64xf32, UB>
  }
  return
}
