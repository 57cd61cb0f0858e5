# SPDX-License-Identifier: Apache-2.0
# MLIR and LLVM 22, and the warnings that their headers need silenced. Programs take the shared libraries, and so link
# at once. What has the property TILEWRIGHT_MLIR_INSIDE takes the archives, where there are any: the dynamic linker
# looks 48,000 symbols up to load the shared ones (35 ms; with the archives inside it is 8 ms), and the result runs where no
# LLVM is installed (it needs libz and libzstd).
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
file(GLOB archives "${LLVM_LIBRARY_DIRS}/libMLIR*.a" "${LLVM_LIBRARY_DIRS}/libLLVM*.a")
list(FILTER archives EXCLUDE REGEX "Test[^/]*$")
set(inside "$<BOOL:$<TARGET_PROPERTY:TILEWRIGHT_MLIR_INSIDE>>")
if(EXISTS "${LLVM_LIBRARY_DIRS}/libMLIRIR.a" AND EXISTS "${LLVM_LIBRARY_DIRS}/libLLVMCore.a")
  target_link_libraries(tilewright_mlir INTERFACE
    "$<IF:${inside},-Wl$<COMMA>--start-group;${archives};-Wl$<COMMA>--end-group,MLIR;LLVM>")
  # An optimiser of LLVM that Debian has apart, named by the link-time optimisation, which we never do.
  target_link_options(tilewright_mlir INTERFACE $<${inside}:-Wl,--defsym=_Z18getPollyPluginInfov=0>)
else()
  target_link_libraries(tilewright_mlir INTERFACE MLIR LLVM)
endif()
target_compile_definitions(tilewright_mlir INTERFACE
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:TILEWRIGHT_USES_MLIR>)
# Generated op classes leave parameters unused.
target_compile_options(tilewright_mlir INTERFACE -fno-exceptions -Wno-unused-parameter)

# A kernel's compile time is spent in MLIR and LLVM, not in our code around them: -O1 compiles that in two thirds of
# the time.
target_compile_options(tilewright_mlir INTERFACE $<$<CONFIG:Release>:-O1>)

# Compilation with precompiled headers (compiler/ir makes them) that several checkouts can share through ccache: the
# header's time and path are kept from what ccache sees.
target_compile_options(tilewright_mlir INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Xclang$<SEMICOLON>-fno-pch-timestamp>)
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
# Our own headers are among them, and keep their warnings.
set(CMAKE_PCH_PROLOGUE "")

# tilewright_pch(TARGET): compile with the precompiled headers of MLIR and of our dialects, made once for all: most of
# the time of such a file goes into those headers. For libraries, and programs made of OBJECT libraries: a
# program's own sources are compiled with -fPIE.
function(tilewright_pch target)
  target_precompile_headers(${target} REUSE_FROM tilewright_mlir_pch)
endfunction()
