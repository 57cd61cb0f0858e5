// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --cpu-lower-prints

// expected-error@+1 {{'tile.print' op is in no entry point, whose last argument is the launch}}
tile.print "a"
// -----
func.func @no_arguments() {
  // expected-error@+1 {{'tile.print' op is in no entry point, whose last argument is the launch}}
  tile.print "a"
  return
}
// -----
func.func @no_launch(%n: index) {
  // expected-error@+1 {{'tile.print' op is in no entry point, whose last argument is the launch}}
  tile.print "a"
  return
}
