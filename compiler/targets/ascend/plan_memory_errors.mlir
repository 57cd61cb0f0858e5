// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --ascend-plan-memory=share=false --split-input-file --verify-diagnostics
// An overflow lists who takes how much.

func.func @too_much(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-note@+1 {{small takes 4096 bytes}}
    %a = tile.alloc "small" : !tile.buffer<32x32xf32, UB>
    // expected-error@+3 {{the buffers in UB need 200704 bytes, but it has 196352 (of its 196608 the system keeps the last 256)}}
    // expected-note@+2 {{large takes 131072 bytes}}
    // expected-note@+1 {{with TL_ASCEND_MEMORY_PLANNING, buffers that are never needed at once share bytes}}
    %b = tile.alloc "large" : !tile.buffer<256x128xf32, UB>
    // expected-note@+1 {{a buffer takes 65536 bytes}}
    %c = tile.alloc : !tile.buffer<128x128xf32, UB>
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : index
    tile.store %zero, %a[%first, %first] : !tile.buffer<32x32xf32, UB>
    tile.store %zero, %b[%first, %first] : !tile.buffer<256x128xf32, UB>
    tile.store %zero, %c[%first, %first] : !tile.buffer<128x128xf32, UB>
  }
  return
}

// -----
// One alone is too large: sharing wouldn't help.
func.func @one_too_large(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+3 {{the buffers in L0C need 262144 bytes, but it has 131072}}
    // expected-note@+2 {{c takes 262144 bytes}}
    // expected-note@+1 {{they fit with half of the rows or columns in each tile}}
    %c = tile.alloc "c" : !tile.buffer<256x256xf32, L0C>
  }
  return
}

// -----
func.func @too_far(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+1 {{c takes 4096 bytes of L0C from the address 131072 on, but it has 131072}}
    %c = tile.alloc "c" at 131072 : !tile.buffer<32x32xf32, L0C>
  }
  return
}

// -----
func.func @beside_an_address(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+3 {{the buffers in L0C need 163840 bytes, but it has 131072}}
    // expected-note@+2 {{c takes 65536 bytes from the address 32768 on}}
    // expected-note@+1 {{they fit with half of the rows or columns in each tile}}
    %c = tile.alloc "c" at 32768 : !tile.buffer<128x128xf32, L0C>
    // expected-note@+1 {{d takes 65536 bytes}}
    %d = tile.alloc "d" : !tile.buffer<128x128xf32, L0C>
  }
  return
}

// -----
// No parts that one would make of it fit.
func.func @much_too_large(%n: index) {
  tile.launch (%cid) in (%n) npu {
    // expected-error@+3 {{the buffers in UB need 8388608 bytes, but it has 196352 (of its 196608 the system keeps the last 256)}}
    // expected-note@+2 {{x takes 8388608 bytes}}
    // expected-note@+1 {{make the tiles smaller: fewer rows or columns at a time}}
    %x = tile.alloc "x" : !tile.buffer<1024x2048xf32, UB>
  }
  return
}

// -----
// A chip has these bytes, too.
func.func @all_of_it(%n: index) {
  tile.launch (%cid) in (%n) npu {
    %a = tile.alloc "a" : !tile.buffer<256x128xf32, UB>
    // expected-warning@+1 {{b reaches into the last 256 of the 196608 bytes of UB, which the system keeps: functions of the vendor may write there}}
    %b = tile.alloc "b" : !tile.buffer<128x128xf32, UB>
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : index
    tile.store %zero, %a[%first, %first] : !tile.buffer<256x128xf32, UB>
    tile.store %zero, %b[%first, %first] : !tile.buffer<128x128xf32, UB>
  }
  return
}
