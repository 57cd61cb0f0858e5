// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-expand-gemms --canonicalize | FileCheck %s

// Two steps of k, in the two halves of L0: 256 rows of b take 512 bytes per column, so a half holds 64.
// CHECK-LABEL: func.func @steps
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[HALF:.*]] = arith.constant 16384 : index
// CHECK-DAG: %[[K:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[L0A:.*]] = tile.alloc "l0a" at 0 {npu.gemm} : !tile.buffer<16x2048xf16, L0A>
// CHECK-DAG: %[[L0B:.*]] = tile.alloc "l0b" at 0 {npu.gemm} : !tile.buffer<16x2048xf16, L0B>
// CHECK: ascend.set_flag mte2 to mte1
// CHECK: ascend.wait_flag mte2 to mte1
// CHECK: ascend.set_flag fix to m,
// CHECK: ascend.wait_flag m to mte1, %[[ZERO]]
// CHECK-NEXT: npu.load_l0 %{{.*}}[%[[ZERO]]] {{.*}} at(%[[ZERO]], %[[ZERO]]) to %[[L0A]][%[[ZERO]]] {{.*}} rows 128 size 128 x 64
// CHECK-NEXT: npu.load_l0 %{{.*}}[%[[ZERO]]] {{.*}} at(%[[ZERO]], %[[ZERO]]) to %[[L0B]][%[[ZERO]]] {{.*}} rows 128 size 64 x 256
// CHECK: npu.mmad %[[L0A]][%[[ZERO]]] {{.*}} size 128 x 256 x 64 init(%{{arg1|.*}})
// CHECK: npu.load_l0 {{.*}} at(%[[ZERO]], %[[K]]) to %[[L0A]][%[[HALF]]]
// CHECK: npu.load_l0 {{.*}} at(%[[K]], %[[ZERO]]) to %[[L0B]][%[[HALF]]]
// CHECK: npu.mmad %[[L0A]][%[[HALF]]] {{.*}} init(%[[FALSE]])
// CHECK: ascend.set_flag m to fix
// CHECK: ascend.wait_flag m to fix
// CHECK-NOT: tile.gemm
func.func @steps(%n: index, %first: i1) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<128x128xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<128x256xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<128x256xf32, L0C>
    tile.gemm %a : !tile.buffer<128x128xf16, L1>, %b : !tile.buffer<128x256xf16, L1> into %c : !tile.buffer<128x256xf32, L0C> clear(%first)
  }
  return
}

// -----

// Floats are transposed in squares of 16, so that rows of a hold an even number of fractals, one more than 20 of k need.
// CHECK-LABEL: func.func @transposed_floats
// CHECK: npu.load_l0 {{.*}} to %{{.*}}L0A> rows 32 size 32 x 24 transpose
// CHECK: npu.load_l0 {{.*}} to %{{.*}}L0B> rows 32 size 24 x 40
// CHECK: npu.mmad {{.*}} size 32 x 48 x 20 init(%{{.*}}) pairs
// CHECK: npu.load_l0 {{.*}} to %{{.*}}L0A> rows 32 size 32 x 24 transpose
// CHECK: npu.mmad {{.*}} size 32 x 48 x 28 init(%{{[a-z0-9_]+}}){{$}}
func.func @transposed_floats(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<20x24xf32, L1>
    %b = tile.alloc "b" : !tile.buffer<20x40xf32, L1>
    %c = tile.alloc "c" : !tile.buffer<24x40xf32, L0C>
    tile.gemm %a : !tile.buffer<20x24xf32, L1>, %b : !tile.buffer<20x40xf32, L1> into %c : !tile.buffer<24x40xf32, L0C> {transpose_a}
    %d = tile.alloc "d" : !tile.buffer<28x24xf32, L1>
    %e = tile.alloc "e" : !tile.buffer<28x40xf32, L1>
    tile.gemm %d : !tile.buffer<28x24xf32, L1>, %e : !tile.buffer<28x40xf32, L1> into %c : !tile.buffer<24x40xf32, L0C> {transpose_a}
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, UB>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a of a gemm in UB; it must lie in L1 (T.alloc_L1), where T.copy brings it from there}}
    tile.gemm %a : !tile.buffer<32x32xf16, UB>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<2048x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<2048x16xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of 2048x16: 16 columns of 2048 rows are more than half of L0A}}
    tile.gemm %a : !tile.buffer<2048x16xf16, L1>, %b : !tile.buffer<16x16xf16, L1> into %c : !tile.buffer<2048x16xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x48xsi8, L1>
    %b = tile.alloc "b" at 32768 : !tile.buffer<48x32xsi8, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: b of a gemm is a tile of 48 rows of int8, which is transposed on its way in squares of 32; give it 64 rows}}
    tile.gemm %a : !tile.buffer<32x48xsi8, L1>, %b : !tile.buffer<48x32xsi8, L1> into %c : !tile.buffer<32x32xsi32, L0C>
  }
  return
}

