#include "plugins/train/attempt_runner.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/environment/trainer_environment.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostExplanation = 1000;  // bytes

}  // namespace

AttemptRunner::AttemptRunner(const TrainJob& job, const PluginServices& call, const RunDirectory& directory)
    : job_(job),
      call_(call),
      directory_(directory),
      journal_(directory.Path("events.jsonl"), call),
      reporter_(call, job.steps()) {}

AttemptPlan AttemptRunner::PlanOf(const std::string& python, const AttemptStart& start) const {
  AttemptPlan plan;
  plan.grace = job_.grace();
  // The other hosts do not know how long this one's steps take.
  if (job_.position.hosts > 1) plan.grace = job_.grace_or_least();
  plan.patience = job_.patience();
  plan.wish = start.wish;
  plan.excused = start.excused;
  if (start.program) {
    TrainerCommand command = start.program->command;
    command.log = directory_.LogPath(start.number, 0, ".log");
    command.output = [source = start.program->source](std::string_view bytes) { source->Output(bytes); };
    plan.commands.push_back(std::move(command));
    plan.source = start.program->source;
    plan.silence = start.program->silence;
    return plan;
  }
  for (std::int64_t worker = 0; worker < job_.processes(); ++worker) {
    TrainerCommand command = PythonCommand(
        python, {"-m", "pipe_trainer", "--job", directory_.Path(directory_.NewResult("job.json"))});
    for (std::string variable :
         {StrCat("PIPE_ERROR_FILE=",
                 directory_.LogPath(start.number, static_cast<std::size_t>(worker), ".error.json")),
          StrCat("PIPE_ATTEMPT=", start.number), StrCat("PIPE_RESUME=", start.resume),
          StrCat("PIPE_GRACE_S=", job_.grace_or_least().count()),
          StrCat("PIPE_WORKER_INDEX=", FirstWorker() + worker),
          StrCat("PIPE_WORKER_COUNT=", job_.position.hosts * job_.processes())})
      command.set.push_back(std::move(variable));
    const auto host = [&](int number) { return job_.position.hosts > 1 ? StrCat(number) : std::string(); };
    for (const auto& [name, value] :
         {std::pair("PIPE_HOST_INDEX", host(job_.position.host)),
          std::pair("PIPE_HOST_COUNT", host(job_.position.hosts)),
          std::pair("PIPE_COORDINATOR", start.coordinator), std::pair("PIPE_ROW_BLOCKS", start.blocks)})
      if (value.empty())
        command.unset.emplace_back(name);
      else
        command.set.push_back(StrCat(name, "=", value));
    command.log = directory_.LogPath(start.number, static_cast<std::size_t>(worker), ".log");
    plan.commands.push_back(std::move(command));
  }
  return plan;
}

Result<TrainerEnd> AttemptRunner::Run(const std::string& python, const AttemptStart& start) {
  const AttemptPlan plan = PlanOf(python, start);
  std::int64_t committed_before = committed_;
  bool progressed = false;
  std::string explained;  // by the trainer, also where its disk is full
  reached_ = -1;
  since_ = at_ = SystemClock().Monotonic();
  Attempt attempt(plan, call_, [&](const Json& event) {
    const std::string_view kind = event["kind"].AsString();
    const std::int64_t step = event["step"].AsInt(-1);
    const bool first = event["worker"].AsInt() == FirstWorker();
    if (kind == "restore") committed_ = std::max(committed_, step);
    if (kind == "ckpt_commit" && step > committed_) committed_ = step, progressed = step > committed_before;
    // Checkpoints after this step no longer count.
    if (kind == "extend" && first) committed_ = committed_before = event["to"].AsInt(-1);
    if (first) Count(event);
    if (kind == "error") explained = event["message"].AsString();
    // There are many of these, and only this attempt needs them.
    if (kind != "rows") journal_.Keep(event, SystemClock().Monotonic());
    start.hear(event);
    // Every worker reports the same about a training; the events of one are shown.
    if (first) reporter_.Hear(event);
  });
  ASSIGN_OR_RETURN(TrainerEnd end, attempt.Run());
  end.progressed = progressed;
  if (attempt.bad_lines() > 0)
    call_.log(Level::kWarning,
              StrCat(attempt.bad_lines(), " lines on the trainer's event channel were no events; the first: ",
                     attempt.first_bad_line()));
  if (journal_.drowned() > drowned_)
    call_.log(Level::kWarning, StrCat(journal_.drowned() - drowned_, " events came too fast to be kept"));
  drowned_ = journal_.drowned();
  if (end.stopped && job_.position.host == 0) TellStop();
  log_ = plan.commands[attempt.decided()].log;
  tail_ = attempt.Tail();
  if ((end.code != 0 || end.signal != 0) && !end.stopped)
    AddError(start.number, attempt.decided(), explained, end);
  else if (end.code == 0 && !start.program && job_.position.host == 0) {
    const Status good = directory_.CheckNewResult(job_.steps(), job_.stops_early());
    if (!good.ok()) {
      end.code = kExitBug;
      end.cause = StrCat("the trainer ended with exit code 0 and left no good result: ", good.message());
    }
  }
  return end;
}

void AttemptRunner::Count(const Json& event) {
  const std::string_view kind = event["kind"].AsString();
  const std::int64_t step = event["step"].AsInt(-1);
  const Time now = SystemClock().Monotonic();
  if (kind == "phase" && event["name"].AsString() == "step" && reached_ <= committed_) since_ = at_ = now;
  if (kind == "ckpt_begin") saving_ = now;
  if (kind == "ckpt_commit") since_ = std::exchange(saving_, now);
  if (kind == "rewind") reached_ = event["to"].AsInt(-1);
  if (step <= reached_ || kind == "rewind") return;
  reached_ = step;
  at_ = now;
}

void AttemptRunner::TellStop() const {
  const std::int64_t lost = reached_ - std::max<std::int64_t>(committed_, 0);
  const std::string saved =
      committed_ >= 0 ? StrCat("step ", committed_, " is saved") : std::string("no step is saved");
  if (lost <= 0)
    return call_.log(Level::kInfo, StrCat(job_.stage, ": ", committed_ >= 0 ? saved : "no step had ended",
                                          ", nothing is lost"));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::max(at_ - since_, Time(0))).count();
  call_.log(Level::kWarning,
            StrCat(job_.stage, ": ", saved, ", and ", lost, lost == 1 ? " step" : " steps", " after ",
                   committed_ >= 0 ? "it" : "the beginning", lost == 1 ? " is" : " are", " lost, ",
                   seconds < 60 ? StrCat(seconds, seconds == 1 ? " second" : " seconds")
                                : StrCat(seconds / 60, seconds < 120 ? " minute" : " minutes"),
                   " of training: the trainer was ended before it had saved; `grace` gives it longer"));
}

void AttemptRunner::AddError(std::int64_t number, std::size_t worker, const std::string& explained,
                             TrainerEnd& end) const {
  const std::string path = directory_.LogPath(number, worker, ".error.json");
  const Json error = directory_.Read(path.substr(directory_.Path("").size()));
  std::string message = Readable(error["message"].AsString(explained), kMostExplanation);
  // A library that ends the process explains nothing, but it has said why.
  if (message.empty() && end.signal == 0 && !end.hung && !tail_.empty())
    message = StrCat("its last line: ", Readable(tail_.back(), kMostExplanation));
  if (!message.empty()) end.cause += StrCat(" (", message, ")");
}

}  // namespace pipeline
