// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-calls | FileCheck %s

// CHECK: func.func private @cbrtf(f32) -> f32
// CHECK-LABEL: func.func @twice
func.func @twice(%x: f32) -> f32 {
  // CHECK: %[[ONCE:.*]] = call @cbrtf(%{{.*}}) : (f32) -> f32
  // CHECK: call @cbrtf(%[[ONCE]])
  %once = tile.call "cbrtf"(%x) : (f32) -> f32
  %twice = tile.call "cbrtf"(%once) : (f32) -> f32
  return %twice : f32
}
