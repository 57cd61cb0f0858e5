// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// A GEMM with T.ws: warp group 0 fetches tiles by TMA into two stages, warp group 1 computes. `full` counts the
// bytes of a stage and one arrival, `empty` the 128 readers of it.

// CHECK-LABEL: func.func @gemm
// CHECK: cuda.alloc_barriers [1, 1] : !cuda.barriers<2>
// CHECK: cuda.warp_groups [0] {
// CHECK: cuda.async_copy {{.*}} barrier %{{.*}}[%{{.*}}] : !cuda.barriers<2> bulk
// CHECK: cuda.warp_groups [1] {
// CHECK: cuda.barrier_wait %{{.*}}[%{{.*}}], %{{.*}} : !cuda.barriers<2>
func.func @gemm(%A: !tile.buffer<4096x4096xf16, global> {tile.name = "A"},
                %B: !tile.buffer<4096x4096xf16, global> {tile.name = "B"},
                %C: !tile.buffer<4096x4096xf16, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx, %by) in (%c32, %c32) threads(256) {
    %A_shared = tile.alloc "A_shared" : !tile.buffer<2x128x64xf16, shared>
    %B_shared = tile.alloc "B_shared" : !tile.buffer<2x64x128xf16, shared>
    %C_local = tile.alloc "C_local" : !tile.buffer<128x128xf32, fragment>
    %full = cuda.alloc_barriers [1, 1] : !cuda.barriers<2>
    %empty = cuda.alloc_barriers [128, 128] : !cuda.barriers<2>
    %m = arith.muli %by, %c128 : index
    %n = arith.muli %bx, %c128 : index
    cuda.warp_groups [0] {
      cuda.set_max_registers 24
      %tx = tile.thread_id 0
      %leads = arith.cmpi eq, %tx, %c0 : index
      tile.for %k = %c0 to %c64 step %c1 {
        %stage = arith.remsi %k, %c2 : index
        %round = arith.divsi %k, %c2 : index
        %odd = arith.remsi %round, %c2 : index
        %even = arith.subi %c1, %odd : index
        %parity = arith.index_cast %even : index to i32
        cuda.barrier_wait %empty[%stage], %parity : !cuda.barriers<2>
        scf.if %leads {
          %bytes = arith.constant 32768 : i32
          cuda.barrier_expect %full[%stage], %bytes : !cuda.barriers<2>
          %kk = arith.muli %k, %c64 : index
          cuda.async_copy %A[%m, %kk] [128, 64] : !tile.buffer<4096x4096xf16, global>
            to %A_shared[%stage, 0, 0] [1, 128, 64] : !tile.buffer<2x128x64xf16, shared>
            barrier %full[%stage] : !cuda.barriers<2> bulk
          cuda.async_copy %B[%kk, %n] [64, 128] : !tile.buffer<4096x4096xf16, global>
            to %B_shared[%stage, 0, 0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared>
            barrier %full[%stage] : !cuda.barriers<2> bulk
          cuda.barrier_arrive %full[%stage] : !cuda.barriers<2>
        }
      }
    }
    cuda.warp_groups [1] {
      cuda.set_max_registers 240
      tile.fill %C_local : !tile.buffer<128x128xf32, fragment> with %zero : f32
      tile.for %k = %c0 to %c64 step %c1 {
        %stage = arith.remsi %k, %c2 : index
        %round = arith.divsi %k, %c2 : index
        %odd = arith.remsi %round, %c2 : index
        %parity = arith.index_cast %odd : index to i32
        cuda.barrier_wait %full[%stage], %parity : !cuda.barriers<2>
        tile.gemm %A_shared[%stage, 0, 0] [1, 128, 64] : !tile.buffer<2x128x64xf16, shared>,
          %B_shared[%stage, 0, 0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared>
          into %C_local : !tile.buffer<128x128xf32, fragment> policy(full_row)
        cuda.barrier_arrive %empty[%stage] : !cuda.barriers<2>
      }
      tile.copy %C_local : !tile.buffer<128x128xf32, fragment>
        to %C[%m, %n] [128, 128] : !tile.buffer<4096x4096xf16, global>
    }
  }
  return
}
