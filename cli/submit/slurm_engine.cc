#include "cli/submit/slurm_engine.h"

#include <charconv>
#include <map>

#include "base/str.h"
#include "cli/submit/engine_tool.h"
#include "cli/submit/slurm_script.h"

namespace pipeline {

namespace {

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

std::unique_ptr<Engine> NewSlurmEngine(EngineOptions options) {
  return std::make_unique<SlurmEngine>(std::move(options));
}

}  // namespace pipeline
