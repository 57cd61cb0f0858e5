# SPDX-License-Identifier: Apache-2.0
# `cmake --install build --prefix FOLDER` installs the Ascend host: the driver, its libraries and headers, and
# find_package(TilewrightAscend). The folders are those where the driver looks (builder.cpp).
install(TARGETS tilewright-ascendc RUNTIME DESTINATION bin COMPONENT ascend)
# Each finds what it needs beside itself.
set_target_properties(tilewright_ascend tilewright_operators PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS tilewright_ascend tilewright_operators LIBRARY DESTINATION lib COMPONENT ascend)
install(FILES "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libascendcl.so" "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libnnopbase.so"
  "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libopapi.so" DESTINATION lib COMPONENT ascend)
set(headers include/tilewright-ascend)
install(DIRECTORY simulator/ascendc/ascendc simulator/ascendc/lib DESTINATION ${headers}/ascendc COMPONENT ascend
  FILES_MATCHING PATTERN "*.h")
install(FILES simulator/ascendc/kernel_operator.h simulator/ascendc/tikicpulib.h DESTINATION ${headers}/ascendc
  COMPONENT ascend)
install(DIRECTORY simulator/include DESTINATION ${headers} COMPONENT ascend)
install(FILES simulator/launch.h DESTINATION ${headers} COMPONENT ascend)
install(FILES simulator/isa/instruction.h simulator/isa/place.h DESTINATION ${headers}/isa COMPONENT ascend)
install(FILES simulator/machine/kernel_api.h DESTINATION ${headers}/machine COMPONENT ascend)
install(FILES cmake/TilewrightAscend.cmake DESTINATION lib/cmake/TilewrightAscend COMPONENT ascend)
install(FILES cmake/tilewright_ascend_config.cmake DESTINATION lib/cmake/TilewrightAscend COMPONENT ascend
  RENAME TilewrightAscendConfig.cmake)
