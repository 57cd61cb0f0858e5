// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-lower-parallel --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-lower-parallel=cpu=avx2 --split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s "--cpu-lower-parallel=fast cpu=znver4" --split-input-file | FileCheck %s --check-prefix=FAST
// RUN: tilewright-opt %s --cpu-lower-parallel=cpu=sapphirerapids --split-input-file | FileCheck %s --check-prefix=INTEL

// One question for the whole nest decides whether its accesses are checked one by one.
// CHECK-LABEL: func.func @versions
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c63
// CHECK: arith.cmpi sle, %[[LAST]]
// CHECK: scf.if %{{.*}} {
// CHECK: tile.load %arg0[%{{.*}}] in_bounds {cpu.access_group
// CHECK: } else {
// CHECK: tile.load %arg0[%{{[^]]*}}] {cpu.access_group
// CHECK-NOT: tile.parallel
func.func @versions(%A: !tile.buffer<1000xf32, global> {tile.name = "A"}) attributes {tile.kernel} {
  %c64 = arith.constant 64 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c16) threads(128) {
    %m = arith.muli %b, %c64 : index
    tile.parallel (%i) in [64] {
      %k = arith.addi %m, %i : index
      %v = tile.load %A[%k] : !tile.buffer<1000xf32, global>
      tile.store %v, %A[%k] : !tile.buffer<1000xf32, global>
    }
  }
  return
}

// -----

// Known to be inside: one form. A variable from outside the nest that is written in it keeps it from being vectorised.
// CHECK-LABEL: func.func @carries
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-NOT: llvm.loop_annotation
// CHECK: return
func.func @carries() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    %n = tile.alloc "n" : !tile.buffer<f32, var>
    tile.parallel (%i) in [64] {
      %v = tile.load %s[%i] : !tile.buffer<64xf32, shared>
      tile.store %v, %n[] : !tile.buffer<f32, var>
    }
  }
  return
}

// -----

