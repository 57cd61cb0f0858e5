// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --group-threads --split-fragments --split-input-file | FileCheck %s

// Each side has a fragment of its own; what all threads write is written to both, also through a view.
// CHECK-LABEL: func.func @two_groups
func.func @two_groups(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %C: !tile.buffer<128xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) threads(128) {
    %t = tile.thread_id 0
    // CHECK: %[[ONE:.*]] = tile.alloc "f"
    // CHECK-NEXT: %[[OTHER:.*]] = tile.alloc "f"
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    // CHECK-NEXT: %[[VIEW:.*]] = tile.view %[[ONE]]
    // CHECK-NEXT: %[[OTHER_VIEW:.*]] = tile.view %[[OTHER]]
    %v = tile.view %f : !tile.buffer<64xf32, fragment> to !tile.buffer<8x8xf32, fragment>
    // CHECK-NEXT: tile.fill %[[VIEW]]
    // CHECK-NEXT: tile.fill %[[OTHER_VIEW]]
    tile.fill %v : !tile.buffer<8x8xf32, fragment> with %zero : f32
    // CHECK-NEXT: tile.parallel
    // CHECK: tile.store %{{.*}}, %[[ONE]]
    // CHECK: tile.parallel
    // CHECK: tile.store %{{.*}}, %[[OTHER]]
    tile.parallel (%i) in [64] {
      %x = tile.load %f[%i] : !tile.buffer<64xf32, fragment>
      %y = arith.addf %x, %x : f32
      tile.store %y, %f[%i] : !tile.buffer<64xf32, fragment>
    }
    %below = arith.cmpi slt, %t, %c64 : index
    // CHECK: scf.if
    // CHECK: tile.copy %{{.*}} to %[[ONE]]
    // CHECK: } else {
    // CHECK: tile.copy %[[OTHER]]
    scf.if %below {
      tile.copy %A : !tile.buffer<64xf32, global> to %f : !tile.buffer<64xf32, fragment>
    } else {
      tile.copy %f : !tile.buffer<64xf32, fragment> to %C [%c64] [64] : !tile.buffer<128xf32, global>
    }
    // The same groups once more, by a comparison of its own.
    %again = arith.cmpi sge, %t, %c64 : index
    // CHECK: scf.if
    // CHECK: tile.fill %[[OTHER]]
    // CHECK: } else {
    // CHECK: tile.copy %[[ONE]]
    scf.if %again {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    } else {
      tile.copy %f : !tile.buffer<64xf32, fragment> to %C [0] [64] : !tile.buffer<128xf32, global>
    }
  }
  return
}

// -----

// Groups that only the run knows: sides of equal conditions that stay the same. One that changes in a loop
// says nothing, and what all threads read of groups stays one.
// CHECK-LABEL: func.func @known_in_the_run
func.func @known_in_the_run(%C: !tile.buffer<64xf32, global> {tile.name = "C"}, %n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) threads(128) {
    %t = tile.thread_id 0
    // CHECK: %[[ONE:.*]] = tile.alloc "f"
    // CHECK-NEXT: %[[OTHER:.*]] = tile.alloc "f"
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    // CHECK: tile.alloc "g"
    // CHECK-NOT: tile.alloc "g"
    %g = tile.alloc "g" : !tile.buffer<64xf32, fragment>
    // CHECK: tile.alloc "h"
    // CHECK-NOT: tile.alloc "h"
    %h = tile.alloc "h" : !tile.buffer<64xf32, fragment>
    %first = arith.cmpi slt, %t, %n : index
    // CHECK: scf.if
    // CHECK: tile.fill %[[ONE]]
    // CHECK: tile.fill %[[OTHER]]
    scf.if %first {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
      tile.fill %h : !tile.buffer<64xf32, fragment> with %zero : f32
    } else {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
      tile.fill %h : !tile.buffer<64xf32, fragment> with %zero : f32
    }
    tile.copy %h : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
    %second = arith.cmpi slt, %t, %n : index
    // CHECK: scf.if
    // CHECK: tile.copy %[[ONE]]
    scf.if %second {
      tile.copy %f : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
    }
    tile.for %k = %c0 to %c4 step %c1 {
      %sum = arith.addi %k, %n : index
      %now = arith.cmpi slt, %t, %sum : index
      scf.if %now {
        tile.fill %g : !tile.buffer<64xf32, fragment> with %zero : f32
      } else {
        tile.fill %g : !tile.buffer<64xf32, fragment> with %zero : f32
      }
    }
  }
  return
}
