#include "plugins/train/training.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/attempt.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/hand_off.h"
#include "plugins/train/narrator.h"
#include "plugins/train/restart_policy.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kShownLines = 20;  // of the trainer's last words, for who looks on

/// A port of the loopback interface that was free just now.
Result<int> FreePort() {
  const FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const auto place = reinterpret_cast<sockaddr*>(&address);
  if (!made.is_open() || bind(made.get(), place, size) != 0 || getsockname(made.get(), place, &size) != 0)
    return SystemError("looking for a free port on 127.0.0.1", errno);
  return static_cast<int>(ntohs(address.sin_port));
}

/// Equal for two jobs that differ only in how far they go and on how many threads.
Json WithoutExtent(Json job) {
  for (const char* member : {"steps", "threads"}) job.Remove(member);
  return job;
}

class TrainingRun {
 public:
  TrainingRun(const TrainJob& job, const HostCall& call, RunDirectory directory, Json job_file)
      : job_(job),
        call_(call),
        directory_(std::move(directory)),
        job_file_(std::move(job_file)),
        narrator_(call, job.steps()) {}

  /// True when an earlier run left all that is asked for.
  bool Stands() const {
    return directory_.CheckResult(job_.steps()).ok() &&
           WithoutExtent(directory_.Read("job.json")) == WithoutExtent(job_file_);
  }

  Status Run(const std::string& python) {
    // What stands there is of fewer steps: only this training's own may count.
    RETURN_IF_ERROR(directory_.Remove("result.json"));
    RETURN_IF_ERROR(directory_.Write("job.json", job_file_));
    EventJournal journal(directory_.Path("events.jsonl"), call_);
    RestartPolicy policy(job_.restarts());
    while (true) {
      ASSIGN_OR_RETURN(AttemptEnd end, RunAttempt(python, journal));
      if (end.code == 0 && end.signal == 0)
        if (const Status good = directory_.CheckResult(job_.steps()); !good.ok()) {
          end.code = 70;
          end.cause = StrCat("the trainer ended with exit code 0 and left no good result: ", good.message());
        }
      const Verdict verdict = policy.Judge(end);
      if (verdict.kind == Verdict::Kind::kDone) return {};
      if (verdict.kind == Verdict::Kind::kStopped) return {Code::kCancelled, "stopped"};
      if (verdict.kind == Verdict::Kind::kFail) return Failure(verdict);
      call_.Log(Level::kWarning, StrCat(verdict.why, "; starting it again", Wait(verdict.wait)));
      if (!Pause(verdict.wait)) return {Code::kCancelled, "stopped"};
    }
  }

  Result<Json> Answer() const {
    const Json result = directory_.Read("result.json");
    Json answer;
    ASSIGN_OR_RETURN(const std::vector<std::string> objects, directory_.Objects());
    for (const std::string& object : objects) answer["objects"].Append(object);
    Json& facts = answer["facts"];
    facts["steps"] = result["steps"];
    if (result["tokens"].is_int()) facts["tokens"] = result["tokens"];
    for (const auto& [name, value] : result["final"].AsObject())
      if (value.is_number()) facts["final"][name] = value;
    return answer;
  }

 private:
  AttemptPlan PlanAttempt(std::int64_t number, const std::string& python,
                          const std::string& coordinator) const {
    AttemptPlan plan;
    plan.grace = std::chrono::seconds(job_.grace_s());
    plan.patience = job_.patience();
    const auto count = static_cast<std::size_t>(job_.processes());
    for (std::size_t worker = 0; worker < count; ++worker) {
      TrainerCommand command =
          PythonCommand(python, {"-m", "pipe_trainer", "--job", directory_.Path("job.json")});
      for (std::string variable :
           {StrCat("PIPE_ERROR_FILE=", directory_.LogPath(number, worker, ".error.json")),
            StrCat("PIPE_ATTEMPT=", number), std::string("PIPE_RESUME=auto"),
            StrCat("PIPE_GRACE_S=", job_.grace_s()), StrCat("PIPE_WORKER_INDEX=", worker),
            StrCat("PIPE_WORKER_COUNT=", count)})
        command.set.push_back(std::move(variable));
      if (count > 1)
        command.set.push_back("PIPE_COORDINATOR=" + coordinator);
      else
        command.unset.emplace_back("PIPE_COORDINATOR");
      command.log = directory_.LogPath(number, worker, ".log");
      plan.commands.push_back(std::move(command));
    }
    return plan;
  }

