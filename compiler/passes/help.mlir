// SPDX-License-Identifier: Apache-2.0
// `tilewright-opt --help` lists our passes, and none of the options that LLVM's libraries bring.
// RUN: tilewright-opt --help | FileCheck %s --implicit-check-not=aarch64 --implicit-check-not=x86
// CHECK: --cpu-lower-gemm
// CHECK: --mark-in-bounds