// -----
// Rows that only the run tells: all columns at once, as high as there are rows, or, not from row 0 on, 16 at a time, as
// high as the tile.
// CHECK-LABEL: func.func @rows_of_the_run
// CHECK: npu.load_l0 {{.*}} size 32 x 32 only(%[[N:.*]], %c32)
// CHECK: npu.mmad {{.*}} into %{{.*}}[%c0] {{.*}} size 32 x 32 x 32 only(%[[N]], %c32, %c32) init(%false) {npu.alone, npu.low_columns}
// CHECK: npu.mmad {{.*}} into %{{.*}}[%c256] {{.*}} size 32 x 16 x 32 only(%[[N]], %c16, %c32)
// CHECK: npu.mmad {{.*}} into %{{.*}}[%c1024] {{.*}} size 32 x 16 x 32 only(%[[N]], %c16, %c32)
func.func @rows_of_the_run(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %d = tile.alloc "d" : !tile.buffer<48x32xf32, L0C>
    tile.gemm %a[0, 0] [%n, 32] : !tile.buffer<32x32xf16, L1>, %a : !tile.buffer<32x32xf16, L1> into %c[0, 0] [%n, 32] : !tile.buffer<32x32xf32, L0C>
    tile.gemm %a[0, 0] [%n, 32] : !tile.buffer<32x32xf16, L1>, %a : !tile.buffer<32x32xf16, L1> into %d[16, 0] [%n, 32] : !tile.buffer<48x32xf32, L0C>
  }
  return
}

// -----
func.func @narrow_sums(%n: index, %first: i1) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of float16 with sums of float16; the cube core multiplies float16, bfloat16 and float32 with sums of float32, int8 with sums of int32}}
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf16, L0C> clear(%first)
  }
  return
}

// -----
// Rows 32 to 63 of a tile of 64: each column of 16 is a product of its own, behind its part of b.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[COLUMN:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[PART:.*]] = arith.constant 1024 : index
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 512 : index
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 1536 : index
// CHECK: npu.load_l0 {{.*}} size 32 x 64
// CHECK: npu.load_l0 {{.*}} at(%[[ZERO]], %[[ZERO]]) to %{{.*}}[%[[ZERO]]] {{.*}} size 64 x 16
// CHECK: npu.load_l0 {{.*}} at(%[[ZERO]], %[[COLUMN]]) to %{{.*}}[%[[PART]]] {{.*}} size 64 x 16
// CHECK: npu.mmad {{.*}} into %{{.*}}[%[[FIRST]]] {{.*}} size 32 x 16 x 64
// CHECK: npu.mmad {{.*}}[%[[PART]]] {{.*}} into %{{.*}}[%[[SECOND]]] {{.*}} size 32 x 16 x 64
func.func @rows(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x64xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<64x32xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    tile.gemm %a : !tile.buffer<32x64xf16, L1>, %b : !tile.buffer<64x32xf16, L1> into %c[32, 0] [32, 32] : !tile.buffer<64x32xf32, L0C>
  }
  return
}

