# Programs of model checks. Each holds some checks and a common main; each verdict is a forked simulation.
#
#   apiary_add_model_check(NAME SOURCES … [ENGINES …] [BUDGET …] [LABELS …])
#       NAME.cpp-style sources with APIARY_CHECK or APIARY_LITMUS lines
#   apiary_add_exhibit(NAME SOURCES …)     the same for the museum: must fail, its twin must pass
#
# Both register the program for scripts/apiary (manifest/checks.txt) and add a CTest that waits for the litmus
# tests: an engine that has changed its mind about those makes every other verdict worthless.

# What Relacy asks of whoever includes it; relacy_include.hpp says why.
add_library(apiary_relacy INTERFACE)
target_compile_options(apiary_relacy INTERFACE -fno-sized-deallocation -fno-lifetime-dse -U_FORTIFY_SOURCE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ finds these in Relacy's own code once it is inlined into ours, where a system header no longer counts.
  target_compile_options(apiary_relacy INTERFACE
    -Wno-array-bounds -Wno-stringop-overflow -Wno-mismatched-new-delete -Wno-alloc-size-larger-than)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Relacy's replacement operators are inline; clang knows -fno-lifetime-dse from version 20 on only.
  target_compile_options(apiary_relacy INTERFACE -Wno-inline-new-delete -Wno-ignored-optimization-argument)
endif()

function(apiary_add_check_program name)
  cmake_parse_arguments(arg "" "FIXTURE;REQUIRES" "SOURCES;ARGUMENTS;LABELS" ${ARGN})
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
