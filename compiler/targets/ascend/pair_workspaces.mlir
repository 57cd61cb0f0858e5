// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-pair-workspaces --split-input-file --verify-diagnostics | FileCheck %s

// Two workspaces, one in each direction: each read stands behind its write, in the same iteration.
// CHECK-LABEL: func.func @there_and_back
// CHECK: tile.for %[[K:.*]] = %c0 to %c4
// CHECK: ascend.scope cube
// CHECK-NEXT: tile.copy %{{.*}} to %[[A:.*]][0, 0]
// CHECK: ascend.scope vector
// CHECK-NEXT: tile.copy %[[A]][0, 0]
// CHECK-NEXT: tile.copy %{{.*}} to %[[B:.*]][%[[K]], 0]
// CHECK: ascend.scope cube
// CHECK-NEXT: tile.copy %[[B]][0, 0]
// CHECK-NOT: tile.for
// CHECK: return
func.func @there_and_back(%A: !tile.buffer<64x64xf32, global> {tile.name = "workspace_1"}, %B: !tile.buffer<64x64xf32, global> {tile.name = "my_workspace"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    %l = tile.alloc "l" : !tile.buffer<16x64xf32, L1>
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    ascend.scope cube {
      tile.for %k = %c0 to %c4 step %c1 {
        tile.copy %c : !tile.buffer<16x64xf32, L0C> to %A[0, 0] [16, 64] : !tile.buffer<64x64xf32, global>
        tile.copy %B[0, 0] [16, 64] : !tile.buffer<64x64xf32, global> to %l : !tile.buffer<16x64xf32, L1>
      }
    }
    ascend.scope vector {
      tile.for %j = %c0 to %c4 step %c1 {
        tile.copy %A[0, 0] [16, 64] : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<16x64xf32, UB>
        tile.copy %x : !tile.buffer<16x64xf32, UB> to %B[%j, 0] [16, 64] : !tile.buffer<64x64xf32, global>
      }
    }
  }
  return
}

// -----
// The reader stands first.
// CHECK-LABEL: func.func @reader_first
// CHECK: ascend.scope cube
// CHECK: ascend.scope vector
// CHECK-NEXT: tile.copy %{{.*}} to %{{.*}} : !tile.buffer<16x64xf32, UB>
// CHECK: return
func.func @reader_first(%A: !tile.buffer<16x64xf32, global> {tile.name = "workspace_1"}) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    ascend.scope vector {
      tile.copy %A : !tile.buffer<16x64xf32, global> to %x : !tile.buffer<16x64xf32, UB>
    }
    ascend.scope cube {
      tile.copy %c : !tile.buffer<16x64xf32, L0C> to %A : !tile.buffer<16x64xf32, global>
    }
  }
  return
}

// -----
// Another name, or each iteration its own part: the flow of data says enough.
// CHECK-LABEL: func.func @untouched
// CHECK: ascend.scope cube
// CHECK-NEXT: tile.for
// CHECK: ascend.scope vector
// CHECK-NEXT: tile.for
// CHECK: return
func.func @untouched(%A: !tile.buffer<64x64xf32, global> {tile.name = "workspace"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    ascend.scope cube {
      tile.for %k = %c0 to %c4 step %c1 {
        tile.copy %c : !tile.buffer<16x64xf32, L0C> to %A[%k, 0] [16, 64] : !tile.buffer<64x64xf32, global>
      }
    }
    ascend.scope vector {
      tile.for %j = %c0 to %c4 step %c1 {
        tile.copy %A[%j, 0] [16, 64] : !tile.buffer<64x64xf32, global> to %x : !tile.buffer<16x64xf32, UB>
      }
    }
  }
  return
}

