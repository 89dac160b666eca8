# A step of the build of a program of code as it is, before it is linked (apiary_as_it_is.cmake): in the objects of its SOURCES
# each atomic and each fence is a call. An instruction of that kind is assembly, an intrinsic, or a function that is
# kept from the instrumentation: the explorer does not see it.
#
#   cmake -Dname=… -Dobjects=… -Dsources=… -Dobjdump=… -Dawk=… -Dallowed=ON|OFF -P apiary_look_for_assembly.cmake
function(instructions_of object result)
  execute_process(COMMAND ${objdump} ${ARGN} -d -M att --no-show-raw-insn ${object}
    COMMAND ${awk} -f ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/apiary_look_for_assembly.awk
    OUTPUT_VARIABLE found RESULTS_VARIABLE status ERROR_VARIABLE errors)
  if(NOT status STREQUAL "0;0")
    message(FATAL_ERROR "${name}: ${object} could not be looked at: ${errors}")
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

set(text "")
foreach(source IN LISTS sources)
  get_filename_component(file ${source} NAME)
  set(seen FALSE)
  foreach(object IN LISTS objects)
    get_filename_component(built ${object} NAME)
    if(NOT built STREQUAL "${file}.o")
      continue()
    endif()
    set(seen TRUE)
    instructions_of(${object} found)
    if(found)
      instructions_of(${object} found -l -C)  # slower: with lines and names
      string(APPEND text "  ${source}\n${found}")
    endif()
  endforeach()
  if(NOT seen)
    message(FATAL_ERROR "${name}: no object of ${source} was found, so nothing says whether there is assembly in it")
  endif()
endforeach()
if(text AND allowed)
  message("${name}: what these instructions do is not seen, and ALLOW_ASSEMBLY goes on:\n${text}")
elseif(text)
  # As it stands, without CMake's line breaks.
  message("${name}: refused: what these instructions do would not be seen:\n${text}"
    "They are assembly, an intrinsic, or a function without the instrumentation.\n"
    "Remedy: std::atomic and std::atomic_thread_fence in their place; or ALLOW_ASSEMBLY in apiary_check_as_is(${name} …),\n"
    "and the verdict says that they are not seen.")
  message(FATAL_ERROR "${name}: instructions that would not be seen")
elseif(allowed)
  message("${name}: no locked instruction and no fence is in it, for which ALLOW_ASSEMBLY would be needed")
endif()
