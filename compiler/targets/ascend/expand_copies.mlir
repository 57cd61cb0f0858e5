// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --mark-in-bounds --ascend-expand-copies --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @tail
// A tile that the edge cuts is filled, then loaded; the store leaves out what lies outside.
func.func @tail(%A: !tile.buffer<100x64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%c4) npu {
    // CHECK: %[[UB:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    %m = arith.muli %cid, %c32 : index
    // CHECK: %[[LEFT:.*]] = arith.subi %c100, %[[M:.*]] : index
    // CHECK: %[[ROWS:.*]] = arith.maxsi
    // CHECK: %[[CUT:.*]] = arith.cmpi slt, %[[ROWS]], %c32
    // CHECK: scf.if %[[CUT]] {
    // CHECK: npu.duplicate %[[UB]][%c0] : !tile.buffer<32x64xf32, UB>, %{{.*}} count(%c2048)
    // CHECK: ascend.set_flag v to mte2
    // CHECK: npu.load_ub %{{.*}}[%[[M]], 0] [%[[ROWS]], 64] : !tile.buffer<100x64xf32, global> to %[[UB]][%c0] : !tile.buffer<32x64xf32, UB> pitch 64
    tile.copy %A[%m, 0] [32, 64] : !tile.buffer<100x64xf32, global> to %x : !tile.buffer<32x64xf32, UB>
    // CHECK: npu.store_ub %[[UB]][%c0] : !tile.buffer<32x64xf32, UB> pitch 64 to %{{.*}}[%[[M]], 0] [%{{.*}}, 64]
    tile.copy %x : !tile.buffer<32x64xf32, UB> to %A[%m, 0] [32, 64] : !tile.buffer<100x64xf32, global>
  }
  return
}

// -----
// No edge cuts a tile of 32 of 64 rows that begins at a multiple of 32: it is there or it is not.
// CHECK-LABEL: func.func @whole_tiles
func.func @whole_tiles(%A: !tile.buffer<64x64xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  tile.launch (%cid) in (%c4) npu {
    // CHECK: %[[UB:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    %m = arith.muli %cid, %c32 : index
    // CHECK: %[[LEFT:.*]] = arith.subi %c64, %[[M:.*]] : index
    // CHECK: %[[THERE:.*]] = arith.cmpi sgt, %[[LEFT]], %c0
    // CHECK: scf.if %[[THERE]] {
    // CHECK-NEXT: npu.load_ub %{{.*}}[%[[M]], 0] [32, 64]
    // CHECK: } else {
    // CHECK: npu.duplicate %[[UB]]
    tile.copy %A[%m, 0] [32, 64] : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<32x64xf32, UB>
    // CHECK: scf.if
    // CHECK-NEXT: npu.store_ub %[[UB]][%c0] : {{.*}} to %{{.*}}[%[[M]], 0] [32, 64]
    tile.copy %x : !tile.buffer<32x64xf32, UB> to %A[%m, 0] [32, 64] : !tile.buffer<64x64xf32, global>
  }
  return
}

