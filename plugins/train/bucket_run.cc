#include "plugins/train/bucket_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/in_parallel.h"
#include "base/str.h"
#include "plugins/train/copied_checkpoints.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/program_checkpoints.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPublishedAtOnce = 4;
constexpr const char* kExport = "export/";
/// Files in a run directory that belong to this machine, for any training.
constexpr std::string_view kOwn[] = {"lock", "logs", "events.jsonl"};

}  // namespace

Json PublishedJob(Json job_file, const TrainJob& job) {
  job_file["run_dir"] = job.run_uri;
  if (!job.data_uri.empty()) job_file["data"]["dir"] = job.data_uri;
  if (!job.tokenizer_uri.empty())
    job_file["tokenizer"]["model"] = StrCat(job.tokenizer_uri, "/", job.tokenizer_file);
  if (!job.init_uri.empty()) job_file["init_from"] = job.init_uri;
  return job_file;
}

Json WithoutExtent(Json job_file) {
  for (const char* member : {"steps", "steps_before", "threads", "run_dir", "init_from", "profile"})
    job_file.Remove(member);
  if (job_file["data"].is_object()) job_file["data"].Remove("dir");
  if (job_file["tokenizer"].is_object()) job_file["tokenizer"].Remove("model");
  return job_file;
}

BucketRun::BucketRun(const TrainJob& job, const RunDirectory& directory, const PluginServices& call)
    : job_(job),
      directory_(directory),
      call_(call),
      storage_(*call.storage),
      checkpoints_(job.run_uri + "/checkpoints", job.settings["keep_checkpoints"].AsInt(1), storage_) {}

Result<std::optional<BucketRun::Published>> BucketRun::FindPublished(const Json& job_file) const {
  const std::optional<Published> none;
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> listed, storage_.List(job_.run_uri));
  Published published;
  int books = 0;
  for (const PluginStorage::Object& object : listed) {
    if (object.name.starts_with(kExport)) published.objects.push_back(object.name);
    books += object.name == "result.json" || object.name == "job.json" || object.name == "config.json";
  }
  if (books != 3) return none;
  ASSIGN_OR_RETURN(published.result, ReadResult());
  ASSIGN_OR_RETURN(const Json before, ReadJson(storage_, job_.run_uri + "/job.json"));
  if (!ReachesSteps(published.result, job_.steps(),
                    job_.may_stop_early() && before["steps"] == job_file["steps"]))
    return none;
  if (!before.is_object() || WithoutExtent(before) != WithoutExtent(job_file)) return none;
  const bool exported = published.result["export"].is_string();
  if (exported && published.objects.empty()) return none;
  if (!exported) published.objects.clear();
  for (const char* name : {"config.json", "job.json", "result.json"}) published.objects.emplace_back(name);
  return std::optional(std::move(published));
}

Result<Json> BucketRun::ReadResult() const { return ReadJson(storage_, job_.run_uri + "/result.json"); }

Result<bool> BucketRun::HasCheckpoint() {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, checkpoints_.Committed());
  return committed.empty() ? HasDirectoryForm(checkpoints_.uri(), storage_) : Result<bool>(true);
}

std::vector<std::int64_t> BucketRun::LocalSteps() const {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (const std::int64_t step : StepsBelow(directory_.Path("checkpoints"))) {
    const std::string place = StrCat("checkpoints/", step);
    if (fs::is_directory(directory_.Path(place), error) && !IsUnfinished(directory_.Read(place + ".json")))
      steps.push_back(step);
  }
  return steps;
}

std::int64_t BucketRun::NewestLocal() const {
  const std::vector<std::int64_t> steps = LocalSteps();
  return steps.empty() ? -1 : steps.back();
}

Status BucketRun::Empty(const std::string& but) const {
  for (const std::string& name : NamesIn(directory_.Path(""))) {
    if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) continue;
    if (!but.empty() && name.starts_with(but)) continue;
    RETURN_IF_ERROR(RemoveAll(directory_.Path(name)));
  }
  return {};
}

Status BucketRun::RemoveParts() const {
  for (const std::int64_t step : StepsBelow(directory_.Path("checkpoints"))) {
    const std::string place = StrCat("checkpoints/", step), list = place + ".json";
    const auto part = ParseLocalPart(directory_.Read(list), list);
    if (!part.ok() || !*part) continue;
    RETURN_IF_ERROR(RemoveAll(directory_.Path(place)));
    RETURN_IF_ERROR(RemoveAll(directory_.Path(list)));
  }
  return {};
}

