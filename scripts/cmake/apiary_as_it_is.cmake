# Programs of checks of code as it is (model_check/apiary/model_check/as_it_is/README.md).
#
#   apiary_check_as_is(NAME SOURCES … [COMPILE_OPTIONS …] [ARGUMENTS …] [BESIDE …] [ALLOW_ASSEMBLY])
#
# Its sources are compiled with -fsanitize=thread and linked with the explorer's runtime in place of the sanitizer's.
# What stands under BESIDE is compiled as usual, and its accesses are not seen.
# Assembly in SOURCES is refused when the program is built; with ALLOW_ASSEMBLY each verdict says that it is not seen.
# Their asserts are checked, whatever the build: NDEBUG is undefined.
# They lie between two objects that mark their static variables; addresses are the same in every process.
set(APIARY_AS_IT_IS_OPTIONS
  -fsanitize=thread -O1 -g -fno-builtin -fno-omit-frame-pointer -fstack-clash-protection -U_FORTIFY_SOURCE -UNDEBUG
  -Wno-tsan --param=tsan-distinguish-volatile=1)

# Behind the user's own. Before it instruments, g++ would read what the program does not (of a variable that a loop reads under a
# condition, of two members that lie side by side); with -flto it would compile anew, without all of this. Where it knows that a
# function only reads, it takes out each call whose result nobody uses, and the reads with it.
set(APIARY_AS_IT_IS_LAST -fno-tree-loop-im -fno-hoist-adjacent-loads -fno-lto -fno-ipa-pure-const -fno-ipa-modref)

# g++'s plug-in: classes that calls take or return by value are seen, ends of objects and reads whose value nobody uses, too, and
# assembly that uses memory is refused (gxx_plugin.cpp). Without g++'s headers for plug-ins there is no such target, and each
# verdict says what is not seen.
function(apiary_add_gxx_plugin)
  if(TARGET apiary_gxx_plugin)
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=plugin/include OUTPUT_VARIABLE headers
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT EXISTS ${headers}/gcc-plugin.h)
    string(REGEX MATCH "^[0-9]+" major ${CMAKE_CXX_COMPILER_VERSION})
    message(STATUS "code as it is: no headers of g++'s plug-ins: classes that calls take or return by value, ends of objects, and "
      "reads whose value nobody uses, are not seen. "
      "Remedy: apt-get install gcc-${major}-plugin-dev, and configure again")
    return()
  endif()
  add_library(apiary_gxx_plugin MODULE ${APIARY_AS_IT_IS_DIR}/gxx_plugin.cpp)
  target_include_directories(apiary_gxx_plugin SYSTEM PRIVATE ${headers})
  target_compile_features(apiary_gxx_plugin PRIVATE cxx_std_17)
  target_compile_options(apiary_gxx_plugin PRIVATE -fno-rtti -fno-sanitize=all)
  set_target_properties(apiary_gxx_plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endfunction()

function(apiary_as_is_program name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    message(FATAL_ERROR "${name}: code as it is needs g++ on x86-64, and this is ${CMAKE_CXX_COMPILER_ID} on "
      "${CMAKE_SYSTEM_PROCESSOR}. Remedy: -DCMAKE_CXX_COMPILER=g++ in a new build folder")
  endif()
  find_program(APIARY_AWK awk)
  if(NOT CMAKE_OBJDUMP OR NOT APIARY_AWK)
    message(FATAL_ERROR "${name}: objdump and awk are needed, to look for assembly. Remedy: apt-get install binutils mawk")
  endif()
  cmake_parse_arguments(arg "ALLOW_ASSEMBLY" "" "SOURCES;COMPILE_OPTIONS;BESIDE" ${ARGN})
  add_executable(${name} ${APIARY_AS_IT_IS_DIR}/image_begin.cpp ${arg_SOURCES} ${APIARY_AS_IT_IS_DIR}/image_end.cpp
    ${arg_BESIDE})
  apiary_add_gxx_plugin()
  if(TARGET apiary_gxx_plugin)
    set(plugin ${CMAKE_BINARY_DIR}/lib/apiary_gxx_plugin.so)
    set_source_files_properties(${arg_SOURCES} PROPERTIES OBJECT_DEPENDS ${plugin})
    add_dependencies(${name} apiary_gxx_plugin)
    target_compile_definitions(${name} PRIVATE APIARY_SEES_VALUES)
    set(options -fplugin=${plugin} $<$<BOOL:${arg_ALLOW_ASSEMBLY}>:-fplugin-arg-apiary_gxx_plugin-allow_assembly>)
    list(PREPEND arg_COMPILE_OPTIONS ${options})
  endif()
  set_source_files_properties(${arg_SOURCES} PROPERTIES COMPILE_OPTIONS
    "${APIARY_AS_IT_IS_OPTIONS};-include;${APIARY_AS_IT_IS_DIR}/instrumented.hpp;${arg_COMPILE_OPTIONS};${APIARY_AS_IT_IS_LAST}")
  target_link_libraries(${name} PRIVATE apiary::apiary apiary::as_it_is $<TARGET_NAME_IF_EXISTS:apiary_warnings>)
  # In debugging information a name without a folder would lie in the folder of the build: hence "./" (places.cpp drops it).
  target_compile_options(${name} PRIVATE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-prefix-map=${PROJECT_SOURCE_DIR}/=./)
  target_compile_definitions(${name} PRIVATE APIARY_SOURCE_ROOT="${PROJECT_SOURCE_DIR}")
  target_link_options(${name} PRIVATE -no-pie)
  if(arg_ALLOW_ASSEMBLY)
    target_compile_definitions(${name} PRIVATE APIARY_ALLOWS_ASSEMBLY)
  endif()
  add_custom_command(TARGET ${name} PRE_LINK VERBATIM COMMAND ${CMAKE_COMMAND} -Dname=${name}
    "-Dobjects=$<TARGET_OBJECTS:${name}>" "-Dsources=${arg_SOURCES}" -Dobjdump=${CMAKE_OBJDUMP} -Dawk=${APIARY_AWK}
    -Dallowed=${arg_ALLOW_ASSEMBLY} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/apiary_look_for_assembly.cmake)
endfunction()

function(apiary_check_as_is name)
  cmake_parse_arguments(arg "ALLOW_ASSEMBLY" "" "SOURCES;COMPILE_OPTIONS;ARGUMENTS;BESIDE" ${ARGN})
  set(allow "")
  if(arg_ALLOW_ASSEMBLY)
    set(allow ALLOW_ASSEMBLY)
  endif()
  apiary_as_is_program(${name} SOURCES ${arg_SOURCES} COMPILE_OPTIONS ${arg_COMPILE_OPTIONS} BESIDE ${arg_BESIDE} ${allow})
  apiary_register(checks ${name})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 LABELS "model;as_it_is;check" FIXTURES_REQUIRED qualified_engines)
endfunction()
