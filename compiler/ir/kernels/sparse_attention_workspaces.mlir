// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// Sparse FlashAttention on an NPU, with workspaces, vid and cross-core flags. A block is one query position and 64
// heads; each vector agent has 32 of these heads and gathers 32 of the 64 keys of a tile. Keys whose index is
// negative or after the query contribute nothing.

// CHECK-LABEL: func.func @sparse_attention
// CHECK: %[[VID:.*]] = ascend.vector_id
// CHECK: tile.alloc "acc_s_l0c" at 0 : !tile.buffer<64x64xf32, L0C>
// CHECK: ascend.scope cube {
// CHECK: ascend.wait_cross_flag
// CHECK: ascend.set_cross_flag fix, %{{.*}}
// CHECK: ascend.scope vector {
// CHECK: tile.reduce max %{{.*}} : !tile.buffer<32x64xf32, UB> dim 1 into %{{.*}} : !tile.buffer<32xf32, UB>
func.func @sparse_attention(
    %Q: !tile.buffer<1x128x128x576xf16, global> {tile.name = "Q"},
    %KV: !tile.buffer<1x32768x1x576xf16, global> {tile.name = "KV"},
    %Indices: !tile.buffer<1x128x1x2048xsi32, global> {tile.name = "Indices"},
    %Output: !tile.buffer<1x128x128x512xf16, global> {tile.name = "Output"},
    %ws_kv: !tile.buffer<256x64x512xf16, global> {tile.name = "workspace_1"},
    %ws_kv_tail: !tile.buffer<256x64x64xf16, global> {tile.name = "workspace_2"},
    %ws_s: !tile.buffer<256x64x64xf32, global> {tile.name = "workspace_3"},
    %ws_p: !tile.buffer<256x64x64xf16, global> {tile.name = "workspace_4"},
    %ws_o: !tile.buffer<256x64x512xf32, global> {tile.name = "workspace_5"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %q_start = arith.constant 28672 : index
  %none = arith.constant 0xFF800000 : f32
  %lowest = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  %sm_scale = arith.constant 0.0416666679 : f32
  tile.launch (%cid) in (%c256) npu {
    %s = arith.floordivsi %cid, %c2 : index
    %half = arith.remsi %cid, %c2 : index
    %h0 = arith.muli %half, %c64 : index
    %vid = ascend.vector_id
    %v0 = arith.muli %vid, %c32 : index

    %q_l1 = tile.alloc "q_l1" : !tile.buffer<64x512xf16, L1>
    %q_tail_l1 = tile.alloc "q_tail_l1" : !tile.buffer<64x64xf16, L1>
    %kv_l1 = tile.alloc "kv_l1" : !tile.buffer<64x512xf16, L1>
    %kv_tail_l1 = tile.alloc "kv_tail_l1" : !tile.buffer<64x64xf16, L1>
    %p_l1 = tile.alloc "acc_s_l1" : !tile.buffer<64x64xf16, L1>
    // The two results never live at once; together they would not fit.
    %s_l0c = tile.alloc "acc_s_l0c" at 0 : !tile.buffer<64x64xf32, L0C>
    %o_l0c = tile.alloc "acc_o_l0c" at 0 : !tile.buffer<64x512xf32, L0C>

    %indices = tile.alloc "indices_ub" : !tile.buffer<64xsi32, UB>
    %kv = tile.alloc "kv_ub" : !tile.buffer<512xf16, UB>
    %kv_tail = tile.alloc "kv_tail_ub" : !tile.buffer<64xf16, UB>
    %acc_s = tile.alloc "acc_s_ub" : !tile.buffer<32x64xf32, UB>
    %acc_p = tile.alloc "acc_s_half" : !tile.buffer<32x64xf16, UB>
    %acc_o = tile.alloc "acc_o" : !tile.buffer<32x512xf32, UB>
    %part_o = tile.alloc "acc_o_ub" : !tile.buffer<32x512xf32, UB>
    %out = tile.alloc "acc_o_half" : !tile.buffer<32x512xf16, UB>
    %m_i = tile.alloc "m_i" : !tile.buffer<32xf32, UB>
    %m_prev = tile.alloc "m_i_prev" : !tile.buffer<32xf32, UB>
    %alpha = tile.alloc "alpha" : !tile.buffer<32xf32, UB>
    %sumexp = tile.alloc "sumexp" : !tile.buffer<32xf32, UB>
    %row_sum = tile.alloc "row_sum" : !tile.buffer<32xf32, UB>

    ascend.scope cube {
      tile.copy %Q[0, %s, %h0, 0] [1, 1, 64, 512] : !tile.buffer<1x128x128x576xf16, global>
        to %q_l1 : !tile.buffer<64x512xf16, L1>
      tile.copy %Q[0, %s, %h0, 512] [1, 1, 64, 64] : !tile.buffer<1x128x128x576xf16, global>
        to %q_tail_l1 : !tile.buffer<64x64xf16, L1>
      tile.for %i = %c0 to %c32 step %c1 {
        ascend.wait_cross_flag %c0
        tile.copy %ws_kv[%cid, 0, 0] [1, 64, 512] : !tile.buffer<256x64x512xf16, global>
          to %kv_l1 : !tile.buffer<64x512xf16, L1>
        tile.copy %ws_kv_tail[%cid, 0, 0] [1, 64, 64] : !tile.buffer<256x64x64xf16, global>
          to %kv_tail_l1 : !tile.buffer<64x64xf16, L1>
        ascend.pipe_barrier all
        tile.gemm %q_l1 : !tile.buffer<64x512xf16, L1>, %kv_l1 : !tile.buffer<64x512xf16, L1>
          into %s_l0c : !tile.buffer<64x64xf32, L0C> {transpose_b, clear_accum}
        tile.gemm %q_tail_l1 : !tile.buffer<64x64xf16, L1>, %kv_tail_l1 : !tile.buffer<64x64xf16, L1>
          into %s_l0c : !tile.buffer<64x64xf32, L0C> {transpose_b}
        ascend.pipe_barrier all
        tile.copy %s_l0c : !tile.buffer<64x64xf32, L0C>
          to %ws_s[%cid, 0, 0] [1, 64, 64] : !tile.buffer<256x64x64xf32, global>
        ascend.set_cross_flag fix, %c1
        ascend.wait_cross_flag %c2
        tile.copy %ws_p[%cid, 0, 0] [1, 64, 64] : !tile.buffer<256x64x64xf16, global>
          to %p_l1 : !tile.buffer<64x64xf16, L1>
        ascend.pipe_barrier all
        tile.gemm %p_l1 : !tile.buffer<64x64xf16, L1>, %kv_l1 : !tile.buffer<64x512xf16, L1>
          into %o_l0c : !tile.buffer<64x512xf32, L0C> {clear_accum}
        ascend.pipe_barrier all
        tile.copy %o_l0c : !tile.buffer<64x512xf32, L0C>
          to %ws_o[%cid, 0, 0] [1, 64, 512] : !tile.buffer<256x64x512xf32, global>
        ascend.set_cross_flag fix, %c3
      }
    }

    ascend.scope vector {
      tile.fill %acc_o : !tile.buffer<32x512xf32, UB> with %zero : f32
      tile.fill %sumexp : !tile.buffer<32xf32, UB> with %zero : f32
      tile.fill %m_i : !tile.buffer<32xf32, UB> with %lowest : f32
      %position = arith.addi %s, %q_start : index
      %last = arith.index_cast %position : index to i32
      %first = arith.constant 0 : i32
      ascend.pipe_barrier all
      tile.for %i = %c0 to %c32 step %c1 {
        %i0 = arith.muli %i, %c64 : index
        tile.copy %Indices[0, %s, 0, %i0] [1, 1, 1, 64] : !tile.buffer<1x128x1x2048xsi32, global>
          to %indices : !tile.buffer<64xsi32, UB>
        ascend.pipe_barrier all
        tile.for %r = %c0 to %c32 step %c1 {
          %row = arith.addi %v0, %r : index
          %key = tile.load %indices[%row] : !tile.buffer<64xsi32, UB>
          %j = arith.index_cast %key : i32 to index
          tile.copy %KV[0, %j, 0, 0] [1, 1, 1, 512] : !tile.buffer<1x32768x1x576xf16, global>
            to %kv : !tile.buffer<512xf16, UB>
          tile.copy %KV[0, %j, 0, 512] [1, 1, 1, 64] : !tile.buffer<1x32768x1x576xf16, global>
            to %kv_tail : !tile.buffer<64xf16, UB>
          ascend.set_flag mte2 to mte3, %c0
          ascend.wait_flag mte2 to mte3, %c0
          tile.copy %kv : !tile.buffer<512xf16, UB>
            to %ws_kv[%cid, %row, 0] [1, 1, 512] : !tile.buffer<256x64x512xf16, global>
          tile.copy %kv_tail : !tile.buffer<64xf16, UB>
            to %ws_kv_tail[%cid, %row, 0] [1, 1, 64] : !tile.buffer<256x64x64xf16, global>
          ascend.set_flag mte3 to mte2, %c0
          ascend.wait_flag mte3 to mte2, %c0
        }
        ascend.set_cross_flag mte3, %c0
        ascend.wait_cross_flag %c1
        tile.copy %ws_s[%cid, %v0, 0] [1, 32, 64] : !tile.buffer<256x64x64xf32, global>
          to %acc_s : !tile.buffer<32x64xf32, UB>
        tile.copy %m_i : !tile.buffer<32xf32, UB> to %m_prev : !tile.buffer<32xf32, UB>
        ascend.pipe_barrier all
        tile.parallel (%h, %j) in [32, 64] {
          %key = tile.load %indices[%j] : !tile.buffer<64xsi32, UB>
          %positive = arith.cmpi sge, %key, %first : i32
          %causal = arith.cmpi sle, %key, %last : i32
          %valid = arith.andi %positive, %causal : i1
          %raw = tile.load %acc_s[%h, %j] : !tile.buffer<32x64xf32, UB>
          %scaled = arith.mulf %raw, %sm_scale : f32
          %score = arith.select %valid, %scaled, %none : f32
          tile.store %score, %acc_s[%h, %j] : !tile.buffer<32x64xf32, UB>
        }
        ascend.pipe_barrier v
        tile.reduce max %acc_s : !tile.buffer<32x64xf32, UB> dim 1 into %m_i : !tile.buffer<32xf32, UB>
        ascend.pipe_barrier v
        tile.parallel (%h) in [32] {
          %old = tile.load %m_prev[%h] : !tile.buffer<32xf32, UB>
          %new = tile.load %m_i[%h] : !tile.buffer<32xf32, UB>
          %change = arith.subf %old, %new : f32
          %factor = math.exp %change : f32
          tile.store %factor, %alpha[%h] : !tile.buffer<32xf32, UB>
        }
        tile.parallel (%h, %j) in [32, 64] {
          %score = tile.load %acc_s[%h, %j] : !tile.buffer<32x64xf32, UB>
          %max = tile.load %m_i[%h] : !tile.buffer<32xf32, UB>
          %below = arith.subf %score, %max : f32
          %p = math.exp %below : f32
          tile.store %p, %acc_s[%h, %j] : !tile.buffer<32x64xf32, UB>
        }
        ascend.pipe_barrier v
        tile.reduce sum %acc_s : !tile.buffer<32x64xf32, UB> dim 1 into %row_sum : !tile.buffer<32xf32, UB> clear
        ascend.pipe_barrier v
        tile.parallel (%h) in [32] {
          %old = tile.load %sumexp[%h] : !tile.buffer<32xf32, UB>
          %factor = tile.load %alpha[%h] : !tile.buffer<32xf32, UB>
          %more = tile.load %row_sum[%h] : !tile.buffer<32xf32, UB>
          %kept = arith.mulf %old, %factor : f32
          %new = arith.addf %kept, %more : f32
          tile.store %new, %sumexp[%h] : !tile.buffer<32xf32, UB>
        }
        tile.copy %acc_s : !tile.buffer<32x64xf32, UB> to %acc_p : !tile.buffer<32x64xf16, UB>
        ascend.pipe_barrier all
        tile.copy %acc_p : !tile.buffer<32x64xf16, UB>
          to %ws_p[%cid, %v0, 0] [1, 32, 64] : !tile.buffer<256x64x64xf16, global>
        ascend.set_cross_flag mte3, %c2
        ascend.wait_cross_flag %c3
        tile.copy %ws_o[%cid, %v0, 0] [1, 32, 512] : !tile.buffer<256x64x512xf32, global>
          to %part_o : !tile.buffer<32x512xf32, UB>
        ascend.pipe_barrier all
        tile.parallel (%h, %d) in [32, 512] {
          %old = tile.load %acc_o[%h, %d] : !tile.buffer<32x512xf32, UB>
          %factor = tile.load %alpha[%h] : !tile.buffer<32xf32, UB>
          %more = tile.load %part_o[%h, %d] : !tile.buffer<32x512xf32, UB>
          %kept = arith.mulf %old, %factor : f32
          %new = arith.addf %kept, %more : f32
          tile.store %new, %acc_o[%h, %d] : !tile.buffer<32x512xf32, UB>
        }
        ascend.pipe_barrier all
      }
      tile.parallel (%h, %d) in [32, 512] {
        %sum = tile.load %sumexp[%h] : !tile.buffer<32xf32, UB>
        %value = tile.load %acc_o[%h, %d] : !tile.buffer<32x512xf32, UB>
        %empty = arith.cmpf oeq, %sum, %zero : f32
        %quotient = arith.divf %value, %sum : f32
        %result = arith.select %empty, %zero, %quotient : f32
        tile.store %result, %acc_o[%h, %d] : !tile.buffer<32x512xf32, UB>
      }
      ascend.pipe_barrier v
      tile.copy %acc_o : !tile.buffer<32x512xf32, UB> to %out : !tile.buffer<32x512xf16, UB>
      ascend.pipe_barrier all
      %h = arith.addi %h0, %v0 : index
      tile.copy %out : !tile.buffer<32x512xf16, UB>
        to %Output[0, %s, %h, 0] [1, 1, 32, 512] : !tile.buffer<1x128x128x512xf16, global>
    }
  }
  return
}
