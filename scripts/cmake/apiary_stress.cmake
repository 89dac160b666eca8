# Stress programs: <apiary/stress/harness.hpp> gives them main's frame, a watchdog and a seed.

# apiary_add_stress(name SOURCES …): real threads; CTest runs it for a second, `scripts/apiary stress` for longer.
function(apiary_add_stress name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE apiary::apiary apiary::stress_harness
    $<TARGET_NAME_IF_EXISTS:apiary_warnings> $<TARGET_NAME_IF_EXISTS:apiary_stress_sanitizers> ${arg_LIBRARIES})
  apiary_register(stress ${name})
  add_test(NAME ${name} COMMAND ${name} --seconds 1 --seed 1 --threads 6)
  add_test(NAME ${name}.one_cpu COMMAND ${name} --seconds 1 --seed 2 --threads 4 --one-cpu)
  set_tests_properties(${name} ${name}.one_cpu PROPERTIES TIMEOUT 180 LABELS stress RUN_SERIAL ON)
endfunction()
