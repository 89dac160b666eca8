# Programs that can be hunted through (model_check/hunt/README.md).
#
#   apiary_hunt(TARGET)
#
# All sources of the executable TARGET are compiled as for ThreadSanitizer, and it is linked with the hunt's runtime in place of the
# sanitizer's. Run by itself it runs once, as it would; `scripts/apiary hunt -- PROGRAM ARGUMENTS` hunts.
# Libraries that TARGET is linked with are not compiled anew: give them the same options (APIARY_HUNT_OPTIONS).
# After the user's own options: of code that only reads, g++ would take out calls whose result nobody uses, and the reads with them.
set(APIARY_HUNT_OPTIONS
  -fsanitize=thread -O1 -g -fno-builtin -fno-omit-frame-pointer -UNDEBUG -U_FORTIFY_SOURCE)
set(APIARY_HUNT_GNU_OPTIONS
  -Wno-tsan -fno-tree-loop-im -fno-hoist-adjacent-loads -fno-lto -fno-ipa-pure-const -fno-ipa-modref)

function(apiary_hunt target)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    message(FATAL_ERROR "apiary_hunt(${target}): the hunt's runtime is for x86-64, and this is ${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  target_compile_options(${target} PRIVATE ${APIARY_HUNT_OPTIONS} "$<$<CXX_COMPILER_ID:GNU>:${APIARY_HUNT_GNU_OPTIONS}>")
  # Whole: most of what it replaces is asked for by shared libraries alone, which see what the program exports.
  target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,apiary::hunt>")
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  target_link_options(${target} PRIVATE -no-pie)
endfunction()
