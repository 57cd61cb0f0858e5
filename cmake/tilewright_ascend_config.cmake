# SPDX-License-Identifier: Apache-2.0
# find_package(TilewrightAscend): the functions tilewright_ascend_executable and tilewright_ascend_library, and targets.
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightAscend.cmake")

# The names by which hosts usually link the runtime and the operators, with their headers: for programs without kernels,
# too. This file is in lib/cmake/TilewrightAscend of an installation.
get_filename_component(tilewright_ascend_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(name ascendcl nnopbase opapi)
  if(TARGET ${name})
    continue() # a project's own, or this file's from before
  endif()
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE "${tilewright_ascend_root}/include/tilewright-ascend/include")
  if(name STREQUAL "opapi")
    target_link_libraries(${name} INTERFACE "${tilewright_ascend_root}/lib/libtilewright_operators.so")
  endif()
  target_link_libraries(${name} INTERFACE "${tilewright_ascend_root}/lib/libtilewright_ascend.so")
endforeach()