// -----
// CHECK-LABEL: func.func @routes
func.func @routes(%A: !tile.buffer<64x4x32xf16, global> {tile.name = "A"}, %C: !tile.buffer<64x64xf16, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f16
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<2x4x32xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<8x10xf16, UB>
    %z = tile.alloc "z" : !tile.buffer<8x10xf32, UB>
    %w = tile.alloc "w" : !tile.buffer<8x10xf32, UB>
    %l1 = tile.alloc "l1" : !tile.buffer<2x20x64xf16, L1>
    %l1f = tile.alloc "l1f" : !tile.buffer<20x64xf32, L1>
    %l0 = tile.alloc "l0" : !tile.buffer<20x64xf16, L0A>
    %acc = tile.alloc "acc" : !tile.buffer<64x64xf32, L0C>
    // Three dims: a loop over the first.
    // CHECK: tile.for %[[I:.*]] = %c0 to %c2 step %c1
    // CHECK: npu.load_ub %{{.*}}[%[[I]], 0, 0] [1, 4, 32] {{.*}} to %{{.*}}[%{{.*}}] {{.*}} pitch 32
    tile.copy %A[0, 0, 0] [2, 4, 32] : !tile.buffer<64x4x32xf16, global> to %x : !tile.buffer<2x4x32xf16, UB>
    // Rows of 20 bytes lie 32 bytes apart, padded.
    // CHECK: npu.load_ub {{.*}} pitch 16 pad(
    tile.copy %C[0, 0] [8, 10] : !tile.buffer<64x64xf16, global> to %y : !tile.buffer<8x10xf16, UB>
    // CHECK: npu.cast {{.*}} none count(%c122)
    tile.copy %y : !tile.buffer<8x10xf16, UB> to %z : !tile.buffer<8x10xf32, UB>
    // CHECK: npu.binary max {{.*}} count(%c122)
    tile.copy %z : !tile.buffer<8x10xf32, UB> to %w : !tile.buffer<8x10xf32, UB>
    // CHECK: npu.duplicate {{.*}} count(%c128)
    tile.fill %y : !tile.buffer<8x10xf16, UB> with %zero : f16
    // CHECK: npu.load_l1 {{.*}} to %{{.*}}[%c2048] : !tile.buffer<2x20x64xf16, L1> rows 32
    tile.copy %C[0, 0] [20, 64] : !tile.buffer<64x64xf16, global> to %l1[1, 0, 0] [1, 20, 64] : !tile.buffer<2x20x64xf16, L1>
    // CHECK: npu.load_l0 %{{.*}}[%c2048] {{.*}} rows 32 size 32 x 64
    tile.copy %l1[1, 0, 0] [1, 20, 64] : !tile.buffer<2x20x64xf16, L1> to %l0 : !tile.buffer<20x64xf16, L0A>
    // CHECK: npu.store_l0c {{.*}} rows 64 to {{.*}} relu
    tile.copy %acc : !tile.buffer<64x64xf32, L0C> to %C[0, 0] [64, 64] : !tile.buffer<64x64xf16, global> {relu}
    // To L1: all rows, and whole groups of 16 columns.
    // CHECK: npu.move_l0c %{{.*}}[%c0] {{.*}} rows 64 to %{{.*}}[%c2048] {{.*}} rows 32 size 20 x 64 relu
    tile.copy %acc[0, 0] [20, 64] : !tile.buffer<64x64xf32, L0C> to %l1[1, 0, 0] [1, 20, 64] : !tile.buffer<2x20x64xf16, L1> {relu}
    // As float32 through global memory.
    // CHECK: npu.store_l0c {{.*}} to %[[W:.*]][{{.*}}] [{{.*}}20, 40] : !tile.buffer<{{.*}}20x40xf32, global>
    // CHECK: npu.load_l1 %[[W]][{{.*}} to %{{.*}} : !tile.buffer<20x64xf32, L1> rows 32
    tile.copy %acc[0, 0] [20, 40] : !tile.buffer<64x64xf32, L0C> to %l1f[0, 0] [20, 40] : !tile.buffer<20x64xf32, L1>
    // CHECK: npu.store_l0c {{.*}} atomic_add
    tile.atomic_tile add %acc : !tile.buffer<64x64xf32, L0C> into %C[0, 0] [64, 64] : !tile.buffer<64x64xf16, global>
    // Through a buffer of the tensor's type.
    // CHECK: npu.load_ub {{.*}} to %[[T:.*]][%c0] : !tile.buffer<8x10xf16, UB>
    // CHECK: npu.cast %{{.*}}, %[[T]][%c0]
    tile.copy %C[0, 0] [8, 10] : !tile.buffer<64x64xf16, global> to %z : !tile.buffer<8x10xf32, UB>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf16, L1>
    // expected-error@+1 {{unsupported on ascend: there is no way to copy from L1 to global; a tile of T.alloc_shared lies in UB, too}}
    tile.copy %x : !tile.buffer<8x64xf16, L1> to %A[0, 0] [8, 64] : !tile.buffer<64x64xf16, global>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf16, UB>
    // expected-error@+1 {{unsupported on ascend: the copy's target begins at byte 16 of its buffer, but UB is accessed in blocks of 32 bytes}}
    tile.copy %A[0, 0] [8, 32] : !tile.buffer<64x64xf16, global> to %x[0, 8] [8, 32] : !tile.buffer<8x64xf16, UB>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xbf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: L0C of int32 cannot be stored to a tensor of bfloat16}}
    tile.copy %x : !tile.buffer<64x64xsi32, L0C> to %A : !tile.buffer<64x64xbf16, global>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xf16, L1>
    // expected-error@+1 {{unsupported on ascend: the copy's target begins at column 8 of a tile in L1, whose columns come in groups of 16}}
    tile.copy %A[0, 0] [64, 32] : !tile.buffer<64x64xf16, global> to %x[0, 8] [64, 32] : !tile.buffer<64x64xf16, L1>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf32, L1>
    // expected-error@+1 {{unsupported on ascend: a copy to L1 of float16 that converts to float32}}
    tile.copy %A[0, 0] [8, 64] : !tile.buffer<64x64xf16, global> to %x : !tile.buffer<8x64xf32, L1>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a fill of a buffer in L0C}}
    tile.fill %x : !tile.buffer<8x64xf32, L0C> with %v : f32
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf16, UB>
    // expected-error@+1 {{unsupported on ascend: an atomic max of a tile; there is add}}
    tile.atomic_tile max %x : !tile.buffer<8x64xf16, UB> into %A[0, 0] [8, 64] : !tile.buffer<64x64xf16, global>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %v: f32, %b: i8) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<8x64xf16, UB>
    // expected-error@+1 {{unsupported on ascend: an atomic add from UB to UB}}
    tile.atomic_tile add %x : !tile.buffer<8x64xf16, UB> into %y : !tile.buffer<8x64xf16, UB>
  }
  return
}

