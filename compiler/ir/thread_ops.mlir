// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// What a thread does for itself or with its neighbours.

// CHECK-LABEL: func.func @threads
func.func @threads(%n: index, %v: f32, %l: i32, %c: i1) {
  tile.launch (%x) in (%n) threads(64, 2) {
    // CHECK: tile.thread_id 1
    %ty = tile.thread_id 1
    // CHECK: tile.sync warp
    tile.sync warp
    // CHECK: tile.sync block barrier(1, 64)
    tile.sync block barrier(1, 64)
    // CHECK: tile.shuffle down %{{.*}}, %{{.*}} width 16 : f32
    %a = tile.shuffle down %v, %l width 16 : f32
    // CHECK: tile.shuffle index %{{.*}}, %{{.*}} : f32
    %b = tile.shuffle index %v, %l : f32
    // CHECK: tile.vote ballot warp %{{.*}} : i64
    %d = tile.vote ballot warp %c : i64
    // CHECK: tile.vote any block %{{.*}} : i1
    %e = tile.vote any block %c : i1
  }
  return
}

// -----
func.func @f() {
  // expected-error@+1 {{stands outside of a launch}}
  %t = tile.thread_id 0
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has no meaning on an NPU, whose agents have one thread}}
    %t = tile.thread_id 0
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) threads(64) {
    // expected-error@+1 {{asks for dim 1 but the launch has 1 thread extents}}
    %t = tile.thread_id 1
  }
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has a named barrier, which only a block has}}
  tile.sync warp barrier(1, 64)
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has barrier 16; the numbers are 0 to 15}}
  tile.sync block barrier(16, 64)
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has 40 threads; it needs whole warps of 32}}
  tile.sync block barrier(1, 40)
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has a named barrier without a number of threads}}
  "tile.sync"() <{scope = 1 : i32, barrier_id = 1 : i64}> : () -> ()
  return
}
// -----
func.func @f(%v: f32, %l: i32) {
  // expected-error@+1 {{has width 12; it is a power of 2 of at most 32}}
  %a = tile.shuffle up %v, %l width 12 : f32
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{ballot gives i64, not i1}}
  %a = tile.vote ballot warp %c : i1
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{ballot asks a warp, not a block}}
  %a = tile.vote ballot block %c : i64
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{count asks a block, not a warp}}
  %a = tile.vote count warp %c : i32
  return
}
