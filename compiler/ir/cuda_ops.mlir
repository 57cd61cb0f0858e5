// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// The explicit primitives of a GPU expert.

// CHECK-LABEL: func.func @barriers
func.func @barriers(%n: index, %A: !tile.buffer<64xf16, global>, %p: i32) {
  tile.launch (%x) in (%n) threads(256) {
    %s = tile.alloc : !tile.buffer<2x64xf16, shared>
    // CHECK: cuda.alloc_barriers [128, 1] : !cuda.barriers<2>
    %b = cuda.alloc_barriers [128, 1] : !cuda.barriers<2>
    // CHECK: cuda.warp_groups [1, 0] {
    cuda.warp_groups [1, 0] {
      // CHECK: cuda.barrier_expect %{{.*}}[%{{.*}}], %{{.*}} : !cuda.barriers<2>
      cuda.barrier_expect %b[%n], %p : !cuda.barriers<2>
      // CHECK: cuda.barrier_arrive %{{.*}}[%{{.*}}] : !cuda.barriers<2>
      cuda.barrier_arrive %b[%n] : !cuda.barriers<2>
      // CHECK: cuda.set_max_registers 24
      cuda.set_max_registers 24
      // CHECK: cuda.async_copy %{{.*}} : !tile.buffer<64xf16, global> to %{{.*}}[%{{.*}}, 0] [1, 64] : !tile.buffer<2x64xf16, shared>{{$}}
      cuda.async_copy %A : !tile.buffer<64xf16, global> to %s[%n, 0] [1, 64] : !tile.buffer<2x64xf16, shared>
      // CHECK: cuda.commit
      cuda.commit
      // CHECK: cuda.wait_group 1
      cuda.wait_group 1
      // CHECK: cuda.fence_async
      cuda.fence_async
    }
  }
  return
}

// -----
// expected-error@+1 {{has 1 to 1024 barriers, not 0}}
func.func private @f(!cuda.barriers<0>)
// -----
func.func @f() {
  // expected-error@+1 {{stands outside of a launch on a GPU}}
  cuda.warp_groups [0] { cuda.commit }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) threads(256) {
    // expected-error@+1 {{lists at least one warp group}}
    cuda.warp_groups [] { cuda.commit }
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) threads(256) {
    // expected-error@+1 {{lists warp group 2 but the launch has 2 groups of 128 threads}}
    cuda.warp_groups [2] { cuda.commit }
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) threads(256) {
    cuda.warp_groups [0] {
      // expected-error@+1 {{cannot stand inside of another one}}
      cuda.warp_groups [1] { cuda.commit }
    }
  }
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has 1 numbers of arrivals for 2 barriers}}
  %b = cuda.alloc_barriers [1] : !cuda.barriers<2>
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has a barrier with 0 arrivals; it needs 1 to 1024}}
  %b = cuda.alloc_barriers [0] : !cuda.barriers<1>
  return
}
// -----
func.func @f(%b: !cuda.barriers<2>) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{uses barrier 2 of 2}}
  cuda.barrier_arrive %b[%c2] : !cuda.barriers<2>
  return
}
// -----
func.func @f(%b: !cuda.barriers<2>, %i: index) {
  %c2 = arith.constant 2 : i32
  // expected-error@+1 {{has parity 2; it is 0 or 1}}
  cuda.barrier_wait %b[%i], %c2 : !cuda.barriers<2>
  return
}
// -----
func.func @f(%A: !tile.buffer<64xf16, global>, %B: !tile.buffer<64xf32, shared>) {
  // expected-error@+1 {{cannot convert 'f16' to 'f32'}}
  cuda.async_copy %A : !tile.buffer<64xf16, global> to %B : !tile.buffer<64xf32, shared>
  return
}
// -----
func.func @f(%A: !tile.buffer<64xf16, global>, %B: !tile.buffer<64xf16, shared>, %b: !cuda.barriers<2>, %i: index) {
  // expected-error@+1 {{has a barrier, which only a bulk copy signals}}
  cuda.async_copy %A : !tile.buffer<64xf16, global> to %B : !tile.buffer<64xf16, shared>
    barrier %b[%i] : !cuda.barriers<2>
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has 20 registers; the number is 24 to 256 in steps of 8}}
  cuda.set_max_registers 20
  return
}
