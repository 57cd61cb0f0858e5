// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --group-threads --split-fragments --split-input-file --verify-diagnostics | FileCheck %s

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

// Groups that only the run knows: sides of equal conditions, however they are written. What only lives in a branch
// is made there, also where other threads take it in other turns.
// CHECK-LABEL: func.func @known_in_the_run
func.func @known_in_the_run(%C: !tile.buffer<64xf32, global> {tile.name = "C"}, %n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) threads(128) {
    %t = tile.thread_id 0
    // CHECK-COUNT-2: tile.alloc "f"
    // CHECK-NOT: tile.alloc "f"
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    %g = tile.alloc "g" : !tile.buffer<64xf32, fragment>
    %first = arith.cmpi slt, %t, %n : index
    // CHECK: scf.if
    // CHECK: tile.fill %[[ONE:[0-9]+]] :
    // CHECK: tile.fill %[[OTHER:[0-9]+]] :
    scf.if %first {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    } else {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    }
    %second = arith.cmpi sle, %n, %t : index
    // CHECK: scf.if
    // CHECK: tile.copy %[[OTHER]]
    // CHECK: else
    // CHECK: tile.copy %[[ONE]]
    scf.if %second {
      tile.copy %f : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
    } else {
      tile.copy %f : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
    }
    tile.for %k = %c0 to %c4 step %c1 {
      %sum = arith.addi %k, %n : index
      %now = arith.cmpi slt, %t, %sum : index
      // CHECK: scf.if
      // CHECK-NEXT: %[[G:.*]] = tile.alloc "g"
      // CHECK-NEXT: tile.fill %[[G]]
      // CHECK-NEXT: tile.copy %[[G]]
      scf.if %now {
        tile.fill %g : !tile.buffer<64xf32, fragment> with %zero : f32
        tile.copy %g : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
      }
    }
  }
  return
}

// -----

// A fragment made of one that groups have is theirs, too. Sets that overlap: three of four ranges come here. A nest
// that changes more than fragments does that once.
// CHECK-LABEL: func.func @families
func.func @families(%A: !tile.buffer<64xf32, global> {tile.name = "A"}, %C: !tile.buffer<64xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) threads(96) {
    %t = tile.thread_id 0
    // CHECK-COUNT-3: tile.alloc "f"
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    // CHECK-COUNT-3: tile.alloc "g"
    %g = tile.alloc "g" : !tile.buffer<64xf32, fragment>
    // CHECK-COUNT-3: tile.fill
    // CHECK-NOT: tile.fill
    tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    // CHECK: tile.parallel
    // CHECK: tile.store %{{.*}}, %arg1
    // CHECK-COUNT-2: tile.parallel
    // CHECK-NOT: tile.store %{{.*}}, %arg1
    tile.parallel (%i) in [64] {
      tile.store %zero, %f[%i] : !tile.buffer<64xf32, fragment>
      tile.store %zero, %C[%i] : !tile.buffer<64xf32, global>
    }
    // CHECK: scf.if
    // CHECK-COUNT-2: tile.copy %arg0
    %low = arith.cmpi slt, %t, %c64 : index
    scf.if %low {
      tile.copy %A : !tile.buffer<64xf32, global> to %f : !tile.buffer<64xf32, fragment>
    }
    // CHECK: scf.if
    // CHECK-COUNT-2: tile.fill
    %high = arith.cmpi sge, %t, %c32 : index
    scf.if %high {
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    }
    // CHECK-COUNT-3: tile.copy
    tile.copy %f : !tile.buffer<64xf32, fragment> to %g : !tile.buffer<64xf32, fragment>
    // CHECK: scf.if
    // CHECK: tile.copy
    scf.if %high {
      tile.copy %g : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
    }
  }
  return
}

// -----

func.func @not_the_same(%C: !tile.buffer<64xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) threads(128) {
    %t = tile.thread_id 0
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    %below = arith.cmpi slt, %t, %c64 : index
    scf.if %below {
      // expected-note @+1 {{one group writes it here}}
      tile.fill %f : !tile.buffer<64xf32, fragment> with %zero : f32
    }
    // expected-error @+1 {{the threads that do this together don't have the same in fragment 'f'}}
    tile.copy %f : !tile.buffer<64xf32, fragment> to %C : !tile.buffer<64xf32, global>
  }
  return
}
