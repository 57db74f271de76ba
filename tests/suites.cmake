# pipe_suites(TARGET [COST N]): each suite of a GoogleTest program is a test of ctest, in one process: a program of this size takes
# longer to start than most tests take. A crash leaves the name of its test as the last one that was begun.
#
# Suites of a higher COST begin earlier: a long one that begins last keeps one core alone.
#
# As a script: cmake -D PROGRAM=... -D TESTS=... -D COST=... -P suites.cmake writes the suites of PROGRAM to the file TESTS.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[A-Za-z][A-Za-z0-9_/]*\\." suites "${listed}")
  set(tests "")
  foreach(suite ${suites})
    string(REGEX MATCH "[A-Za-z][A-Za-z0-9_/]*" suite "${suite}")
    string(APPEND tests "add_test([[${suite}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*]])\n"
           "set_tests_properties([[${suite}]] PROPERTIES TIMEOUT 180 COST ${COST} ENVIRONMENT PIPE_TEST_REASONS=1)\n")
  endforeach()
  file(WRITE ${TESTS} "${tests}")
  return()
endif()

function(pipe_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 suites "" COST "")
  if(NOT suites_COST)
    set(suites_COST 0)
  endif()
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  if(NOT EXISTS ${tests})  # until the program is built, its test fails
    file(WRITE ${tests} "add_test([[${target}]] [[${target}_NOT_BUILT]])\n")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D TESTS=${tests} -D COST=${suites_COST}
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()
