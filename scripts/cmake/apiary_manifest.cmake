# apiary_register(list target): names a program in manifest/<list>.txt of the build folder, where scripts/apiary finds it.
function(apiary_register list target)
  set_property(GLOBAL APPEND PROPERTY APIARY_${list} $<TARGET_FILE:${target}>)
endfunction()

function(apiary_write_manifests)
  foreach(list checks stress subjects micro exact logic)
    get_property(programs GLOBAL PROPERTY APIARY_${list})
    list(JOIN programs "\n" text)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/manifest/${list}.txt CONTENT "${text}\n")
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL apiary_write_manifests)
