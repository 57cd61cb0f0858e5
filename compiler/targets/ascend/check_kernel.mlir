// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --ascend-check-kernel | FileCheck %s

// CHECK-LABEL: func.func @events
func.func @events(%n: index) {
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  tile.launch (%cid) in (%n) npu {
    ascend.set_flag mte2 to v, %c5
    ascend.wait_flag mte2 to v, %c5
    // expected-warning@+1 {{event 7 may be taken by the vendor's own functions; 0 to 5 are the kernel's}}
    ascend.set_flag mte2 to v, %c7
    // expected-warning@+1 {{event 7 may be taken by the vendor's own functions; 0 to 5 are the kernel's}}
    ascend.wait_flag mte2 to v, %c7
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{unsupported on ascend: 'x' has elements of float64, which 910B2 does not have}}
    %x = tile.alloc "x" : !tile.buffer<64xf64, UB>
    // expected-error@+1 {{unsupported on ascend: this is float64, which 910B2 does not have}}
    %v = arith.constant 1.0 : f64
  }
  return
}

// -----
// expected-error@+1 {{unsupported on ascend: 'A' has elements of float8_e4m3fn, which 910B2 does not have}}
func.func @f(%A: !tile.buffer<64xf8E4M3FN, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
  }
  return
}

// -----
// expected-error@+1 {{unsupported on ascend: 'A' has elements of int4; hold two of them in an int8 or uint8, and part them by T.tile.cast to int16, T.tile.bitwise_lshift and T.tile.bitwise_rshift}}
func.func @f(%A: !tile.buffer<64xsi4, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" : !tile.buffer<32xsi8, UB>
    // expected-error@+1 {{unsupported on ascend: this view has elements of int4; hold two of them in an int8}}
    %y = tile.view %x : !tile.buffer<32xsi8, UB> to !tile.buffer<64xsi4, UB>
  }
  return
}

// -----
func.func @memory_by_numbers(%p: i64, %x: f32, %n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{unsupported on ascend: addresses of memory as numbers, but for a T.ptr argument that T.make_tensor makes one tensor of, with a shape of constants, arguments and dynamic dims}}
    %a = tile.tensor_at %p : !tile.buffer<64xf32, global>
    // expected-error@+1 {{unsupported on ascend: the C function 'sqrtf'; functions of Ascend C take pointers to buffers (access_ptr)}}
    %y = tile.call "sqrtf"(%x) : (f32) -> f32
  }
  return
}

// -----
func.func @threads(%n: index) {
  tile.launch (%cid) in (%n) threads(32) {
    // expected-error@+1 {{unsupported on ascend: single threads of a block; a T.Parallel loop shares its work out}}
    %t = tile.thread_id 0
    // expected-error@+1 {{unsupported on ascend: a barrier of a block's threads (T.sync_threads); a core's pipes wait for each other at T.barrier_all() or T.pipe_barrier(pipe), cores at T.sync_all()}}
    tile.sync block
  }
  return
}

// -----
func.func @pipes_of_other_cores(%n: index) {
  %c3 = arith.constant 3 : index
  tile.launch (%cid) in (%n) npu {
    // expected-note@+1 {{this T.Scope is here}}
    ascend.scope cube {
      // expected-error@+1 {{the cube core has no pipe 'v' that could set this flag: it is one of s, m, mte1, mte2, mte3, fix}}
      ascend.set_cross_flag v, %c3
      ascend.set_cross_flag fix, %c3
    }
    // expected-note@+1 {{this T.Scope is here}}
    ascend.scope vector {
      // expected-error@+1 {{a vector core has no pipe 'mte1' that could set this flag: it is one of s, v, mte2, mte3}}
      ascend.set_cross_flag mte1, %c3
      ascend.set_cross_flag mte3, %c3
    }
    // On the core that has it.
    ascend.set_cross_flag fix, %c3
    // expected-note@+1 {{this T.Scope is here}}
    ascend.scope vector {
      // expected-error@+1 {{a vector core has no pipe 'mte1' that could set this flag: it is one of s, v, mte2, mte3}}
      ascend.set_flag mte1 to m, %c3
      // expected-error@+1 {{a vector core has no pipe 'fix' that could wait for this flag: it is one of s, v, mte2, mte3}}
      ascend.wait_flag mte2 to fix, %c3
      ascend.set_flag mte2 to v, %c3
    }
    ascend.set_flag mte1 to m, %c3
    // expected-error@+1 {{no core has both pipe 'mte1' and pipe 'v': cores tell each other by T.set_cross_flag and T.wait_cross_flag}}
    ascend.set_flag mte1 to v, %c3
  }
  return
}

