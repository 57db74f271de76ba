#include "plugins/train/slice/host_trainer.h"

#include <utility>

#include "base/str.h"
#include "plugins/train/slice/own_address.h"

namespace pipeline {

namespace {

TrainerEnd EndOf(const Status& why) {
  TrainerEnd end;
  end.code = why.code() == Code::kDataLoss ? kExitDamagedData : kExitTryAgain;
  end.cause = why.message();
  return end;
}

}  // namespace

HostTrainer::HostTrainer(const Run& run, SliceCheckpoints& checkpoints)
    : run_(run),
      training_(run.training),
      job_(training_.job),
      directory_(training_.directory),
      rows_(training_.rows.get()),
      checkpoints_(checkpoints),
      runner_(job_, training_.call, directory_),
      policy_(job_.restarts(), true) {}

HostTrainer::~HostTrainer() {
  wish_ = Wish::kKill;
  if (attempt_.joinable()) attempt_.join();
  if (publication_.joinable()) publication_.join();
}

void HostTrainer::Start(const AttemptRecord& attempt) {
  if (attempt_.joinable()) attempt_.join();  // its end was taken
  wish_ = Wish::kGoOn;
  {
    const Lock lock(mutex_);
    end_.reset();
  }
  attempt_ = std::jthread([this, attempt] {
    TrainerEnd end = RunAttempt(attempt);
    end.stopped = false;  // `Leader` decides about a stop
    checkpoints_.AttemptEnded();
    const Lock lock(mutex_);
    end_ = std::move(end);
  });
}

std::optional<TrainerEnd> HostTrainer::TakeEnd() {
  const Lock lock(mutex_);
  return std::exchange(end_, std::nullopt);
}

Status HostTrainer::Prepare(const AttemptRecord& attempt) {
  if (attempt.data != run_.data_digest)
    return Status(Code::kFailedPrecondition,
                  StrCat(job_.data_manifest.empty() ? job_.data_set_manifest : job_.data_manifest,
                         ": is not the manifest that host 0 trains on; start again"));
  const auto given_up = [this] { return wish_ != Wish::kGoOn; };
  const bool brings = run_.external == nullptr || !run_.external->shared();
  if (brings) RETURN_IF_ERROR(checkpoints_.Bring(attempt, given_up));
  if (rows_ != nullptr) RETURN_IF_ERROR(rows_->BeginAttempt(given_up));
  // An earlier result has fewer steps, or another host's end undid it: only this attempt's own may count.
  return directory_.BeginResult(run_.job_file, false);
}

TrainerEnd HostTrainer::RunAttempt(const AttemptRecord& attempt) {
  if (run_.external != nullptr) run_.external->Start();
  if (const Status ready = Prepare(attempt); !ready.ok()) return EndOf(ready);
  directory_.MakeRoom(attempt.number);
  AttemptStart start;
  start.number = attempt.number;
  start.coordinator = attempt.coordinator;
  start.resume = attempt.step < 0 ? std::string("none") : StrCat(attempt.step);
  if (rows_ != nullptr) start.blocks = rows_->blocks_directory();
  start.wish = [this] { return wish_.load(); };
  start.excused = [this] { return others_fetch_.load(); };
  start.hear = [this](const Json& event) { Hear(event); };
  if (run_.external != nullptr) return RunProgram(attempt, start);
  Result<TrainerEnd> end = runner_.Run(training_.python, start);
  waiting_.clear();
  fetching_ = 0;
  if (!end.ok()) return EndOf(end.status());
  end->cause = StrCat("host ", job_.position.host, ": ", end->cause);
  return std::move(*end);
}

TrainerEnd HostTrainer::RunProgram(const AttemptRecord& attempt, AttemptStart& start) {
  Result<ProgramStart> program = run_.external->Begin(attempt);
  if (!program.ok()) {
    TrainerEnd end = EndOf(program.status());
    end.fatal = program.status().code() == Code::kFailedPrecondition;
    end.cause = StrCat("host ", job_.position.host, ": ", end.cause);
    return end;
  }
  start.program = std::move(*program);
  // Many programs write lines on host 0 alone.
  start.excused = [this] { return leader_trains_.load(); };
  start.hear = [external = run_.external](const Json& event) { external->Hear(event); };
  Result<TrainerEnd> end = runner_.Run({}, start);
  if (end.ok()) end = run_.external->End(std::move(*end));
  return end.ok() ? std::move(*end) : EndOf(end.status());
}

void HostTrainer::Stop() {
  Wish going = Wish::kGoOn;  // a trainer that is killed stays killed
  wish_.compare_exchange_strong(going, Wish::kStop);
}

void HostTrainer::Hear(const Json& event) {
  const std::string_view kind = event["kind"].AsString();
  if (kind == "need") return checkpoints_.Answer(event);
  if (kind == "rows" && rows_ != nullptr) return rows_->Hear(event);
  if (kind == "phase") {
    if (event["name"].AsString() == "fetch")
      waiting_.insert(event["worker"].AsInt());
    else
      waiting_.erase(event["worker"].AsInt());
    fetching_ = waiting_.size();
  }
  if (kind == "extend" && event["to"].is_int()) checkpoints_.GoBack(event["to"].AsInt());
  if (kind == "ckpt_commit" || kind == "ckpt_pin" || kind == "extend") checkpoints_.Look();
}

void HostTrainer::Complete(AttemptRecord& attempt) {
  std::string address = job_.position.address_of_leader;
  if (address.empty()) address = OwnAddress();
  const Result<int> port = FreePort(false);
  // If absent: the trainers fail to meet, and the next attempt tries again.
  attempt.coordinator = WithPort(address, port.ok() ? *port : 0);
  attempt.data = run_.data_digest;
  if (run_.external == nullptr) return;
  attempt.local = false;
  attempt.step = run_.external->shared() ? run_.external->newest() : checkpoints_.newest_marker();
}

RestartDecision HostTrainer::Advise(const TrainerEnd& end) {
  TrainerEnd ended = end;
  if (run_.external != nullptr) ended.progressed = run_.external->progressed();
  RestartDecision decision = policy_.Decide(ended);
  decision.why += StrCat("; each host has the output of its trainer, this one in ",
                         directory_.LogPath(end.attempt, 0, ".log"));
  return decision;
}

bool HostTrainer::MayPublish() {
  if (run_.external != nullptr) return true;  // its attempt has ended after that
  // The last checkpoint has a marker before the result that names it.
  return checkpoints_.newest_marker() >= directory_.Read("result.json")["steps"].AsInt();
}

std::optional<TrainingEnd> HostTrainer::Publish() {
  {
    const Lock lock(mutex_);
    if (published_) return published_;
  }
  if (!publication_.joinable())
    publication_ = std::jthread([this] {
      TrainingEnd end = PublishNow();
      const Lock lock(mutex_);
      published_ = std::move(end);
    });
  return {};
}

TrainingEnd HostTrainer::PublishNow() {
  Result<std::vector<std::string>> objects = directory_.Objects();
  if (!objects.ok()) return Failed(objects.status());
  const Status published = training_.bucket->Publish(*objects, run_.job_file);
  if (!published.ok()) return Failed(published);
  objects_ = std::move(*objects);
  return {};
}

}  // namespace pipeline
