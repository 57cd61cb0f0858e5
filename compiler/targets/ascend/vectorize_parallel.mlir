// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-vectorize-parallel --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @softmax_part
func.func @softmax_part(%n: index, %s: f32) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<16x40xf32, UB>
    // CHECK: %[[M:.*]] = tile.alloc "m"
    %m = tile.alloc "m" : !tile.buffer<16xf32, UB>
    // CHECK: npu.row_binary sub %[[D:.*]][%c0] {{.*}}, %[[X]][%c0] {{.*}}, %[[M]][%c0] {{.*}} of 512 size 16 x 40
    // CHECK: npu.scalar mul %[[E:.*]][%c0] {{.*}}, %[[D]][%c0] {{.*}}, %{{.*}} count(%c640)
    // The last operation writes where the store would.
    // CHECK: npu.unary exp %[[X]][%c0] {{.*}}, %[[E]][%c0]
    // CHECK-NOT: tile.parallel
    tile.parallel (%i, %j) in [16, 40] {
      %v = tile.load %x[%i, %j] : !tile.buffer<16x40xf32, UB>
      %r = tile.load %m[%i] : !tile.buffer<16xf32, UB>
      %d = arith.subf %v, %r : f32
      %e = arith.mulf %d, %s : f32
      %p = math.exp %e : f32
      tile.store %p, %x[%i, %j] : !tile.buffer<16x40xf32, UB>
    }
  }
  return
}

// -----
// CHECK-LABEL: func.func @mixed
func.func @mixed(%n: index, %s: f32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<2x64xf32, UB>
    %h = tile.alloc "h" : !tile.buffer<64xf16, UB>
    %k = tile.alloc "k" : !tile.buffer<64xf32, UB>
    // Row 1 of x, and a scalar on the left of a difference.
    // CHECK: npu.duplicate %[[T:.*]][%c0] : !tile.buffer<64xf32, UB>, %arg1 count(%c64)
    // CHECK: npu.binary sub %[[D:.*]][%c0] {{.*}}, %[[T]][%c0] {{.*}}, %{{.*}}[%c64] {{.*}} count(%c64)
    // CHECK: npu.scalar max %[[R:.*]][%c0] {{.*}}, %[[D]]
    // CHECK: npu.cast %{{.*}} rint count(%c64)
    tile.parallel (%i) in [64] {
      %v = tile.load %x[%c1, %i] : !tile.buffer<2x64xf32, UB>
      %d = arith.subf %s, %v : f32
      %r = arith.maximumf %d, %zero : f32
      %t = arith.truncf %r : f32 to f16
      tile.store %t, %h[%i] : !tile.buffer<64xf16, UB>
    }
    // expected-remark@+1 {{this nest runs element by element on the scalar unit: it reads a buffer at other places than it writes}}
    tile.parallel (%i) in [32] {
      // CHECK: tile.for
      // CHECK: tile.load
      %two = arith.constant 2 : index
      %at = arith.muli %i, %two : index
      %v = tile.load %k[%at] : !tile.buffer<64xf32, UB>
      tile.store %v, %k[%i] : !tile.buffer<64xf32, UB>
    }
  }
  return
}

// -----
// A choice is a mask of bits and a selection; what is compared comes in repeats of 256 bytes.
// CHECK-LABEL: func.func @choices
func.func @choices(%n: index, %s: f32) {
  %zero = arith.constant 0.0 : f32
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<128xf32, UB>
    // CHECK: %[[K:.*]] = tile.alloc "k"
    %k = tile.alloc "k" : !tile.buffer<40xsi32, UB>
    // CHECK: npu.compare_scalar gt %[[M:.*]][%c0] : !tile.buffer<32xui8, UB>, %[[X]][%c0] {{.*}} count(%c128)
    // CHECK: npu.select_scalar %[[X]][%c0] {{.*}}, %[[M]][%c0] {{.*}}, %[[X]][%c0] {{.*}} count(%c128)
    tile.parallel (%i) in [128] {
      %v = tile.load %x[%i] : !tile.buffer<128xf32, UB>
      %c = arith.cmpf olt, %zero, %v : f32
      %r = arith.select %c, %v, %s : f32
      tile.store %r, %x[%i] : !tile.buffer<128xf32, UB>
    }
    // The loop's own number; integers are compared by their minimum, with zeros behind the 40.
    // CHECK: npu.sequence %[[I:.*]][%c0] : !tile.buffer<40xsi32, UB>
    // CHECK: npu.binary min %[[L:.*]][%c0] {{.*}}, %[[I]][%c0] {{.*}}, %[[K]][%c0] {{.*}} count(%c40)
    // CHECK: npu.duplicate {{.*}} count(%c64)
    // CHECK: npu.compare eq {{.*}} count(%c64)
    // CHECK: npu.unary not
    // CHECK: npu.select
    tile.parallel (%i) in [40] {
      %v = tile.load %k[%i] : !tile.buffer<40xsi32, UB>
      %number = arith.index_cast %i : index to i32
      %c = arith.cmpi slt, %number, %v : i32
      %r = arith.select %c, %number, %v : i32
      tile.store %r, %k[%i] : !tile.buffer<40xsi32, UB>
    }
  }
  return
}