// -----
// A square of int8 is 32 columns wide, and c has 16: 32 of k at a time, of which b's first half is read.
// CHECK-LABEL: func.func @narrow
// CHECK: npu.load_l0 {{.*}} rows 64 size 32 x 32
// CHECK: npu.mmad {{.*}} size 16 x 16 x 32
// CHECK: npu.load_l0 {{.*}} rows 64 size 32 x 32
// CHECK: npu.mmad {{.*}} size 16 x 16 x 32
func.func @narrow(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<16x64xsi8, L1>
    %b = tile.alloc "b" : !tile.buffer<64x16xsi8, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xsi32, L0C>
    tile.gemm %a : !tile.buffer<16x64xsi8, L1>, %b : !tile.buffer<64x16xsi8, L1> into %c : !tile.buffer<16x16xsi32, L0C>
  }
  return
}

// -----
func.func @starts(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<32x32xf16, L1>
    %x = tile.alloc "x" : !tile.buffer<64x64xsi8, L1>
    %y = tile.alloc "y" : !tile.buffer<32x32xsi8, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xf32, L0C>
    %d = tile.alloc "d" : !tile.buffer<64x32xf32, L0C>
    %s = tile.alloc "s" : !tile.buffer<32x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: a of a gemm begins at row 8 of a tile in L1, whose rows come in groups of 16}}
    tile.gemm %a[8, 0] [32, 32] : !tile.buffer<64x64xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: b of a gemm begins at column 8 of a tile in L1, whose columns come in groups of 16}}
    tile.gemm %b : !tile.buffer<32x32xf16, L1>, %a[0, 8] [32, 32] : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
    tile.for %i = %c0 to %c2 step %c1 {
      %eight = arith.muli %i, %c8 : index
      // expected-error@+1 {{unsupported on ascend: a of a gemm begins 8 rows from where it did in the iteration before in a tile in L1, whose rows come in groups of 16}}
      tile.gemm %a[%eight, 0] [32, 32] : !tile.buffer<64x64xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
      %sixteen = arith.muli %i, %c16 : index
      %behind = arith.addi %sixteen, %c8 : index
      // expected-error@+1 {{unsupported on ascend: a of a gemm begins 8 rows behind a multiple of 16 in a tile in L1, whose rows come in groups of 16}}
      tile.gemm %a[%behind, 0] [32, 32] : !tile.buffer<64x64xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
      // Numbers % 64 and the smaller of two are multiples as they are.
      %many = arith.muli %m, %c16 : index
      %rest = arith.remsi %many, %c64 : index
      %least = arith.minsi %rest, %c16 : index
      tile.gemm %a[%least, 0] [32, 32] : !tile.buffer<64x64xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %c : !tile.buffer<32x32xf32, L0C>
    }
    // expected-error@+1 {{unsupported on ascend: b of a gemm begins at row 16 of a tile in L1, whose rows come in groups of 32}}
    tile.gemm %y : !tile.buffer<32x32xsi8, L1>, %x[16, 0] [32, 32] : !tile.buffer<64x64xsi8, L1> into %s : !tile.buffer<32x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: c of a gemm begins at row 8 of a tile in L0C, whose rows come in groups of 16}}
    tile.gemm %b : !tile.buffer<32x32xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %d[8, 0] [32, 32] : !tile.buffer<64x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: c of a gemm is 20 rows of a tile of 64 in L0C, whose rows come in groups of 16}}
    tile.gemm %b[0, 0] [20, 32] : !tile.buffer<32x32xf16, L1>, %b : !tile.buffer<32x32xf16, L1> into %d[0, 0] [20, 32] : !tile.buffer<64x32xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x64xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<64x32xf16, L0B>
    %c = tile.alloc "c" : !tile.buffer<64x32xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: T.mma into 32 rows of a tile of 64 in L0C, whose columns its product would not meet; give the rows a tile of their own, take columns, or use T.gemm_v0}}
    tile.gemm %a : !tile.buffer<32x64xf16, L0A>, %b : !tile.buffer<64x32xf16, L0B> into %c[32, 0] [32, 32] : !tile.buffer<64x32xf32, L0C>
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<32x32xsi16, L1>
    %c = tile.alloc "c" : !tile.buffer<32x32xsi32, L0C>
    // expected-error@+1 {{unsupported on ascend: a gemm of int16 with sums of int32; the cube core multiplies float16, bfloat16 and float32 with sums of float32, int8 with sums of int32}}
    tile.gemm %a : !tile.buffer<32x32xsi16, L1>, %a : !tile.buffer<32x32xsi16, L1> into %c : !tile.buffer<32x32xsi32, L0C>
  }
  return
}

