// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// Instructions of an Ascend core.

// CHECK-LABEL: func.func @cube
func.func @cube(%A: !tile.buffer<256x256xf16, global>, %C: !tile.buffer<256x256xf32, global>, %i: index) {
  %c0 = arith.constant 0 : index
  %yes = arith.constant true
  tile.launch (%cid) in (%i) npu {
    %l1 = tile.alloc "l1" : !tile.buffer<64x64xf16, L1>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, L0B>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    // CHECK: npu.fill_l1 %{{.*}}[%{{.*}}] : !tile.buffer<64x64xf16, L1> bytes 8192
    npu.fill_l1 %l1[%c0] : !tile.buffer<64x64xf16, L1> bytes 8192
    // CHECK: npu.load_l1 %{{.*}}[%{{.*}}, 0] [64, %{{.*}}] : !tile.buffer<256x256xf16, global> to %{{.*}}[%{{.*}}] : !tile.buffer<64x64xf16, L1> rows 64
    npu.load_l1 %A[%cid, 0] [64, %i] : !tile.buffer<256x256xf16, global> to %l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64
    // CHECK: npu.load_l0 {{.*}} at(%{{.*}}, %{{.*}}) to {{.*}} rows 64 size 64 x 32 transpose
    npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to %b[%c0] : !tile.buffer<64x64xf16, L0B> rows 64 size 64 x 32 transpose
    npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to %a[%c0] : !tile.buffer<64x64xf16, L0A> rows 64 size 64 x 64
    // CHECK: npu.load_l0 {{.*}} size 64 x 64 only(%[[ZERO:.*]], %[[ZERO]]) transpose
    npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to %a[%c0] : !tile.buffer<64x64xf16, L0A> rows 64 size 64 x 64 only(%c0, %c0) transpose
    // CHECK: npu.mmad {{.*}} into {{.*}} size 64 x 64 x 64 init(%{{.*}})
    npu.mmad %a[%c0] : !tile.buffer<64x64xf16, L0A>, %b[%c0] : !tile.buffer<64x64xf16, L0B> into %c[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 64 init(%yes)
    // CHECK: npu.mmad {{.*}} size 64 x 64 x 64 only(%{{.*}}, %{{.*}}, %{{.*}}) init
    npu.mmad %a[%c0] : !tile.buffer<64x64xf16, L0A>, %b[%c0] : !tile.buffer<64x64xf16, L0B> into %c[%c0] : !tile.buffer<64x64xf32, L0C> size 64 x 64 x 64 only(%c0, %c0, %c0) init(%yes)
    // CHECK: npu.store_l0c {{.*}} rows 64 to {{.*}} relu
    npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %C[%cid, 0] [64, 64] : !tile.buffer<256x256xf32, global> relu
    // CHECK: npu.move_l0c %{{.*}} rows 64 to %{{.*}} rows 64 size 20 x 32 relu
    npu.move_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to %l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64 size 20 x 32 relu
  }
  return
}

// CHECK-LABEL: func.func @vector
func.func @vector(%A: !tile.buffer<256x256xf32, global>, %i: index, %s: f32) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%i) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<8x64xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<64xui8, UB>
    %t = tile.alloc "t" : !tile.buffer<256xui8, UB>
    // CHECK: npu.load_ub {{.*}} pitch 64 pad(%{{.*}} : f32)
    npu.load_ub %A[%cid, 0] [8, 64] : !tile.buffer<256x256xf32, global> to %x[%c0] : !tile.buffer<8x64xf32, UB> pitch 64 pad(%s : f32)
    // CHECK: npu.unary exp {{.*}} count(%{{.*}})
    npu.unary exp %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> count(%i)
    // CHECK: npu.binary sub {{.*}} repeat <lanes = 64, times = 8, blocks = [1, 1, 0], strides = [8, 8, 1]>
    npu.binary sub %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> repeat <lanes = 64, times = 8, blocks = [1, 1, 0], strides = [8, 8, 1]>
    // CHECK: npu.scalar add
    npu.scalar add %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %s count(%i)
    // CHECK: npu.function sin {{.*}} scratch {{.*}} of 256 count
    npu.function sin %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 count(%i)
    // CHECK: npu.compare lt
    npu.compare lt %m[%c0] : !tile.buffer<64xui8, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %y[%c0] : !tile.buffer<8x64xf32, UB> count(%i)
    // CHECK: npu.compare_scalar ge
    npu.compare_scalar ge %m[%c0] : !tile.buffer<64xui8, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %s count(%i)
    // CHECK: npu.select %
    npu.select %y[%c0] : !tile.buffer<8x64xf32, UB>, %m[%c0] : !tile.buffer<64xui8, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %y[%c0] : !tile.buffer<8x64xf32, UB> count(%i)
    // CHECK: npu.select_scalar
    npu.select_scalar %y[%c0] : !tile.buffer<8x64xf32, UB>, %m[%c0] : !tile.buffer<64xui8, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %s count(%i)
    // CHECK: npu.cast {{.*}} rint count
    npu.cast %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> rint count(%i)
    // CHECK: npu.duplicate
    npu.duplicate %y[%c0] : !tile.buffer<8x64xf32, UB>, %s count(%i)
    // CHECK: npu.sequence {{.*}} step
    npu.sequence %y[%c0] : !tile.buffer<8x64xf32, UB>, %s step %s : f32 count(%i)
    // CHECK: npu.reduce max {{.*}} of 256 size 8 x 64 pitch 64 dim 1 clear
    npu.reduce max %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 size 8 x 64 pitch 64 dim 1 clear
    // CHECK: npu.reduce max {{.*}} of 256 size 8 x 64 counts({{.*}} x %{{.*}}) pitch 64 dim 1 clear
    npu.reduce max %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 size 8 x 64 counts(%c0 x %c0) pitch 64 dim 1 clear
    // CHECK: npu.broadcast {{.*}} dim 0
    npu.broadcast %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 size 8 x 64 pitch 64 dim 0
    // CHECK: npu.row_binary mul {{.*}} of 256 size 8 x 64
    npu.row_binary mul %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 size 8 x 64
    // CHECK: npu.transpose
    npu.transpose %y[%c0] : !tile.buffer<8x64xf32, UB>, %x[%c0] : !tile.buffer<8x64xf32, UB> size 16 x 16
    // CHECK: npu.copy_ub {{.*}} rows 8 of 256 pitch 256 to 256
    npu.copy_ub %x[%c0] : !tile.buffer<8x64xf32, UB> to %y[%c0] : !tile.buffer<8x64xf32, UB> rows 8 of 256 pitch 256 to 256
    // CHECK: %[[V:.*]] = npu.get_value
    %v = npu.get_value %x[%c0] : !tile.buffer<8x64xf32, UB>
    // CHECK: npu.set_value %[[V]] to
    npu.set_value %v to %y[%c0] : !tile.buffer<8x64xf32, UB>
    // CHECK: npu.call "my::f"(%{{.*}}, %{{.*}} : !tile.buffer<8x64xf32, UB>, f32) offsets[%{{.*}}] bytes [64] access ["rw"] pipe all on vector
    npu.call "my::f"(%y, %s : !tile.buffer<8x64xf32, UB>, f32) offsets [%c0] bytes [64] access ["rw"] pipe all on vector
    // CHECK: npu.store_ub {{.*}} pitch 64 to {{.*}} atomic_add
    npu.store_ub %y[%c0] : !tile.buffer<8x64xf32, UB> pitch 64 to %A[%cid, 0] [8, 64] : !tile.buffer<256x256xf32, global> atomic_add
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<4x8x64xf32, global>, %x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{has a region of 4x8x64; one instruction takes rows of one dim}}
  npu.load_ub %A[0, 0, 0] [4, 8, 64] : !tile.buffer<4x8x64xf32, global> to %x[%i] : !tile.buffer<32x64xf32, UB> pitch 64
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %y: !tile.buffer<32x64xf32, L1>, %i: index) {
  // expected-error@+1 {{takes tensors in UB, not in L1}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %y[%i] : !tile.buffer<32x64xf32, L1> count(%i)
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{needs either a count or a repeat}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB>
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{has 2 tensors, but its repeat has strides for 3}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> repeat <lanes = 64, times = 1, blocks = [1, 1, 1], strides = [8, 8, 8]>
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{has 256 repeats; 1 to 255 are possible}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> repeat <lanes = 64, times = 256, blocks = [1, 1], strides = [8, 8]>
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{repeats have 0 lanes}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> repeat <lanes = 0, times = 2, blocks = [1, 1], strides = [8, 8]>
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{has 1 strides of blocks but 2 of repeats}}
  npu.unary exp %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> repeat <lanes = 8, times = 2, blocks = [1], strides = [8, 8]>
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %y: !tile.buffer<32x64xf32, L0C>, %i: index) {
  // expected-error@+1 {{source lies in UB, not in L1}}
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, UB> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0C> rows 32 size 32 x 64
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, L1>, %y: !tile.buffer<32x64xf32, L0C>, %i: index) {
  // expected-error@+1 {{target lies in L0C, not in L0A or L0B}}
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0C> rows 32 size 32 x 64
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, L1>, %y: !tile.buffer<32x64xf32, L0A>, %i: index) {
  // expected-error@+1 {{takes whole fractals of 16x8, not 30x64}}
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0A> rows 32 size 30 x 64
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, L1>, %y: !tile.buffer<32x64xf32, L0B>, %i: index) {
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0B> rows 32 size 24 x 64
  // expected-error@+1 {{takes whole fractals of 8x8, not 28x64}}
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0B> rows 32 size 28 x 64
  return
}
// -----
func.func @f(%x: !tile.buffer<64x32xf32, L1>, %y: !tile.buffer<64x32xf32, L0B>, %i: index) {
  // expected-error@+1 {{takes whole fractals of 16x8, not 24x32}}
  npu.load_l0 %x[%i] : !tile.buffer<64x32xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<64x32xf32, L0B> rows 64 size 24 x 32 transpose
  return
}
// -----
func.func @f(%A: !tile.buffer<64x64xf16, global>, %y: !tile.buffer<32x64xf16, L1>, %i: index) {
  // expected-error@+1 {{has 30 rows, which is no multiple of 16}}
  npu.load_l1 %A[0, 0] [30, 64] : !tile.buffer<64x64xf16, global> to %y[%i] : !tile.buffer<32x64xf16, L1> rows 30
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{has 1 buffers but 0 offsets, 1 sizes and 1 accesses}}
  npu.call "f"(%x : !tile.buffer<32x64xf32, UB>) offsets [] bytes [64] access ["w"] pipe v on vector
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %t: !tile.buffer<64xui8, UB>, %i: index) {
  // expected-error@+1 {{reduces dim 2; there are 0 and 1}}
  npu.reduce max %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> scratch %t[%i] : !tile.buffer<64xui8, UB> of 64 size 8 x 64 pitch 64 dim 2
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %t: !tile.buffer<64xui8, UB>, %i: index) {
  // expected-error@+1 {{takes rows of 1 to 255 blocks, not of 12 elements}}
  npu.row_binary mul %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> scratch %t[%i] : !tile.buffer<64xui8, UB> of 64 size 2 x 12
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %t: !tile.buffer<64xui8, UB>, %i: index) {
  // expected-error@+1 {{has no mul_add_dst}}
  npu.row_binary mul_add_dst %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> scratch %t[%i] : !tile.buffer<64xui8, UB> of 64 size 2 x 64
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %t: !tile.buffer<64xui8, UB>, %i: index) {
  // expected-error@+1 {{broadcasts along dim 2; there are 0 and 1}}
  npu.broadcast %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> scratch %t[%i] : !tile.buffer<64xui8, UB> of 64 size 8 x 64 pitch 64 dim 2
  return
}
// -----
func.func @f(%x: !tile.buffer<32x64xf32, UB>, %i: index) {
  // expected-error@+1 {{takes multiples of 16, not 8x16}}
  npu.transpose %x[%i] : !tile.buffer<32x64xf32, UB>, %x[%i] : !tile.buffer<32x64xf32, UB> size 8 x 16
  return
}
// -----
func.func @f(%A: !tile.buffer<f32, global>, %x: !tile.buffer<8xf32, UB>, %i: index) {
  // expected-error@+1 {{needs at least one dim}}
  npu.load_ub %A[] [] : !tile.buffer<f32, global> to %x[%i] : !tile.buffer<8xf32, UB> pitch 8
  return
}
// -----
func.func @f(%x: !tile.buffer<8xf32, UB>, %t: !tile.buffer<64xui8, UB>, %i: index) {
  // expected-error@+1 {{has a second source without an offset}}
  "npu.function"(%x, %i, %x, %i, %x, %t, %i, %i) <{kind = 4 : i32, scratch_bytes = 64 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 1, 1, 1>}> : (!tile.buffer<8xf32, UB>, index, !tile.buffer<8xf32, UB>, index, !tile.buffer<8xf32, UB>, !tile.buffer<64xui8, UB>, index, index) -> ()
  return
}
// -----
func.func @f(%A: !tile.buffer<64x64xf32, global>, %x: !tile.buffer<64x64xf32, UB>, %i: index) {
  // The least number stands for an operand that isn't there.
  // expected-error@+1 {{source has another number of operands than of offsets and extents that are not static}}
  npu.load_ub %A[-9223372036854775808, 0] [64, 64] : !tile.buffer<64x64xf32, global> to %x[%i] : !tile.buffer<64x64xf32, UB> pitch 64
  return
}
// -----
func.func @f(%A: !tile.buffer<64x64xf32, global>, %c: !tile.buffer<64x64xf32, L0C>, %i: index) {
  // expected-error@+1 {{target has another number of operands than of offsets and extents that are not static}}
  npu.store_l0c %c[%i] : !tile.buffer<64x64xf32, L0C> rows 64 to %A[0, -9223372036854775808] [64, 64] : !tile.buffer<64x64xf32, global>
  return
}

