// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// Operations on whole tiles.

// CHECK-LABEL: func.func @tiles
func.func @tiles(%A: !tile.buffer<?x64xf16, global>, %i: index, %v: f16, %c: i1) {
  %s = tile.alloc : !tile.buffer<32x64xf16, shared>
  %t = tile.alloc : !tile.buffer<64x32xf16, shared>
  %r = tile.alloc : !tile.buffer<32xf16, shared>
  %f = tile.alloc : !tile.buffer<32x32xf32, fragment>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [%{{.*}}, 64] : !tile.buffer<?x64xf16, global> to %{{.*}} : !tile.buffer<32x64xf16, shared> pad(%{{.*}} : f16) {source_in_bounds = array<i1: false, true>}
  tile.copy %A[%i, 0] [%i, 64] : !tile.buffer<?x64xf16, global> to %s : !tile.buffer<32x64xf16, shared>
    pad(%v : f16) {source_in_bounds = array<i1: false, true>}
  // CHECK: tile.copy {{.*}} ends(%{{.*}}) {ended_dims = array<i64: 0>}
  tile.copy %A[%i, 0] [32, 64] : !tile.buffer<?x64xf16, global> to %s : !tile.buffer<32x64xf16, shared> ends(%i) {ended_dims = array<i64: 0>}
  // CHECK: tile.copy {{.*}} {relu, transpose}
  tile.copy %s : !tile.buffer<32x64xf16, shared> to %t : !tile.buffer<64x32xf16, shared> {relu, transpose}
  %n = tile.alloc : !tile.buffer<32x64xsi32, fragment>
  %one = arith.constant 1.0 : f32
  // CHECK: tile.copy {{.*}} scale(%{{.*}} : f32) {relu}
  tile.copy %n : !tile.buffer<32x64xsi32, fragment> to %s : !tile.buffer<32x64xf16, shared> scale(%one : f32) {relu}
  // CHECK: tile.fill %{{.*}}[0, 0] [16, 64] : !tile.buffer<32x64xf16, shared> with %{{.*}} : f16
  tile.fill %s[0, 0] [16, 64] : !tile.buffer<32x64xf16, shared> with %v : f16
  // CHECK: tile.gemm {{.*}} clear(%{{.*}}) policy(full_row) {transpose_b}
  tile.gemm %s : !tile.buffer<32x64xf16, shared>, %s : !tile.buffer<32x64xf16, shared>
    into %f : !tile.buffer<32x32xf32, fragment> clear(%c) policy(full_row) {transpose_b}
  // CHECK: tile.reduce absmax %{{.*}} : !tile.buffer<32x64xf16, shared> dim 1 into %{{.*}} : !tile.buffer<32xf16, shared> clear {nan_propagate}
  tile.reduce absmax %s : !tile.buffer<32x64xf16, shared> dim 1 into %r : !tile.buffer<32xf16, shared> clear {nan_propagate}
  // CHECK: tile.scan sum {{.*}} dim 0 into {{.*}} reverse
  tile.scan sum %s : !tile.buffer<32x64xf16, shared> dim 0 into %s : !tile.buffer<32x64xf16, shared> reverse
  // CHECK: tile.atomic_tile add %{{.*}} : !tile.buffer<32x64xf16, shared> into %{{.*}}[%{{.*}}, 0] [32, 64] : !tile.buffer<?x64xf16, global>
  tile.atomic_tile add %s : !tile.buffer<32x64xf16, shared> into %A[%i, 0] [32, 64] : !tile.buffer<?x64xf16, global>
  return
}

