// SPDX-License-Identifier: Apache-2.0
// RUN: tilewright-opt %s --cpu-fuse-reductions=cpu=avx2 --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-fuse-reductions --split-input-file | FileCheck %s --check-prefix=WIDE
// RUN: tilewright-opt %s "--cpu-fuse-reductions=fast cpu=znver4" --split-input-file | FileCheck %s --check-prefix=FAST

// What a row needs once stands before the row's loop; four of the machine's vectors go at once, into one of sums.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c128
// CHECK: %[[M:.*]] = tile.load %{{.*}}[%[[I]]] in_bounds
// CHECK: %[[ALL:.*]] = vector.broadcast %[[M]] : f32 to vector<32xf32>
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c32{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: %[[V:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<32xf32>
// CHECK: %[[D:.*]] = arith.subf %[[V]], %[[ALL]] : vector<32xf32>
// CHECK: %[[E:.*]] = math.exp2 %[[D]] : vector<32xf32>
// CHECK: llvm.store %[[E]]
// CHECK: arith.addf %{{.*}} : vector<16xf32>
// CHECK: %[[EIGHT:.*]] = arith.addf %{{.*}} : vector<8xf32>
// CHECK: arith.addf %[[SO_FAR]], %[[EIGHT]]
// CHECK: %[[ONE:.*]] = vector.reduction <add>, %[[SUM]]
// CHECK: tile.store %[[ONE]], %{{.*}}[%[[I]]]
// CHECK-NOT: tile.parallel
// CHECK-NOT: tile.reduce
// CHECK: return
func.func @rows() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<128x64xf32, fragment>
    %m = tile.alloc : !tile.buffer<128xf32, fragment>
    %s = tile.alloc : !tile.buffer<128xf32, fragment>
    tile.parallel (%i, %j) in [128, 64] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<128x64xf32, fragment>
      %n = tile.load %m[%i] in_bounds : !tile.buffer<128xf32, fragment>
      %d = arith.subf %v, %n : f32
      %e = math.exp2 %d : f32
      tile.store %e, %x[%i, %j] in_bounds : !tile.buffer<128x64xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<128x64xf32, fragment> dim 1 into %s : !tile.buffer<128xf32, fragment> clear
  }
  return
}

// -----

// A single long row in strips, which carry what FetchNextBlock wants to know; the old maximum takes part.
// CHECK-LABEL: func.func @strips
// CHECK: scf.for %[[STRIP:.*]] = %{{.*}} to %c64
// CHECK: arith.muli %[[STRIP]], %c64
// CHECK: scf.for
// CHECK: } {cpu.strip_cost = {{[0-9]+}} : i64}
// CHECK: %[[OLD:.*]] = tile.load
// CHECK: arith.maxnumf %{{.*}}, %[[OLD]] : f32
func.func @strips() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<1x4096xbf16, fragment>
    %y = tile.alloc : !tile.buffer<1x4096xf32, fragment>
    %m = tile.alloc : !tile.buffer<1xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x4096xbf16, fragment>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.reduce max %y : !tile.buffer<1x4096xf32, fragment> dim 1 into %m : !tile.buffer<1xf32, fragment>
  }
  return
}

// -----