// -----

func.func @numbers_without_places(%c: i1, %i: index) {
  // expected-error@+1 {{has 1 numbers for 0 places in its sentence}}
  npu.require %c "this begins before its tensor" (%i)
  return
}

// -----

func.func @f(%c: !tile.buffer<64x64xf32, L0C>, %l1: !tile.buffer<64x64xf32, L1>, %i: index) {
  // expected-error@+1 {{does not convert 'f32' to 'f32' without a scale}}
  npu.move_l0c %c[%i] : !tile.buffer<64x64xf32, L0C> rows 64 to %l1[%i] : !tile.buffer<64x64xf32, L1> rows 64 size 64 x 64
  return
}

// -----

func.func @f(%c: !tile.buffer<64x64xf32, L0C>, %l1: !tile.buffer<64x64xf16, L1>, %i: index) {
  // expected-error@+1 {{moves groups of 16 columns, not 20}}
  npu.move_l0c %c[%i] : !tile.buffer<64x64xf32, L0C> rows 64 to %l1[%i] : !tile.buffer<64x64xf16, L1> rows 64 size 64 x 20
  return
}

// -----

func.func @f(%c: !tile.buffer<64x64xf32, L0C>, %x: !tile.buffer<64x64xf16, UB>, %i: index) {
  // expected-error@+1 {{target lies in UB, not in L1}}
  npu.move_l0c %c[%i] : !tile.buffer<64x64xf32, L0C> rows 64 to %x[%i] : !tile.buffer<64x64xf16, UB> rows 64 size 64 x 64
  return
}