// -----
// The same row, computed twice.
// CHECK-LABEL: func.func @same_row
func.func @same_row(%n: index) {
  %c2 = arith.constant 2 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<2x64xf32, UB>
    %from = arith.remsi %cid, %c2 : index
    %to = arith.remsi %cid, %c2 : index
    // CHECK: npu.unary abs %[[X]][%[[AT:.*]]] {{.*}}, %[[X]][%[[AT]]]
    tile.parallel (%j) in [64] {
      %v = tile.load %x[%from, %j] : !tile.buffer<2x64xf32, UB>
      %a = math.absf %v : f32
      tile.store %a, %x[%to, %j] : !tile.buffer<2x64xf32, UB>
    }
  }
  return
}

// -----
// Half of each row: row by row. A part that starts at a block: as it is.
// CHECK-LABEL: func.func @parts
func.func @parts(%n: index) {
  %c8 = arith.constant 8 : index
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<4x64xf32, UB>
    // CHECK: %[[Y:.*]] = tile.alloc "y"
    %y = tile.alloc "y" : !tile.buffer<4x64xf32, UB>
    // CHECK: tile.for %[[I:.*]] = %c0 to %c4
    // CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c64
    // CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %c8
    // CHECK: npu.unary abs %[[Y]][%[[ROW]]] {{.*}}, %[[X]][%[[AT]]] {{.*}} count(%c32)
    tile.parallel (%i, %j) in [4, 32] {
      %at = arith.addi %j, %c8 : index
      %v = tile.load %x[%i, %at] : !tile.buffer<4x64xf32, UB>
      %a = math.absf %v : f32
      tile.store %a, %y[%i, %j] : !tile.buffer<4x64xf32, UB>
    }
    // expected-remark@+1 {{this nest runs element by element on the scalar unit: it begins within a block of 32 bytes of a buffer}}
    tile.parallel (%j) in [32] {
      %at = arith.addi %j, %c3 : index
      %v = tile.load %x[%c3, %at] : !tile.buffer<4x64xf32, UB>
      %a = math.absf %v : f32
      tile.store %a, %y[%c3, %j] : !tile.buffer<4x64xf32, UB>
    }
  }
  return
}

// -----
// One statement has no instruction: only that one runs element by element.
// CHECK-LABEL: func.func @statements
func.func @statements(%n: index) {
  %c3 = arith.constant 3 : index
  %c63 = arith.constant 63 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    // CHECK: %[[Y:.*]] = tile.alloc "y"
    // CHECK: %[[Z:.*]] = tile.alloc "z"
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    %z = tile.alloc "z" : !tile.buffer<64xf32, UB>
    // CHECK: npu.unary abs %[[Y]][%c0] {{.*}}, %[[X]][%c0] {{.*}} count(%c64)
    // CHECK: tile.for
    // CHECK: tile.store %{{.*}}, %[[Z]]
    // CHECK: npu.unary exp %[[X]][%c0] {{.*}}, %[[Y]][%c0] {{.*}} count(%c64)
    // expected-remark@+1 {{this nest runs element by element on the scalar unit: it walks through a buffer in steps}}
    tile.parallel (%i) in [64] {
      %v = tile.load %x[%i] : !tile.buffer<64xf32, UB>
      %a = math.absf %v : f32
      tile.store %a, %y[%i] : !tile.buffer<64xf32, UB>
      %back = arith.subi %c63, %i : index
      %w = tile.load %y[%back] : !tile.buffer<64xf32, UB>
      tile.store %w, %z[%i] : !tile.buffer<64xf32, UB>
      %u = tile.load %y[%i] : !tile.buffer<64xf32, UB>
      %e = math.exp %u : f32
      tile.store %e, %x[%i] : !tile.buffer<64xf32, UB>
    }
  }
  return
}

