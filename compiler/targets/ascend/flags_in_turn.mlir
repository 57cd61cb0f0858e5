// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-check-hazards --split-input-file --verify-diagnostics
// Numbers of flags that turns of loops choose: those that come again after a few turns are followed.

// Each buffer is free before it is filled, and full before it is stored: nothing is missing.
func.func @in_order(%A: !tile.buffer<64xf32, global>, %B: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x64xf32, UB>
    ascend.set_flag mte3 to mte2, %c0
    ascend.set_flag mte3 to mte2, %c1
    tile.for %i = %c0 to %n step %c1 {
      %half = arith.divsi %i, %c2 : index
      %turn = arith.remsi %half, %c2 : index
      %place = arith.muli %turn, %c64 : index
      ascend.wait_flag mte3 to mte2, %turn
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%place] : !tile.buffer<2x64xf32, UB> pitch 64
      ascend.set_flag mte2 to mte3, %turn
      ascend.wait_flag mte2 to mte3, %turn
      npu.store_ub %x[%place] : !tile.buffer<2x64xf32, UB> pitch 64 to %B[0] [64] : !tile.buffer<64xf32, global>
      ascend.set_flag mte3 to mte2, %turn
      ascend.pipe_barrier mte3
    }
    ascend.wait_flag mte3 to mte2, %c0
    ascend.wait_flag mte3 to mte2, %c1
  }
  return
}

// -----
// The flags change each turn, the buffers every second one.
func.func @one_buffer_twice(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x64xf32, UB>
    %y = tile.alloc "y" at 512 : !tile.buffer<64xf32, UB>
    ascend.set_flag v to mte2, %c0
    ascend.set_flag v to mte2, %c1
    tile.for %i = %c0 to %n step %c1 {
      %turn = arith.remsi %i, %c2 : index
      %half = arith.divsi %i, %c2 : index
      %other = arith.remsi %half, %c2 : index
      %place = arith.muli %other, %c64 : index
      ascend.wait_flag v to mte2, %turn
      // expected-warning@+1 {{T.copy to UB overwrites what abs of an earlier iteration reads of 'x', but nothing orders them}}
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%place] : !tile.buffer<2x64xf32, UB> pitch 64 // expected-note {{for example}}
      ascend.set_flag mte2 to v, %c0
      ascend.wait_flag mte2 to v, %c0
      ascend.pipe_barrier v
      npu.unary abs %y[%c0] : !tile.buffer<64xf32, UB>, %x[%place] : !tile.buffer<2x64xf32, UB> count(%c64) // expected-note {{the earlier one is here}}
      ascend.set_flag v to mte2, %turn
    }
    ascend.wait_flag v to mte2, %c0
    ascend.wait_flag v to mte2, %c1
  }
  return
}

// -----
// A variable that each turn toggles.
func.func @toggled(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<2x64xf32, UB>
    %y = tile.alloc "y" at 512 : !tile.buffer<64xf32, UB>
    %buf = tile.alloc "buf" : !tile.buffer<si32, var>
    tile.store %zero, %buf[] : !tile.buffer<si32, var>
    ascend.set_flag v to mte2, %c0
    ascend.set_flag v to mte2, %c1
    tile.for %i = %c0 to %n step %c1 {
      %word = tile.load %buf[] : !tile.buffer<si32, var>
      %turn = arith.index_cast %word : i32 to index
      %place = arith.muli %turn, %c64 : index
      ascend.wait_flag v to mte2, %turn
      npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%place] : !tile.buffer<2x64xf32, UB> pitch 64
      ascend.set_flag mte2 to v, %turn
      ascend.wait_flag mte2 to v, %turn
      ascend.pipe_barrier v
      npu.unary abs %y[%c0] : !tile.buffer<64xf32, UB>, %x[%place] : !tile.buffer<2x64xf32, UB> count(%c64)
      ascend.set_flag v to mte2, %turn
      %next = arith.subi %one, %word : i32
      tile.store %next, %buf[] : !tile.buffer<si32, var>
    }
    ascend.wait_flag v to mte2, %c0

    ascend.wait_flag v to mte2, %c1
  }
  return
}

