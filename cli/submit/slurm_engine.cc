#include <algorithm>
#include <charconv>
#include <map>

#include "base/str.h"
#include "cli/submit/engine.h"
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

/// Calls `use` with each part of `text` between separators that is not empty.
template <class Use>
void ForEachPart(std::string_view text, char separator, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (const std::string_view part = text.substr(0, end); !part.empty()) use(part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// Returns MaxArraySize from the output of `scontrol show config`; if absent: Slurm's own.
int LargestArray(std::string_view configuration) {
  int largest = 1001;
  ForEachPart(configuration, '\n', [&](std::string_view line) {
    if (!line.starts_with("MaxArraySize")) return;
    const std::size_t at = line.find_first_of("0123456789");
    int found = 0;
    if (at != std::string_view::npos &&
        std::from_chars(line.data() + at, line.data() + line.size(), found).ec == std::errc() && found > 0)
      largest = found;
  });
  return largest;
}

/// The reason of a task that is held since its start failed on a host. Its user may release it.
constexpr std::string_view kHeldReason = "launch failed requeued held";

Status Explain(const Status& why) {
  if (why.code() != Code::kNotFound) return why;
  return Status(Code::kNotFound,
                StrCat(why.message(),
                       "; run this on a machine that can submit jobs to Slurm, with its programs in PATH"));
}

class SlurmEngine final : public Engine {
 public:
  explicit SlurmEngine(EngineOptions options) : options_(std::move(options)) {}

  Result<std::string> Start(const WorkerSet& set, const std::stop_token& stop) override {
    const Result<std::string> configuration = CallTool({"scontrol", "show", "config"}, stop);
    if (!configuration.ok()) return Explain(configuration.status());
    const std::string script = StrCat(options_.directory, "/workers.slurm");
    RETURN_IF_ERROR(WriteEngineFile(script, SlurmScript(set, options_)));
    std::string jobs;
    for (const std::vector<std::string>& array :
         SlurmArrays(set, options_.words, LargestArray(*configuration))) {
      std::vector<std::string> argv = {"sbatch", "--parsable"};
      argv.insert(argv.end(), array.begin(), array.end());
      argv.push_back(script);
      const Result<std::string> job = CallTool(argv, stop);
      if (!job.ok()) {
        // A part of the workers alone is not what was asked for.
        if (!jobs.empty()) static_cast<void>(Cancel(jobs, {}));
        return Explain(job.status());
      }
      if (!jobs.empty()) jobs += ',';
      jobs += job->substr(0, job->find_first_of(";\n"));  // JOB or JOB;CLUSTER
    }
    return jobs;
  }

  Result<EngineState> State(const std::string& job, const std::stop_token& stop) override {
    const Result<std::string> told = CallTool(
        {"squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%r", StrCat("--jobs=", job)},
        stop);
    if (!told.ok()) {
      // The controller forgets a job some minutes after its end.
      if (told.status().message().find("Invalid job id") != std::string_view::npos)
        return EngineState{.over = true};
      return Explain(told.status());
    }
    return ReadState(*told);
  }

  Status Cancel(const std::string& job, const std::stop_token& stop) override {
    std::vector<std::string> argv = {"scancel"};
    ForEachPart(job, ',', [&](std::string_view part) { argv.emplace_back(part); });
    const Result<std::string> done = CallTool(argv, stop);
    if (done.ok() || done.status().message().find("Invalid job id") != std::string_view::npos) return {};
    return Explain(done.status());
  }

  Status Release(const std::vector<std::string>& held, const std::stop_token& stop) override {
    std::vector<std::string> argv = {"scontrol", "release"};
    argv.insert(argv.end(), held.begin(), held.end());
    const Result<std::string> done = CallTool(argv, stop);
    return done.ok() ? Status() : Explain(done.status());
  }

  std::string Messages() const override {
    return options_.everywhere ? options_.directory
                               : StrCat(options_.directory,
                                        ", or in /tmp/pipe-JOB_TASK.log of a host that "
                                        "does not see it");
  }

 private:
  /// `text` has a line TASK|STATE|REASON for each task.
  static EngineState ReadState(std::string_view text) {
    int waiting = 0;
    int running = 0;
    std::string reason;
    std::map<std::string, int, std::less<>> ended;  // by their state
    EngineState result;
    ForEachPart(text, '\n', [&](std::string_view line) {
      const std::string_view task = line.substr(0, line.find('|'));
      line.remove_prefix(std::min(task.size() + 1, line.size()));
      const std::size_t bar = std::min(line.find('|'), line.size());
      const std::string_view state = line.substr(0, bar);
      if (state == "PENDING" || state == "REQUEUED" || state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT") {
        ++waiting;
        if (reason.empty() && bar < line.size()) reason = line.substr(bar + 1);
        if (line.substr(bar).find(kHeldReason) != std::string_view::npos) result.held.emplace_back(task);
      } else if (state == "RUNNING" || state == "CONFIGURING" || state == "COMPLETING" ||
                 state == "SUSPENDED" || state == "STOPPED" || state == "RESIZING" || state == "SIGNALING" ||
                 state == "STAGE_OUT") {
        ++running;
      } else {
        ++ended[std::string(state)];
      }
    });
    result.over = waiting == 0 && running == 0;
    result.told = StrCat(running, " running");
    if (waiting != 0)
      result.told +=
          StrCat(", ", waiting, " waiting", reason.empty() ? "" : " (", reason, reason.empty() ? "" : ")");
    for (const auto& [state, number] : ended) result.told += StrCat(", ", number, " ", state);
    return result;
  }

  const EngineOptions options_;
};

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

std::unique_ptr<Engine> NewSlurmEngine(EngineOptions options) {
  return std::make_unique<SlurmEngine>(std::move(options));
}

}  // namespace pipeline