// -----
func.func @f(%x: !tile.buffer<32x64xf32, L1>, %y: !tile.buffer<32x64xf32, L0A>, %i: index) {
  // expected-error@+1 {{has 1 counts, but needs those of rows and of columns}}
  npu.load_l0 %x[%i] : !tile.buffer<32x64xf32, L1> at (%i, %i) to %y[%i] : !tile.buffer<32x64xf32, L0A> rows 32 size 32 x 64 only(%i)
  return
}

// -----
func.func @f(%x: !tile.buffer<16x16xf16, L0A>, %y: !tile.buffer<16x16xf16, L0B>, %z: !tile.buffer<16x16xf32, L0C>, %i: index, %yes: i1) {
  // expected-error@+1 {{has 2 counts, but needs those of m, n and k}}
  npu.mmad %x[%i] : !tile.buffer<16x16xf16, L0A>, %y[%i] : !tile.buffer<16x16xf16, L0B> into %z[%i] : !tile.buffer<16x16xf32, L0C> size 16 x 16 x 16 only(%i, %i) init(%yes)
  return
}

// -----
func.func @f(%x: !tile.buffer<16x16xf32, L0C>, %y: !tile.buffer<16x16xf16, L1>, %i: index) {
  // expected-error@+1 {{has 3 counts, but needs those of rows and of columns}}
  npu.move_l0c %x[%i] : !tile.buffer<16x16xf32, L0C> rows 16 to %y[%i] : !tile.buffer<16x16xf16, L1> rows 16 size 16 x 16 only(%i, %i, %i)
  return
}

// -----

func.func @part_of_fewer_dims(%i: index) {
  // expected-error@+1 {{has 2 numbers of its part and 0 of its tensor, but its tile has 2 dims}}
  npu.check_part "a" [8, 24] part(%i, %i) on vector
  return
}