// -----
// Each kind of core has a variable of its own: the vector cores' one stays what it is.
func.func @of_the_other_core(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %buf = tile.alloc "buf" : !tile.buffer<si32, var>
    tile.store %zero, %buf[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %n step %c1 {
      ascend.scope cube {
        tile.store %one, %buf[] : !tile.buffer<si32, var>
      }
      ascend.scope vector {
        %word = tile.load %buf[] : !tile.buffer<si32, var>
        %turn = arith.index_cast %word : i32 to index
        ascend.set_flag v to mte2, %turn // expected-remark {{the number of this flag, made of 'buf', is known only when the kernel runs: none of its flags is checked while it is compiled, but the host checks them}}
        ascend.wait_flag v to mte2, %turn
      }
    }
  }
  return
}

// -----
// What an argument chooses isn't followed, nor is what follows looked at.
func.func @by_an_argument(%A: !tile.buffer<64xf32, global>, %event: i32 {tile.name = "event", tile.dtype = si32}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%cid) in (%c1) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB>
    %number = arith.index_cast %event : i32 to index
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64
    ascend.set_flag mte2 to v, %number // expected-remark {{the number of this flag, made of 'event', is known only when the kernel runs: none of its flags is checked}}
    ascend.wait_flag mte2 to v, %number
    npu.unary abs %x[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c64)
  }
  return
}

// -----
// Turns of five and of three in one loop are fifteen together: too many to tell apart. The five are followed.
func.func @too_many_turns(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  tile.launch (%cid) in (%n) npu {
    tile.for %i = %c0 to %n step %c1 attributes {tile.name = "i"} {
      %five = arith.remsi %i, %c5 : index
      %three = arith.remsi %i, %c3 : index
      ascend.set_flag mte2 to v, %five
      ascend.wait_flag mte2 to v, %five
      ascend.set_flag v to mte3, %three // expected-remark {{the number of this flag, made of 'i', is known only when the kernel runs}}
      ascend.wait_flag v to mte3, %three
    }
  }
  return
}

// -----
// A variable that counts on through a loop of unknown length is unknown behind it; one that each turn sets first isn't.
func.func @behind_an_unknown_loop(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %buf = tile.alloc "buf" : !tile.buffer<si32, var>
    tile.for %j = %c0 to %n step %c1 {
      tile.store %zero, %buf[] : !tile.buffer<si32, var>
      tile.for %i = %c0 to %m step %c1 {
        %word = tile.load %buf[] : !tile.buffer<si32, var>
        %turn = arith.index_cast %word : i32 to index
        ascend.set_flag v to mte2, %turn
        ascend.wait_flag v to mte2, %turn
        %next = arith.subi %one, %word : i32
        tile.store %next, %buf[] : !tile.buffer<si32, var>
      }
      %last = tile.load %buf[] : !tile.buffer<si32, var>
      %event = arith.index_cast %last : i32 to index
      ascend.set_flag mte2 to v, %event // expected-remark {{the number of this flag, made of 'buf', is known only when the kernel runs}}
      ascend.wait_flag mte2 to v, %event
    }
  }
  return
}

// -----
// Changed in a branch that the turns decide, a variable is followed; that data decides, it isn't.
func.func @in_branches(%n: index, %is_so: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<si32, var>
    %b = tile.alloc "b" : !tile.buffer<si32, var>
    tile.store %zero, %a[] : !tile.buffer<si32, var>
    tile.store %zero, %b[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %n step %c1 {
      %rest = arith.remsi %i, %c3 : index
      %is_first = arith.cmpi eq, %rest, %c0 : index
      scf.if %is_first {
        %old = tile.load %a[] : !tile.buffer<si32, var>
        %new = arith.xori %old, %one : i32
        tile.store %new, %a[] : !tile.buffer<si32, var>
      }
      scf.if %is_so {
        tile.store %one, %b[] : !tile.buffer<si32, var>
      }
      %word = tile.load %a[] : !tile.buffer<si32, var>
      %event = arith.index_cast %word : i32 to index
      ascend.set_flag mte2 to v, %event
      ascend.wait_flag mte2 to v, %event
      %other_word = tile.load %b[] : !tile.buffer<si32, var>
      %other = arith.index_cast %other_word : i32 to index
      ascend.set_flag v to mte3, %other // expected-remark {{the number of this flag, made of 'b', is known only when the kernel runs}}
      ascend.wait_flag v to mte3, %other
    }
  }
  return
}

