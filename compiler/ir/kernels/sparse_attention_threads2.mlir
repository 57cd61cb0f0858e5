// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// Sparse FlashAttention on an NPU, with threads=2: no workspace, no vid, no scope, no flag. The compiler splits the work
// among the cube agent and the two vector agents, and routes what crosses between them.

// CHECK-LABEL: func.func @sparse_attention
// CHECK: tile.launch (%{{.*}}) in (%{{.*}}) threads(2) npu {
// CHECK: tile.copy %{{.*}} : !tile.buffer<64x64xf32, fragment> to %{{.*}} : !tile.buffer<64x64xf32, shared>
func.func @sparse_attention(
    %Q: !tile.buffer<1x128x128x576xf16, global> {tile.name = "Q"},
    %KV: !tile.buffer<1x32768x1x576xf16, global> {tile.name = "KV"},
    %Indices: !tile.buffer<1x128x1x2048xsi32, global> {tile.name = "Indices"},
    %Output: !tile.buffer<1x128x128x512xf16, global> {tile.name = "Output"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %q_start = arith.constant 28672 : index
  %first = arith.constant 0 : i32
  %none = arith.constant 0xFF800000 : f32
  %lowest = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  %sm_scale = arith.constant 0.0416666679 : f32
  tile.launch (%cid) in (%c256) threads(2) npu {
    %s = arith.floordivsi %cid, %c2 : index
    %half = arith.remsi %cid, %c2 : index
    %h0 = arith.muli %half, %c64 : index
    %position = arith.addi %s, %q_start : index
    %last = arith.index_cast %position : index to i32

    %q_l1 = tile.alloc "q_l1" : !tile.buffer<64x512xf16, shared>
    %q_tail_l1 = tile.alloc "q_tail_l1" : !tile.buffer<64x64xf16, shared>
    %kv_l1 = tile.alloc "kv_l1" : !tile.buffer<64x512xf16, shared>
    %kv_tail_l1 = tile.alloc "kv_tail_l1" : !tile.buffer<64x64xf16, shared>
    %p_l1 = tile.alloc "acc_s_l1" : !tile.buffer<64x64xf16, shared>
    %s_l0c = tile.alloc "acc_s_l0c" : !tile.buffer<64x64xf32, fragment>
    %o_l0c = tile.alloc "acc_o_l0c" : !tile.buffer<64x512xf32, fragment>

    %indices = tile.alloc "indices_ub" : !tile.buffer<64xsi32, shared>
    %kv = tile.alloc "kv_ub" : !tile.buffer<512xf16, shared>
    %kv_tail = tile.alloc "kv_tail_ub" : !tile.buffer<64xf16, shared>
    %acc_s = tile.alloc "acc_s_ub" : !tile.buffer<64x64xf32, shared>
    %acc_p = tile.alloc "acc_s_half" : !tile.buffer<64x64xf16, shared>
    %acc_o = tile.alloc "acc_o" : !tile.buffer<64x512xf32, shared>
    %part_o = tile.alloc "acc_o_ub" : !tile.buffer<64x512xf32, shared>
    %out = tile.alloc "acc_o_half" : !tile.buffer<64x512xf16, shared>
    %m_i = tile.alloc "m_i" : !tile.buffer<64xf32, shared>
    %m_prev = tile.alloc "m_i_prev" : !tile.buffer<64xf32, shared>
    %alpha = tile.alloc "alpha" : !tile.buffer<64xf32, shared>
    %sumexp = tile.alloc "sumexp" : !tile.buffer<64xf32, shared>
    %row_sum = tile.alloc "row_sum" : !tile.buffer<64xf32, shared>

    tile.copy %Q[0, %s, %h0, 0] [1, 1, 64, 512] : !tile.buffer<1x128x128x576xf16, global>
      to %q_l1 : !tile.buffer<64x512xf16, shared>
    tile.copy %Q[0, %s, %h0, 512] [1, 1, 64, 64] : !tile.buffer<1x128x128x576xf16, global>
      to %q_tail_l1 : !tile.buffer<64x64xf16, shared>
    tile.fill %acc_o : !tile.buffer<64x512xf32, shared> with %zero : f32
    tile.fill %sumexp : !tile.buffer<64xf32, shared> with %zero : f32
    tile.fill %m_i : !tile.buffer<64xf32, shared> with %lowest : f32

    tile.for %i = %c0 to %c32 step %c1 {
      %i0 = arith.muli %i, %c64 : index
      tile.copy %Indices[0, %s, 0, %i0] [1, 1, 1, 64] : !tile.buffer<1x128x1x2048xsi32, global>
        to %indices : !tile.buffer<64xsi32, shared>
      tile.for %row = %c0 to %c64 step %c1 {
        %key = tile.load %indices[%row] : !tile.buffer<64xsi32, shared>
        %j = arith.index_cast %key : i32 to index
        tile.copy %KV[0, %j, 0, 0] [1, 1, 1, 512] : !tile.buffer<1x32768x1x576xf16, global>
          to %kv : !tile.buffer<512xf16, shared>
        tile.copy %kv : !tile.buffer<512xf16, shared> to %kv_l1[%row, 0] [1, 512] : !tile.buffer<64x512xf16, shared>
        tile.copy %KV[0, %j, 0, 512] [1, 1, 1, 64] : !tile.buffer<1x32768x1x576xf16, global>
          to %kv_tail : !tile.buffer<64xf16, shared>
        tile.copy %kv_tail : !tile.buffer<64xf16, shared>
          to %kv_tail_l1[%row, 0] [1, 64] : !tile.buffer<64x64xf16, shared>
      }
      tile.gemm %q_l1 : !tile.buffer<64x512xf16, shared>, %kv_l1 : !tile.buffer<64x512xf16, shared>
        into %s_l0c : !tile.buffer<64x64xf32, fragment> {transpose_b, clear_accum}
      tile.gemm %q_tail_l1 : !tile.buffer<64x64xf16, shared>, %kv_tail_l1 : !tile.buffer<64x64xf16, shared>
        into %s_l0c : !tile.buffer<64x64xf32, fragment> {transpose_b}
      tile.copy %s_l0c : !tile.buffer<64x64xf32, fragment> to %acc_s : !tile.buffer<64x64xf32, shared>
      tile.copy %m_i : !tile.buffer<64xf32, shared> to %m_prev : !tile.buffer<64xf32, shared>
      tile.parallel (%h, %j) in [64, 64] {
        %key = tile.load %indices[%j] : !tile.buffer<64xsi32, shared>
        %positive = arith.cmpi sge, %key, %first : i32
        %causal = arith.cmpi sle, %key, %last : i32
        %valid = arith.andi %positive, %causal : i1
        %raw = tile.load %acc_s[%h, %j] : !tile.buffer<64x64xf32, shared>
        %scaled = arith.mulf %raw, %sm_scale : f32
        %score = arith.select %valid, %scaled, %none : f32
        tile.store %score, %acc_s[%h, %j] : !tile.buffer<64x64xf32, shared>
      }
      tile.reduce max %acc_s : !tile.buffer<64x64xf32, shared> dim 1 into %m_i : !tile.buffer<64xf32, shared>
      tile.parallel (%h) in [64] {
        %old = tile.load %m_prev[%h] : !tile.buffer<64xf32, shared>
        %new = tile.load %m_i[%h] : !tile.buffer<64xf32, shared>
        %change = arith.subf %old, %new : f32
        %factor = math.exp %change : f32
        tile.store %factor, %alpha[%h] : !tile.buffer<64xf32, shared>
      }
      tile.parallel (%h, %j) in [64, 64] {
        %score = tile.load %acc_s[%h, %j] : !tile.buffer<64x64xf32, shared>
        %max = tile.load %m_i[%h] : !tile.buffer<64xf32, shared>
        %below = arith.subf %score, %max : f32
        %p = math.exp %below : f32
        tile.store %p, %acc_s[%h, %j] : !tile.buffer<64x64xf32, shared>
      }
      tile.reduce sum %acc_s : !tile.buffer<64x64xf32, shared> dim 1 into %row_sum : !tile.buffer<64xf32, shared> clear
      tile.parallel (%h) in [64] {
        %old = tile.load %sumexp[%h] : !tile.buffer<64xf32, shared>
        %factor = tile.load %alpha[%h] : !tile.buffer<64xf32, shared>
        %more = tile.load %row_sum[%h] : !tile.buffer<64xf32, shared>
        %kept = arith.mulf %old, %factor : f32
        %new = arith.addf %kept, %more : f32
        tile.store %new, %sumexp[%h] : !tile.buffer<64xf32, shared>
      }
      tile.copy %acc_s : !tile.buffer<64x64xf32, shared> to %acc_p : !tile.buffer<64x64xf16, shared>
      tile.copy %acc_p : !tile.buffer<64x64xf16, shared> to %p_l1 : !tile.buffer<64x64xf16, shared>
      tile.gemm %p_l1 : !tile.buffer<64x64xf16, shared>, %kv_l1 : !tile.buffer<64x512xf16, shared>
        into %o_l0c : !tile.buffer<64x512xf32, fragment> {clear_accum}
      tile.copy %o_l0c : !tile.buffer<64x512xf32, fragment> to %part_o : !tile.buffer<64x512xf32, shared>
      tile.parallel (%h, %d) in [64, 512] {
        %old = tile.load %acc_o[%h, %d] : !tile.buffer<64x512xf32, shared>
        %factor = tile.load %alpha[%h] : !tile.buffer<64xf32, shared>
        %more = tile.load %part_o[%h, %d] : !tile.buffer<64x512xf32, shared>
        %kept = arith.mulf %old, %factor : f32
        %new = arith.addf %kept, %more : f32
        tile.store %new, %acc_o[%h, %d] : !tile.buffer<64x512xf32, shared>
      }
    }
    tile.parallel (%h, %d) in [64, 512] {
      %sum = tile.load %sumexp[%h] : !tile.buffer<64xf32, shared>
      %value = tile.load %acc_o[%h, %d] : !tile.buffer<64x512xf32, shared>
      %empty = arith.cmpf oeq, %sum, %zero : f32
      %quotient = arith.divf %value, %sum : f32
      %result = arith.select %empty, %zero, %quotient : f32
      tile.store %result, %acc_o[%h, %d] : !tile.buffer<64x512xf32, shared>
    }
    tile.copy %acc_o : !tile.buffer<64x512xf32, shared> to %out : !tile.buffer<64x512xf16, shared>
    tile.copy %out : !tile.buffer<64x512xf16, shared>
      to %Output[0, %s, %h0, 0] [1, 1, 64, 512] : !tile.buffer<1x128x128x512xf16, global>
  }
  return
}