Result<bool> BucketRun::LocalIsGood() {
  RETURN_IF_ERROR(RemoveParts());
  ASSIGN_OR_RETURN(candidates_, checkpoints_.Committed());
  const Json record = directory_.Read(kBucketRecord);
  const std::int64_t local = NewestLocal();
  if (candidates_.empty()) {
    unsent_ = local >= 0;
    if (record["committed"].AsString().empty()) {
      if (unsent_) return true;
      ASSIGN_OR_RETURN(const std::int64_t copied, BringDirectoryForm(checkpoints_.uri(), directory_, call_));
      unsent_ = copied >= 0;
      return true;
    }
    // Its own copies are the last ones.
    ASSIGN_OR_RETURN(const Json result, ReadResult());
    if (StepsOf(result).is_int() && !call_.forced) return NoBeginningBeside(job_, StepsOf(result).AsInt());
    call_.log(Level::kWarning, StrCat(checkpoints_.uri(),
                                      ": the checkpoints that this machine had uploaded are "
                                      "gone, so its own copies are not used: the training begins anew"));
    unsent_ = false;
    RETURN_IF_ERROR(Empty({}));
    return true;
  }
  const std::string newest = candidates_.front().Path();
  const bool ours = record["committed"].AsString() == newest || record["sending"].AsString() == newest;
  unsent_ = ours && local > candidates_.front().step;
  if (ours) {  // also where the program was killed between the marker and this
    RETURN_IF_ERROR(directory_.Write(kBucketRecord, Json::Object{{"committed", newest}}));
  }
  return ours && local >= candidates_.front().step;
}

Result<bool> BucketRun::TakeFrom(const std::string& uri, std::int64_t step) {
  ASSIGN_OR_RETURN(const bool brought, BringFromRun(uri, step, Beside::kPinned, directory_, call_));
  unsent_ = unsent_ || brought;
  return brought;
}

Status BucketRun::Restore() {
  RETURN_IF_ERROR(Empty(kIncoming));  // FetchFiles looks at what is in those
  // A trainer reads in it for how many steps a checkpoint of an earlier version was made.
  ASSIGN_OR_RETURN(const Json published, ReadJson(storage_, job_.run_uri + "/job.json"));
  if (published.is_object()) RETURN_IF_ERROR(directory_.Write("job.json", published));
  ASSIGN_OR_RETURN(const CheckpointMarker newest, FetchNewest());
  std::vector<CheckpointMarker> fetched = {newest};
  RETURN_IF_ERROR(FetchPinned(fetched));
  if (newest.best.is_object()) RETURN_IF_ERROR(directory_.Write("best.json", newest.best));
  for (const CheckpointMarker& one : fetched) RETURN_IF_ERROR(Install(one));
  for (const CheckpointName& other : candidates_)  // what an earlier start began to bring
    RETURN_IF_ERROR(RemoveAll(directory_.Path(kIncoming + other.id)));
  return directory_.Write(kBucketRecord, Json::Object{{"committed", newest.Name().Path()}});
}

Result<CheckpointMarker> BucketRun::FetchNewest() {
  for (const CheckpointName& name : candidates_) {
    ASSIGN_OR_RETURN(auto fetched, Fetch(name, "going back to the one before"));
    if (fetched) return std::move(*fetched);
  }
  return NoneCanBeRead(checkpoints_.uri(), candidates_.size());
}

Status BucketRun::FetchPinned(std::vector<CheckpointMarker>& fetched) {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> pinned, checkpoints_.Pinned());
  for (const CheckpointName& name : pinned) {
    if (name.step >= fetched.front().step) continue;
    ASSIGN_OR_RETURN(auto one, Fetch(name, "and kept no longer"));
    if (one) fetched.push_back(std::move(*one));
  }
  return {};
}

Result<std::optional<CheckpointMarker>> BucketRun::Fetch(const CheckpointName& name,
                                                         std::string_view if_damaged) {
  Result<CheckpointMarker> marker = checkpoints_.Open(name);
  Status fetched = marker.status();
  if (marker.ok())
    fetched =
        FetchCheckpoint(*marker, checkpoints_.uri(), directory_.Path(kIncoming + name.id), call_).status();
  if (fetched.ok()) return std::optional(std::move(*marker));
  if (!IsUseless(fetched)) return fetched;
  checkpoints_.Pass(name);
  call_.log(Level::kWarning,
            StrCat(checkpoints_.Uri(name), ": damaged, ", if_damaged, ": ", fetched.message()));
  return std::optional<CheckpointMarker>();
}

