// SPDX-License-Identifier: Apache-2.0
/// What this machine can do at most, measured: the limits that kernels are set against.
#pragma once

namespace tilewright::runtime {

/// Of all threads of `threadCount()` together.
struct MachinePeaks {
  double flopsPerSecond = 0; ///< float32 multiply-adds (2 each) in registers
  /// Multiply-adds of bfloat16 pairs into float32 (tdpbf16ps, vdpbf16ps); 0 where the CPU has none.
  double bfloat16FlopsPerSecond = 0;
  /// Multiply-adds of 8-bit integers into int32 (tdpbssd, vpdpbusd); 0 where the CPU has none.
  double byteOperationsPerSecond = 0;
  double bytesPerSecond = 0; ///< read and written by a copy far larger than the caches
};

/// Takes about half a second and 512 MiB; less memory where there is less (then bytesPerSecond is
/// 0).
MachinePeaks measurePeaks();

} // namespace tilewright::runtime