// -----
// The second statement needs what the first one overwrites: they stay together.
// CHECK-LABEL: func.func @exchanged
func.func @exchanged(%n: index) {
  %c63 = arith.constant 63 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    // CHECK: tile.for
    // CHECK: tile.store
    // CHECK: tile.store
    // expected-remark@+1 {{this nest runs element by element on the scalar unit}}
    tile.parallel (%i) in [64] {
      %back = arith.subi %c63, %i : index
      %v = tile.load %x[%i] : !tile.buffer<64xf32, UB>
      %w = tile.load %y[%back] : !tile.buffer<64xf32, UB>
      tile.store %w, %x[%i] : !tile.buffer<64xf32, UB>
      tile.store %v, %y[%back] : !tile.buffer<64xf32, UB>
    }
  }
  return
}

// -----
// A function of T.tile on what begins within a block of 32 bytes is refused, here in all rows.
func.func @named(%n: index) {
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<4x64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<4x64xf32, UB>
    // expected-error@+1 {{unsupported on ascend: an operand of T.tile.abs begins 12 bytes behind the start of a block of UB, but the vector unit takes blocks of 32 bytes; a T.Parallel loop can do without}}
    tile.parallel (%i, %j) in [4, 32] attributes {function = "abs"} {
      %at = arith.addi %j, %c3 : index
      %v = tile.load %x[%i, %at] : !tile.buffer<4x64xf32, UB>
      %a = math.absf %v : f32
      tile.store %a, %y[%i, %j] : !tile.buffer<4x64xf32, UB>
    }
  }
  return
}

// -----
// The scalar unit has no logarithm: one element of UB goes to the vector unit and back.
// CHECK-LABEL: func.func @function_of_a_number
// CHECK: %[[T:.*]] = tile.alloc "number" {ascend.temporary} : !tile.buffer<1xf32, UB>
// CHECK: tile.store %{{.*}}, %[[T]]
// CHECK: npu.unary ln %[[T]]
// CHECK: %[[Y:.*]] = tile.load %[[T]]
// CHECK: tile.store %[[Y]]
func.func @function_of_a_number(%s: f32, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8xf32, UB>
    %y = math.log %s : f32
    tile.store %y, %x[%c0] : !tile.buffer<8xf32, UB>
  }
  return
}

// -----
func.func @function_of_a_wide_number(%s: f64, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<8xf64, UB>
    // expected-error@+1 {{unsupported on ascend: this function of a single number: the vector unit has no exp of float64}}
    %y = math.exp %s : f64
    tile.store %y, %x[%c0] : !tile.buffer<8xf64, UB>
  }
  return
}

// -----