Status BucketRun::Install(const CheckpointMarker& fetched) const {
  // Here the files of all parts are in one directory, as if one host had made them.
  CheckpointMarker whole = fetched;
  whole.files = whole.AllFiles();
  whole.parts.clear();
  return InstallCheckpoint(directory_, fetched.step, whole.ToJson(),
                           directory_.Path(kIncoming + fetched.Name().id));
}

Result<std::vector<std::int64_t>> BucketRun::UnsentPins() {
  std::vector<std::int64_t> steps;
  for (const std::int64_t step : LocalSteps()) {
    const std::string name = StrCat("checkpoints/", step, ".json");
    const Result<CheckpointMarker> here = ReadCheckpointMarker(directory_.Read(name), directory_.Path(name));
    if (!here.ok() || here->pinned.empty()) continue;
    const bool there = std::find(candidates_.begin(), candidates_.end(), here->Name()) != candidates_.end();
    if (there) {
      ASSIGN_OR_RETURN(const std::vector<std::string> pins, checkpoints_.PinsOf(here->Name()));
      if (pins == here->pinned) continue;
    }
    steps.push_back(step);
  }
  return steps;
}

void BucketRun::PublishJob(const Json& job_file) const {
  const Result<Json> result = ReadResult();
  // The job of a finished result stays beside it.
  const std::string uri =
      StrCat(job_.run_uri, "/", result.ok() && result->is_object() ? kNextJob : "job.json");
  Status told = result.status();
  if (told.ok()) told = PutText(storage_, PublishedJob(job_file, job_).DumpPretty(), uri, ObjectRule());
  if (!told.ok())
    call_.log(Level::kWarning,
              StrCat(uri, ": cannot be written, so `pipe eval --follow` does not find this training: ",
                     told.message()));
}

Status BucketRun::BeginJournal(const Json& job_file) {
  PublishJob(job_file);
  std::string curves = "tensorboard";
  if (IsExternal(job_.settings)) {
    const std::string_view of_program = job_.settings["recognise"]["tensorboard"]["directory"].AsString();
    curves = of_program.empty() ? std::string() : StrCat(kProgramDirectory, "/", of_program);
  }
  journal_ = std::make_unique<JournalMirror>(directory_, job_.run_uri, std::move(curves), call_);
  return journal_->Begin();
}

Status BucketRun::BeginMirror() {
  ASSIGN_OR_RETURN(const std::vector<std::int64_t> pinned, UnsentPins());
  mirror_ = std::make_unique<CheckpointMirror>(checkpoints_, directory_, call_, job_.grace(),
                                               [this] { SendJournal(); });
  for (const std::int64_t step : pinned) mirror_->Committed(step);
  if (unsent_ && (pinned.empty() || pinned.back() != NewestLocal())) mirror_->Committed(NewestLocal());
  return {};
}

void BucketRun::Hear(const Json& event) {
  const std::string_view kind = event["kind"].AsString();
  if (kind == "ckpt_commit" || kind == "ckpt_pin") mirror_->Committed(event["step"].AsInt(-1));
  if (kind == "extend" && event["to"].is_int()) mirror_->WentBack(event["to"].AsInt());
}

void BucketRun::Say(std::string_view what) const {
  call_.event(Json::Object{{"kind", "progress"}, {"text", what}});
}

Status BucketRun::FinishMirror() {
  Say("bringing the last checkpoint to the bucket");
  return mirror_->Finish();
}

Status BucketRun::Publish(const std::vector<std::string>& objects, const Json& job_file) const {
  Say("publishing the model in the bucket");
  RETURN_IF_ERROR(call_.Withdraw());
  const std::string result = job_.run_uri + "/result.json";
  // Nothing counts as published before this object exists.
  RETURN_IF_ERROR(storage_.Remove(result));
  RETURN_IF_ERROR(storage_.Remove(StrCat(job_.run_uri, "/", kNextJob)));
  const auto stopped = [this] { return call_.stopped(); };
  RETURN_IF_ERROR(InParallel(objects.size(), kPublishedAtOnce, [&](std::size_t at) -> Status {
    const std::string& name = objects[at];
    const std::string uri = StrCat(job_.run_uri, "/", name);
    if (name == "result.json") return {};
    if (name == "job.json")
      return PutText(storage_, PublishedJob(job_file, job_).DumpPretty(), uri, ObjectRule());
    return PutFile(storage_, directory_.Path(name), uri, ObjectRule(), stopped);
  }));
  return PutFile(storage_, directory_.Path("result.json"), result, ObjectRule(), stopped);
}

}  // namespace pipeline
