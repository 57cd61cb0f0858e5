// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | tilewright-opt --split-input-file | FileCheck %s
// Launch, loops and what ends them.

// CHECK-LABEL: func.func @loops
func.func @loops(%n: index, %b: !tile.buffer<4xf32, global>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: tile.launch (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}, %{{.*}}) threads(8, 4, 2) attributes {swizzle = 10 : i64} {
  tile.launch (%x, %y, %z) in (%n, %n, %n) threads(8, 4, 2) attributes {swizzle = 10} {
    // CHECK: tile.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} pipelined(3) attributes {order = [0, 1]} {
    tile.for %k = %c0 to %n step %c1 pipelined(3) attributes {order = [0, 1]} {
      // CHECK: tile.parallel (%{{.*}}, %{{.*}}) in [4, %{{.*}}] {
      tile.parallel (%i, %j) in [4, %n] {
        // CHECK: tile.for {{.*}} {
        tile.for %l = %c0 to %n step %c1 serial {
          scf.if %c {
            // CHECK: tile.break
            tile.break
          } else {
            // CHECK: tile.continue
            tile.continue
          }
        }
      }
    }
    // CHECK: tile.while {
    // CHECK-NEXT: tile.condition %{{.*}}
    // CHECK-NEXT: } do {
    // CHECK-NEXT: tile.print "b", %{{.*}} : !tile.buffer<4xf32, global>
    // CHECK-NEXT: }
    tile.while {
      tile.condition %c
    } do {
      tile.print "b", %b : !tile.buffer<4xf32, global>
    }
    // Nothing of the next operation is a part of it.
    // CHECK: tile.print "here"
    // CHECK-NEXT: %[[IS:.*]] = arith.cmpi
    tile.print "here"
    %is = arith.cmpi eq, %n, %c1 : index
    // CHECK: tile.assert %[[IS]], "positive"
    tile.assert %is, "positive"
  }
  return
}

// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has 1 to 3 grid extents, not 0}}
  tile.launch () in () threads(1) {}
  return
}
// -----
// What was written for a GPU becomes a launch of an NPU with its grid.
func.func @f(%n: index) {
  tile.launch (%x, %y) in (%n, %n) npu {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has 1 to 3 thread extents, not 4}}
  tile.launch (%x) in (%n) threads(1, 1, 1, 1) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has a thread extent of 0; each is at least 1}}
  tile.launch (%x) in (%n) threads(0) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has more than 1024 threads}}
  tile.launch (%x) in (%n) threads(1024, 2) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{on an NPU has 1 or 2 threads, not 3}}
  tile.launch (%x) in (%n) threads(3) npu {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has 1 grid extents but its body takes 2 numbers}}
  tile.launch (%x, %y) in (%n) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{gives its body numbers of type index, not 'i32'}}
  "tile.launch"(%n) <{threads = array<i64>}> ({
  ^bb0(%x: i32):
    tile.yield
  }) : (index) -> ()
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has -1 stages; the number cannot be negative}}
  tile.for %k = %n to %n step %n pipelined(-1) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{only a pipelined loop has stages}}
  tile.for %k = %n to %n step %n unroll(2) {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has 2 stages; only a pipelined loop has any}}
  tile.for %k = %n to %n step %n attributes {num_stages = 2} {}
  return
}
// -----
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{has step 0; it is at least 1}}
  tile.for %k = %n to %n step %c0 {}
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has a condition that ends with tile.condition}}
  "tile.while"() ({
    tile.yield
  }, {
    tile.yield
  }) : () -> ()
  return
}
// -----
func.func @f(%c: i1) {
  // expected-error@+1 {{has a body that ends with tile.yield}}
  "tile.while"() ({
    tile.condition %c
  }, {
    tile.condition %c
  }) : () -> ()
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has at least one extent}}
  tile.parallel () in [] {}
  return
}
// -----
func.func @f(%n: index) {
  // expected-error@+1 {{has another number of operands than of extents that are not static}}
  "tile.parallel"(%n) <{static_extents = array<i64: 4>}> ({
  ^bb0(%x: index):
    tile.yield
  }) : (index) -> ()
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{has extent -4; it cannot be negative}}
  tile.parallel (%i) in [-4] {}
  return
}
// -----
func.func @f() {
  // expected-note@+1 {{the parallel loop is here}}
  tile.parallel (%i) in [4] {
    // expected-error@+1 {{'tile.sync' op cannot stand inside of a parallel loop}}
    tile.sync block
  }
  return
}
// -----
func.func @f(%c: i1) {
  scf.if %c {
    // expected-error@+1 {{stands in no loop that it could leave}}
    tile.break
  }
  return
}
// -----
func.func @f(%n: index) {
  tile.for %k = %n to %n step %n {
    tile.parallel (%i) in [4] {
      // expected-error@+1 {{stands in no loop that it could leave}}
      tile.continue
    }
  }
  return
}
