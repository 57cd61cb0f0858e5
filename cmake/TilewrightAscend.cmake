# SPDX-License-Identifier: Apache-2.0
set(TILEWRIGHT_ASCEND_OPTIONS)
if(TILEWRIGHT_SANITIZE)
  # A program links the Ascend host, which is sanitized. Optimized, it would take three times as long to compile.
  set(TILEWRIGHT_ASCEND_OPTIONS -fsanitize=${TILEWRIGHT_SANITIZE} -O0)
endif()

# tilewright_ascend_executable(NAME source... [OPTIONS option...] [DEPENDS header...]): a program whose
# sources hold Ascend C kernels, built by tilewright-ascendc: the target of that name, else the program
# that was installed with this file, else the one in PATH.
function(tilewright_ascend_executable name)
  cmake_parse_arguments(arg "" "" "OPTIONS;DEPENDS" ${ARGN})
  if(TARGET tilewright-ascendc)
    set(driver $<TARGET_FILE:tilewright-ascendc>)
    set(needs tilewright-ascendc tilewright_ascend)
  else()
    find_program(TILEWRIGHT_ASCENDC tilewright-ascendc HINTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin"
      REQUIRED)
    set(driver ${TILEWRIGHT_ASCENDC})
    set(needs ${TILEWRIGHT_ASCENDC}) # installed anew, it builds anew
  endif()
  set(sources)
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(source "${source}" ABSOLUTE)
    list(APPEND sources "${source}")
  endforeach()
  set(program "${CMAKE_CURRENT_BINARY_DIR}/bin/${name}")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin")
  add_custom_command(OUTPUT "${program}"
    COMMAND ${driver} build ${sources} -o "${program}" ${arg_OPTIONS} ${TILEWRIGHT_ASCEND_OPTIONS}
    DEPENDS ${sources} ${needs} ${arg_DEPENDS} VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${program}")
endfunction()
