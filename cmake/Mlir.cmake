# SPDX-License-Identifier: Apache-2.0
# MLIR and LLVM 22 as shared libraries, and the warnings that their headers need silenced.
find_package(MLIR 22 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(tilewright_mlir INTERFACE)
target_include_directories(tilewright_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(tilewright_mlir INTERFACE MLIR LLVM)
target_compile_options(tilewright_mlir INTERFACE -fno-exceptions)
