#include "cli/submit/slurm_script.h"

#include <algorithm>

#include "base/str.h"
#include "cli/submit/engine_tool.h"

namespace pipeline {

namespace {

// * An array task may have the job id of the whole array: `scontrol requeue $SLURM_JOB_ID` would start all
// tasks again.
// * Slurm sends SIGCONT after SIGTERM. A bash that traps both loses SIGTERM.
// * bash answers to a signal only while it waits for a child in the background.
// * After `wait` was interrupted, only another one has the exit code.
// * A worker that was stopped before it could catch the signal tries again.
// * A cancelled task is not RUNNING any more; Slurm would start it again on request.
// * scontrol ends this script. The sleep is for a slow controller.
constexpr std::string_view kBody = R"sh(
me=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}
restarts=${SLURM_RESTART_COUNT:-0}
killed=0 stopped= pid=
trap 'stopped=yes; [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' TERM

while :; do
  "${worker[@]}" &
  pid=$!
  [ -z "$stopped" ] || kill -TERM "$pid" 2>/dev/null
  while wait "$pid"; kill -0 "$pid" 2>/dev/null; do :; done
  wait "$pid"
  code=$?
  [ "$code" -gt 128 ] && [ -z "$stopped" ] && [ "$killed" -lt 3 ] || break
  killed=$((killed + 1))
  echo "worker $me: ended by signal $((code - 128)) on $(hostname), started again here, $killed of 3" >&2
done
[ "$code" -gt 128 ] && [ -n "$stopped" ] && code=75

if [ "$code" = 75 ] && [ "$restarts" -lt "$most" ]; then
  tries=0
  until state=$(squeue --noheader --array --format=%T --jobs="$me") || [ "$tries" = 30 ]; do
    tries=$((tries + 1))
    sleep 10
  done
  if [ "$state" = RUNNING ]; then
    echo "worker $me: ended with 75 (try again) on $(hostname), requeued, $((restarts + 1)) of $most" >&2
    scontrol requeue "$me" && sleep 300
  fi
fi
exit "$code"
)sh";

}  // namespace

std::string SlurmScript(const WorkerSet& set, const EngineOptions& options) {
  std::string text = "#!/bin/bash\n";
  const auto option = [&](const std::string& words_of_option) {
    text += StrCat("#SBATCH ", words_of_option, "\n");
  };
  option(StrCat("--job-name=pipe-", set.name));
  option(StrCat("--cpus-per-task=", set.cores));
  if (set.memory != 0) option(StrCat("--mem=", (set.memory + (1 << 20) - 1) >> 20, "M"));
  // Slurm does not start a task whose file it cannot make.
  const std::string place = options.everywhere ? StrCat(options.directory, "/") : "/tmp/pipe-";
  option(ShellWords({StrCat("--output=", place, "%A_%a.log")}));
  option("--open-mode=append");
  option("--requeue");
  option("--signal=B:TERM@60");
  for (const std::string& word : options.words) option(ShellWords({word}));
  text += "# One worker; `pipe submit` made this file.\n";
  text += StrCat("worker=(", ShellWords(set.argv), ")\n");
  text += StrCat("most=", set.starts, "\n");
  if (!options.everywhere) {
    const std::string directory = ShellWords({options.directory});
    text += StrCat("[ ! -w ", directory, " ] || exec >>", directory,
                   "/${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}.log 2>&1\n");
  }
  return text.append(kBody);
}

std::vector<std::string> ArraySpans(int workers, int largest) {
  std::vector<std::string> spans;
  for (int left = workers; left > 0; left -= largest)
    spans.push_back(StrCat("0-", std::min(left, largest) - 1));
  return spans;
}

}  // namespace pipeline