// The first two of three dims lie as one in x and y: they are the rows of one instruction.
// CHECK-LABEL: func.func @joined_dims
func.func @joined_dims(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<4x6x40xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<4x6x40xf32, UB>
    %m = tile.alloc "m" : !tile.buffer<4x6xf32, UB>
    // CHECK: %[[V:.*]] = tile.view %[[X]] : !tile.buffer<4x6x40xf32, UB> to !tile.buffer<24x40xf32, UB>
    // CHECK: npu.unary exp %{{.*}}[%c0] {{.*}}, %[[V]][%c0] {{.*}} count(%c960)
    tile.parallel (%i, %j, %k) in [4, 6, 40] {
      %v = tile.load %x[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
      %e = math.exp %v : f32
      tile.store %e, %y[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
    }
    // Rows of m are 8 numbers apart.
    // CHECK: tile.for
    // CHECK: npu.row_binary sub {{.*}} size 6 x 40
    tile.parallel (%i, %j, %k) in [4, 6, 40] {
      %v = tile.load %x[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
      %r = tile.load %m[%i, %j] : !tile.buffer<4x6xf32, UB>
      %d = arith.subf %v, %r : f32
      tile.store %d, %y[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
    }
  }
  return
}

// -----

// Views that nests make go before them, also one of another.
// CHECK-LABEL: func.func @views_in_nests
func.func @views_in_nests(%n: index) {
  %c6 = arith.constant 6 : index
  tile.launch (%cid) in (%n) npu {
    // CHECK: %[[X:.*]] = tile.alloc "x"
    %x = tile.alloc "x" : !tile.buffer<4x6x40xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<24x40xf32, UB>
    %w = tile.alloc "w" : !tile.buffer<4x6x40xf32, UB>
    // CHECK: %[[V:.*]] = tile.view %[[X]] : !tile.buffer<4x6x40xf32, UB> to !tile.buffer<24x40xf32, UB>
    // CHECK: npu.unary exp %{{.*}}[%c0] {{.*}}, %[[V]][%c0] {{.*}} count(%c960)
    tile.parallel (%i, %k) in [24, 40] {
      %z = tile.view %x : !tile.buffer<4x6x40xf32, UB> to !tile.buffer<24x40xf32, UB>
      %v = tile.load %z[%i, %k] : !tile.buffer<24x40xf32, UB>
      %e = math.exp %v : f32
      tile.store %e, %y[%i, %k] : !tile.buffer<24x40xf32, UB>
    }
    // CHECK: npu.unary ln %{{.*}} count(%c960)
    tile.parallel (%i, %j, %k) in [4, 6, 40] {
      %f = tile.view %x : !tile.buffer<4x6x40xf32, UB> to !tile.buffer<960xf32, UB>
      %z = tile.view %f : !tile.buffer<960xf32, UB> to !tile.buffer<4x6x40xf32, UB>
      %v = tile.load %z[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
      %e = math.log %v : f32
      tile.store %e, %w[%i, %j, %k] : !tile.buffer<4x6x40xf32, UB>
    }
    // CHECK: tile.for
    // CHECK: npu.unary sqrt %{{.*}} count(%c240)
    tile.parallel (%i, %j, %k) in [4, 6, 40] {
      %z = tile.view %x : !tile.buffer<4x6x40xf32, UB> to !tile.buffer<24x40xf32, UB>
      %a = arith.muli %i, %c6 : index
      %b = arith.addi %a, %j : index
      %v = tile.load %z[%b, %k] : !tile.buffer<24x40xf32, UB>
      %e = math.sqrt %v : f32
      tile.store %e, %y[%b, %k] : !tile.buffer<24x40xf32, UB>
    }
  }
  return
}

// -----
// A choice between bytes by a mask: float16 holds them all.
// CHECK-LABEL: func.func @select_bytes
// CHECK: npu.cast %[[FIRST:.*]][{{.*}} : !tile.buffer<256xf16, UB>, %[[D:.*]][{{.*}} : !tile.buffer<256xsi8, UB> none
// CHECK: npu.cast %[[SECOND:.*]][{{.*}} : !tile.buffer<256xf16, UB>, {{.*}} : !tile.buffer<256xsi8, UB> none
// CHECK: npu.select %[[MADE:.*]][{{.*}}, %{{.*}}, %[[FIRST]][{{.*}}, %[[SECOND]][
// CHECK: npu.cast %[[D]][{{.*}} : !tile.buffer<256xsi8, UB>, %[[MADE]]
// CHECK-NOT: tile.for
func.func @select_bytes() {
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  tile.launch (%cid) in (%c1) npu {
    %d = tile.alloc "d" : !tile.buffer<256xsi8, UB>
    %e = tile.alloc "e" : !tile.buffer<256xsi8, UB>
    %m = tile.alloc "m" : !tile.buffer<32xui8, UB>
    tile.parallel (%i) in [256] attributes {function = "select", mode = "VSEL_TENSOR_TENSOR_MODE"} {
      %at = arith.shrsi %i, %c3 : index
      %byte = tile.load %m[%at] : !tile.buffer<32xui8, UB>
      %bits = arith.extui %byte : i8 to i32
      %number = arith.andi %i, %c7 : index
      %by = arith.index_cast %number : index to i32
      %first = arith.shrsi %bits, %by : i32
      %bit = arith.andi %first, %c1_i32 : i32
      %isSet = arith.cmpi ne, %bit, %c0_i32 : i32
      %a = tile.load %d[%i] : !tile.buffer<256xsi8, UB>
      %b = tile.load %e[%i] : !tile.buffer<256xsi8, UB>
      %chosen = arith.select %isSet, %a, %b : i8
      tile.store %chosen, %d[%i] : !tile.buffer<256xsi8, UB>
    }
  }
  return
}

// -----

// A branch is a choice between its number and what was there, where that is there; the number stands on the right.
// CHECK-LABEL: func.func @branch
// CHECK: npu.load_ub
// CHECK-NOT: tile.for
// CHECK: npu.select_scalar %[[S:.*]][{{.*}}, %[[S]][
func.func @branch(%n: index, %A: !tile.buffer<8x64xf32, global>) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %s = tile.alloc "s" : !tile.buffer<8x64xf32, UB>
    npu.load_ub %A[0, 0] [8, 64] : !tile.buffer<8x64xf32, global> to %s[%c0] : !tile.buffer<8x64xf32, UB> pitch 64
    tile.parallel (%i, %j) in [8, 64] {
      %low = arith.constant -100.0 : f32
      %less = arith.cmpi slt, %i, %j : index
      scf.if %less {
        tile.store %low, %s[%i, %j] : !tile.buffer<8x64xf32, UB>
      }
    }
  }
  return
}

// -----

// So it is of a tile that nothing has written: what no branch takes stays as it is.
// CHECK-LABEL: func.func @branch_of_nothing
// CHECK: npu.select
// CHECK-NOT: scf.if
func.func @branch_of_nothing(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %s = tile.alloc "s" : !tile.buffer<8x64xf32, UB>
    tile.parallel (%i, %j) in [8, 64] {
      %low = arith.constant -100.0 : f32
      %less = arith.cmpi slt, %i, %j : index
      scf.if %less {
        tile.store %low, %s[%i, %j] : !tile.buffer<8x64xf32, UB>
      }
    }
  }
  return
}

// -----
// Parts of functions on tiles that may leave the tile are checked before; those of other nests are what the nest takes.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[O:[^:]*]]: index, %[[N:[^:]*]]: index)
// CHECK: %[[NEXT:.*]] = arith.addi %[[O]], %c8
// CHECK: npu.check_part "x" [16, 64] part(%[[O]], %c3, %c0, %c64) on vector
// CHECK-NEXT: npu.check_part "x" [16, 64] written part(%[[O]], %c3, %c0, %c64) on vector
// CHECK-NOT: npu.check_part
// CHECK: npu.scalar add
// CHECK: npu.check_part "y" [64] part(%[[NEXT]], %[[N]]) on vector
// CHECK: npu.check_part "x" [16, 64] written part(%[[O]], %c1, %c0, %[[N]]) on vector
// CHECK: tile.for
// CHECK-NOT: npu.check_part
func.func @parts(%o: index, %n: index) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = arith.constant 2.0 : f32
  %next = arith.addi %o, %c8 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<64xf32, UB>
    tile.parallel (%i, %j) in [3, 64] attributes {function = "add"} {
      %at = arith.addi %o, %i : index
      %v = tile.load %x[%at, %j] : !tile.buffer<16x64xf32, UB>
      %w = arith.addf %v, %s : f32
      tile.store %w, %x[%at, %j] : !tile.buffer<16x64xf32, UB>
    }
    // expected-remark@+1 {{this nest runs element by element on the scalar unit: its extent is known at run time only}}
    tile.parallel (%j) in [%n] attributes {function = "exp"} {
      %at = arith.addi %next, %j : index
      %v = tile.load %y[%at] : !tile.buffer<64xf32, UB>
      tile.store %v, %x[%o, %j] : !tile.buffer<16x64xf32, UB>
    }
    tile.parallel (%i, %j) in [3, 64] {
      %at = arith.addi %o, %i : index
      tile.store %s, %x[%at, %j] : !tile.buffer<16x64xf32, UB>
    }
  }
  return
}
