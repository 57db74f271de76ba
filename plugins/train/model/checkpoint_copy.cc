#include "plugins/train/model/checkpoint_copy.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "plugins/train/copied_checkpoints.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/object_files.h"
#include "plugins/train/train_job.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

namespace {

constexpr const char* kJob = "job.json";
constexpr const char* kFinished = "finished.json";  // result.json of the training, for its baselines
constexpr const char* kTrain = "train";

/// The job of the checkpoint: the one of the training, with what belongs to this machine.
Json JobOf(Json job, const CheckpointUse& use, const std::string& directory) {
  for (const char* member : {"steps_before", "keep_best", "early_stop", "profile", "results"})
    job.Remove(member);
  job["run_dir"] = directory;
  job["steps"] = use.step;
  job["threads"] = 0;
  job["export"] = use.exports;
  job["data"]["dir"] = use.rows;
  if (!use.exports) job.Remove("prompts");
  Json& config = job["config"];
  // The devices are others.
  config.Remove("mesh");
  for (const auto& [section, key] : {std::pair("batch", "micro"), std::pair("model", "attention")})
    if (config.Has(section)) config[section].Remove(key);
  config.Remove("pruning");  // of steps that are not taken
  if (use.export_config.is_object())
    config["export"] = use.export_config;
  else
    config.Remove("export");
  if (use.scored_rows) config["eval"]["rows"] = *use.scored_rows;
  if (use.rows_of_others) config["data"]["allow_change"] = true;
  return job;
}

/// Adapters need the model that they are for. Another checkpoint is whole, and its facts have the shape.
Status BringModelOfAdapters(Json& job, const std::string& cache, const PluginServices& call) {
  const Json& told = job;  // a Json that may change gets the members that are looked for
  if (told["config"]["lora"]["rank"].AsInt() == 0) return {};
  const std::string place(told["init_from"].AsString());
  if (!IsElsewhere(place)) return {};
  ASSIGN_OR_RETURN(const std::string here,
                   BringArtifact(place, place + "/MANIFEST.json", {"export/", "config.json"}, cache,
                                 "the model to begin with", call));
  job["init_from"] = here;
  return {};
}

}  // namespace

std::vector<std::string> NamedTraining::SplitsFor(const std::string& split) const {
  if (job["config"]["objective"]["name"].AsString() != "regression" || split == kTrain) return {split};
  return {kTrain, split};
}

Result<NamedTraining> FindTraining(const std::string& place, Meant meant, const PluginServices& call) {
  std::string at = place;
  const bool elsewhere = IsElsewhere(at);
  while (elsewhere && at.ends_with('/')) at.pop_back();
  ASSIGN_OR_RETURN(at, elsewhere ? FindRunElsewhere(at, meant, *call.storage) : FindRun(at));
  NamedTraining training{elsewhere ? at : std::filesystem::absolute(at).string(), {}};
  ASSIGN_OR_RETURN(training.job, ReadJson(*call.storage, StrCat(training.uri, "/", kJob)));
  if (!training.job.is_object() || !training.job["config"].is_object())
    return Status(Code::kDataLoss, StrCat(training.uri, "/", kJob, ": is no job of a training"));
  if (training.job.Has("external"))
    return Status(Code::kInvalidArgument, StrCat(training.uri,
                                                 ": a program of your own trained here, and its "
                                                 "checkpoints have a form of its own; use that program"));
  return training;
}

Result<std::int64_t> ChosenStep(const NamedTraining& training,
                                const std::map<std::int64_t, CheckpointName>& checkpoints,
                                std::optional<std::int64_t> asked, const PluginServices& call) {
  if (checkpoints.empty())
    return Status(Code::kNotFound, StrCat(training.uri, ": has no whole checkpoint; ",
                                          "`pipe run FILE` goes on with the training"));
  ASSIGN_OR_RETURN(const Json result, ReadJson(*call.storage, training.uri + "/result.json"));
  const std::int64_t newest = checkpoints.rbegin()->first;
  const std::int64_t finished = result["export_step"].AsInt(result["steps"].AsInt(newest));
  const std::int64_t step = asked.value_or(finished);
  if (checkpoints.contains(step)) return step;
  std::string all;
  for (const auto& [there, name] : checkpoints) all += StrCat(all.empty() ? "" : ", ", there);
  return Status(Code::kNotFound, StrCat(training.uri, ": has no checkpoint at step ", step, "; it has ", all,
                                        ": name one with --step"));
}

Result<CheckpointCopy> CheckpointCopy::Make(const NamedTraining& training, const CheckpointUse& use,
                                            const std::string& directory, const std::string& cache,
                                            const PluginServices& call) {
  ASSIGN_OR_RETURN(RunDirectory run, RunDirectory::Open(directory));
  CheckpointCopy copy(std::move(run));
  ASSIGN_OR_RETURN(const bool brought, BringFromRun(training.uri, use.step, Beside::kNone, *copy.run_, call));
  if (!brought)
    return Status(Code::kNotFound, StrCat(training.uri, ": its checkpoint at step ", use.step,
                                          " is gone, or not whole; name another with --step"));
  Json job = JobOf(training.job, use, directory);
  const bool measured = training.SplitsFor(use.split).size() > 1;
  job["data"]["train"] = measured ? std::string(kTrain) : use.split;
  job["data"]["validation"] = use.split;
  if (Status model = BringModelOfAdapters(job, cache, call); !model.ok())
    return model.code() == Code::kNotFound ? Status(Code::kFailedPrecondition, std::string(model.message()))
                                           : model;
  ASSIGN_OR_RETURN(const Json result, ReadJson(*call.storage, training.uri + "/result.json"));
  if (result.is_object()) RETURN_IF_ERROR(copy.run_->Write(kFinished, result));
  RETURN_IF_ERROR(copy.run_->Write(kJob, job));
  return copy;
}

bool CheckpointCopy::RemoveLeft(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(directory + "/lock", error)) return false;
  const Result<FileDescriptor> lock = LockDirectory(directory);  // until it is removed
  return lock.ok() && RemoveAll(directory).ok();
}

CheckpointCopy::~CheckpointCopy() {
  if (run_) (void)RemoveAll(run_->Path(""));
}

Status CheckpointCopy::Run(const std::string& python, std::vector<std::string> words,
                           const PluginServices& call) const {
  words.insert(words.begin(), {"-m", "pipe_trainer.at_step", "--job", Path(kJob)});
  return PrintTrainer(python, std::move(words), {}, call);
}

}  // namespace pipeline