// -----
// CHECK-LABEL: func.func @transposes
func.func @transposes(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64x8xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<8x64xf16, UB>
    %a = tile.alloc "a" : !tile.buffer<32x16xf32, UB>
    %b = tile.alloc "b" : !tile.buffer<16x32xf32, UB>
    // CHECK: npu.transpose %{{.*}} size 32 x 16
    tile.copy %a : !tile.buffer<32x16xf32, UB> to %b : !tile.buffer<16x32xf32, UB> {transpose}
    // CHECK: tile.for %[[I:.*]] = %c0 to %c64
    // CHECK: tile.for %[[J:.*]] = %c0 to %c8
    // CHECK: %[[V:.*]] = tile.load %{{.*}}[%[[I]], %[[J]]]
    // CHECK: tile.store %[[V]], %{{.*}}[%[[J]], %[[I]]]
    // expected-remark@+1 {{this transpose runs element by element on the scalar unit: it is not of whole tiles in multiples of 16}}
    tile.copy %x : !tile.buffer<64x8xf16, UB> to %y : !tile.buffer<8x64xf16, UB> {transpose}
  }
  return
}

// -----
func.func @transposes_bytes(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32x32xsi8, UB>
    %y = tile.alloc "y" : !tile.buffer<32x32xsi8, UB>
    // expected-remark@+1 {{this transpose runs element by element on the scalar unit: the vector unit transposes elements of 16 and 32 bits, not of 8}}
    tile.copy %x : !tile.buffer<32x32xsi8, UB> to %y : !tile.buffer<32x32xsi8, UB> {transpose}
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<16x16xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<16x16xf32, UB>
    // expected-error@+1 {{unsupported on ascend: a transposed copy within UB that converts, or of extents that are known at run time only}}
    tile.copy %x : !tile.buffer<16x16xf16, UB> to %y : !tile.buffer<16x16xf32, UB> {transpose}
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<2x16x8xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<2x8x16xf16, UB>
    // expected-error@+1 {{unsupported on ascend: a transposed copy of more than two dims}}
    tile.copy %x : !tile.buffer<2x16x8xf16, UB> to %y : !tile.buffer<2x8x16xf16, UB> {transpose}
  }
  return
}

// -----
// CHECK-LABEL: func.func @counted_at_run_time
// What is converted goes through a buffer that holds the most there can be; so does what may end within a block.
func.func @counted_at_run_time(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %B: !tile.buffer<64x64xf32, global> {tile.name = "B"}, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<8x64xf32, UB>
    // CHECK: %[[PART:.*]] = tile.alloc "converted" : !tile.buffer<8x64xf16, UB>
    // CHECK: npu.load_ub {{.*}} to %[[PART]]
    // CHECK: npu.cast %[[X]]{{.*}}, %[[PART]]
    tile.copy %A[0, 0] [8, %n] : !tile.buffer<64x64xf16, global> to %x[0, 0] [8, %n] : !tile.buffer<8x64xf32, UB>
    // CHECK: %[[PART:.*]] = tile.alloc "converted" : !tile.buffer<4x64xf32, UB>
    // CHECK: npu.load_ub {{.*}} to %[[PART]]
    // CHECK: npu.binary max %[[X]]{{.*}}, %[[PART]]
    tile.copy %B[0, 0] [4, %n] : !tile.buffer<64x64xf32, global> to %x[0, 0] [4, %n] : !tile.buffer<8x64xf32, UB>
    // CHECK-NOT: tile.alloc
    // CHECK: npu.load_ub {{.*}} to %[[X]]
    tile.copy %B[0, 0] [%n, 64] : !tile.buffer<64x64xf32, global> to %x[0, 0] [%n, 64] : !tile.buffer<8x64xf32, UB>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %h: f16) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf16, L1>
    // expected-error@+1 {{unsupported on ascend: a load to L1 that is cut by the tensor's edge is padded with 0 only; load to a tile of T.alloc_ub and copy it to L1, which vector cores do}}
    tile.copy %A[%n, 0] [32, 64] : !tile.buffer<64x64xf16, global> to %x : !tile.buffer<32x64xf16, L1> pad(%h : f16)
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %h: f16) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf16, L1>
    %y = tile.alloc "y" : !tile.buffer<32x64xf32, L0A>
    // expected-error@+1 {{unsupported on ascend: a copy to L0A takes a tile of two dims and one element type}}
    tile.copy %x : !tile.buffer<32x64xf16, L1> to %y : !tile.buffer<32x64xf32, L0A>
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64x64xf16, global> {tile.name = "A"}, %n: index, %h: f16) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32x64xf16, L1>
    %y = tile.alloc "y" : !tile.buffer<32x64xf16, L0A>
    // expected-error@+1 {{unsupported on ascend: a copy to a part of a tile in L0A}}
    tile.copy %x[0, 0] [16, 64] : !tile.buffer<32x64xf16, L1> to %y[16, 0] [16, 64] : !tile.buffer<32x64xf16, L0A>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<2x4x16xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<2x4x16xf16, UB>
    // expected-error@+1 {{unsupported on ascend: a copy within UB of two dims, in neither of which elements lie side by side}}
    tile.copy %x[0, 0, 0] [2, 4, 1] : !tile.buffer<2x4x16xf16, UB> to %y[0, 0, 0] [2, 4, 1] : !tile.buffer<2x4x16xf16, UB>
  }
  return
}

