# SPDX-License-Identifier: Apache-2.0
# `cmake --install build --prefix FOLDER` installs what a C++ program needs: the public headers, and libraries for
# `find_package(Tilewright)`. A program links Tilewright::api.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# tilewright_linked(VARIABLE TARGET): the target, and the libraries of ours that it links.
function(tilewright_linked variable target)
  set(found ${target})
  set(waiting ${target})
  while(waiting)
    list(POP_FRONT waiting next)
    get_target_property(linked ${next} INTERFACE_LINK_LIBRARIES)
    foreach(library IN LISTS linked)
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
      if(library MATCHES "^tilewright_" AND NOT library IN_LIST found)
        list(APPEND found ${library})
        list(APPEND waiting ${library})
      endif()
    endforeach()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

tilewright_linked(libraries tilewright_api)
foreach(library ${libraries})
  string(REPLACE "tilewright_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()
target_compile_features(tilewright_api INTERFACE cxx_std_20)
target_include_directories(tilewright_api INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright")
install(TARGETS ${libraries} EXPORT TilewrightTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(EXPORT TilewrightTargets NAMESPACE Tilewright:: DESTINATION ${package} COMPONENT cpp)
install(DIRECTORY include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp)
# Not in the build folder itself: who names that one as a prefix would find a package without its targets.
set(made "${CMAKE_BINARY_DIR}/package")
configure_package_config_file(cmake/tilewright_config.cmake.in
  "${made}/TilewrightConfig.cmake" INSTALL_DESTINATION ${package})
write_basic_package_version_file("${made}/TilewrightConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${made}/TilewrightConfig.cmake"
  "${made}/TilewrightConfigVersion.cmake" DESTINATION ${package} COMPONENT cpp)
