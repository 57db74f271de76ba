# Writes OUT, a header with PIPE_COMMIT: the commit of SOURCE, with -dirty if a tracked file differs from it, or unknown if
# SOURCE is no clone of its own. Without a change, OUT keeps its time, and nothing is compiled again.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-cdup OUTPUT_VARIABLE above RESULT_VARIABLE failed ERROR_QUIET)
string(STRIP "${above}" above)
if(NOT failed AND above STREQUAL "")  # else SOURCE lies in the clone of another program
  execute_process(COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Made by cli/commands/commit.cmake.\n#pragma once\n\n#define PIPE_COMMIT \"@commit@\"\n" @ONLY)