// -----
// CHECK-LABEL: func.func @three_dims
func.func @three_dims(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<3x4x32xf16, UB>
    %y = tile.alloc "y" : !tile.buffer<3x4x32xf16, UB>
    // The first two are rows of one sequence.
    // CHECK: npu.copy_ub %{{.*}}[%c128] {{.*}} rows 8 of 64 pitch 64 to 64
    tile.copy %x[1, 0, 0] [2, 4, 32] : !tile.buffer<3x4x32xf16, UB> to %y[0, 0, 0] [2, 4, 32] : !tile.buffer<3x4x32xf16, UB>
    // Here they are not.
    // CHECK: tile.for %{{.*}} = %c0 to %c2 step %c1
    // CHECK: npu.copy_ub {{.*}} rows 2 of 64 pitch 64 to 64
    tile.copy %x[1, 1, 0] [2, 2, 32] : !tile.buffer<3x4x32xf16, UB> to %y[0, 2, 0] [2, 2, 32] : !tile.buffer<3x4x32xf16, UB>
  }
  return
}

// -----
// CHECK-LABEL: func.func @parts_of_rows
// The rest of a row is not padding, even where it fits in its last block: one instruction a row.
func.func @parts_of_rows(%n: index, %v: f32) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<6x10xsi32, UB>
    // CHECK: %[[Y:.*]] = tile.alloc "y"
    %y = tile.alloc "y" : !tile.buffer<8x14xf32, UB>
    // CHECK: tile.for %{{.*}} = %c0 to %c6
    // CHECK: npu.cast %[[Y]]{{.*}}, %[[X]]{{.*}} count(%c10)
    tile.copy %x : !tile.buffer<6x10xsi32, UB> to %y[0, 0] [6, 10] : !tile.buffer<8x14xf32, UB>
    // CHECK: tile.for %{{.*}} = %c0 to %c6
    // CHECK: npu.duplicate %[[Y]]{{.*}} count(%c13)
    tile.fill %y[0, 0] [6, 13] : !tile.buffer<8x14xf32, UB> with %v : f32
    // CHECK-NOT: tile.for
    // CHECK: npu.duplicate %[[Y]]{{.*}} count(%c94)
    tile.fill %y[0, 0] [6, 14] : !tile.buffer<8x14xf32, UB> with %v : f32
  }
  return
}

// -----
// CHECK-LABEL: func.func @part_of_a_block
// The DMA writes whole blocks; what lies behind a part of a row is not its to write.
func.func @part_of_a_block(%A: !tile.buffer<64x64xf32, global> {tile.name = "A"}, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[Y:.*]] = tile.alloc "y"
    %y = tile.alloc "y" : !tile.buffer<8x14xf32, UB>
    // CHECK: %[[PART:.*]] = tile.alloc "converted" : !tile.buffer<6x10xf32, UB>
    // CHECK: npu.load_ub {{.*}} to %[[PART]][%c0]
    // CHECK: ascend.wait_flag mte2 to v
    // CHECK: tile.for %{{.*}} = %c0 to %c6
    // CHECK: npu.binary max %[[Y]]{{.*}}, %[[PART]]{{.*}} count(%c10)
    tile.copy %A[0, 0] [6, 10] : !tile.buffer<64x64xf32, global> to %y[0, 0] [6, 10] : !tile.buffer<8x14xf32, UB>
    // CHECK-NOT: tile.alloc
    // CHECK: npu.load_ub {{.*}} to %[[Y]][%c8]
    tile.copy %A[0, 0] [6, 6] : !tile.buffer<64x64xf32, global> to %y[0, 8] [6, 6] : !tile.buffer<8x14xf32, UB>
  }
  return
}

