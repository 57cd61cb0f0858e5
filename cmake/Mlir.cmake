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
target_compile_definitions(tilewright_mlir INTERFACE
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:TILEWRIGHT_USES_MLIR>)
# Generated op classes leave parameters unused.
target_compile_options(tilewright_mlir INTERFACE -fno-exceptions -Wno-unused-parameter)

# tilewright_pch(TARGET): compile with the precompiled MLIR headers, made once for all: most of the time of such a
# file goes into those headers. The stamp of the header is left out so that ccache finds it again. For
# libraries, and programs made of OBJECT libraries: a program's own sources are compiled with -fPIE.
add_library(tilewright_mlir_pch STATIC ${CMAKE_CURRENT_LIST_DIR}/mlir_pch.cpp)
target_link_libraries(tilewright_mlir_pch PUBLIC tilewright_options tilewright_mlir)
target_precompile_headers(tilewright_mlir_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/LoopLikeInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/ControlFlow/IR/ControlFlow.h> <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/Parser/Parser.h> <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>)
target_compile_options(tilewright_mlir INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Xclang$<SEMICOLON>-fno-pch-timestamp>)
# CMake's own options carry the path where ccache doesn't see it, so that no two checkouts would share.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
# ccache takes this for the precompiled header's contents, which differ with the path of the checkout.
file(SHA256 "${CMAKE_CURRENT_LIST_FILE}" tilewright_pch_sum)
file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/tilewright_mlir_pch.dir/cmake_pch.hxx.pch.sum"
  "${tilewright_pch_sum} ${LLVM_PACKAGE_VERSION}")
function(tilewright_pch target)
  target_precompile_headers(${target} REUSE_FROM tilewright_mlir_pch)
endfunction()
