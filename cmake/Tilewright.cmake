# SPDX-License-Identifier: Apache-2.0
# What every target of ours shares: language, warnings, sanitizers, ccache, tests.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Worktrees of one checkout share the cache: paths are hashed relative to the source folder.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(LLD NAMES ld.lld-22 ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(--ld-path=${LLD})
  endif()
endif()

add_library(tilewright_options INTERFACE)
target_compile_options(tilewright_options INTERFACE -Wall -Wextra -Werror)
target_include_directories(tilewright_options INTERFACE
  "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/include" "${CMAKE_BINARY_DIR}")
if(TILEWRIGHT_SANITIZE)
  # C callers may hand any integer where the C interfaces take an enum; our code checks it.
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -fno-sanitize=enum)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
  target_sources(tilewright_options INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.cpp>)
endif()

# tilewright_library(NAME source... [LINK library...]): a static library of one folder. Without
# sources, it takes all .cpp files of the folder but the tests (new files need no build edit).
function(tilewright_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC tilewright_options ${arg_LINK})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tilewright_options ${arg_LINK})
  endif()
endfunction()

if(TILEWRIGHT_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# tilewright_test(NAME [source...] [LINK library...] [PCH]): one GoogleTest program. Without sources, it
# takes all *_test.cpp files of the folder. PCH: they are compiled with the precompiled MLIR headers. ASCEND_HOST:
# it is a test of the Ascend host. Without PCH and OPTIMIZED, they are compiled without optimization, in half the
# time.
function(tilewright_test name)
  cmake_parse_arguments(arg "PCH;ASCEND_HOST;OPTIMIZED" "" "LINK" ${ARGN})
  if(NOT TILEWRIGHT_TESTS OR (arg_ASCEND_HOST AND NOT TILEWRIGHT_ASCEND_HOST_TESTS))
    return()
  endif()
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  endif()
  if(sources)
    if(arg_PCH)
      add_library(${name}_objects OBJECT ${sources})
      target_link_libraries(${name}_objects PRIVATE tilewright_options ${arg_LINK} GTest::gtest)
      tilewright_pch(${name}_objects)
      set(sources $<TARGET_OBJECTS:${name}_objects>)
    elseif(NOT arg_OPTIMIZED)
      set(tests ${sources})
      list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
      set_source_files_properties(${tests} PROPERTIES COMPILE_OPTIONS -O0)
    endif()
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE tilewright_options ${arg_LINK} GTest::gtest_main)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