// -----
// A column is what a reduction of rows of one number takes, and what a broadcast to rows of one element makes.
// CHECK-LABEL: func.func @columns
func.func @columns(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    // CHECK: %[[Y:.*]] = tile.alloc "y"
    // CHECK: %[[H:.*]] = tile.alloc "h"
    %x = tile.alloc "x" : !tile.buffer<8xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<8x16xf32, UB>
    %h = tile.alloc "h" : !tile.buffer<8xf16, UB>
    // CHECK: npu.broadcast %[[Y]][%c8] {{.*}}, %[[X]][%c0] {{.*}} size 8 x 1 pitch 16 dim 1
    tile.copy %x : !tile.buffer<8xf32, UB> to %y[0, 8] [8, 1] : !tile.buffer<8x16xf32, UB>
    // CHECK: npu.reduce max %[[X]][%c0] {{.*}}, %[[Y]][%c8] {{.*}} size 8 x 1 pitch 16 dim 1 clear
    tile.copy %y[0, 8] [8, 1] : !tile.buffer<8x16xf32, UB> to %x : !tile.buffer<8xf32, UB>
    // CHECK: %[[ROW:.*]] = tile.alloc "converted" : !tile.buffer<8xf32, UB>
    // CHECK: npu.reduce max %[[ROW]][%c0] {{.*}}, %[[Y]][%c0]
    // CHECK: ascend.pipe_barrier v
    // CHECK: npu.cast %[[H]][%c0] {{.*}}, %[[ROW]][%c0]
    tile.copy %y[0, 0] [8, 1] : !tile.buffer<8x16xf32, UB> to %h : !tile.buffer<8xf16, UB>
  }
  return
}

// -----
// CHECK-LABEL: func.func @column_in_a_block
func.func @column_in_a_block(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<8x16xf32, UB>
    // CHECK: tile.for %[[I:.*]] = %c0 to %c8
    // CHECK: tile.load %{{.*}}[%[[I]], %c3]
    // expected-remark@+1 {{this copy between a row and a column runs element by element on the scalar unit}}
    tile.copy %y[0, 3] [8, 1] : !tile.buffer<8x16xf32, UB> to %x : !tile.buffer<8xf32, UB>
  }
  return
}

// -----
// CHECK-LABEL: func.func @scaled
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: f32
func.func @scaled(%C: !tile.buffer<64x32xf16, global>, %scale: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xsi32, L0C>
    // CHECK: npu.store_l0c {{.*}} scale(%[[SCALE]])
    tile.copy %c : !tile.buffer<64x32xsi32, L0C> to %C : !tile.buffer<64x32xf16, global> scale(%scale : f32)
  }
  return
}

// -----
func.func @f(%C: !tile.buffer<64x32xf16, global>, %scale: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %c = tile.alloc "c" : !tile.buffer<64x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: L0C of int32 is stored to float16 by a scale; call T.set_deq_scale before this copy}}
    tile.copy %c : !tile.buffer<64x32xsi32, L0C> to %C : !tile.buffer<64x32xf16, global>
    %u = tile.alloc "u" : !tile.buffer<64x32xsi32, UB>
    // expected-error@+1 {{unsupported on ascend: the scale of T.set_deq_scale belongs to copies from L0C, not from UB}}
    tile.copy %u : !tile.buffer<64x32xsi32, UB> to %C : !tile.buffer<64x32xf16, global> scale(%scale : f32)
  }
  return
}

// -----
func.func @f(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    // expected-error@+1 {{has elements before its rows, but nothing to pad them with}}
    npu.load_ub %A[0] [8] : !tile.buffer<64xf32, global> to %x[%n] : !tile.buffer<64xf32, UB> pitch 64 before(%n)
  }
  return
}

// -----
// An atomic add of an element: through a tile of one element.
// CHECK-LABEL: func.func @element
// CHECK: %[[ADDEND:.*]] = tile.alloc "addend" : !tile.buffer<1xf32, UB>
// CHECK: tile.store %arg1, %[[ADDEND]][%c0]
// CHECK: npu.store_ub %[[ADDEND]][{{.*}} to %arg0[{{.*}}atomic_add
func.func @element(%C: !tile.buffer<64xf32, global>, %v: f32, %n: index) {
  %c5 = arith.constant 5 : index
  tile.launch (%cid) in (%n) npu {
    tile.atomic add %C[%c5], %v : f32 in_bounds : !tile.buffer<64xf32, global>
  }
  return
}

// -----
func.func @max_of_element(%C: !tile.buffer<64xf32, global>, %v: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{unsupported on ascend: an atomic max of an element; there is add}}
    tile.atomic max %C[%cid], %v : f32 : !tile.buffer<64xf32, global>
  }
  return
}

