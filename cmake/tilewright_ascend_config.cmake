# SPDX-License-Identifier: Apache-2.0
# find_package(TilewrightAscend): the functions tilewright_ascend_executable and tilewright_ascend_library.
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightAscend.cmake")