// -----
func.func @f(%a: !tile.buffer<32x64xf16, shared>) {
  // expected-error@+1 {{copy source has 1 offsets and 1 extents but its buffer has 2 dims}}
  tile.copy %a[0] [32] : !tile.buffer<32x64xf16, shared> to %a : !tile.buffer<32x64xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{copy target has extent -1 in dim 0}}
  tile.copy %a : !tile.buffer<32xf16, shared> to %a[0] [-1] : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{copy source takes 33 elements of dim 0, which has 32}}
  tile.copy %a[0] [33] : !tile.buffer<32xf16, shared> to %a : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{copy source takes elements 24 to 39 of dim 0, which has 32}}
  tile.copy %a[24] [16] : !tile.buffer<32xf16, shared> to %a[0] [16] : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<?xf16, global>, %b: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{a region of a buffer with dynamic dims needs offsets and extents}}
  tile.copy %a : !tile.buffer<?xf16, global> to %b : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: f16) {
  // expected-error@+1 {{expected a !tile.buffer type but got 'f16'}}
  tile.copy %a : f16 to %a : f16
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>, %v: f16) {
  // expected-error@+1 {{fill target has another number of operands than of offsets and extents that are not static}}
  "tile.fill"(%v, %a) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_target_extents = array<i64: 32>,
    static_target_offsets = array<i64: -9223372036854775808>}> : (f16, !tile.buffer<32xf16, shared>) -> ()
  return
}
// -----
func.func @f(%a: !tile.buffer<1x32x64xf16, shared>, %b: !tile.buffer<32x32xf16, shared>) {
  // expected-error@+1 {{copy source has extents 1x32x64 but target has 32x32}}
  tile.copy %a : !tile.buffer<1x32x64xf16, shared> to %b : !tile.buffer<32x32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, global>) {
  // expected-error@+1 {{copy source has 2 in-bounds flags but 1 dims}}
  tile.copy %a : !tile.buffer<32xf16, global> to %a : !tile.buffer<32xf16, global> {source_in_bounds = array<i1: true, true>}
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, global>, %v: f32) {
  // expected-error@+1 {{pads with 'f32' but the source has elements of type 'f16'}}
  tile.copy %a : !tile.buffer<32xf16, global> to %a : !tile.buffer<32xf16, global> pad(%v : f32)
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, global>, %v: f32) {
  // expected-error@+1 {{scales by 'f32' from 'f16' to 'f16'; it is by f32, from int32 to float16}}
  tile.copy %a : !tile.buffer<32xf16, global> to %a : !tile.buffer<32xf16, global> scale(%v : f32)
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, global>) {
  // expected-error@+1 {{transposes a source of 1 dims; it needs 2}}
  tile.copy %a : !tile.buffer<32xf16, global> to %a : !tile.buffer<32xf16, global> {transpose}
  return
}
// -----
func.func @f(%a: !tile.buffer<32xsi8, global>, %v: i32) {
  // expected-error@+1 {{fills with 'i32' but the target has elements of type 'i8'}}
  tile.fill %a : !tile.buffer<32xsi8, global> with %v : i32
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{gemm a has 1 dims; it needs 2}}
  tile.gemm %a : !tile.buffer<32xf16, shared>, %a : !tile.buffer<32xf16, shared> into %a : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<2x32x32xf16, shared>) {
  // expected-error@+1 {{gemm a has extents 2x32x32; those before the last two must be 1}}
  tile.gemm %a : !tile.buffer<2x32x32xf16, shared>, %a : !tile.buffer<2x32x32xf16, shared>
    into %a : !tile.buffer<2x32x32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32x64xf16, shared>, %c: !tile.buffer<32x32xf32, fragment>) {
  // expected-error@+1 {{gemm a has K = 64 but b has K = 32}}
  tile.gemm %a : !tile.buffer<32x64xf16, shared>, %a : !tile.buffer<32x64xf16, shared>
    into %c : !tile.buffer<32x32xf32, fragment>
  return
}
// -----
func.func @f(%a: !tile.buffer<32x64xf16, shared>, %c: !tile.buffer<16x32xf32, fragment>) {
  // expected-error@+1 {{gemm a has M = 32 but c has M = 16}}
  tile.gemm %a : !tile.buffer<32x64xf16, shared>, %a : !tile.buffer<32x64xf16, shared>
    into %c : !tile.buffer<16x32xf32, fragment> {transpose_b}
  return
}
// -----
func.func @f(%a: !tile.buffer<32x64xf16, shared>, %c: !tile.buffer<32x16xf32, fragment>) {
  // expected-error@+1 {{gemm b has N = 32 but c has N = 16}}
  tile.gemm %a : !tile.buffer<32x64xf16, shared>, %a : !tile.buffer<32x64xf16, shared>
    into %c : !tile.buffer<32x16xf32, fragment> {transpose_b}
  return
}
// -----
func.func @f(%a: !tile.buffer<32x32xf16, shared>, %c: !tile.buffer<32x32xsi32, fragment>) {
  // expected-error@+1 {{mixes elements of type 'f16' and 'si32'}}
  tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared>
    into %c : !tile.buffer<32x32xsi32, fragment>
  return
}
// -----
func.func @f(%a: !tile.buffer<32x32xf16, shared>, %c: i1) {
  // expected-error@+1 {{has both clear and clear_accum}}
  tile.gemm %a : !tile.buffer<32x32xf16, shared>, %a : !tile.buffer<32x32xf16, shared>
    into %a : !tile.buffer<32x32xf16, shared> clear(%c) {clear_accum}
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>, %b: !tile.buffer<1xf16, shared>) {
  // expected-error@+1 {{bitand works on integers, not on 'f16'}}
  tile.reduce bitand %a : !tile.buffer<32xf16, shared> dim 0 into %b : !tile.buffer<1xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>, %b: !tile.buffer<1xf16, shared>) {
  // expected-error@+1 {{reduces dim 1 of a source with 1 dims}}
  tile.reduce sum %a : !tile.buffer<32xf16, shared> dim 1 into %b : !tile.buffer<1xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32x64xf16, shared>, %b: !tile.buffer<64xf16, shared>) {
  // expected-error@+1 {{reduce target has extents 64 but the result has 32 or 32x1}}
  tile.reduce sum %a : !tile.buffer<32x64xf16, shared> dim 1 into %b : !tile.buffer<64xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{computes sum or max, not min}}
  tile.scan min %a : !tile.buffer<32xf16, shared> dim 0 into %a : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{runs along dim 1 of a source with 1 dims}}
  tile.scan sum %a : !tile.buffer<32xf16, shared> dim 1 into %a : !tile.buffer<32xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>, %b: !tile.buffer<16xf16, shared>) {
  // expected-error@+1 {{scan source has extents 32 but target has 16}}
  tile.scan sum %a : !tile.buffer<32xf16, shared> dim 0 into %b : !tile.buffer<16xf16, shared>
  return
}
// -----
func.func @f(%a: !tile.buffer<32xf16, shared>) {
  // expected-error@+1 {{load works on one element, not on a tile}}
  tile.atomic_tile load %a : !tile.buffer<32xf16, shared> into %a : !tile.buffer<32xf16, shared>
  return
}

// -----
func.func @copy_without_its_end(%a: !tile.buffer<32xf16, global>) {
  // expected-error@+1 {{'tile.copy' op has 0 ends, but names dims 0 of a source of 1}}
  tile.copy %a : !tile.buffer<32xf16, global> to %a : !tile.buffer<32xf16, global> {ended_dims = array<i64: 0>}
  return
}
