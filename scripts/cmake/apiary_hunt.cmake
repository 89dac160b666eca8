# Programs that can be hunted through (model_check/hunt/README.md).
#
#   apiary_hunt(TARGET…)
#
# All sources of each executable TARGET are compiled as for ThreadSanitizer, and it is linked with the hunt's runtime in place of the
# sanitizer's. Run by itself it runs once, as it would; `scripts/apiary hunt -- PROGRAM ARGUMENTS` hunts.
# A library of the project that TARGET is linked with may be named, too: it is compiled so, and linked as it is. One that is not named
# is not seen.

# apiary_hunt_options(VARIABLE): for this compiler, after the user's own options. A function, which a project sees whose subproject this
# is. In code that only reads, g++ would drop calls whose result is not used, and the reads with them; clang++ writes down with
# which options it was called, as g++ does by itself.
function(apiary_hunt_options variable)
  set(options -fsanitize=thread -O1 -g -fno-builtin -fno-omit-frame-pointer -UNDEBUG -U_FORTIFY_SOURCE -fno-lto)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND options -Wno-tsan -fno-tree-loop-im -fno-hoist-adjacent-loads -fno-ipa-pure-const -fno-ipa-modref)
  else()
    list(APPEND options -grecord-command-line)
  endif()
  set(${variable} ${options} PARENT_SCOPE)
endfunction()

function(apiary_hunt)
  if(NOT ARGN)
    message(FATAL_ERROR "apiary_hunt() names no target: apiary_hunt(TARGET…)")
  endif()
  foreach(target ${ARGN})
    if(NOT TARGET ${target})
      message(FATAL_ERROR "apiary_hunt(${target}): there is no such target yet. Remedy: after its add_executable()")
    endif()
    if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
      message(FATAL_ERROR "apiary_hunt(${target}): the hunt's runtime is for x86-64, and this is ${CMAKE_SYSTEM_PROCESSOR}")
    endif()
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
      message(FATAL_ERROR "apiary_hunt(${target}): needs g++ or clang++, and this is ${CMAKE_CXX_COMPILER_ID}")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      message(FATAL_ERROR "apiary_hunt(${target}): it has no sources; name the programs that include its headers")
    endif()
    apiary_hunt_options(options)
    target_compile_options(${target} PRIVATE ${options})
    if(type STREQUAL "EXECUTABLE")
      # Whole: most of what it replaces is asked for by shared libraries alone, which see what the program exports.
      target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,apiary::hunt>")
      set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
      target_link_options(${target} PRIVATE -no-pie)
    endif()
  endforeach()
endfunction()
