#include "cli/submit/local_script.h"

#include "base/str.h"
#include "cli/submit/engine_tool.h"

namespace pipeline {

namespace {

// A signal to the group ends the loops at once; workers stop as they do, and nobody starts them again.
constexpr std::string_view kLocalBody = R"sh(
keep() {
  local number=$1 starts=0 code
  while :; do
    "${worker[@]}"
    code=$?
    [ "$code" = 75 ] || [ "$code" -gt 128 ] || return "$code"
    [ "$starts" -lt "$most" ] || return "$code"
    starts=$((starts + 1))
    if [ "$code" = 75 ]; then
      echo "worker $number: ended with 75 (try again), started again, $starts of $most" >&2
      sleep 5
    else
      echo "worker $number: ended by signal $((code - 128)), started again, $starts of $most" >&2
      sleep 1
    fi
  done
}

loops=()
for ((number = 0; number < workers; number++)); do
  keep "$number" &
  loops+=($!)
done
result=0
for loop in "${loops[@]}"; do
  wait "$loop"
  code=$?
  [ "$result" != 0 ] || result=$code
done
exit "$result"
)sh";

}  // namespace

std::string LocalScript(const WorkerSet& set) {
  std::string text = StrCat("#!/bin/bash\n# Workers of ", set.name, "; `pipe submit` made this file.\n");
  text += StrCat("worker=(", ShellWords(set.argv), ")\n");
  text += StrCat("workers=", set.workers, "\nmost=", set.starts, "\n");
  return text.append(kLocalBody);
}

}  // namespace pipeline
