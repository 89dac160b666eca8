# What every kind of program of the suite needs, one function for each kind.

# Traces, mutation sites and asserts name a file by its place in the tree. For this build alone: a target's users get no map.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

include(GNUInstallDirs)

# The include path is the tree: <apiary/queues/…> is impl/apiary/queues/…, and <apiary/model_check/…>, <apiary/stress/…>
# and <apiary/bench/…> lie likewise in the folders of their libraries, which add those.
# Elsewhere only for `scripts/apiary mutate --logic`, whose copies of the headers hold every mutant.
set(APIARY_HEADERS ${PROJECT_SOURCE_DIR}/impl CACHE PATH "The include path of the headers")

add_library(apiary_warnings INTERFACE)
if(APIARY_WARNINGS)
  target_compile_options(apiary_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wcast-align -Wformat=2 -Wundef
    $<$<BOOL:${APIARY_WERROR}>:-Werror>)
else()
  target_compile_options(apiary_warnings INTERFACE -w)
endif()

# -g1 has the lines that a report names. One test file of the hive, seconds of processor time to compile: asan-ubsan 82 by
# -O2 -g and 12 by -Og -g1, tsan 12 by -O2 -g and 6 by -O1 -g1; eight together: tsan 25 by -O1, 18 by -Og.
function(apiary_add_sanitizers name what)
  add_library(${name} INTERFACE)
  if(what STREQUAL "thread")
    target_compile_options(${name} INTERFACE -fsanitize=thread -fno-omit-frame-pointer -g1)
    target_link_options(${name} INTERFACE -fsanitize=thread)
    # ThreadSanitizer does not model fences, and g++ says so at each. Here payloads travel by release
    # stores and acquire loads; fences only order store buffering, which no race detector looks at.
    target_compile_options(${name} INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  elseif(what MATCHES "^address-undefined(-trap)?$")
    target_compile_options(${name} INTERFACE
      -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    # An undefined operation ends the program by a signal, whose line AddressSanitizer reports (handle_sigill=1), in place of a call
    # with words of its own: a unit of task_graph_memory_test takes 13.9 s of processor time to compile in place of 16.1. The wrong
    # dynamic type of an object is then not looked for.
    if(what MATCHES "trap")
      target_compile_options(${name} INTERFACE
        $<IF:$<CXX_COMPILER_ID:GNU>,-fsanitize-undefined-trap-on-error,-fsanitize-trap=undefined>)
    endif()
    # Functions of the run-time library look at accesses, in place of their code at each: they see the same, and a unit of the
    # processes' tests takes 21 s of processor time to compile in place of 27. Without null and alignment it would take 19, but
    # then the compiler folds away a use after the scope before AddressSanitizer can see it.
    target_compile_options(${name} INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0>)
    target_link_options(${name} INTERFACE -fsanitize=address,undefined)
  elseif(what)
    message(FATAL_ERROR "APIARY_SANITIZE or APIARY_STRESS_SANITIZE is '${what}'; it can be thread, address-undefined, address-undefined-trap or empty")
  endif()
endfunction()
apiary_add_sanitizers(apiary_sanitizers "${APIARY_SANITIZE}")
# Of the stress programs: the preset `logic` has these alone under ThreadSanitizer.
if(NOT DEFINED APIARY_STRESS_SANITIZE)
  set(APIARY_STRESS_SANITIZE "${APIARY_SANITIZE}")
endif()
apiary_add_sanitizers(apiary_stress_sanitizers "${APIARY_STRESS_SANITIZE}")

file(READ ${PROJECT_SOURCE_DIR}/impl/apiary/version.hpp version_header)
string(REGEX MATCH "library_version\\[\\] = \"([0-9.]+)\"" _ "${version_header}")
if(NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "apiary is ${PROJECT_VERSION} in CMakeLists.txt and ${CMAKE_MATCH_1} in impl/apiary/version.hpp")
endif()

# Headers only, whatever scheduler they serve.
add_library(apiary INTERFACE)
add_library(apiary::apiary ALIAS apiary)
target_include_directories(apiary INTERFACE $<BUILD_INTERFACE:${APIARY_HEADERS}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(apiary INTERFACE cxx_std_20)
target_link_libraries(apiary INTERFACE Threads::Threads)

# apiary_find_header(VARIABLE HEADER PACKAGE): the folder of a library of headers that a part of the suite is compiled with.
function(apiary_find_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} is missing. Remedy: scripts/apiary setup, or apt-get install ${package}")
  endif()
endfunction()

include(apiary_manifest)
# It needs Python and objcopy, and headers alone need neither.
if(PROJECT_IS_TOP_LEVEL AND (APIARY_TESTS OR APIARY_MODEL_CHECKS OR APIARY_STRESS OR APIARY_BENCH))
  include(apiary_record)
endif()

# Sources of one program compiled together, so many at the most: what they share is read and instantiated once. A test file
# therefore keeps its names in a namespace of its own name. Presets that are built from nothing turn it on; `dev`, in which one
# file is compiled again and again, does not.
set(APIARY_FILES_PER_UNIT 1 CACHE STRING "How many sources of a test program or a library are compiled together; 1: each alone")
# A unit of eight files fills memory fast; g++ would stop at 256 MB, and often then, to look for what it no longer needs.
if(APIARY_FILES_PER_UNIT GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()
function(apiary_compile_together target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(APIARY_FILES_PER_UNIT GREATER 1 AND count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${APIARY_FILES_PER_UNIT})
    # g++ knows the files that a unit includes for headers, whose types other units would have under the same name.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# apiary_front(name LIBRARIES … HEADERS …): where sources are compiled together, headers that many programs begin with are read once
# for all that have the same options: apiary_begins_with(target name). So an #include that lacks is found by the other presets.
function(apiary_front name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;HEADERS" ${ARGN})
  if(APIARY_FILES_PER_UNIT GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND APIARY_HEADERS STREQUAL "${PROJECT_SOURCE_DIR}/impl")
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// A target has a source.\n")
    add_library(${name} OBJECT ${source})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  endif()
endfunction()
function(apiary_begins_with target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# Stress programs and examples are compiled as users compile them, also where unit tests are not.
set(APIARY_AS_SHIPPED "" CACHE STRING "Options for stress programs and examples, after those of the build type")

# What `check` leaves to the night (nightly.MOVED): with it, without it, or it alone.
set(APIARY_MOVED with CACHE STRING "Under a sanitizer examples and, for ThreadSanitizer, tests of one thread or of memory, for \
AddressSanitizer stress programs; without one those kinds of tests and second subjects of a source: with them, without them, or they alone")
option(APIARY_EXAMPLES "Examples, which are tests, too" ON)
function(apiary_is_left_out variable moved)
  if((moved AND APIARY_MOVED STREQUAL "without") OR (NOT moved AND APIARY_MOVED STREQUAL "alone"))
    set(${variable} TRUE PARENT_SCOPE)
  else()
    set(${variable} FALSE PARENT_SCOPE)
  endif()
endfunction()

# apiary_add_test(name SOURCES … [ONE_THREAD_SOURCES …] [LIBRARIES …] [ALONE] [HUNTED …] [ONE_THREAD | MEMORY | BOTH_SANITIZERS | NIGHT]): a
# GoogleTest program, deterministic. HUNTED: the night hunts through these of its files, or through its
# SOURCES if none is named (model_check/hunt), in the preset model.
# ALONE: each source is compiled alone. ONE_THREAD: its tests start no thread, so that ThreadSanitizer has little to see; MEMORY: what
# becomes of blocks is their subject, and other tests have the races. BOTH_SANITIZERS: it does the same under both. Of the first two
# `check` has the build with AddressSanitizer, of the third those with both, and the night has the others. ONE_THREAD_SOURCES: of a
# program of the third kind, files of the first. NIGHT: the night has all of it.
function(apiary_add_test name)
  cmake_parse_arguments(arg "ALONE;NIGHT;ONE_THREAD;MEMORY;BOTH_SANITIZERS" "" "SOURCES;ONE_THREAD_SOURCES;HUNTED;LIBRARIES" ${ARGN})
  if("HUNTED" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    set(arg_HUNTED ${arg_SOURCES})
  endif()
  if(arg_HUNTED)
    list(TRANSFORM arg_HUNTED PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
    set_property(GLOBAL APPEND PROPERTY APIARY_SUITES ${name})
    set_property(GLOBAL PROPERTY APIARY_SUITE_${name} ${sources})
  endif()
  set(moved FALSE)
  if(arg_NIGHT OR ((arg_ONE_THREAD OR arg_MEMORY) AND NOT APIARY_SANITIZE MATCHES "^address")
     OR (arg_BOTH_SANITIZERS AND NOT APIARY_SANITIZE))
    set(moved TRUE)
  endif()
  apiary_is_left_out(left_out ${moved})
  if(APIARY_SANITIZE STREQUAL "thread" AND arg_ONE_THREAD_SOURCES AND NOT APIARY_MOVED STREQUAL "with")
    if(APIARY_MOVED STREQUAL "alone")
      set(left_out FALSE)
      set(arg_SOURCES ${arg_ONE_THREAD_SOURCES})
    endif()
    set(arg_ONE_THREAD_SOURCES "")
  endif()
  if(NOT APIARY_TESTS OR left_out)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_ONE_THREAD_SOURCES})
  target_link_libraries(${name} PRIVATE
    apiary apiary_warnings apiary_sanitizers GTest::gtest_main ${arg_LIBRARIES})
  if(NOT arg_ALONE)
    apiary_compile_together(${name})
  endif()
  apiary_begins_with(${name} apiary_test_front)
  apiary_register(logic ${name})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS unit)
endfunction()

# apiary_add_example(name source): a program that users read, and a test; a target where this build has it.
function(apiary_add_example name source)
  apiary_is_left_out(left_out "${APIARY_SANITIZE}")
  if(NOT APIARY_TESTS OR NOT APIARY_EXAMPLES OR left_out)
    return()
  endif()
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE ${APIARY_AS_SHIPPED})
  target_link_libraries(${name} PRIVATE apiary apiary_warnings apiary_sanitizers)
endfunction()
