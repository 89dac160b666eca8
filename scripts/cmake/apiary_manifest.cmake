# apiary_register(list target): names a program in manifest/<list>.txt of the build folder, where scripts/apiary finds it.
function(apiary_register list target)
  set_property(GLOBAL APPEND PROPERTY APIARY_${list} $<TARGET_FILE:${target}>)
endfunction()

# apiary_peer_left_out(name what remedy): says so, and names the peer in manifest/absent.txt, so that scripts/apiary configures
# anew when its packages have come. apiary_check_left_out(name what package): the same of a program of checks, which
# `prove` names at its end.
function(apiary_peer_left_out name what remedy)
  message(STATUS "subject_${name}: ${what}; this peer is left out. Remedy: ${remedy}")
  set_property(GLOBAL APPEND PROPERTY APIARY_absent ${name})
endfunction()
function(apiary_check_left_out name what package)
  message(STATUS "${name}: ${what}; it is left out, and proves nothing. Remedy: scripts/apiary setup --peers (${package})")
  set_property(GLOBAL APPEND PROPERTY APIARY_absent ${name})
endfunction()

function(apiary_write_manifests)
  get_property(absent GLOBAL PROPERTY APIARY_absent)
  list(JOIN absent "\n" text)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/manifest/absent.txt CONTENT "${text}\n")
  foreach(list checks long stress night subjects micro exact planted virtual calibrate hazards hunted logic aside)
    get_property(programs GLOBAL PROPERTY APIARY_${list})
    list(JOIN programs "\n" text)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/manifest/${list}.txt CONTENT "${text}\n")
  endforeach()
endfunction()
# Not into the build folder of a project that takes the headers in as a part.
if(PROJECT_IS_TOP_LEVEL OR NOT PROJECT_NAME STREQUAL apiary)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL apiary_write_manifests)
endif()
