// SPDX-License-Identifier: Apache-2.0
// RUN: %python -c "print('(' * 100000)" > %t
// RUN: not tilewright-opt %t 2>&1 | FileCheck %s
// RUN: echo "func.func @f() attributes {tile.kernel} { %c1 = arith.constant 1 : index tile.launch (%x) in (%c1) {} return }" > %t
// RUN: tilewright-opt %t --canonicalize --cse | FileCheck %s --check-prefix=KEPT
// tilewright-opt reads what parseKernel reads. A launch without work stays: a kernel has one.

// CHECK: error: brackets nest deeper than 128, line 1
// KEPT: tile.launch