// Not where the nest touches the target, reads across rows, asks for its place in the row, or where another buffer
// is reduced.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: tile.reduce
func.func @others() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<64x64xf32, fragment>
    %y = tile.alloc : !tile.buffer<64x64xf32, fragment>
    %s = tile.alloc : !tile.buffer<64xf32, fragment>
    tile.parallel (%i, %j) in [64, 64] {
      %v = tile.load %s[%j] in_bounds : !tile.buffer<64xf32, fragment>
      tile.store %v, %x[%i, %j] in_bounds : !tile.buffer<64x64xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x64xf32, fragment> dim 1 into %s : !tile.buffer<64xf32, fragment> clear
    tile.parallel (%i, %j) in [64, 64] {
      %v = tile.load %y[%j, %i] in_bounds : !tile.buffer<64x64xf32, fragment>
      tile.store %v, %x[%i, %j] in_bounds : !tile.buffer<64x64xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x64xf32, fragment> dim 1 into %s : !tile.buffer<64xf32, fragment> clear
    tile.parallel (%i, %j) in [64, 64] {
      %n = arith.index_cast %j : index to i32
      %v = arith.sitofp %n : i32 to f32
      tile.store %v, %x[%i, %j] in_bounds : !tile.buffer<64x64xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x64xf32, fragment> dim 1 into %s : !tile.buffer<64xf32, fragment> clear
    tile.parallel (%i, %j) in [64, 64] {
      tile.store %one, %x[%i, %j] in_bounds : !tile.buffer<64x64xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<64x64xf32, fragment> dim 1 into %s : !tile.buffer<64xf32, fragment> clear
  }
  return
}

// -----

// Columns: what is the same for all rows stands before the loop, which takes two rows a turn: of one vector each, or
// without exponentials. Two vectors with them fill the registers of AVX2.
// WIDE-LABEL: func.func @columns
// WIDE: %[[M:.*]] = llvm.load %{{.*}} -> vector<16xf32>
// WIDE: %[[R:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c2{{.*}} iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) -> (vector<16xf32>, vector<16xf32>)
// WIDE: arith.subf %{{.*}}, %[[M]] : vector<16xf32>
// WIDE: %[[E0:.*]] = math.exp2
// WIDE: llvm.store %[[E0]]
// WIDE: %[[N0:.*]] = arith.addf %[[S0]], %[[E0]]
// WIDE: %[[E1:.*]] = math.exp2
// WIDE: %[[N1:.*]] = arith.addf %[[S1]], %[[E1]]
// WIDE: scf.yield %[[N0]], %[[N1]]
// WIDE: %[[SUM:.*]] = arith.addf %[[R]]#0, %[[R]]#1
// WIDE: llvm.store %[[SUM]]
// WIDE-NOT: tile.parallel
// WIDE-NOT: tile.reduce
// WIDE: return
// CHECK-LABEL: func.func @columns
// CHECK: %[[R:.*]] = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c1{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[E:.*]] = math.exp2
// CHECK: llvm.store %[[E]]
// CHECK: %[[N:.*]] = arith.addf %[[S]], %[[E]]
// CHECK: scf.yield %[[N]]
// CHECK: llvm.store %[[R]]
// CHECK: return
func.func @columns() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<64x16xf32, fragment>
    %m = tile.alloc : !tile.buffer<16xf32, fragment>
    %s = tile.alloc : !tile.buffer<16xf32, fragment>
    tile.parallel (%i, %j) in [64, 16] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<64x16xf32, fragment>
      %n = tile.load %m[%j] in_bounds : !tile.buffer<16xf32, fragment>
      %d = arith.subf %v, %n : f32
      %e = math.exp2 %d : f32
      tile.store %e, %x[%i, %j] in_bounds : !tile.buffer<64x16xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x16xf32, fragment> dim 0 into %s : !tile.buffer<16xf32, fragment> clear
  }
  return
}

// -----

// Columns that fill more than four vectors are left.
// CHECK-LABEL: func.func @many_columns
// CHECK: tile.parallel
// CHECK: tile.reduce
func.func @many_columns() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<64x40xf32, fragment>
    %s = tile.alloc : !tile.buffer<40xf32, fragment>
    tile.parallel (%i, %j) in [64, 40] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<64x40xf32, fragment>
      %e = math.exp2 %v : f32
      tile.store %e, %x[%i, %j] in_bounds : !tile.buffer<64x40xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x40xf32, fragment> dim 0 into %s : !tile.buffer<40xf32, fragment> clear
  }
  return
}

// -----