// -----
func.func @before(%C: !tile.buffer<64xf32, global>, %v: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{unsupported on ascend: the number before an atomic add, which the DMA does not give}}
    %old = tile.atomic add %C[%cid], %v : f32 : !tile.buffer<64xf32, global> -> f32
    tile.store %old, %C[%cid] : !tile.buffer<64xf32, global>
  }
  return
}

// -----
func.func @of_a_tile(%v: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    // expected-error@+1 {{unsupported on ascend: an atomic add to an element of UB}}
    tile.atomic add %x[%cid], %v : f32 : !tile.buffer<64xf32, UB>
  }
  return
}

// -----
func.func @bytes_without_sign(%C: !tile.buffer<64xui8, global>, %v: i8, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{unsupported on ascend: an atomic add of uint8 elements; there is that of float16, bfloat16, float32, int8, int16, int32 and uint32}}
    tile.atomic add %C[%cid], %v : i8 : !tile.buffer<64xui8, global>
  }
  return
}

// -----
func.func @tile_of_long_integers(%C: !tile.buffer<64xsi64, global>, %n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xsi64, UB>
    // expected-error@+1 {{unsupported on ascend: an atomic add of int64 elements}}
    tile.atomic_tile add %x : !tile.buffer<64xsi64, UB> into %C : !tile.buffer<64xsi64, global>
  }
  return
}

// -----
// CHECK-LABEL: func.func @floats_to_bytes
// CHECK: npu.cast %[[W:.*]][%c0] : !tile.buffer<32xsi16, UB>, %{{.*}} : !tile.buffer<32xf32, UB> trunc
// CHECK: npu.cast %[[H:.*]][%c0] : !tile.buffer<32xf16, UB>, %[[W]][%c0]
// CHECK: npu.cast %{{.*}} : !tile.buffer<32xsi8, UB>, %[[H]][%c0] {{.*}} trunc
func.func @floats_to_bytes(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<32xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<32xsi8, UB>
    tile.copy %x : !tile.buffer<32xf32, UB> to %y : !tile.buffer<32xsi8, UB>
  }
  return
}

// -----
// To fewer bits: a nest, which keeps the low ones.
// CHECK-LABEL: func.func @low_bits
// CHECK: tile.parallel
// CHECK: arith.trunci
func.func @low_bits(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8x64xsi32, UB>
    %y = tile.alloc "y" : !tile.buffer<8x64xsi16, UB>
    tile.copy %x : !tile.buffer<8x64xsi32, UB> to %y : !tile.buffer<8x64xsi16, UB>
  }
  return
}

// -----
// L0B has fractals of 8 x 16 of floats: of k, which is L1's rows, so many are loaded from such a row on.
// CHECK-LABEL: func.func @floats_by_eights
// CHECK: npu.load_l0 {{.*}}L1> at(%c40, %c0) to {{.*}} rows 80 size 40 x 32
// CHECK: npu.load_l0 {{.*}}L1> at(%c40, %c0) to {{.*}} rows 80 size 24 x 32
func.func @floats_by_eights(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<80x32xf32, L1>
    %y = tile.alloc "y" : !tile.buffer<40x32xf32, L0B>
    %z = tile.alloc "z" : !tile.buffer<20x32xf32, L0B>
    tile.copy %x[40, 0] [40, 32] : !tile.buffer<80x32xf32, L1> to %y : !tile.buffer<40x32xf32, L0B>
    tile.copy %x[40, 0] [20, 32] : !tile.buffer<80x32xf32, L1> to %z : !tile.buffer<20x32xf32, L0B>
  }
  return
}

// -----
func.func @loads_within_fractals(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xf16, L1>
    %y = tile.alloc "y" : !tile.buffer<32x64xf16, L0A>
    // expected-error@+1 {{unsupported on ascend: the copy's source begins at row 8 of a tile in L1, whose rows come in groups of 16}}
    tile.copy %x[8, 0] [32, 64] : !tile.buffer<64x64xf16, L1> to %y : !tile.buffer<32x64xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<64x64xsi8, L1>
    %c = tile.alloc "c" : !tile.buffer<48x64xsi8, L0B>
    // expected-error@+1 {{unsupported on ascend: a copy of 48 rows or columns of int8 that are transposed on the way; it takes multiples of 32}}
    tile.copy %b[0, 0] [48, 64] : !tile.buffer<64x64xsi8, L1> to %c : !tile.buffer<48x64xsi8, L0B>
    %w = tile.alloc "w" : !tile.buffer<64x64xf32, L1>
    %u = tile.alloc "u" : !tile.buffer<32x64xf32, L0B>
    // expected-error@+1 {{unsupported on ascend: the copy's source begins at row 4 of a tile in L1, whose rows come in groups of 8}}
    tile.copy %w[4, 0] [32, 64] : !tile.buffer<64x64xf32, L1> to %u : !tile.buffer<32x64xf32, L0B>
    %v = tile.alloc "v" : !tile.buffer<64x32xf32, L0B>
    // expected-error@+1 {{unsupported on ascend: the copy's source begins at row 8 of a tile in L1, whose rows come in groups of 16}}
    tile.copy %w[8, 0] [32, 64] : !tile.buffer<64x64xf32, L1> to %v : !tile.buffer<64x32xf32, L0B> {transpose}
    %f = tile.alloc "f" : !tile.buffer<24x64xf32, L1>
    %g = tile.alloc "g" : !tile.buffer<64x24xf32, L0A>
    // expected-error@+1 {{unsupported on ascend: a copy of 24 rows of float32 to L0A with transpose, which goes in squares of 16; take 32 rows}}
    tile.copy %f : !tile.buffer<24x64xf32, L1> to %g : !tile.buffer<64x24xf32, L0A> {transpose}
  }
  return
}

