// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled header that all MLIR code shares; see Mlir.cmake.
