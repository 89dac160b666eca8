# What is built carries the hashes of what it was built from: record_sources.py says how, and
# scripts/apiary compares.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_OBJCOPY)
  message(FATAL_ERROR "objcopy is missing. On Debian: apt-get install binutils")
endif()
# The interpreter itself: what is found may be a script that looks for it, and costs ten times more.
execute_process(COMMAND ${Python3_EXECUTABLE} -IS -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE interpreter OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(APIARY_RECORDER ${interpreter} -IS ${CMAKE_CURRENT_LIST_DIR}/record_sources.py)

# In front of a launcher that is there already, such as ccache: the compile itself stays as it was.
set(CMAKE_CXX_COMPILER_LAUNCHER
  ${APIARY_RECORDER} compile ${PROJECT_SOURCE_DIR} ${CMAKE_OBJCOPY} ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_LAUNCHER})

# configured.source: what CMake itself was configured from.
function(apiary_record_configuration)
  set(files CMakePresets.json CMakeUserPresets.json CMakeLists.txt)
  file(GLOB_RECURSE lists RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/scripts/cmake/*.cmake*)
  list(APPEND files ${lists})
  foreach(folder impl model_check stress bench)
    file(GLOB_RECURSE lists RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    list(APPEND files ${lists})
  endforeach()
  set(text "")
  foreach(file ${files})
    if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
      file(SHA256 ${PROJECT_SOURCE_DIR}/${file} hash)
      string(APPEND text "${hash}  ${file}\n")
    endif()
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/configured.source "${text}")
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL apiary_record_configuration)
