// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled headers that all MLIR code shares; see compiler/ir/CMakeLists.txt.
