// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-flatten-control-flow | FileCheck %s

// A user's loop: break and continue, and a look at TwLaunch::stop before the next turn.
// CHECK-LABEL: func.func @blocks
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](%{{.*}} : index)
// CHECK: ^[[HEAD]](%[[K:.*]]: index):
// CHECK: %[[GO:.*]] = arith.cmpi slt, %[[K]]
// CHECK: cf.cond_br %[[GO]], ^{{.*}}, ^[[EXIT:bb[0-9]+]]
// CHECK: cf.cond_br %{{.*}}, ^[[BREAK:bb[0-9]+]], ^[[REST:bb[0-9]+]]
// CHECK: ^[[BREAK]]:
// CHECK-NEXT: cf.br ^[[EXIT]]
// A failed assertion stores its number and leaves.
// CHECK: llvm.getelementptr inbounds %arg4[4]
// CHECK: llvm.store
// CHECK-NEXT: cf.br ^[[LEAVE:bb[0-9]+]]
// CHECK: arith.addi %[[K]], %{{.*}} overflow<nsw>
// CHECK: %[[STOP:.*]] = llvm.load volatile %arg4
// CHECK: cf.cond_br %{{.*}} weights([2147483647, 1]), ^[[HEAD]]({{.*}}), ^[[LEAVE]]
// CHECK: ^[[LEAVE]]:
// CHECK: llvm.getelementptr inbounds %arg4[8]
// CHECK: llvm.call
// CHECK-NEXT: return
func.func @blocks(%slots: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64, %launch: !llvm.ptr) attributes {cpu.blocks} {
  %lo = arith.index_cast %begin : i64 to index
  %hi = arith.index_cast %end : i64 to index
  %c1 = arith.constant 1 : index
  tile.for %k = %lo to %hi step %c1 {
    %last = arith.cmpi eq, %k, %c1 : index
    scf.if %last {
      tile.break
    }
    tile.assert %last, "only the first turn"
  }
  return
}

// A loop that we made is not polled; its annotation lands on the branch back. What it carries becomes arguments.
// CHECK-LABEL: func.func @made
// CHECK: ^[[HEAD:bb[0-9]+]](%{{.*}}: index, %[[SUM:.*]]: f32):
// CHECK: cf.cond_br
// CHECK: cf.br ^[[HEAD]]({{.*}}) {loop_annotation =
// CHECK: return
func.func @made(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  } {llvm.loop_annotation = #llvm.loop_annotation<vectorize = <disable = false>>}
  return %r : f32
}

// A loop that tries until it succeeds: what it tried last is its result.
// CHECK-LABEL: func.func @retries
// CHECK: cf.br ^[[TRY:bb[0-9]+]](%{{.*}} : i16)
// CHECK: ^[[TRY]](%[[SEEN:.*]]: i16):
// CHECK: cf.cond_br %{{.*}}, ^[[AGAIN:bb[0-9]+]](%[[NOW:.*]] : i16), ^[[DONE:bb[0-9]+]](%[[NOW]] : i16)
// CHECK: ^[[AGAIN]](%[[NEXT:.*]]: i16):
// CHECK: cf.br ^[[TRY]](%[[NEXT]] : i16)
// CHECK: ^[[DONE]](%[[RESULT:.*]]: i16):
// CHECK: return %[[RESULT]] : i16
func.func @retries(%first: i16, %add: i16) -> i16 {
  %r = scf.while (%seen = %first) : (i16) -> i16 {
    %now = arith.addi %seen, %add : i16
    %more = arith.cmpi slt, %now, %add : i16
    scf.condition(%more) %now : i16
  } do {
  ^bb0(%again: i16):
    scf.yield %again : i16
  }
  return %r : i16
}
