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
// * Not every cluster bounds the memory of a task by a cgroup. Slurm tells it in MiB; libraries take a ninth.
constexpr std::string_view kSlurmBody = R"sh(
[ "${SLURM_MEM_PER_NODE:-0}" = 0 ] || export PIPE_MEMORY=$((SLURM_MEM_PER_NODE * 8 / 9))MiB
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

std::string MemoryOption(std::uint64_t bytes) { return StrCat("--mem=", (bytes + (1 << 20) - 1) >> 20, "M"); }

}  // namespace

std::string SlurmScript(const WorkerSet& set, const EngineOptions& options) {
  std::string text = "#!/bin/bash\n";
  const auto option = [&](const std::string& words_of_option) {
    text += StrCat("#SBATCH ", words_of_option, "\n");
  };
  option(StrCat("--job-name=pipe-", set.name));
  option(StrCat("--cpus-per-task=", set.cores));
  if (set.memory != 0) option(MemoryOption(set.memory));
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
  return text.append(kSlurmBody);
}

std::vector<std::vector<std::string>> SlurmArrays(const WorkerSet& set, const std::vector<std::string>& words,
                                                  int largest) {
  const bool chosen = std::any_of(words.begin(), words.end(),
                                  [](const std::string& word) { return word.starts_with("--mem"); });
  const int large = set.most_memory > 0 && !chosen ? 1 : 0;
  std::vector<std::vector<std::string>> arrays;
  if (large > 0) arrays.push_back({"--array=0-0", MemoryOption(set.most_memory)});
  for (int left = set.workers - large; left > 0; left -= largest)
    arrays.push_back({StrCat("--array=0-", std::min(left, largest) - 1)});
  return arrays;
}

}  // namespace pipeline
