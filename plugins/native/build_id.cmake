# Writes OUT, a header with PIPE_BUILD_ID: a digest of HEADERS and OPTIONS.
set(all "${OPTIONS}")
foreach(header IN LISTS HEADERS)
  file(SHA256 ${header} digest)
  string(APPEND all " ${digest}")
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUT} "// Made by plugins/native/build_id.cmake.\n#pragma once\n\n#define PIPE_BUILD_ID \"${id}\"\n")
