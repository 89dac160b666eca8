# Subjects and micro-benchmarks. APIARY_BENCH_DIR: where bench/ lies, in the source tree or installed.

# apiary_add_subject(name SOURCES … [LIBRARIES …] [COUNT_ALLOCATIONS]): the program subject_<name>, one runtime
# behind bench/contract/CLI.md. COUNT_ALLOCATIONS fills the column `allocs`; only for a runtime that
# allocates by operator new.
function(apiary_add_subject name)
  cmake_parse_arguments(arg "COUNT_ALLOCATIONS;ALL_SCENARIOS" "" "SOURCES;LIBRARIES" ${ARGN})
  set(target subject_${name})
  set(counting off)
  if(arg_COUNT_ALLOCATIONS)
    set(counting on)
  endif()
  add_executable(${target} ${arg_SOURCES} ${APIARY_BENCH_DIR}/apiary/bench/allocation_count_${counting}.cpp)
  target_include_directories(${target} PRIVATE ${APIARY_BENCH_DIR})
  target_compile_definitions(${target} PRIVATE APIARY_VERSION="${PROJECT_VERSION}")
  # Where code happens to lie moves a figure by a tenth, and any change elsewhere in the program moves the code. So functions, loops
  # and jump targets begin at boundaries, in every subject alike.
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-falign-functions=64;-falign-loops=64>"
    "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-falign-jumps=32>")
  target_link_libraries(${target} PRIVATE
    apiary::apiary apiary::bench_harness
    $<TARGET_NAME_IF_EXISTS:apiary_warnings> $<TARGET_NAME_IF_EXISTS:apiary_sanitizers> ${arg_LIBRARIES})
  if(arg_ALL_SCENARIOS)  # in this tree
    apiary_begins_with(${target} apiary_subject_front)
    set_source_files_properties(${APIARY_BENCH_DIR}/apiary/bench/allocation_count_${counting}.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  apiary_register(subjects ${target})
  if(APIARY_TESTS)
    apiary_smoke_test(${target}
      treaty post_throughput post_latency timers blocks tokio fork_join messages graphs open_loops waking floors)
  endif()
endfunction()

# apiary_smoke_test(target case…): holds the program to the treaty, a test for each case.
function(apiary_smoke_test target)
  foreach(case ${ARGN})
    add_test(NAME ${target}.${case}
      COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/bench/tests/subject_smoke_test.py $<TARGET_FILE:${target}> ${case})
    set_tests_properties(${target}.${case} PROPERTIES TIMEOUT 600 LABELS bench)
  endforeach()
endfunction()

# apiary_add_micro(name SOURCES …): a Google Benchmark program; CTest runs each benchmark once, briefly.
function(apiary_add_micro name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE
    apiary apiary_warnings apiary_sanitizers benchmark::benchmark)
  apiary_register(micro ${name})
  if(APIARY_TESTS)
    add_test(NAME ${name}_smoke COMMAND ${name} --benchmark_min_time=0.001)
    set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 600 LABELS bench)
  endif()
endfunction()

# apiary_add_exact(name SOURCES …): a driver whose instructions are counted (bench/exact/exact.hpp); CTest runs
# each of its operations once, briefly.
function(apiary_add_exact name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/bench/apiary/bench/allocation_count_on.cpp)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE apiary apiary_warnings apiary_sanitizers)
  apiary_register(exact ${name})
  if(APIARY_TESTS)
    add_test(NAME ${name}_smoke COMMAND ${name} run all 100)
    set_tests_properties(${name}_smoke PROPERTIES TIMEOUT 600 LABELS bench)
  endif()
endfunction()