  Result<AttemptEnd> RunAttempt(const std::string& python, EventJournal& journal) {
    const std::int64_t number = directory_.NextAttempt();
    std::string coordinator;
    if (job_.processes() > 1) {
      ASSIGN_OR_RETURN(const int port, FreePort());
      coordinator = StrCat("127.0.0.1:", port);
    }
    const AttemptPlan plan = PlanAttempt(number, python, coordinator);
    const std::int64_t committed_before = committed_;
    bool progressed = false;
    Attempt attempt(plan, call_, [&](const Json& event) {
      const std::string_view kind = event["kind"].AsString();
      const std::int64_t step = event["step"].AsInt(-1);
      if (kind == "restore") committed_ = std::max(committed_, step);
      if (kind == "ckpt_commit" && step > committed_) committed_ = step, progressed = step > committed_before;
      journal.Keep(event, SystemClock().Monotonic());
      // Every worker says the same of a training; one of them is told of.
      if (event["worker"].AsInt() == 0) narrator_.Hear(event);
    });
    ASSIGN_OR_RETURN(AttemptEnd end, attempt.Run());
    end.progressed = progressed;
    if (attempt.bad_lines() > 0)
      call_.Log(Level::kWarning, StrCat(attempt.bad_lines(),
                                        " lines on the trainer's event channel were no events; the first: ",
                                        attempt.first_bad_line()));
    if (journal.drowned() > drowned_)
      call_.Log(Level::kWarning, StrCat(journal.drowned() - drowned_, " events came too fast to be kept"));
    drowned_ = journal.drowned();
    log_ = plan.commands[attempt.decided()].log;
    tail_ = attempt.Tail();
    if (end.code != 0 || end.signal != 0) AddError(number, attempt.decided(), end);
    return end;
  }

  /// What the trainer itself says of why it ended.
  void AddError(std::int64_t number, std::size_t worker, AttemptEnd& end) const {
    const std::string path = directory_.LogPath(number, worker, ".error.json");
    const Json error = directory_.Read(path.substr(directory_.Path("").size()));
    if (const std::string_view message = error["message"].AsString(); !message.empty())
      end.cause += StrCat(" (", Readable(message, 1000), ")");
  }

  Status Failure(const Verdict& verdict) const {
    const std::size_t shown = std::min(tail_.size(), kShownLines);
    for (std::size_t at = tail_.size() - shown; at < tail_.size(); ++at)
      call_.Log(Level::kInfo, StrCat("| ", tail_[at]));
    return Status(verdict.code, StrCat(verdict.why, "; all it said: ", log_));
  }

  milliseconds Scaled(milliseconds time) const {
    return milliseconds(static_cast<std::int64_t>(job_.patience() * static_cast<double>(time.count())));
  }
  std::string Wait(milliseconds time) const {
    return time.count() == 0 ? std::string() : StrCat(" in ", (Scaled(time).count() + 999) / 1000, " s");
  }

  /// False when the run stopped meanwhile.
  bool Pause(milliseconds time) const {
    for (milliseconds left = Scaled(time); left.count() > 0 && !call_.stopped(); left -= milliseconds(50))
      std::this_thread::sleep_for(std::min(left, milliseconds(50)));
    return !call_.stopped();
  }

  const TrainJob& job_;
  const HostCall& call_;
  const RunDirectory directory_;
  const Json job_file_;
  Narrator narrator_;
  std::int64_t committed_ = -1;  // step of the last checkpoint that was heard of
  std::uint64_t drowned_ = 0;
  std::string log_;  // of the last attempt
  std::vector<std::string> tail_;
};

}  // namespace

Result<Json> Train(const TrainJob& job, const HostCall& call) {
  const ReadWhole read = [&call](const std::string& uri, std::uint64_t most) {
    return call.ReadObject(uri, most);
  };
  ASSIGN_OR_RETURN(const HandOff hand_off, CheckHandOff(job, read));
  ASSIGN_OR_RETURN(RunDirectory directory, RunDirectory::Open(job.run_dir));
  TrainingRun run(job, call, std::move(directory), JobFile(job, hand_off));
  if (run.Stands()) {
    call.Log(Level::kInfo,
             StrCat(job.stage, ": ", job.run_dir, " holds the steps that are asked for already"));
    return run.Answer();
  }
  ASSIGN_OR_RETURN(const std::string python, FindPython(job.environment()));
  Narrator narrator(call, job.steps());
  narrator.Note(hand_off.Describe());
  narrator.Hear(
      Json(Json::Object{{"kind", "phase"}, {"name", "init"}}));  // it takes a while to say so itself
  RETURN_IF_ERROR(run.Run(python));
  return run.Answer();
}

}  // namespace pipeline