// -----

// A part of a tensor that ends before the tensor does: behind it the tile is padded.
// CHECK-LABEL: func.func @part_of_a_tensor
func.func @part_of_a_tensor(%A: !tile.buffer<100x64xf32, global>, %n: index, %end: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    // CHECK: %[[SIZE:.*]] = arith.minsi {{.*}}%arg2
    // CHECK: arith.minsi
    // CHECK: scf.if
    // CHECK: npu.duplicate
    // CHECK: npu.load_ub
    tile.copy %A[0, 0] [16, 64] : !tile.buffer<100x64xf32, global> to %x : !tile.buffer<16x64xf32, UB> ends(%end) {ended_dims = array<i64: 0>}
  }
  return
}

// -----
// Parts that overlap, or may, are copied through a tile between them; parts that are apart for sure are not.
// CHECK-LABEL: func.func @parts_of_one_tile
func.func @parts_of_one_tile(%k: index {tile.name = "k"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%c1) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<32x64xf32, UB>
    // CHECK-NEXT: %[[MOVED:.*]] = tile.alloc "moved" {{.*}}: !tile.buffer<8x64xf32, UB>
    // CHECK-NEXT: npu.copy_ub %[[X]][%c0] {{.*}} to %[[MOVED]][%c0]
    // CHECK-NEXT: ascend.pipe_barrier v
    // CHECK-NEXT: npu.copy_ub %[[MOVED]][%c0] {{.*}} to %[[X]][%c256]
    tile.copy %x[0, 0] [8, 64] : !tile.buffer<32x64xf32, UB> to %x[4, 0] [8, 64] : !tile.buffer<32x64xf32, UB>
    // CHECK-NEXT: npu.copy_ub %[[X]][%c0] {{.*}} to %[[X]][%c512]
    tile.copy %x[0, 0] [8, 64] : !tile.buffer<32x64xf32, UB> to %x[8, 0] [8, 64] : !tile.buffer<32x64xf32, UB>
    // CHECK: npu.copy_ub %[[X]][{{.*}} to %[[X]][
    // CHECK-NOT: tile.alloc
    %behind = arith.addi %k, %c8 : index
    tile.copy %x[%k, 0] [8, 64] : !tile.buffer<32x64xf32, UB> to %x[%behind, 0] [8, 64] : !tile.buffer<32x64xf32, UB>
    // CHECK: %[[OTHER:.*]] = tile.alloc "moved"
    // CHECK: npu.copy_ub %[[X]][{{.*}} to %[[OTHER]][
    // CHECK: npu.copy_ub %[[OTHER]][{{.*}} to %[[X]][
    tile.copy %x[%k, 0] [8, 64] : !tile.buffer<32x64xf32, UB> to %x[8, 0] [8, 64] : !tile.buffer<32x64xf32, UB>
  }
  return
}

// -----
// A part of a row, alone in its tile, may end within a block; with something else in the tile it comes through another one.
// CHECK-LABEL: func.func @part_alone
func.func @part_alone(%A: !tile.buffer<100xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[ALONE:.*]] = tile.alloc "alone"
    %alone = tile.alloc "alone" : !tile.buffer<64xf32, UB>
    // CHECK: %[[MIXED:.*]] = tile.alloc "mixed"
    %mixed = tile.alloc "mixed" : !tile.buffer<64xf32, UB>
    // CHECK: %[[TURNS:.*]] = tile.alloc "turns"
    %turns = tile.alloc "turns" : !tile.buffer<64xf32, UB>
    // CHECK: npu.load_ub {{.*}} to %[[ALONE]]
    tile.copy %A[0] [%n] : !tile.buffer<100xf32, global> to %alone[0] [%n] : !tile.buffer<64xf32, UB>
    // CHECK: npu.duplicate %[[MIXED]]
    tile.fill %mixed : !tile.buffer<64xf32, UB> with %zero : f32
    // CHECK: %[[OTHER:.*]] = tile.alloc "converted"
    // CHECK: npu.load_ub {{.*}} to %[[OTHER]]
    tile.copy %A[0] [%n] : !tile.buffer<100xf32, global> to %mixed[0] [%n] : !tile.buffer<64xf32, UB>
    tile.for %k = %c0 to %n step %c1 {
      // CHECK: %[[THIRD:.*]] = tile.alloc "converted"
      // CHECK: npu.load_ub {{.*}} to %[[THIRD]]
      tile.copy %A[0] [%k] : !tile.buffer<100xf32, global> to %turns[0] [%k] : !tile.buffer<64xf32, UB>
    }
  }
  return
}

