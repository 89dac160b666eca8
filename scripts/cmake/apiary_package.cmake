# find_package(apiary) and pkg-config for projects outside the tree: from an install prefix, or from this build folder.
#
#   cmake --preset package && cmake --build --preset package && cmake --install build/package --prefix PREFIX
#
# The package holds what the configuration builds: headers always; the checkers, the stress harness and the subjects'
# harness where APIARY_MODEL_CHECKS, APIARY_STRESS and APIARY_BENCH are on. model_check/outside_example uses it.
set(APIARY_PACKAGE_PARTS apiary apiary_warnings apiary_sanitizers apiary_stress_sanitizers)
foreach(part apiary_relacy apiary_trace_table apiary_job apiary_explorer apiary_model_engine apiary_as_it_is apiary_hunt
    apiary_stress_harness apiary_bench_harness)
  if(TARGET ${part})
    list(APPEND APIARY_PACKAGE_PARTS ${part})
  endif()
endforeach()
add_custom_target(apiary_package)
foreach(part ${APIARY_PACKAGE_PARTS})
  string(REGEX REPLACE "^apiary_" "" name ${part})
  set_target_properties(${part} PROPERTIES EXPORT_NAME ${name})
  add_dependencies(apiary_package ${part})
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/apiary)
set(include ${CMAKE_INSTALL_INCLUDEDIR})
set(data ${CMAKE_INSTALL_DATADIR}/apiary)
install(TARGETS ${APIARY_PACKAGE_PARTS} EXPORT apiaryTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT apiaryTargets NAMESPACE apiary:: DESTINATION ${package})
export(EXPORT apiaryTargets NAMESPACE apiary:: FILE ${CMAKE_BINARY_DIR}/apiaryTargets.cmake)

# What only tests use stays here.
install(DIRECTORY impl/apiary DESTINATION ${include}
  FILES_MATCHING PATTERN "*.hpp" PATTERN testing EXCLUDE PATTERN tests EXCLUDE PATTERN examples EXCLUDE)
install(DIRECTORY model_check/apiary DESTINATION ${include}
  FILES_MATCHING PATTERN "*.hpp" PATTERN tests EXCLUDE PATTERN selftest EXCLUDE)
install(DIRECTORY stress/apiary DESTINATION ${include} FILES_MATCHING PATTERN "*.hpp" PATTERN command_line.hpp EXCLUDE)
install(DIRECTORY bench/apiary DESTINATION ${include} FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY bench/scenarios DESTINATION ${data}/bench)
install(FILES bench/apiary/bench/allocation_count_on.cpp bench/apiary/bench/allocation_count_off.cpp
  DESTINATION ${data}/bench/apiary/bench)
# What a program of code as it is begins and ends with, what each of its sources includes first, and its compiler's plug-in.
install(FILES model_check/apiary/model_check/as_it_is/image_begin.cpp model_check/apiary/model_check/as_it_is/image_end.cpp
  model_check/apiary/model_check/as_it_is/instrumented.hpp model_check/apiary/model_check/as_it_is/gxx_plugin.cpp
  DESTINATION ${data}/as_it_is)
foreach(kind manifest model as_it_is hunt stress bench)
  install(FILES scripts/cmake/apiary_${kind}.cmake DESTINATION ${package})
endforeach()
install(FILES scripts/cmake/apiary_look_for_assembly.cmake scripts/cmake/apiary_look_for_assembly.awk DESTINATION ${package})

# apiary_from(variable here from to): the installed folder `to`, for a file in the folder `from` that calls its own folder `here`.
# The package can be moved, unless one of the folders is absolute.
function(apiary_from variable here from to)
  if(IS_ABSOLUTE "${from}" OR IS_ABSOLUTE "${to}")
    cmake_path(APPEND CMAKE_INSTALL_PREFIX "${to}" OUTPUT_VARIABLE path)
  else()
    file(RELATIVE_PATH up "/prefix/${from}" "/prefix/${to}")
    set(path "${here}/${up}")
  endif()
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

include(CMakePackageConfigHelpers)
set(version ${CMAKE_BINARY_DIR}/apiaryConfigVersion.cmake)
write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
set(config ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cmake/apiaryConfig.cmake.in)
set(APIARY_FUNCTIONS_DIR ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cmake)
set(APIARY_BENCH_FILES ${CMAKE_CURRENT_SOURCE_DIR}/bench)
set(APIARY_AS_IT_IS_FILES ${CMAKE_CURRENT_SOURCE_DIR}/model_check/apiary/model_check/as_it_is)
configure_file(${config} ${CMAKE_BINARY_DIR}/apiaryConfig.cmake @ONLY)
set(APIARY_FUNCTIONS_DIR "\${CMAKE_CURRENT_LIST_DIR}")
apiary_from(APIARY_BENCH_FILES "\${CMAKE_CURRENT_LIST_DIR}" ${package} ${data}/bench)
apiary_from(APIARY_AS_IT_IS_FILES "\${CMAKE_CURRENT_LIST_DIR}" ${package} ${data}/as_it_is)
configure_file(${config} ${CMAKE_BINARY_DIR}/installed/apiaryConfig.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/installed/apiaryConfig.cmake ${version} DESTINATION ${package})

apiary_from(APIARY_PC_PREFIX "\${pcfiledir}" ${CMAKE_INSTALL_DATADIR}/pkgconfig "")
set(APIARY_PC_INCLUDEDIR "\${prefix}")
cmake_path(APPEND APIARY_PC_INCLUDEDIR ${include})
configure_file(scripts/cmake/apiary.pc.in ${CMAKE_BINARY_DIR}/installed/apiary.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/installed/apiary.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# Flags of the hunt for those that build by hand, by Make or by Meson.
if(TARGET apiary_hunt)
  include(apiary_hunt)
  apiary_hunt_options(flags)
  list(JOIN flags " " APIARY_HUNT_CFLAGS)
  set(APIARY_PC_LIBDIR "\${prefix}")
  cmake_path(APPEND APIARY_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  configure_file(scripts/cmake/apiary-hunt.pc.in ${CMAKE_BINARY_DIR}/installed/apiary-hunt.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/installed/apiary-hunt.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
endif()