// Rows of a large tensor that is only written: where the first begins a line, the stores go past the caches.
// CHECK-LABEL: func.func @streams
// CHECK: %[[NUMBER:.*]] = llvm.ptrtoint
// CHECK: %[[IN_LINE:.*]] = arith.andi %[[NUMBER]], %c63
// CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[IN_LINE]]
// CHECK: scf.if %[[EVEN]] {
// CHECK: tile.store {{.*}} in_bounds {cpu.access_group = {{.*}}, cpu.streamed}
// CHECK: } else {
// CHECK-NOT: cpu.streamed
// CHECK: return
func.func @streams(%A: !tile.buffer<4096x4096xf32, global> {tile.name = "A"},
                   %B: !tile.buffer<4096x4096xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    tile.parallel (%j) in [4096] {
      %v = tile.load %A[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
      tile.store %v, %B[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
    }
  }
  return
}

// -----

// Requests for its lines read nothing of the tensor; a load by its address does.
// CHECK-LABEL: func.func @asked
// CHECK: tile.store %{{.*}}, %arg1{{.*}} {cpu.access_group = {{.*}}, cpu.streamed}
// CHECK-NOT: cpu.streamed
// CHECK: return
func.func @asked(%A: !tile.buffer<4096x4096xf32, global> {tile.name = "A"},
                 %B: !tile.buffer<4096x4096xf32, global> {tile.name = "B"},
                 %C: !tile.buffer<4096x4096xf32, global> {tile.name = "C"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    %0 = builtin.unrealized_conversion_cast %B : !tile.buffer<4096x4096xf32, global> to !llvm.ptr
    %1 = llvm.getelementptr %0[64] : (!llvm.ptr) -> !llvm.ptr, i8
    "llvm.intr.prefetch"(%1) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
    %2 = builtin.unrealized_conversion_cast %C : !tile.buffer<4096x4096xf32, global> to !llvm.ptr
    %3 = llvm.getelementptr %2[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %4 = llvm.load %3 : !llvm.ptr -> f32
    tile.parallel (%j) in [4096] {
      %v = tile.load %A[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
      tile.store %v, %B[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
    }
    tile.parallel (%j) in [4096] {
      tile.store %4, %C[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
    }
  }
  return
}

// -----

// Not where the tensor is read too, nor columns, nor parts of lines.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: cpu.streamed
// CHECK: return
func.func @stays(%A: !tile.buffer<4096x4096xf32, global> {tile.name = "A"},
                 %B: !tile.buffer<4096x4096xf32, global> {tile.name = "B"}) attributes {tile.kernel} {
  %n = arith.constant 4096 : index
  tile.launch (%b) in (%n) threads(128) {
    tile.parallel (%j) in [4096] {
      %v = tile.load %A[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
      tile.store %v, %A[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
      tile.store %v, %B[%j, %b] in_bounds : !tile.buffer<4096x4096xf32, global>
    }
    tile.parallel (%j) in [1000] {
      %v = tile.load %A[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
      tile.store %v, %B[%b, %j] in_bounds : !tile.buffer<4096x4096xf32, global>
    }
  }
  return
}

// -----

// What a condition leaves of the turns becomes the loop's range.
// CHECK-LABEL: func.func @guard
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c128{{.*}} : index
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[END]], %{{.*}} : index
// CHECK-NOT: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK-NOT: scf.if
// A single turn: the fourth.
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1{{.*}} {
// CHECK: return
func.func @guard(%n: index {tile.name = "n"}) attributes {tile.kernel} {
  %c128 = arith.constant 128 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c128) threads(128) {
    %s = tile.alloc : !tile.buffer<128xf32, shared>
    %m = arith.muli %b, %c128 : index
    tile.parallel (%t) in [128] {
      %i = arith.addi %m, %t : index
      %inside = arith.cmpi slt, %i, %n : index
      scf.if %inside {
        tile.store %one, %s[%t] in_bounds : !tile.buffer<128xf32, shared>
      }
    }
    tile.parallel (%t) in [128] {
      %only = arith.cmpi eq, %c3, %t : index
      scf.if %only {
        tile.store %one, %s[%t] in_bounds : !tile.buffer<128xf32, shared>
      }
    }
  }
  return
}

// -----

// exp is a long chain: on AVX2 four vectors of it go side by side, if that leaves no rest.
// AVX2: #[[FOUR:.*]] = #llvm.loop_interleave<count = 4 : i32>
// AVX2: #[[MARK:.*]] = #llvm.loop_annotation<{{.*}}interleave = #[[FOUR]]
// AVX2-LABEL: func.func @exponentials
// AVX2: math.exp
// AVX2: llvm.loop_annotation = #[[MARK]]}
// AVX2: math.exp2
// AVX2-NOT: llvm.loop_annotation = #[[MARK]]}
// AVX2: return
func.func @exponentials() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<512xf32, shared>
    tile.parallel (%i) in [512] {
      %v = tile.load %s[%i] : !tile.buffer<512xf32, shared>
      %e = math.exp %v : f32
      tile.store %e, %s[%i] : !tile.buffer<512xf32, shared>
    }
    tile.parallel (%i) in [264] {
      %v = tile.load %s[%i] : !tile.buffer<512xf32, shared>
      %e = math.exp2 %v : f32
      tile.store %e, %s[%i] : !tile.buffer<512xf32, shared>
    }
  }
  return
}

// -----

// A whole vector of bfloat16 is made of two of float32.
// AVX2: #[[WIDE:.*]] = #llvm.loop_vectorize<disable = false, width = 16 : i32>
// AVX2: #[[ROUNDS:.*]] = #llvm.loop_annotation<vectorize = #[[WIDE]],
// AVX2-LABEL: func.func @rounds
// AVX2: arith.truncf
// AVX2: llvm.loop_annotation = #[[ROUNDS]]}
// AVX2: return
func.func @rounds() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    %t = tile.alloc : !tile.buffer<64xbf16, shared>
    tile.parallel (%i) in [64] {
      %v = tile.load %s[%i] : !tile.buffer<64xf32, shared>
      %r = arith.truncf %v : f32 to bf16
      tile.store %r, %t[%i] : !tile.buffer<64xbf16, shared>
    }
  }
  return
}

// -----

// Rows of bfloat16 by pairs on AVX-512; rounded in whole numbers, or with fast math by one instruction for two vectors.
// CHECK-LABEL: func.func @pairs
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<32xi32>
// CHECK: arith.shli
// CHECK: arith.andi
// CHECK: arith.mulf %{{.*}} : vector<64xf32>
// CHECK-NOT: cvtne2ps2bf16
// CHECK: llvm.store %{{.*}} {alignment = 64 : i64, nontemporal} : vector<64xi16>
// CHECK: } else {
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<64xi16>
// AVX2-LABEL: func.func @pairs
// AVX2: tile.load
// FAST-LABEL: func.func @pairs
// FAST: arith.mulf %{{.*}} : vector<64xf32>
// FAST-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// FAST: llvm.store %{{.*}} {alignment = 64 : i64, nontemporal} : vector<64xi16>
func.func @pairs(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"},
                 %Y: !tile.buffer<8192x4096xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    tile.parallel (%j) in [4096] {
      %v = tile.load %X[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
      %w = arith.extf %v : bf16 to f32
      %p = arith.mulf %w, %w : f32
      %t = arith.truncf %p : f32 to bf16
      tile.store %t, %Y[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
    }
  }
  return
}

// -----

// In order where more of it is float32; a value that is rounded on the way is left to the usual loops.
// FAST-LABEL: func.func @in_order
// FAST: llvm.load %{{.*}} : !llvm.ptr -> vector<64xf32>
// FAST-NOT: arith.andi
// FAST-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// FAST: tile.load %{{.*}} {cpu.access_group
// FAST: arith.extf
// CHECK-LABEL: func.func @in_order
// CHECK-NOT: llvm.load
func.func @in_order(%A: !tile.buffer<4096xbf16, global> {tile.name = "A"}) attributes {tile.kernel} {
  %n = arith.constant 1 : index
  tile.launch (%b) in (%n) threads(128) {
    %x = tile.alloc "x" : !tile.buffer<4096xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<4096xf32, fragment>
    tile.parallel (%j) in [4096] {
      %v = tile.load %x[%j] in_bounds : !tile.buffer<4096xf32, fragment>
      %t = arith.truncf %v : f32 to bf16
      tile.store %t, %A[%j] in_bounds : !tile.buffer<4096xbf16, global>
    }
    tile.parallel (%j) in [4096] {
      %v = tile.load %x[%j] in_bounds : !tile.buffer<4096xf32, fragment>
      %t = arith.truncf %v : f32 to bf16
      %w = arith.extf %t : bf16 to f32
      tile.store %w, %y[%j] in_bounds : !tile.buffer<4096xf32, fragment>
    }
  }
  return
}

// -----

// What lies apart is loaded by pairs, as it lies.
// FAST-LABEL: func.func @apart
// FAST: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>
// FAST-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// FAST: llvm.store {{.*}} : vector<64xi16>
// CHECK-LABEL: func.func @apart
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<64xf32>
func.func @apart(%Y: !tile.buffer<512xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<512xf32, fragment>
    tile.parallel (%j) in [512] {
      %v = tile.load %x[%j] in_bounds {cpu.apart = 64 : i64} : !tile.buffer<512xf32, fragment>
      %t = arith.truncf %v : f32 to bf16
      tile.store %t, %Y[%j] in_bounds : !tile.buffer<512xbf16, global>
    }
  }
  return
}

// -----

// What is read across is turned in registers, block by block: four steps of 16 shuffles, or three of 8.
// CHECK-LABEL: func.func @turns
// CHECK: scf.for %[[D:.*]] = %c0{{.*}} to %c64{{.*}} step %c16
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK: %[[S:.*]] = tile.load %{{.*}}[%[[D]]] in_bounds
// CHECK: %[[ALL:.*]] = vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK: arith.mulf %{{.*}}, %[[ALL]] : vector<16xf32>
// CHECK-COUNT-16: llvm.store {{.*}} vector<16xf32>
// CHECK-NOT: llvm.store
// AVX2-LABEL: func.func @turns
// AVX2-COUNT-24: vector.shuffle
// AVX2-NOT: vector.shuffle
// AVX2: return
func.func @turns(%Q: !tile.buffer<1024x64xf32, global> {tile.name = "Q"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%b) in (%c32) threads(128) {
    %q = tile.alloc : !tile.buffer<64x32xf32, shared>
    %s = tile.alloc : !tile.buffer<64xf32, shared>
    tile.parallel (%d, %i) in [64, 32] {
      %start = arith.muli %b, %c32 : index
      %row = arith.addi %start, %i : index
      %v = tile.load %Q[%row, %d] in_bounds : !tile.buffer<1024x64xf32, global>
      %f = tile.load %s[%d] in_bounds : !tile.buffer<64xf32, shared>
      %p = arith.mulf %v, %f : f32
      tile.store %p, %q[%d, %i] in_bounds : !tile.buffer<64x32xf32, shared>
    }
  }
  return
}

// -----

// On Intel's AVX-512 the blocks of a strip ask for the tensor's lines of the next strip, to be read or written.
// CHECK-LABEL: func.func @turns_ahead
// CHECK-NOT: prefetch
// CHECK: return
// INTEL-LABEL: func.func @turns_ahead
// INTEL: llvm.load {{.*}} -> vector<16xf32>
// INTEL: %[[STRIP:.*]] = arith.constant 2048 : i64
// INTEL: llvm.getelementptr %{{.*}}[%[[STRIP]]] : {{.*}} f32
// INTEL: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// INTEL-COUNT-15: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// INTEL-COUNT-16: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 1 : i32}>
// INTEL-NOT: prefetch
// INTEL: return
func.func @turns_ahead(%Q: !tile.buffer<128x64xf32, global> {tile.name = "Q"},
    %R: !tile.buffer<128x64xf32, global> {tile.name = "R"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %q = tile.alloc : !tile.buffer<4x64x32xf32, shared>
    tile.parallel (%s, %d, %i) in [4, 64, 32] {
      %c32 = arith.constant 32 : index
      %start = arith.muli %s, %c32 : index
      %row = arith.addi %start, %i : index
      %v = tile.load %Q[%row, %d] in_bounds : !tile.buffer<128x64xf32, global>
      %p = arith.mulf %v, %v : f32
      tile.store %p, %q[%s, %d, %i] in_bounds : !tile.buffer<4x64x32xf32, shared>
    }
    tile.parallel (%s, %i, %d) in [4, 32, 64] {
      %c32 = arith.constant 32 : index
      %start = arith.muli %s, %c32 : index
      %row = arith.addi %start, %i : index
      %v = tile.load %q[%s, %d, %i] in_bounds : !tile.buffer<4x64x32xf32, shared>
      %p = arith.mulf %v, %v : f32
      tile.store %p, %R[%row, %d] in_bounds : !tile.buffer<128x64xf32, global>
    }
  }
  return
}

// -----

// Not with numbers made of the last variable, nor where a load stands behind a store.
// CHECK-LABEL: func.func @does_not_turn
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @does_not_turn(%Q: !tile.buffer<64x64xf32, global> {tile.name = "Q"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %q = tile.alloc : !tile.buffer<64x64xf32, shared>
    tile.parallel (%d, %i) in [64, 64] {
      %v = tile.load %Q[%i, %d] in_bounds : !tile.buffer<64x64xf32, global>
      %n = arith.index_cast %i : index to i32
      %f = arith.sitofp %n : i32 to f32
      %p = arith.mulf %v, %f : f32
      tile.store %p, %q[%d, %i] in_bounds : !tile.buffer<64x64xf32, shared>
    }
    tile.parallel (%d, %i) in [64, 64] {
      %v = tile.load %Q[%i, %d] in_bounds : !tile.buffer<64x64xf32, global>
      tile.store %v, %q[%d, %i] in_bounds : !tile.buffer<64x64xf32, shared>
      %w = tile.load %Q[%i, %d] in_bounds : !tile.buffer<64x64xf32, global>
      tile.store %w, %q[%d, %i] in_bounds : !tile.buffer<64x64xf32, shared>
    }
  }
  return
}

// -----

// Nor where a row that would be read as a vector lies apart.
// CHECK-LABEL: func.func @apart_does_not_turn
// CHECK-NOT: vector.shuffle
// CHECK-NOT: llvm.load
// CHECK: return
func.func @apart_does_not_turn(%Q: !tile.buffer<64x64xf32, global> {tile.name = "Q"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %q = tile.alloc : !tile.buffer<64x64xf32, shared>
    %x = tile.alloc : !tile.buffer<64x64xf32, fragment>
    tile.parallel (%d, %i) in [64, 64] {
      %v = tile.load %Q[%i, %d] in_bounds : !tile.buffer<64x64xf32, global>
      %w = tile.load %x[%d, %i] in_bounds {cpu.apart = 64 : i64} : !tile.buffer<64x64xf32, fragment>
      %p = arith.mulf %v, %w : f32
      tile.store %p, %q[%d, %i] in_bounds : !tile.buffer<64x64xf32, shared>
    }
  }
  return
}

// -----

// Rows further apart than a constant offset tells, which has 29 bits.
// CHECK-LABEL: func.func @turns_far_rows
// CHECK: %[[FIRST:.*]] = arith.constant 268435456 : i64
// CHECK: llvm.getelementptr %{{.*}}[%[[FIRST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: %[[LAST:.*]] = arith.constant 4026531840 : i64
// CHECK: llvm.getelementptr %{{.*}}[%[[LAST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
func.func @turns_far_rows(%Q: !tile.buffer<16x268435456xf32, global> {tile.name = "Q"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %q = tile.alloc : !tile.buffer<16x16xf32, shared>
    tile.parallel (%d, %i) in [16, 16] {
      %v = tile.load %Q[%i, %d] in_bounds : !tile.buffer<16x268435456xf32, global>
      tile.store %v, %q[%d, %i] in_bounds : !tile.buffer<16x16xf32, shared>
    }
  }
  return
}

// -----

// Several iterations that read and write one element keep their order; where each has its own, also by quotient and
// remainder or beside a short loop inside, they don't.
// CHECK-LABEL: func.func @shares_elements
// CHECK: tile.load %{{[^ ]*}} : !tile.buffer<8xf32, fragment>
// CHECK: tile.load %{{.*}} {cpu.access_group = {{.*}}} : !tile.buffer<8x8xf32, fragment>
// CHECK: tile.load %{{.*}} {cpu.access_group = {{.*}}} : !tile.buffer<256xf32, fragment>
// CHECK: tile.load %{{[^ ]*}} : !tile.buffer<80xf32, fragment>
func.func @shares_elements() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  tile.launch (%b) in (%c1) threads(128) {
    %s = tile.alloc : !tile.buffer<8xf32, fragment>
    %t = tile.alloc : !tile.buffer<8x8xf32, fragment>
    %u = tile.alloc : !tile.buffer<256xf32, fragment>
    %w = tile.alloc : !tile.buffer<80xf32, fragment>
    tile.parallel (%i) in [64] {
      %k = arith.shrsi %i, %c3 : index
      %v = tile.load %s[%k] : !tile.buffer<8xf32, fragment>
      %d = arith.addf %v, %v : f32
      tile.store %d, %s[%k] : !tile.buffer<8xf32, fragment>
    }
    tile.parallel (%i) in [64] {
      %k = arith.shrsi %i, %c3 : index
      %r = arith.andi %i, %c7 : index
      %v = tile.load %t[%k, %r] : !tile.buffer<8x8xf32, fragment>
      %d = arith.addf %v, %v : f32
      tile.store %d, %t[%k, %r] : !tile.buffer<8x8xf32, fragment>
    }
    tile.parallel (%i) in [64] {
      %k = arith.muli %i, %c4 : index
      scf.for %j = %c0 to %c4 step %c1 {
        %p = arith.addi %k, %j : index
        %v = tile.load %u[%p] : !tile.buffer<256xf32, fragment>
        %d = arith.addf %v, %v : f32
        tile.store %d, %u[%p] : !tile.buffer<256xf32, fragment>
      }
    }
    tile.parallel (%i) in [64] {
      scf.for %j = %c0 to %c4 step %c1 {
        %p = arith.addi %i, %j : index
        %v = tile.load %w[%p] : !tile.buffer<80xf32, fragment>
        %d = arith.addf %v, %v : f32
        tile.store %d, %w[%p] : !tile.buffer<80xf32, fragment>
      }
    }
  }
  return
}

// -----

// With fast math on Intel's AVX-512, quotients and exponentials go by whole vectors.
// RUN: tilewright-opt %s "--cpu-lower-parallel=fast cpu=sapphirerapids" --split-input-file | FileCheck %s --check-prefix=WHOLE
// WHOLE-LABEL: func.func @quotients
// WHOLE: arith.divf %{{.*}}, %{{.*}} : vector<64xf32>
// INTEL-LABEL: func.func @quotients
// INTEL: arith.divf %{{.*}}, %{{.*}} : f32
// FAST-LABEL: func.func @quotients
// FAST: arith.divf %{{.*}}, %{{.*}} : f32
func.func @quotients(%y: !tile.buffer<256xf32, global> {tile.name = "y"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<256xf32, fragment>
    tile.parallel (%i) in [256] {
      %v = tile.load %x[%i] in_bounds : !tile.buffer<256xf32, fragment>
      %w = tile.load %y[%i] in_bounds : !tile.buffer<256xf32, global>
      %q = arith.divf %v, %w : f32
      tile.store %q, %y[%i] in_bounds : !tile.buffer<256xf32, global>
    }
  }
  return
}
