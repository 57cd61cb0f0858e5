# SPDX-License-Identifier: Apache-2.0
# MLIR and LLVM 22 as shared libraries, and the warnings that their headers need silenced.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Tilewright needs MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(tilewright_mlir INTERFACE)
target_include_directories(tilewright_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(tilewright_mlir INTERFACE MLIR LLVM)
target_compile_options(tilewright_mlir INTERFACE -fno-exceptions)
