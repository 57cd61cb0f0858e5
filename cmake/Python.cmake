# SPDX-License-Identifier: Apache-2.0
# Python extension modules with nanobind: in a wheel beside the package's .py files; in a development build
# linked into python/tilewright, so that `PYTHONPATH=python` (or .venv) imports the package without an install.
if(NOT Python_EXECUTABLE AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${CMAKE_SOURCE_DIR}/.venv/bin/python")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "nanobind is missing for ${Python_EXECUTABLE}: run scripts/setup.py")
endif()
find_package(nanobind CONFIG REQUIRED)
# A wheel finds MLIR where it was built.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# tilewright_python_module(NAME source... [LINK library...]): the extension module tilewright.NAME.
function(tilewright_python_module name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  tilewright_merged(sources ${name} ${arg_UNPARSED_ARGUMENTS})
  nanobind_add_module(${name} NB_STATIC NB_DOMAIN tilewright FREE_THREADED ${sources})
  foreach(nanobind nanobind-static nanobind-static-ft)
    if(TARGET ${nanobind})
      set_target_properties(${nanobind} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE tilewright_options ${arg_LINK})
  # Only the module's entry is visible: what is linked in must not meet another copy in the process.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python/tilewright")
  if(SKBUILD)
    install(TARGETS ${name} LIBRARY DESTINATION tilewright COMPONENT python)
  else()
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink
      "$<TARGET_FILE:${name}>" "${CMAKE_SOURCE_DIR}/python/tilewright/$<TARGET_FILE_NAME:${name}>")
  endif()
endfunction()
