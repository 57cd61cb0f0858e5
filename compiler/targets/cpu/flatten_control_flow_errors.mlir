// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-flatten-control-flow --verify-diagnostics

func.func @launch(%n: index, %c: i1) {
  // expected-error@+1 {{'tile.launch' op isn't lowered yet, and holds other ops}}
  tile.launch (%x) in (%n) threads(8) {
    tile.assert %c, "positive"
  }
  return
}
