# Programs of checks of code as it is (model_check/apiary/model_check/as_it_is/README.md).
#
#   apiary_check_as_is(NAME SOURCES … [COMPILE_OPTIONS …] [ARGUMENTS …] [BESIDE …])
#
# Its sources are compiled with -fsanitize=thread and linked with the explorer's runtime in place of the sanitizer's.
# What stands under BESIDE is compiled as usual, and its accesses are not seen.
# They lie between two objects that mark their static variables; addresses are the same in every process.
set(APIARY_AS_IT_IS_OPTIONS
  -fsanitize=thread -O1 -g -fno-builtin -fno-omit-frame-pointer -U_FORTIFY_SOURCE -Wno-tsan)

function(apiary_as_is_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;COMPILE_OPTIONS;BESIDE" ${ARGN})
  add_executable(${name} ${APIARY_AS_IT_IS_DIR}/image_begin.cpp ${arg_SOURCES} ${APIARY_AS_IT_IS_DIR}/image_end.cpp
    ${arg_BESIDE})
  set_source_files_properties(${arg_SOURCES} PROPERTIES COMPILE_OPTIONS
    "${APIARY_AS_IT_IS_OPTIONS};-include;${APIARY_AS_IT_IS_DIR}/instrumented.hpp;${arg_COMPILE_OPTIONS}")
  target_link_libraries(${name} PRIVATE apiary::apiary apiary::as_it_is $<TARGET_NAME_IF_EXISTS:apiary_warnings>)
  # In debugging information a name without a folder would lie in the folder of the build: hence "./" (places.cpp drops it).
  target_compile_options(${name} PRIVATE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-prefix-map=${PROJECT_SOURCE_DIR}/=./)
  target_compile_definitions(${name} PRIVATE APIARY_SOURCE_ROOT="${PROJECT_SOURCE_DIR}")
  target_link_options(${name} PRIVATE -no-pie)
endfunction()

function(apiary_check_as_is name)
  cmake_parse_arguments(arg "" "" "SOURCES;COMPILE_OPTIONS;ARGUMENTS;BESIDE" ${ARGN})
  apiary_as_is_program(${name} SOURCES ${arg_SOURCES} COMPILE_OPTIONS ${arg_COMPILE_OPTIONS} BESIDE ${arg_BESIDE})
  apiary_register(checks ${name})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 LABELS "model;as_it_is;check" FIXTURES_REQUIRED qualified_engines)
endfunction()
