// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --cpu-lower-calls

func.func @no_arguments() {
  // expected-error@+1 {{'tile.sync' op is in no entry point, whose last argument is the launch}}
  tile.sync grid
  return
}
