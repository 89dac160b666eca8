# Programs of model checks. Each holds some checks and a common main; each verdict is a forked simulation.
#
#   apiary_add_litmus(NAME SOURCES …)        APIARY_LITMUS: what each engine can and cannot see; runs first
#   apiary_add_model_check(NAME SOURCES …)   APIARY_CHECK: must pass
#   apiary_add_exhibit(NAME SOURCES …)       APIARY_EXHIBIT: must fail for its reason; its twin must pass
# Each takes ARGUMENTS … for its CTest; without, every search gets the runner's own budget.
#
# All register the program for scripts/apiary (manifest/checks.txt) and add a CTest; checks and exhibits wait for
# the litmus tests: an engine that has changed its mind about those makes every other verdict worthless.

# What Relacy asks of whoever includes it; relacy_include.hpp says why.
add_library(apiary_relacy INTERFACE)
target_compile_options(apiary_relacy INTERFACE -fno-sized-deallocation -U_FORTIFY_SOURCE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ finds these in Relacy's own code once it is inlined into ours, where a system header no longer counts.
  target_compile_options(apiary_relacy INTERFACE -fno-lifetime-dse
    -Wno-array-bounds -Wno-stringop-overflow -Wno-mismatched-new-delete -Wno-alloc-size-larger-than)
endif()

function(apiary_add_check_program name)
  cmake_parse_arguments(arg "" "FIXTURE;REQUIRES;LABELS" "SOURCES;ARGUMENTS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE apiary apiary_warnings apiary_relacy apiary_model_engine)
  apiary_register(checks ${name})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "model;${arg_LABELS}")
  if(arg_FIXTURE)
    set_tests_properties(${name} PROPERTIES FIXTURES_SETUP ${arg_FIXTURE})
  endif()
  if(arg_REQUIRES)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${arg_REQUIRES}")
  endif()
endfunction()

function(apiary_add_litmus name)
  apiary_add_check_program(${name} ${ARGN} LABELS litmus FIXTURE qualified_engines)
endfunction()

function(apiary_add_model_check name)
  apiary_add_check_program(${name} ${ARGN} LABELS check REQUIRES qualified_engines)
endfunction()

function(apiary_add_exhibit name)
  apiary_add_check_program(${name} ${ARGN} LABELS museum REQUIRES qualified_engines)
endfunction()