// -----
// A variable that counts turns, also those of a while that it ends; one that may wrap round isn't followed.
func.func @counted(%n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %end = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<si32, var>
    %b = tile.alloc "b" : !tile.buffer<si32, var>
    %c = tile.alloc "c" : !tile.buffer<si32, var>
    tile.store %zero, %a[] : !tile.buffer<si32, var>
    tile.store %zero, %b[] : !tile.buffer<si32, var>
    tile.store %zero, %c[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %end step %c1 {
      %turn = tile.load %a[] : !tile.buffer<si32, var>
      %rest = arith.remsi %turn, %three : i32
      %event = arith.index_cast %rest : i32 to index
      ascend.set_flag mte2 to v, %event
      ascend.wait_flag mte2 to v, %event
      %next = arith.addi %turn, %one : i32
      tile.store %next, %a[] : !tile.buffer<si32, var>
    }
    tile.while {
      %turn = tile.load %b[] : !tile.buffer<si32, var>
      %is_more = arith.cmpi slt, %turn, %n : i32
      tile.condition %is_more
    } do {
      %turn = tile.load %b[] : !tile.buffer<si32, var>
      %next = arith.addi %turn, %one : i32
      tile.store %next, %b[] : !tile.buffer<si32, var>
      %now = tile.load %b[] : !tile.buffer<si32, var>
      %rest = arith.remsi %now, %three : i32
      %event = arith.index_cast %rest : i32 to index
      ascend.set_flag mte2 to v, %event
      ascend.wait_flag mte2 to v, %event
    }
    tile.for %i = %c0 to %end step %c1 {
      %turn = tile.load %c[] : !tile.buffer<si32, var>
      %rest = arith.remsi %turn, %three : i32
      %event = arith.index_cast %rest : i32 to index
      ascend.set_flag v to mte2, %event // expected-remark {{the number of this flag, made of 'c', is known only when the kernel runs}}
      ascend.wait_flag v to mte2, %event
      %next = arith.addi %turn, %three : i32
      tile.store %next, %c[] : !tile.buffer<si32, var>
    }
  }
  return
}

// -----
// Behind the loop, and where a branch counts, too, nothing is known of a count.
func.func @counted_elsewhere(%n: i32, %is_so: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    %a = tile.alloc "a" : !tile.buffer<si32, var>
    tile.store %zero, %a[] : !tile.buffer<si32, var>
    tile.for %i = %c0 to %end step %c1 {
      scf.if %is_so {
        %turn = tile.load %a[] : !tile.buffer<si32, var>
        %next = arith.addi %turn, %one : i32
        tile.store %next, %a[] : !tile.buffer<si32, var>
      }
      %turn = tile.load %a[] : !tile.buffer<si32, var>
      %rest = arith.andi %turn, %one : i32
      %event = arith.index_cast %rest : i32 to index
      ascend.set_flag mte2 to v, %event // expected-remark {{made of 'a', is known only when the kernel runs}}
      ascend.wait_flag mte2 to v, %event
    }
  }
  return
}

// -----
// What is negative in the first turn has another rest than C's, or as a number without a sign: such numbers don't come
// again. In a loop of few turns each has its own.
func.func @negative_at_first(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i64
  tile.launch (%cid) in (%n) npu {
    tile.for %i = %c0 to %c5 step %c1 attributes {tile.name = "i"} {
      %word = arith.index_cast %i : index to i32
      %before = arith.subi %word, %one : i32
      %wide = arith.extui %before : i32 to i64
      %rest = arith.remui %wide, %three : i64
      %event = arith.index_cast %rest : i64 to index
      ascend.set_flag mte2 to v, %event
      ascend.wait_flag mte2 to v, %event
    }
    tile.for %i = %c0 to %n step %c1 attributes {tile.name = "i"} {
      %before = arith.subi %i, %c1 : index
      %rest = arith.remsi %before, %c3 : index
      %is_more = arith.cmpi sgt, %rest, %c0 : index
      %event = arith.select %is_more, %rest, %c0 : index
      ascend.set_flag v to mte2, %event // expected-remark {{made of 'i', is known only when the kernel runs}}
      ascend.wait_flag v to mte2, %event
    }
  }
  return
}

// -----
func.func @without_a_sign(%n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i64
  %end = arith.index_cast %n : i32 to index
  tile.launch (%cid) in (%c1) npu {
    tile.for %i = %c0 to %end step %c1 attributes {tile.name = "i"} {
      %word = arith.index_cast %i : index to i32
      %before = arith.subi %word, %one : i32
      %wide = arith.extui %before : i32 to i64
      %rest = arith.remui %wide, %three : i64
      %event = arith.index_cast %rest : i64 to index
      ascend.set_flag mte2 to v, %event // expected-remark {{made of 'i', is known only when the kernel runs}}
      ascend.wait_flag mte2 to v, %event
    }
  }
  return
}