// -----
func.func @stuck(%A: !tile.buffer<16x64xf32, global> {tile.name = "workspace_1"}, %B: !tile.buffer<16x64xf32, global> {tile.name = "workspace_2"}) {
  %c1 = arith.constant 1 : index
  tile.launch (%cid) in (%c1) npu {
    %c = tile.alloc "c" : !tile.buffer<16x64xf32, L0C>
    %l = tile.alloc "l" : !tile.buffer<16x64xf32, L1>
    %x = tile.alloc "x" : !tile.buffer<16x64xf32, UB>
    ascend.scope cube {
      // expected-error@+1 {{this reads a workspace that the other core writes only after it has read another from here: the uses of workspaces go in pairs, in their order}}
      tile.copy %B : !tile.buffer<16x64xf32, global> to %l : !tile.buffer<16x64xf32, L1>
      tile.copy %c : !tile.buffer<16x64xf32, L0C> to %A : !tile.buffer<16x64xf32, global>
    }
    ascend.scope vector {
      tile.copy %A : !tile.buffer<16x64xf32, global> to %x : !tile.buffer<16x64xf32, UB>
      tile.copy %x : !tile.buffer<16x64xf32, UB> to %B : !tile.buffer<16x64xf32, global>
    }
  }
  return
}

// -----
// One text without scopes: what the cube core does with the workspace waits for the vector cores' loop, which
// alone writes it; what only they need stays in its order.
// CHECK-LABEL: func.func @one_text
// CHECK: tile.for
// CHECK-NEXT: tile.for
// CHECK: tile.copy %[[X:.*]] : !tile.buffer<1x64xf16, UB> to %[[W:[a-zA-Z0-9]+]][
// CHECK: }
// CHECK-NEXT: tile.copy %[[W]]{{.*}} to %[[L:.*]] : !tile.buffer<16x64xf16, L1>
// CHECK-NEXT: tile.copy %[[L]]
// CHECK-NEXT: }
func.func @one_text(%W: !tile.buffer<16x64xf16, global> {tile.name = "workspace_1"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%cid) in (%c1) npu {
    %l = tile.alloc "l" : !tile.buffer<16x64xf16, L1>
    %a = tile.alloc "a" : !tile.buffer<16x64xf16, L0A>
    %x = tile.alloc "x" : !tile.buffer<1x64xf16, UB>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.copy %W : !tile.buffer<16x64xf16, global> to %l : !tile.buffer<16x64xf16, L1>
      tile.copy %l : !tile.buffer<16x64xf16, L1> to %a : !tile.buffer<16x64xf16, L0A>
      tile.for %j = %c0 to %c16 step %c1 {
        tile.copy %x : !tile.buffer<1x64xf16, UB> to %W[%j, 0] [1, 64] : !tile.buffer<16x64xf16, global>
      }
    }
  }
  return
}

// -----
// Something is written before the loop: the text means what it says.
// CHECK-LABEL: func.func @written_before
// CHECK: tile.for
// CHECK-NEXT: tile.copy %{{.*}} to %{{.*}} : !tile.buffer<16x64xf16, L1>
// CHECK-NEXT: tile.copy %{{.*}} : !tile.buffer<16x64xf16, UB> to
func.func @written_before(%W: !tile.buffer<16x64xf16, global> {tile.name = "workspace_1"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%cid) in (%c1) npu {
    %l = tile.alloc "l" : !tile.buffer<16x64xf16, L1>
    %x = tile.alloc "x" : !tile.buffer<16x64xf16, UB>
    tile.copy %x : !tile.buffer<16x64xf16, UB> to %W : !tile.buffer<16x64xf16, global>
    tile.for %k = %c0 to %c4 step %c1 {
      tile.copy %W : !tile.buffer<16x64xf16, global> to %l : !tile.buffer<16x64xf16, L1>
      tile.copy %x : !tile.buffer<16x64xf16, UB> to %W : !tile.buffer<16x64xf16, global>
    }
  }
  return
}

