// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// The explicit primitives of an Ascend expert.

// CHECK-LABEL: func.func @flags
func.func @flags(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // CHECK: ascend.scope cube {
    ascend.scope cube {
      // CHECK: ascend.set_flag mte2 to mte1, %{{.*}}
      ascend.set_flag mte2 to mte1, %n
      // CHECK: ascend.wait_flag mte2 to mte1, %{{.*}}
      ascend.wait_flag mte2 to mte1, %n
      // CHECK: ascend.set_cross_flag fix, %{{.*}} mode 0
      ascend.set_cross_flag fix, %n mode 0
    }
    // CHECK: ascend.scope vector {
    ascend.scope vector {
      // CHECK: ascend.vector_id
      %vid = ascend.vector_id
      // CHECK: ascend.pipe_barrier v
      ascend.pipe_barrier v
      // CHECK: ascend.wait_cross_flag %{{.*}} pipe mte2
      ascend.wait_cross_flag %vid pipe mte2
    }
    // CHECK: ascend.sync_all
    ascend.sync_all
  }
  return
}

// CHECK-LABEL: func.func @calls
func.func @calls(%n: index, %x: f32) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<64xf32, UB>
    // CHECK: ascend.call "mine"(%{{.*}}, %{{.*}}) ["r"] {rows = array<i64: 2, 8, 16>} : !tile.buffer<64xf32, UB>, index
    ascend.call "mine"(%a, %n) ["r"] {rows = array<i64: 2, 8, 16>} : !tile.buffer<64xf32, UB>, index
    // CHECK: ascend.call "mine"(%{{.*}}, %{{.*}}, %{{.*}}) ["rw", "value"] : !tile.buffer<64xf32, UB>, index, f32
    ascend.call "mine"(%a, %n, %x) ["rw", "value"] : !tile.buffer<64xf32, UB>, index, f32
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has access 'x'; it is r, w, rw or value}}
    ascend.call "mine"(%n) ["x"] : index
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has operands that don't fit the access of argument 0}}
    ascend.call "mine"(%n) ["r"] : index
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has 2 operands, but its accesses take 1}}
    ascend.call "mine"(%n, %n) ["value"] : index, index
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) threads(32) {
    // expected-error@+1 {{stands outside of a launch on an NPU}}
    ascend.sync_all
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-note@+1 {{the other scope is here}}
    ascend.scope cube {
      // expected-error@+1 {{cannot stand inside of another scope}}
      ascend.scope vector {
        ascend.pipe_barrier v
      }
    }
  }
  return
}
// -----
func.func @f(%n: index) {
  %c8 = arith.constant 8 : index
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has event 8; the numbers are 0 to 7}}
    ascend.set_flag mte2 to v, %c8
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{needs two single pipes, not all}}
    ascend.set_flag all to v, %n
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has pipe v on both sides; use a pipe barrier}}
    ascend.wait_flag v to v, %n
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{needs a single pipe, not all}}
    ascend.set_cross_flag all, %n
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has mode 3; the modes are 0 to 2}}
    ascend.set_cross_flag fix, %n mode 3
  }
  return
}
// -----
func.func @f(%n: index) {
  %c16 = arith.constant 16 : index
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has flag 16; the numbers are 0 to 15}}
    ascend.wait_cross_flag %c16
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    // expected-error@+1 {{has 3 numbers of rows of 0 buffers; it takes three of each}}
    ascend.call "mine"(%n) ["value"] {rows = array<i64: 2, 8, 16>} : index
  }
  return
}

// -----
func.func @f(%n: index) {
  tile.launch (%x) in (%n) npu {
    ascend.printf "block %d of 100%%\0A"(%x) : index
    // expected-error@+1 {{has 1 values for 2 place holders}}
    ascend.printf "block %d of %5.2f"(%x) : index
  }
  return
}
