# Runs the port as vcpkg would, by stand-ins for vcpkg's functions: what it asks of them must be there.
#
#   cmake -DPORT=FOLDER_OF_THE_PORT -DFOLDER=EMPTY_FOLDER -DCOMPILER=g++ -P as_vcpkg_does.cmake
set(CURRENT_PORT_DIR ${PORT})
set(CURRENT_PACKAGES_DIR ${FOLDER}/package)
set(PORT apiary)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" SOURCE_PATH OPTIONS ${ARGN})
  run(cmake -G Ninja -S ${arg_SOURCE_PATH} -B ${FOLDER}/made -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(cmake --build ${FOLDER}/made --target install)
endfunction()

# Moves the package's CMake files where vcpkg has them: they find the prefix one folder less above them there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  set(share ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  if(NOT files)
    message(FATAL_ERROR "nothing is installed in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION ${share})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
  foreach(name ${files})
    get_filename_component(name ${name} NAME)
    file(READ ${share}/${name} text)
    string(REGEX REPLACE "(get_filename_component\\(_IMPORT_PREFIX \"\\$\\{)CMAKE_CURRENT_LIST_FILE(\\}\" PATH\\)\n)get_filename[^\n]*\n"
      "\\1CMAKE_CURRENT_LIST_FILE\\2" text "${text}")
    file(WRITE ${share}/${name} "${text}")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" FILE_LIST ${ARGN})
  file(COPY ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/apiary)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)
