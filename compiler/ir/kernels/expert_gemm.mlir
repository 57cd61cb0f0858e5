// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// The Expert GEMM of TileLang-Ascend: the user names the memories and the barriers.

// CHECK-LABEL: func.func @matmul
// CHECK: tile.launch (%{{.*}}) in (%{{.*}}) npu {
// CHECK: tile.alloc "C_L0" : !tile.buffer<128x256xf32, L0C>
// CHECK: ascend.pipe_barrier all
// CHECK: tile.gemm {{.*}} into %{{.*}} : !tile.buffer<128x256xf32, L0C> clear(%{{.*}})
func.func @matmul(%A: !tile.buffer<1024x1024xf16, global> {tile.name = "A"},
                  %B: !tile.buffer<1024x1024xf16, global> {tile.name = "B"},
                  %C: !tile.buffer<1024x1024xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  tile.launch (%cid) in (%c32) npu {
    %bx = arith.floordivsi %cid, %c4 : index
    %by = arith.remsi %cid, %c4 : index
    %A_L1 = tile.alloc "A_L1" : !tile.buffer<128x64xf16, L1>
    %B_L1 = tile.alloc "B_L1" : !tile.buffer<64x256xf16, L1>
    %C_L0 = tile.alloc "C_L0" : !tile.buffer<128x256xf32, L0C>
    %m = arith.muli %bx, %c128 : index
    %n = arith.muli %by, %c256 : index
    tile.for %k = %c0 to %c16 step %c1 {
      %kk = arith.muli %k, %c64 : index
      tile.copy %A[%m, %kk] [128, 64] : !tile.buffer<1024x1024xf16, global>
        to %A_L1 : !tile.buffer<128x64xf16, L1>
      tile.copy %B[%kk, %n] [64, 256] : !tile.buffer<1024x1024xf16, global>
        to %B_L1 : !tile.buffer<64x256xf16, L1>
      ascend.pipe_barrier all
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm %A_L1 : !tile.buffer<128x64xf16, L1>, %B_L1 : !tile.buffer<64x256xf16, L1>
        into %C_L0 : !tile.buffer<128x256xf32, L0C> clear(%first)
      ascend.pipe_barrier all
    }
    tile.copy %C_L0 : !tile.buffer<128x256xf32, L0C>
      to %C[%m, %n] [128, 256] : !tile.buffer<1024x1024xf32, global>
  }
  return
}
