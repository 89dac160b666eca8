# Programs of model checks. Each holds some checks and a common main; each verdict is a forked simulation.
#
#   apiary_add_litmus(NAME SOURCES …)        APIARY_LITMUS: what each engine can and cannot see; runs first
#   apiary_add_model_check(NAME SOURCES …)   APIARY_CHECK: must pass
#   apiary_add_exhibit(NAME SOURCES …)       APIARY_EXHIBIT: must fail for its reason; its twin must pass
# Each takes ARGUMENTS … for its CTest; without, every search gets the runner's own budget.
#
# All register the program for scripts/apiary (manifest/checks.txt) and add a CTest; checks and exhibits wait for
# the litmus tests: an engine that has changed its mind about those makes every other verdict worthless.

# Every check is compiled with Relacy, which is headers alone: the package has none of its own.
find_path(RELACY_INCLUDE relacy/relacy.hpp)
set(APIARY_WITHOUT_RELACY "the Relacy Race Detector is missing: no relacy/relacy.hpp was found, which every check is compiled with. \
Remedy: apt-get install relacy-dev (Debian, Ubuntu); elsewhere -DRELACY_INCLUDE=FOLDER, in which relacy/relacy.hpp lies")

# What a check is compiled with.
function(apiary_check_options target)
  target_link_libraries(${target} PRIVATE
    apiary::apiary apiary::relacy apiary::model_engine $<TARGET_NAME_IF_EXISTS:apiary_warnings>)
  target_include_directories(${target} SYSTEM PRIVATE ${RELACY_INCLUDE})
  # An operation is named by its file's place in the project, and a trace looks the file up there.
  target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_compile_definitions(${target} PRIVATE APIARY_SOURCE_ROOT="${PROJECT_SOURCE_DIR}")
  # The engines stay at -O3. A check spends its time in them, and costs less than half as much to compile so.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

# The program itself; apiary_add_check_test has its CTest, which runs COMMAND.
function(apiary_check_executable name)
  if(NOT RELACY_INCLUDE)
    message(FATAL_ERROR "${name}: ${APIARY_WITHOUT_RELACY}")
  endif()
  add_executable(${name} ${ARGN})
  apiary_check_options(${name})
  if(TARGET apiary_check_front)  # in this tree
    target_precompile_headers(${name} REUSE_FROM apiary_check_front)
  endif()
endfunction()

function(apiary_add_check_test name)
  cmake_parse_arguments(arg "" "FIXTURE;REQUIRES;LABELS" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 LABELS "model;${arg_LABELS}")
  if(arg_FIXTURE)
    set_tests_properties(${name} PROPERTIES FIXTURES_SETUP ${arg_FIXTURE})
  endif()
  if(arg_REQUIRES)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${arg_REQUIRES}")
  endif()
endfunction()

function(apiary_add_check_program name)
  cmake_parse_arguments(arg "" "FIXTURE;REQUIRES;LABELS" "SOURCES;ARGUMENTS" ${ARGN})
  apiary_check_executable(${name} ${arg_SOURCES})
  apiary_register(checks ${name})
  apiary_add_check_test(${name} COMMAND ${name} ${arg_ARGUMENTS} FIXTURE "${arg_FIXTURE}" REQUIRES "${arg_REQUIRES}" LABELS "${arg_LABELS}")
endfunction()

function(apiary_add_litmus name)
  apiary_add_check_program(${name} ${ARGN} LABELS litmus FIXTURE qualified_engines)
endfunction()

function(apiary_add_model_check name)
  apiary_add_check_program(${name} ${ARGN} LABELS check REQUIRES qualified_engines)
  apiary_register(logic ${name})
endfunction()

function(apiary_add_exhibit name)
  apiary_add_check_program(${name} ${ARGN} LABELS museum REQUIRES qualified_engines)
  apiary_register(logic ${name})  # for the checks beside the exhibits, which are of the shipped headers
  if(COMMAND apiary_compile_together)  # in this tree
    apiary_compile_together(${name})
  endif()
endfunction()
