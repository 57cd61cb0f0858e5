# SPDX-License-Identifier: Apache-2.0
set(TILEWRIGHT_ASCEND_OPTIONS)
if(TILEWRIGHT_SANITIZE)
  # A program links the Ascend host, which is sanitized. Optimized, it would take three times as long to compile.
  set(TILEWRIGHT_ASCEND_OPTIONS -fsanitize=${TILEWRIGHT_SANITIZE} -O0)
endif()

# Sets `driver` and what a build depends on for it: the target tilewright-ascendc, else the program that was installed
# with this file, else the one in PATH.
macro(tilewright_ascend_find_driver)
  if(TARGET tilewright-ascendc)
    set(driver $<TARGET_FILE:tilewright-ascendc>)
    set(needs tilewright-ascendc tilewright_ascend)
  else()
    find_program(TILEWRIGHT_ASCENDC tilewright-ascendc HINTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin"
      REQUIRED)
    set(driver ${TILEWRIGHT_ASCENDC})
    set(needs ${TILEWRIGHT_ASCENDC}) # installed anew, it builds anew
  endif()
endmacro()

# Sets `sources` to their whole paths.
macro(tilewright_ascend_sources)
  set(sources)
  foreach(source ${ARGN})
    get_filename_component(source "${source}" ABSOLUTE)
    list(APPEND sources "${source}")
  endforeach()
endmacro()

# tilewright_ascend_executable(NAME source... [OPTIONS option...] [DEPENDS header...] [LIBRARIES library...]): a program
# whose sources hold Ascend C kernels or their launches, built by tilewright-ascendc; LIBRARIES are targets.
function(tilewright_ascend_executable name)
  cmake_parse_arguments(arg "" "" "OPTIONS;DEPENDS;LIBRARIES" ${ARGN})
  tilewright_ascend_find_driver()
  tilewright_ascend_sources(${arg_UNPARSED_ARGUMENTS})
  set(program "${CMAKE_CURRENT_BINARY_DIR}/bin/${name}")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin")
  set(libraries)
  foreach(library ${arg_LIBRARIES})
    set(launches $<TARGET_PROPERTY:${library},TILEWRIGHT_LAUNCH_HEADERS>)
    list(APPEND libraries $<TARGET_FILE:${library}> -Wl,-rpath,$<TARGET_FILE_DIR:${library}>
      $<$<BOOL:${launches}>:-I${launches}>)
  endforeach()
  add_custom_command(OUTPUT "${program}"
    COMMAND ${driver} build ${sources} ${libraries} -o "${program}" ${arg_OPTIONS} ${TILEWRIGHT_ASCEND_OPTIONS}
    DEPENDS ${sources} ${needs} ${arg_DEPENDS} ${arg_LIBRARIES} COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${program}")
endfunction()

# What a program needs that launches kernels: the headers and the runtime, as the driver finds them.
function(tilewright_ascend_link_runtime name)
  if(TARGET tilewright_ascend)
    set(runtime tilewright_ascend)
    set(operators $<TARGET_FILE:tilewright_operators>)
    set(folder "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
    set(headers "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../simulator")
  else()
    get_filename_component(root "${TILEWRIGHT_ASCENDC}" REALPATH)
    get_filename_component(root "${root}" DIRECTORY)
    get_filename_component(root "${root}" DIRECTORY)
    set(folder "${root}/lib")
    set(runtime "${folder}/libtilewright_ascend.so")
    set(operators "${folder}/libtilewright_operators.so")
    set(headers "${root}/include/tilewright-ascend")
    if(NOT EXISTS "${headers}")
      set(headers "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../simulator")
    endif()
  endif()
  target_include_directories(${name} SYSTEM INTERFACE "${headers}/ascendc" "${headers}/include")
  target_compile_features(${name} INTERFACE cxx_std_17)
  target_link_directories(${name} PUBLIC "${folder}") # with the names ascendcl, nnopbase and opapi
  # Only programs that call an aclnn operator need the operators.
  target_link_libraries(${name} PUBLIC -Wl,--push-state,--as-needed,${operators},--pop-state ${runtime})
endfunction()

# tilewright_ascend_library(NAME STATIC|SHARED source... [OPTIONS option...] [DEPENDS header...]): a library of kernels.
# Programs of any compiler link it, and launch its kernels through the headers aclrtlaunch_KERNEL.h that it makes.
function(tilewright_ascend_library name kind)
  cmake_parse_arguments(arg "" "" "OPTIONS;DEPENDS" ${ARGN})
  if(NOT kind MATCHES "^(STATIC|SHARED)$")
    message(FATAL_ERROR "tilewright_ascend_library(${name} ${kind} ...): the second argument is STATIC or SHARED")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tilewright_ascend_library(${name} ${kind} ...) names no source")
  endif()
  tilewright_ascend_find_driver()
  tilewright_ascend_sources(${arg_UNPARSED_ARGUMENTS})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.kernels")
  file(MAKE_DIRECTORY "${folder}/launch")
  # What target_include_directories and target_compile_definitions say of the library.
  set(folders $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  set(options ${arg_OPTIONS} ${TILEWRIGHT_ASCEND_OPTIONS} "$<$<BOOL:${folders}>:-I$<JOIN:${folders},$<SEMICOLON>-I>>"
    "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>")
  set(objects)
  foreach(source ${sources})
    list(LENGTH objects number) # two sources may have one name
    get_filename_component(stem "${source}" NAME)
    set(object "${folder}/${number}.${stem}.o")
    add_custom_command(OUTPUT "${object}" COMMAND ${driver} compile "${source}" -o "${object}" ${options}
      DEPENDS "${source}" ${needs} ${arg_DEPENDS} COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  # The headers include launches.h, which changes with any of them: so a build sees that programs depend on them.
  add_custom_command(OUTPUT "${folder}/launch/launches.h"
    COMMAND ${driver} launch-headers ${sources} -o "${folder}/launch" DEPENDS ${sources} ${needs} VERBATIM)
  add_library(${name} ${kind} ${objects} "${folder}/launch/launches.h")
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX TILEWRIGHT_LAUNCH_HEADERS "${folder}/launch")
  target_include_directories(${name} SYSTEM INTERFACE "${folder}/launch")
  tilewright_ascend_link_runtime(${name})
endfunction()
