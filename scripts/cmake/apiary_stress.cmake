# Stress programs: <apiary/stress/harness.hpp> gives them main's frame, a watchdog and a seed.

# apiary_add_stress(name SOURCES …): real threads; CTest runs it for a second, for half of one under a sanitizer, in
# which `scripts/apiary stress` runs it for longer. Of AddressSanitizer's `check` builds and runs none: the night's stress does.
if(APIARY_SANITIZE MATCHES "^address" AND APIARY_MOVED STREQUAL "without")
  set(APIARY_STRESS_ASIDE EXCLUDE_FROM_ALL)
else()
  set(APIARY_STRESS_ASIDE "")
endif()
function(apiary_add_stress name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${APIARY_STRESS_ASIDE} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${APIARY_AS_SHIPPED})
  target_link_libraries(${name} PRIVATE apiary::apiary apiary::stress_harness
    $<TARGET_NAME_IF_EXISTS:apiary_warnings> $<TARGET_NAME_IF_EXISTS:apiary_stress_sanitizers> ${arg_LIBRARIES})
  apiary_register(stress ${name})
  if(APIARY_STRESS_ASIDE)
    apiary_register(aside ${name})
    return()
  endif()
  set(seconds 1)
  if(APIARY_SANITIZE)
    set(seconds 0.5)
  endif()
  add_test(NAME ${name} COMMAND ${name} --seconds ${seconds} --seed 1 --threads 6)
  add_test(NAME ${name}.one_cpu COMMAND ${name} --seconds ${seconds} --seed 2 --threads 4 --one-cpu)
  # All processors for threads that shall run at once; with one, nothing is gained by a second that is idle.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS stress RUN_SERIAL ON)
  set_tests_properties(${name}.one_cpu PROPERTIES TIMEOUT 600 LABELS stress)
endfunction()
