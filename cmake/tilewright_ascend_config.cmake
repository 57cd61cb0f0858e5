# SPDX-License-Identifier: Apache-2.0
# find_package(TilewrightAscend): the function tilewright_ascend_executable.
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightAscend.cmake")
