// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-expand-calls --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @calls
func.func @calls(%A: !tile.buffer<64x10xf32, global>, %n: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<4x10xf32, UB>
    // Nothing is known of it: barriers of all pipes. Rows of 10 lie 16 apart, so element 12 is 18.
    // CHECK: ascend.scope vector {
    // CHECK-NEXT: ascend.pipe_barrier all {ascend.why = "nothing is known of what 'twice' (line {{[0-9]+}}) queues"}
    // CHECK: npu.call "twice"(%[[X:.*]], %arg2 : {{.*}}) offsets[%c18] bytes [184] access ["rw"] pipe all on vector
    // CHECK: ascend.pipe_barrier all
    ascend.call "twice"(%x, %c12, %s) ["rw", "value"] : !tile.buffer<4x10xf32, UB>, index, f32
    // An offset that is known at run time only reaches up to the end of the buffer.
    // CHECK: %[[ROW:.*]] = arith.divsi %arg1, %c10
    // CHECK: %[[REST:.*]] = arith.remsi %arg1, %c10
    // CHECK: %[[START:.*]] = arith.muli %[[ROW]], %c16
    // CHECK: %[[AT:.*]] = arith.addi %[[START]], %[[REST]]
    // CHECK-NOT: pipe_barrier
    // CHECK: npu.call "AscendC::Gelu"(%[[X]], %[[X]] : {{.*}}) offsets[%c0, %[[AT]]] bytes [256, -9223372036854775808] access ["w", "r"] pipe v on vector
    ascend.call "AscendC::Gelu"(%x, %c0, %x, %n) ["w", "r"] : !tile.buffer<4x10xf32, UB>, index, !tile.buffer<4x10xf32, UB>, index
    // How far it goes counts where the elements lie side by side: in a row, or in rows without gaps.
    %y = tile.alloc "y" : !tile.buffer<4x16xf32, UB>
    // CHECK: npu.call "f"(%[[X]], %{{.*}}) {{.*}} access ["r", "w"] pipe all on vector {rows = array<i64: 1, 10, 10, 1, 32, 32>}
    ascend.call "f"(%x, %c0, %y, %n) ["r", "w"] {rows = array<i64: 1, 10, 10, 1, 32, 32>} : !tile.buffer<4x10xf32, UB>, index, !tile.buffer<4x16xf32, UB>, index
    // CHECK: npu.call "f"(%[[X]], %arg0 {{.*}} access ["r", "w"] pipe all on vector {rows = array<i64: 0, 20, 20, 0, 32, 32>}
    ascend.call "f"(%x, %c0, %A, %n) ["r", "w"] {rows = array<i64: 1, 20, 20, 1, 32, 32>} : !tile.buffer<4x10xf32, UB>, index, !tile.buffer<64x10xf32, global>, index
    %l = tile.alloc "l" : !tile.buffer<2x16x32xf16, L1>
    %c512 = arith.constant 512 : index
    // CHECK: npu.call "AscendC::Load"(%arg0, %{{.*}}) offsets[%c12, %c512] bytes [-9223372036854775808, 1024] access ["r", "w"] pipe all on cube
    ascend.call "AscendC::Load"(%A, %c12, %l, %c512) ["r", "w"] : !tile.buffer<64x10xf32, global>, index, !tile.buffer<2x16x32xf16, L1>, index
  }
  return
}

// -----
// What is printed, the scalar unit reads: no barriers.
// CHECK-LABEL: func.func @prints
// CHECK-NOT: pipe_barrier
// CHECK: npu.call "AscendC::DumpTensor"({{.*}} access ["r"] pipe s on vector
// CHECK-NOT: pipe_barrier
// CHECK: return
func.func @prints(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %y = tile.alloc "y" : !tile.buffer<4x16xf32, UB>
    tile.print "7", %y : !tile.buffer<4x16xf32, UB>
  }
  return
}

// -----
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<64xf32, UB>
    %y = tile.alloc "y" : !tile.buffer<16x16xf16, L1>
    // expected-error@+1 {{unsupported on ascend: the call of 'mine' has tiles of the cube core and of the vector cores}}
    ascend.call "mine"(%x, %c0, %y, %c0) ["r", "w"] : !tile.buffer<64xf32, UB>, index, !tile.buffer<16x16xf16, L1>, index
  }
  return
}

// -----
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<4xf32, local>
    // expected-error@+1 {{unsupported on ascend: the call of 'mine' takes tiles and dense tensors}}
    ascend.call "mine"(%x, %c0) ["r"] : !tile.buffer<4xf32, local>, index
  }
  return
}

// -----
func.func @f(%n: index) {
  %c30 = arith.constant 30 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" : !tile.buffer<2x10x16xf16, L1>
    // expected-error@+1 {{unsupported on ascend: a pointer to element 30 of a tile in L1, where whole tiles lie in fractals of 16 rows}}
    ascend.call "mine"(%x, %c30) ["r"] : !tile.buffer<2x10x16xf16, L1>, index
  }
  return
}