// -----
// Tiles that copies bring across: the first gemm waits for the loop that gathers its operand, the other core's
// instruction for the product, and the second gemm for what that has left.
// CHECK-LABEL: func.func @tiles
// CHECK: tile.for
// CHECK-NEXT: tile.for
// CHECK-NEXT: tile.copy %[[ROW:.*]] to %[[B:.*]][%{{.*}}, 0] [1, 16]
// CHECK-NEXT: }
// CHECK-NEXT: tile.gemm %{{.*}}, %[[B]] {{.*}} into %[[C:[0-9]+]] : !tile.buffer<16x16xf32, L0C> clear
// CHECK-NEXT: tile.copy %[[C]] : !tile.buffer<16x16xf32, L0C> to %[[U:.*]] : !tile.buffer<16x16xf32, UB>
// CHECK-NEXT: tile.copy %[[U]] : !tile.buffer<16x16xf32, UB> to %[[H:.*]] : !tile.buffer<16x16xf16, UB>
// CHECK-NEXT: tile.copy %[[H]] : !tile.buffer<16x16xf16, UB> to %[[P:.*]] : !tile.buffer<16x16xf16, L1>
// CHECK-NEXT: tile.gemm %[[P]]
func.func @tiles(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L1>
    %p = tile.alloc "p" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %d = tile.alloc "d" : !tile.buffer<16x16xf32, L0C>
    %row = tile.alloc "row" : !tile.buffer<1x16xf16, UB>
    %u = tile.alloc "u" : !tile.buffer<16x16xf32, UB>
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %a : !tile.buffer<16x16xf16, L1>, %b : !tile.buffer<16x16xf16, L1> into %c : !tile.buffer<16x16xf32, L0C> clear(%true)
      tile.copy %c : !tile.buffer<16x16xf32, L0C> to %u : !tile.buffer<16x16xf32, UB>
      tile.gemm %p : !tile.buffer<16x16xf16, L1>, %b : !tile.buffer<16x16xf16, L1> into %d : !tile.buffer<16x16xf32, L0C> clear(%true)
      tile.for %j = %c0 to %c16 step %c1 {
        tile.copy %row : !tile.buffer<1x16xf16, UB> to %b[%j, 0] [1, 16] : !tile.buffer<16x16xf16, L1>
      }
      tile.copy %u : !tile.buffer<16x16xf32, UB> to %h : !tile.buffer<16x16xf16, UB>
      tile.copy %h : !tile.buffer<16x16xf16, UB> to %p : !tile.buffer<16x16xf16, L1>
    }
  }
  return
}

// -----
// From turn to turn: the text means what it says where the first turn doesn't read, or something is there before.
// CHECK-LABEL: func.func @handed_on
// CHECK: tile.for
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.gemm
// CHECK: tile.copy %{{.*}} : !tile.buffer<16x16xf16, UB> to
// CHECK: tile.for
// CHECK-NEXT: tile.gemm
// CHECK-NEXT: tile.copy %{{.*}} : !tile.buffer<16x16xf16, UB> to
// CHECK: tile.fill %[[U:[0-9]+]] :
// CHECK-NEXT: tile.copy %{{.*}} : !tile.buffer<16x16xf32, L0C> to %[[U]]
func.func @handed_on(%A: !tile.buffer<16x16xf16, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<16x16xf16, L1>
    %b = tile.alloc "b" : !tile.buffer<16x16xf16, L1>
    %c = tile.alloc "c" : !tile.buffer<16x16xf32, L0C>
    %h = tile.alloc "h" : !tile.buffer<16x16xf16, UB>
    tile.for %k = %c0 to %n step %c1 {
      %behind = arith.cmpi sgt, %k, %c0 : index
      scf.if %behind {
        tile.gemm %a : !tile.buffer<16x16xf16, L1>, %a : !tile.buffer<16x16xf16, L1> into %c : !tile.buffer<16x16xf32, L0C> clear(%true)
      }
      tile.copy %h : !tile.buffer<16x16xf16, UB> to %a : !tile.buffer<16x16xf16, L1>
    }
    tile.copy %A : !tile.buffer<16x16xf16, global> to %b : !tile.buffer<16x16xf16, L1>
    tile.for %k = %c0 to %n step %c1 {
      tile.gemm %b : !tile.buffer<16x16xf16, L1>, %b : !tile.buffer<16x16xf16, L1> into %c : !tile.buffer<16x16xf32, L0C> clear(%true)
      tile.copy %h : !tile.buffer<16x16xf16, UB> to %b : !tile.buffer<16x16xf16, L1>
    }
    %u = tile.alloc "u" : !tile.buffer<16x16xf32, UB>
    %one = arith.constant 1.0 : f32
    tile.fill %u : !tile.buffer<16x16xf32, UB> with %one : f32
    tile.copy %c : !tile.buffer<16x16xf32, L0C> to %u : !tile.buffer<16x16xf32, UB>
  }
  return
}