// -----
// What the kernel's own flags may take is not the gemm's: 2 and 3 of the loads, all but one of the turns
// (all steps use the same half), and any between the cube unit and the stores, for which all pipes wait.
// CHECK-LABEL: func.func @events
// CHECK-DAG: %[[FREE:.*]] = arith.constant 4 : index
// CHECK: tile.copy
// CHECK: ascend.set_flag mte2 to mte1, %c0
// CHECK-NEXT: ascend.wait_flag mte2 to mte1, %c0
// CHECK: ascend.set_flag m to mte1, %[[FREE]]
// CHECK-NEXT: ascend.wait_flag m to mte1, %[[FREE]]
// CHECK: npu.mmad
// CHECK-NEXT: ascend.set_flag m to mte1, %[[FREE]]
// CHECK-NEXT: ascend.wait_flag m to mte1, %[[FREE]]
// CHECK: npu.mmad %{{.*}}[%c0]
// CHECK-NEXT: ascend.set_flag m to mte1, %[[FREE]]
// CHECK-NEXT: ascend.wait_flag m to mte1, %[[FREE]]
// CHECK: ascend.pipe_barrier all
func.func @events(%n: index, %any: index, %A: !tile.buffer<64x64xf16, global> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64x512xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<512x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<64x64xf16, L1>
    tile.for %i = %c2 to %c5 step %c1 {
      %odd = arith.andi %i, %c1 : index
      %event = arith.addi %odd, %c2 : index
      ascend.set_flag mte2 to mte1, %event
    }
    tile.for %i = %c0 to %c5 step %c1 {
      %rest = arith.remsi %i, %c3 : index
      ascend.set_flag m to mte1, %rest
    }
    ascend.set_flag m to mte1, %c3
    ascend.set_flag m to mte1, %c5
    ascend.set_flag m to fix, %any
    tile.copy %A : !tile.buffer<64x64xf16, global> to %x : !tile.buffer<64x64xf16, L1>
    tile.gemm %a : !tile.buffer<64x512xf16, L1>, %b : !tile.buffer<512x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
  }
  return
}

// -----
// With no event between the cube unit and its loads, each step stands alone.
// CHECK-LABEL: func.func @barriers
// CHECK: tile.alloc "c"
// CHECK-COUNT-2: ascend.wait_flag
// CHECK: ascend.pipe_barrier all
// CHECK-NEXT: npu.load_l0
// CHECK-NEXT: npu.load_l0
// CHECK-NEXT: ascend.set_flag mte1 to m, %c0
// CHECK-NEXT: ascend.wait_flag mte1 to m, %c0
// CHECK-NEXT: ascend.pipe_barrier m
// CHECK-NEXT: npu.mmad
// CHECK-NEXT: ascend.pipe_barrier all
// CHECK-NEXT: npu.load_l0
func.func @barriers(%n: index, %any: index) {
  tile.launch (%cid) in (%n) npu {
    ascend.set_flag m to mte1, %any
    %a = tile.alloc "a" : !tile.buffer<64x512xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<512x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    tile.gemm %a : !tile.buffer<64x512xf16, L1>, %b : !tile.buffer<512x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
  }
  return
}