// -----
// The %n rows that a tile of 16 can take lie within the 32 rows of the tensor: nothing is filled. The place of %m elements in
// turn %i begins before none of the tensor, if there are any.
// CHECK-LABEL: func.func @no_more_than_the_tile
// CHECK-NOT: npu.duplicate
// CHECK-NOT: scf.if
// CHECK: return
func.func @no_more_than_the_tile(%A: !tile.buffer<32x64xf32, global>, %B: !tile.buffer<128xf32, global>, %n: index, %k: i32) {
  %m = arith.index_cast %k : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x64xf32, UB>
    %b = tile.alloc "b" : !tile.buffer<64xf32, UB>
    tile.copy %A[0, 0] [%n, 64] : !tile.buffer<32x64xf32, global> to %a[0, 0] [%n, 64] : !tile.buffer<16x64xf32, UB>
    tile.for %i = %c0 to %c2 step %c1 {
      %at = arith.muli %i, %m : index
      tile.copy %B[%at] [%m] : !tile.buffer<128xf32, global> to %b[0] [%m] : !tile.buffer<64xf32, UB>
    }
  }
  return
}

// -----
// Of 12 rows it may take more than there are.
// CHECK-LABEL: func.func @more_than_the_tensor
// CHECK: scf.if
// CHECK: npu.duplicate
// CHECK: npu.load_ub
func.func @more_than_the_tensor(%A: !tile.buffer<12x64xf32, global>, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x64xf32, UB>
    tile.copy %A[0, 0] [%n, 64] : !tile.buffer<12x64xf32, global> to %a[0, 0] [%n, 64] : !tile.buffer<16x64xf32, UB>
  }
  return
}

// -----
// Only what may leave its tile is checked before it is copied: of a store also how far its tensor goes.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[A:[^:]*]]: !tile.buffer<?x24xf32, global>, %{{[^:]*}}: !tile.buffer<16x32xf16, global>, %[[O:[^:]*]]: index, %[[N:[^:]*]]: index)
// CHECK: npu.load_ub
// CHECK: npu.check_part "a" [16, 24] written part(%[[O]], %[[N]], %c0, %c24) on vector
// CHECK: npu.load_ub
// CHECK-DAG: %[[ROWS:.*]] = tile.dim %[[A]]
// CHECK: npu.check_part "a" [16, 24] part(%[[O]], %[[N]], %c0, %c24) tensor(%[[O]], %[[N]], %[[ROWS]], %c0, %c24, %c24) on vector
// CHECK: npu.store_ub
// CHECK-NOT: npu.check_part
// CHECK: npu.check_part "l" [32, 32] written part(%[[O]], %c16, %c0, %c32) on cube
// CHECK: npu.load_l1
// CHECK-NOT: npu.check_part
// CHECK: return
func.func @parts(%A: !tile.buffer<?x24xf32, global>, %B: !tile.buffer<16x32xf16, global>, %o: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x24xf32, UB>
    %l = tile.alloc "l" : !tile.buffer<32x32xf16, L1>
    tile.for %i = %c0 to %c2 step %c1 {
      %at = arith.muli %i, %c8 : index
      tile.copy %A[%at, 0] [8, 24] : !tile.buffer<?x24xf32, global> to %a[%at, 0] [8, 24] : !tile.buffer<16x24xf32, UB>
    }
    tile.copy %A[%o, 0] [%n, 24] : !tile.buffer<?x24xf32, global> to %a[%o, 0] [%n, 24] : !tile.buffer<16x24xf32, UB>
    tile.copy %a[%o, 0] [%n, 24] : !tile.buffer<16x24xf32, UB> to %A[%o, 0] [%n, 24] : !tile.buffer<?x24xf32, global>
    tile.copy %B[0, 0] [16, 32] : !tile.buffer<16x32xf16, global> to %l[%o, 0] [16, 32] : !tile.buffer<32x32xf16, L1>
  }
  return
}