// By pairs: a word is two elements, whose order a sum doesn't mind. What only the sum reads is not stored.
// With 32 registers as many sums as lanes.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: tile.alloc "y"
// CHECK: scf.for {{.*}} -> (vector<8xf32>)
// CHECK: %[[WORDS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xi32>
// CHECK: arith.shli %[[WORDS]], %{{.*}} : vector<16xi32>
// CHECK: arith.andi %[[WORDS]], %{{.*}} : vector<16xi32>
// CHECK-NOT: arith.extf
// CHECK-NOT: llvm.store
// CHECK: arith.mulf %{{.*}} : vector<32xf32>
// CHECK: vector.reduction <add>, %{{.*}} : vector<8xf32>
// WIDE-LABEL: func.func @pairs
// WIDE-NOT: tile.alloc "y"
// WIDE: scf.for {{.*}} -> (vector<64xf32>)
// WIDE: %[[WORDS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<32xi32>
// WIDE: %[[EVEN:.*]] = arith.shli %[[WORDS]], %{{.*}} : vector<32xi32>
// WIDE: %[[ODD:.*]] = arith.andi %[[WORDS]], %{{.*}} : vector<32xi32>
// WIDE: vector.shuffle
// WIDE-NOT: arith.extf
// WIDE-NOT: llvm.store
// WIDE: arith.mulf %{{.*}} : vector<64xf32>
// WIDE: vector.reduction <add>, %{{.*}} : vector<16xf32>
func.func @pairs(%X: !tile.buffer<8192x4096xbf16, global> {tile.name = "X"}) attributes {tile.kernel} {
  %n = arith.constant 8192 : index
  tile.launch (%b) in (%n) threads(128) {
    %y = tile.alloc "y" : !tile.buffer<1x4096xf32, fragment>
    %s = tile.alloc "s" : !tile.buffer<1xf32, fragment>
    tile.parallel (%i, %j) in [1, 4096] {
      %v = tile.load %X[%b, %j] in_bounds : !tile.buffer<8192x4096xbf16, global>
      %w = arith.extf %v : bf16 to f32
      %p = arith.mulf %w, %w : f32
      tile.store %p, %y[%i, %j] in_bounds : !tile.buffer<1x4096xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<1x4096xf32, fragment> dim 1 into %s : !tile.buffer<1xf32, fragment> clear
  }
  return
}

// -----

// The maximum of bfloat16 that is only widened is taken of its bits; with a NaN on top, by floats. Other kinds go by floats.
// WIDE-LABEL: func.func @largest_of_bits
// WIDE: scf.for
// WIDE: llvm.load {{.*}} -> vector<64xi16>
// WIDE: arith.maxsi {{.*}} : vector<64xi16>
// WIDE: arith.minui {{.*}} : vector<64xi16>
// WIDE: vector.reduction <maxsi>
// WIDE: vector.reduction <minui>
// WIDE: scf.if {{.*}} -> (f32) {
// WIDE: arith.select {{.*}} vector<64xf32>
// WIDE: } else {
// WIDE: arith.extf {{.*}} : bf16 to f32
// WIDE: }
// WIDE-NOT: vector<64xi16>
// WIDE: vector.reduction <add>
// CHECK-LABEL: func.func @largest_of_bits
// CHECK: arith.maxsi {{.*}} : vector<32xi16>
// CHECK: arith.minui {{.*}} : vector<32xi16>
// CHECK: return
func.func @largest_of_bits(%X: !tile.buffer<512xbf16, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<1x512xf32, fragment>
    %m = tile.alloc : !tile.buffer<1xf32, fragment>
    %y = tile.alloc : !tile.buffer<1x512xf32, fragment>
    tile.parallel (%i, %j) in [1, 512] {
      %v = tile.load %X[%j] in_bounds : !tile.buffer<512xbf16, global>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
    }
    tile.reduce max %x : !tile.buffer<1x512xf32, fragment> dim 1 into %m : !tile.buffer<1xf32, fragment> clear
    tile.parallel (%i, %j) in [1, 512] {
      %v = tile.load %X[%j] in_bounds : !tile.buffer<512xbf16, global>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %y[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<1x512xf32, fragment> dim 1 into %m : !tile.buffer<1xf32, fragment> clear
  }
  return
}

// -----

// What a nest by pairs stores stays apart where the others load it by pairs; not where one needs the order.
// WIDE-LABEL: func.func @apart
// WIDE: arith.mulf {{.*}} : vector<64xf32>
// WIDE-NOT: vector.shuffle
// WIDE: llvm.store {{.*}} : vector<64xf32>
// WIDE: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds {cpu.apart = 64 : i64} : !tile.buffer<1x512xf32, fragment>
// CHECK-LABEL: func.func @apart
// CHECK: llvm.store {{.*}} : vector<32xf32>
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] in_bounds {cpu.apart = 32 : i64} : !tile.buffer<1x512xf32, fragment>
func.func @apart(%X: !tile.buffer<512xbf16, global> {tile.name = "X"},
                 %Y: !tile.buffer<512xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<1x512xf32, fragment>
    %s = tile.alloc : !tile.buffer<1xf32, fragment>
    tile.parallel (%i, %j) in [1, 512] {
      %v = tile.load %X[%j] in_bounds : !tile.buffer<512xbf16, global>
      %w = arith.extf %v : bf16 to f32
      %p = arith.mulf %w, %w : f32
      tile.store %p, %x[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<1x512xf32, fragment> dim 1 into %s : !tile.buffer<1xf32, fragment> clear
    tile.parallel (%i, %j) in [1, 512] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
      %t = arith.truncf %v : f32 to bf16
      tile.store %t, %Y[%j] in_bounds : !tile.buffer<512xbf16, global>
    }
  }
  return
}

// -----

// WIDE-LABEL: func.func @in_order
// WIDE-NOT: cpu.apart
// WIDE: return
// CHECK-LABEL: func.func @in_order
// CHECK-NOT: cpu.apart
// CHECK: return
func.func @in_order(%X: !tile.buffer<512xbf16, global> {tile.name = "X"},
                    %Y: !tile.buffer<512xbf16, global> {tile.name = "Y"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<1x512xf32, fragment>
    %s = tile.alloc : !tile.buffer<1xf32, fragment>
    tile.parallel (%i, %j) in [1, 512] {
      %v = tile.load %X[%j] in_bounds : !tile.buffer<512xbf16, global>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<1x512xf32, fragment> dim 1 into %s : !tile.buffer<1xf32, fragment> clear
    tile.parallel (%i, %j) in [1, 256] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<1x512xf32, fragment>
      %t = arith.truncf %v : f32 to bf16
      tile.store %t, %Y[%j] in_bounds : !tile.buffer<512xbf16, global>
    }
  }
  return
}

// -----

// Sums of columns are made in order: they keep what they read from lying apart.
// WIDE-LABEL: func.func @columns_in_order
// WIDE-NOT: cpu.apart
// WIDE-NOT: tile.reduce
// WIDE: return
func.func @columns_in_order(%X: !tile.buffer<32x64xbf16, global> {tile.name = "X"},
                            %W: !tile.buffer<32x64xbf16, global> {tile.name = "W"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<32x64xf32, fragment>
    %y = tile.alloc : !tile.buffer<32x64xf32, fragment>
    %s = tile.alloc : !tile.buffer<32xf32, fragment>
    %c = tile.alloc : !tile.buffer<64xf32, fragment>
    tile.parallel (%i, %j) in [32, 64] {
      %v = tile.load %X[%i, %j] in_bounds : !tile.buffer<32x64xbf16, global>
      %w = arith.extf %v : bf16 to f32
      tile.store %w, %x[%i, %j] in_bounds : !tile.buffer<32x64xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<32x64xf32, fragment> dim 1 into %s : !tile.buffer<32xf32, fragment> clear
    tile.parallel (%i, %j) in [32, 64] {
      %v = tile.load %x[%i, %j] in_bounds : !tile.buffer<32x64xf32, fragment>
      %k = tile.load %W[%i, %j] in_bounds : !tile.buffer<32x64xbf16, global>
      %w = arith.extf %k : bf16 to f32
      %p = arith.mulf %v, %w : f32
      tile.store %p, %y[%i, %j] in_bounds : !tile.buffer<32x64xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<32x64xf32, fragment> dim 0 into %c : !tile.buffer<64xf32, fragment> clear
  }
  return
}

// -----

// Whatever has set it apart: nothing takes it in order, nor in groups of another size.
// WIDE-LABEL: func.func @never_as_if_in_order
// WIDE: tile.parallel
// WIDE: tile.reduce sum {{.*}} dim 0
// WIDE: tile.parallel
// WIDE: tile.reduce sum {{.*}} dim 1
// CHECK-LABEL: func.func @never_as_if_in_order
// CHECK: tile.parallel
// CHECK: tile.reduce sum {{.*}} dim 0
// CHECK-NOT: tile.parallel
// CHECK: llvm.load {{.*}} -> vector<32xf32>
func.func @never_as_if_in_order(%X: !tile.buffer<64xbf16, global> {tile.name = "X"}) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<32x64xf32, fragment>
    %y = tile.alloc : !tile.buffer<32x64xf32, fragment>
    %s = tile.alloc : !tile.buffer<32xf32, fragment>
    %c = tile.alloc : !tile.buffer<64xf32, fragment>
    tile.parallel (%i, %j) in [32, 64] {
      %v = tile.load %x[%i, %j] in_bounds {cpu.apart = 64 : i64} : !tile.buffer<32x64xf32, fragment>
      %p = arith.mulf %v, %v : f32
      tile.store %p, %y[%i, %j] in_bounds : !tile.buffer<32x64xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<32x64xf32, fragment> dim 0 into %c : !tile.buffer<64xf32, fragment> clear
    tile.parallel (%i, %j) in [32, 64] {
      %v = tile.load %x[%i, %j] in_bounds {cpu.apart = 32 : i64} : !tile.buffer<32x64xf32, fragment>
      %p = arith.mulf %v, %v : f32
      tile.store %p, %y[%i, %j] in_bounds : !tile.buffer<32x64xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<32x64xf32, fragment> dim 1 into %s : !tile.buffer<32xf32, fragment> clear
  }
  return
}

// -----

// What a gemm behind it reads as b: the gemm may compute it, so the nest between goes behind the gemm, and so do the sums.
// On AVX2, and where the nest between uses the gemm's sums, all stays in order.
// CHECK-LABEL: func.func @feeds
// CHECK-NOT: cpu.feeds
// CHECK: tile.parallel
// CHECK: tile.gemm
// CHECK: return
// WIDE-LABEL: func.func @feeds
// WIDE: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>)
// WIDE: } {cpu.feeds}
// WIDE-NOT: llvm.store
// WIDE: tile.gemm
// WIDE: llvm.store
// WIDE: tile.parallel
// WIDE: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>)
// WIDE-NOT: cpu.feeds
// WIDE: tile.parallel
// WIDE: tile.gemm
// WIDE: return
func.func @feeds() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %v = tile.alloc : !tile.buffer<64x64xf32, shared>
    %x = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %y = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %c = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %s = tile.alloc : !tile.buffer<32xf32, fragment>
    %t = tile.alloc : !tile.buffer<32xf32, fragment>
    tile.parallel (%i, %j) in [64, 32] {
      %a = tile.load %x[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
      %e = math.exp2 %a : f32
      tile.store %e, %x[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
    }
    tile.reduce sum %x : !tile.buffer<64x32xf32, fragment> dim 0 into %s : !tile.buffer<32xf32, fragment> clear
    tile.parallel (%j) in [32] {
      %a = tile.load %s[%j] in_bounds : !tile.buffer<32xf32, fragment>
      %o = tile.load %t[%j] in_bounds : !tile.buffer<32xf32, fragment>
      %n = arith.addf %a, %o : f32
      tile.store %n, %t[%j] in_bounds : !tile.buffer<32xf32, fragment>
    }
    tile.gemm %v : !tile.buffer<64x64xf32, shared>, %x : !tile.buffer<64x32xf32, fragment> into %c : !tile.buffer<64x32xf32, fragment> {transpose_a}
    tile.parallel (%i, %j) in [64, 32] {
      %a = tile.load %y[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
      %e = math.exp2 %a : f32
      tile.store %e, %y[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
    }
    tile.reduce sum %y : !tile.buffer<64x32xf32, fragment> dim 0 into %s : !tile.buffer<32xf32, fragment> clear
    tile.parallel (%i, %j) in [64, 32] {
      %a = tile.load %c[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
      %o = tile.load %t[%j] in_bounds : !tile.buffer<32xf32, fragment>
      %n = arith.mulf %a, %o : f32
      tile.store %n, %c[%i, %j] in_bounds : !tile.buffer<64x32xf32, fragment>
    }
    tile.gemm %v : !tile.buffer<64x64xf32, shared>, %y : !tile.buffer<64x32xf32, fragment> into %c : !tile.buffer<64x32xf32, fragment> {transpose_a}
  }
  return
}

// -----

// Weights of attention: summed as float32, which nobody else reads, and stored as bfloat16. With fast math the machine rounds.
// FAST-LABEL: func.func @rounded_beside
// FAST: %[[E:.*]] = math.exp2 %{{.*}} : vector<64xf32>
// FAST: arith.addf %{{.*}}, %[[E]] : vector<64xf32>
// FAST-NOT: vector<64xf32>, !llvm.ptr
// FAST-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// FAST: llvm.store %{{.*}} : vector<64xi16>
// FAST: vector.reduction <add>
// WIDE-LABEL: func.func @rounded_beside
// WIDE-NOT: cvtne2ps2bf16
// WIDE: arith.truncf %{{.*}} : vector<64xf32> to vector<64xbf16>
// CHECK-LABEL: func.func @rounded_beside
func.func @rounded_beside() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) threads(128) {
    %x = tile.alloc : !tile.buffer<32x128xf32, fragment>
    %p = tile.alloc : !tile.buffer<32x128xf32, fragment>
    %w = tile.alloc : !tile.buffer<32x128xbf16, fragment>
    %s = tile.alloc : !tile.buffer<32xf32, fragment>
    tile.parallel (%i, %j) in [32, 128] {
      %a = tile.load %x[%i, %j] in_bounds : !tile.buffer<32x128xf32, fragment>
      %e = math.exp2 %a : f32
      tile.store %e, %p[%i, %j] in_bounds : !tile.buffer<32x128xf32, fragment>
      %t = arith.truncf %e : f32 to bf16
      tile.store %t, %w[%i, %j] in_bounds : !tile.buffer<32x128xbf16, fragment>
    }
    tile.reduce sum %p : !tile.buffer<32x128xf32, fragment> dim 1 into %s : !tile.buffer<32xf32, fragment> clear
  }
  return
}