// -----
// The kernel's own buffers, 16 KB of L0A at address 8192 and 1 KB of L0B anywhere, leave the rest.
// CHECK-LABEL: func.func @own_buffers
// CHECK-DAG: tile.alloc "l0a" at 24576 {npu.gemm} : !tile.buffer<16x1280xf16, L0A>
// CHECK-DAG: tile.alloc "l0b" at 1024 {npu.gemm} : !tile.buffer<16x2016xf16, L0B>
// CHECK-DAG: %[[HALF:.*]] = arith.constant 10240 : index
// CHECK-DAG: %[[OF_B:.*]] = arith.constant 16128 : index
// CHECK: npu.load_l0 {{.*}} size 64 x 160
// CHECK: npu.load_l0 {{.*}} size 64 x 160
// CHECK: npu.load_l0 {{.*}} to %{{.*}}[%[[HALF]]]
// CHECK: npu.mmad %{{.*}}[%[[HALF]]] {{.*}}, %{{.*}}[%[[OF_B]]]
func.func @own_buffers(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 8192 : !tile.buffer<128x64xf16, L0A>
    %y = tile.alloc "y" : !tile.buffer<16x32xf16, L0B>
    %a = tile.alloc "a" : !tile.buffer<64x512xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<64x512xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    tile.gemm %a : !tile.buffer<64x512xf16, L1>, %b : !tile.buffer<64x512xf16, L1> into %c : !tile.buffer<64x64xf32, L0C> {transpose_b}
  }
  return
}

// -----
// Too little is left: they may share bytes, if the kernel's own is no longer needed.
// CHECK-LABEL: func.func @no_room
// CHECK: tile.alloc "l0a" at 0 {npu.gemm} : !tile.buffer<16x2048xf16, L0A>
func.func @no_room(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<512x64xf16, L0A>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    tile.gemm %a : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c : !tile.buffer<64x64xf32, L0C>
  }
  return
}

// -----
func.func @parts_of_rows(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64x64xf16, L1>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L0A>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, L0B>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    // expected-note@+1 {{the copy is here}}
    tile.copy %x : !tile.buffer<64x64xf16, L1> to %a : !tile.buffer<64x64xf16, L0A>
    // expected-note@+1 {{the copy is here}}
    tile.copy %x : !tile.buffer<64x64xf16, L1> to %b : !tile.buffer<64x64xf16, L0B>
    // expected-error@+1 {{unsupported on ascend: a of a gemm is 32 columns of a tile in L0A that a copy fills with 64, so that its rows do not meet; copy these columns only}}
    tile.gemm %a[0, 0] [64, 32] : !tile.buffer<64x64xf16, L0A>, %b[0, 0] [32, 64] : !tile.buffer<64x64xf16, L0B> into %c : !tile.buffer<64x64xf32, L0C>
    // expected-error@+1 {{unsupported on ascend: b of a gemm is 32 columns of a tile in L0B that a copy fills with 64, so that its rows do not meet; copy these columns only}}
    tile.gemm %a : !tile.buffer<64x64xf16, L0A>, %b[0, 0] [64, 32] : !tile.buffer<64x64xf16, L0B> into %c[0, 0] [64, 32] : !tile.buffer<64x64xf32, L0C>
  }
  return
}

// -----
// Parts that may leave their tiles are checked before.
// CHECK-LABEL: func.func @checked_parts
// CHECK-SAME: %[[O:[^:]*]]: index, %[[M:[^:]*]]: index)
// CHECK: npu.check_part "a" [64, 64] part(%[[O]], %c16, %c0, %c64) on cube
// CHECK-NEXT: npu.check_part "c" [64, 64] written part(%[[M]], %c16, %c0, %c64) on cube
// CHECK-NOT: npu.check_part
func.func @checked_parts(%o: index, %m: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, L0C>
    tile.gemm %a[%o, 0] [16, 64] : !tile.buffer<64x64xf16, L1>, %a : !tile.buffer<64x64xf16, L1> into %c[%m, 0] [16, 64] : !tile.buffer<64x64xf32, L0C>
  }
  return
}
