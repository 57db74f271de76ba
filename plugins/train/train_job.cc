#include "plugins/train/train_job.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/str.h"
#include "plugins/train/config/check_config.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/model_file.h"
#include "plugins/train/slice/find_position.h"

namespace pipeline {

namespace {

struct Least {
  std::string_view key;
  std::int64_t least;
};
constexpr Least kLeast[] = {
    {"steps", 1},    {"log_every", 1}, {"eval_every", 0}, {"checkpoint_every", 1}, {"processes", 1},
    {"restarts", 0}, {"grace", 1},     {"seed", 0},       {"keep_checkpoints", 1}, {"hosts_wait", 1}};
constexpr std::int64_t kMostProcesses = 64;
constexpr int kMostEpochs = 1'000'000;
constexpr std::int64_t kMostTraced = 100;  // steps: a trace has every operation of each

Status WrongJob(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

constexpr std::string_view kBucket = "gs://";

Result<std::string> Place(const Json& place, std::string_view what) {
  std::string_view uri = place["uri"].AsString();
  if (uri.starts_with("file://")) uri.remove_prefix(7);
  if (!uri.starts_with('/') && !uri.starts_with(kBucket))
    return WrongJob(StrCat(what, " is ", uri.empty() ? "nowhere" : uri,
                           ", and the trainer reads and writes directories of this machine and of gs:// "
                           "buckets; name one"));
  while (uri.size() > 1 && uri.ends_with('/')) uri.remove_suffix(1);
  return std::string(uri);
}

/// Parses `early_stop: { patience: 5, min_delta: 0.001 }`; {} means none.
Status CheckEarlyStop(const Json& settings) {
  const Json& rule = settings["early_stop"];
  if (rule.is_null()) return {};
  if (!rule.is_object()) return WrongJob("early_stop: must be a map, such as { patience: 5 }");
  if (rule.AsObject().empty()) return {};
  for (const auto& [key, value] : rule.AsObject())
    if (key != "patience" && key != "min_delta")
      return WrongJob(StrCat("early_stop.", key, ": there is no such key; there are patience and min_delta"));
  if (!rule["patience"].is_int() || rule["patience"].AsInt() < 1)
    return WrongJob("early_stop.patience: must say after how many evaluations, 1 or more");
  if (rule.Has("min_delta") && !(rule["min_delta"].is_number() && rule["min_delta"].AsDouble() >= 0))
    return WrongJob("early_stop.min_delta: must be a number, 0 or more");
  const bool each_epoch = settings["config"]["eval"]["each_epoch"].AsBool();
  if (settings.Has("eval_every") && settings["eval_every"].AsInt() == 0 && !each_epoch)
    return WrongJob(
        "early_stop: judges evaluations, and with eval_every: 0 there is only the last; say eval_every, or "
        "config.eval.each_epoch");
  return {};
}

/// Checks `config.pruning` against the steps, as the trainer does.
Status CheckPruning(const Json& settings) {
  if (IsExternal(settings) || !settings["config"]["pruning"].is_object()) return {};
  const Json config = CompleteTrainerConfig(settings["config"]);
  const Json& pruning = config["pruning"];
  if (!(pruning["share"].AsDouble() > 0)) return {};
  if (settings["keep_best"].AsBool() || !settings["early_stop"].AsObject().empty()) {
    const std::string_view key = settings["keep_best"].AsBool() ? "keep_best" : "early_stop";
    return WrongJob(
        StrCat(key,
               ": judges evaluations from before the last pruning, too, which are better; leave out "
               "one of pruning and ",
               key));
  }
  if (!settings["steps"].is_int()) return {};
  const auto steps = static_cast<double>(settings["steps"].AsInt());
  const auto update = [steps](const Json& asked) {
    return std::ceil(asked.AsDouble() < 1 ? asked.AsDouble() * steps : asked.AsDouble());
  };
  const double begin = update(pruning["begin"]), end = update(pruning["end"]);
  if (begin < end && end < steps) return {};
  return WrongJob(StrCat("config.pruning: begins after ", static_cast<std::int64_t>(begin), " of ",
                         settings["steps"].AsInt(), " steps and ends after ", static_cast<std::int64_t>(end),
                         "; take a begin before the end, and an end before the last step"));
}

/// Parses `profile: { step: 100, steps: 3 }`; {} means none.
Status CheckProfile(const Json& settings) {
  const Json& profile = settings["profile"];
  if (profile.is_null()) return {};
  if (!profile.is_object()) return WrongJob("profile: must be a map, such as { step: 100, steps: 3 }");
  if (profile.AsObject().empty()) return {};
  for (const auto& [key, value] : profile.AsObject())
    if (key != "step" && key != "steps")
      return WrongJob(StrCat("profile.", key, ": there is no such key; there are step and steps"));
  const std::int64_t last = settings["steps"].AsInt(std::numeric_limits<std::int64_t>::max());
  for (const auto& [key, most] : {std::pair("step", last), std::pair("steps", kMostTraced)})
    if (!profile[key].is_int() || profile[key].AsInt() < 1 || profile[key].AsInt() > most)
      return WrongJob(StrCat("profile.", key, ": must be a number of steps from 1 to ", most));
  return {};
}

/// `steps`, or `epochs` in its place.
Status CheckLength(const Json& settings) {
  const Json &steps = settings["steps"], &epochs = settings["epochs"];
  if (epochs.is_null())
    return steps.is_null() ? WrongJob("steps: is missing; give it, or `epochs`: how often all rows are read")
                           : Status();
  if (!steps.is_null())
    return WrongJob("epochs: stands beside `steps`, and one of both decides; leave one out");
  if (!(epochs.AsDouble() > 0) || epochs.AsDouble() > kMostEpochs)
    return WrongJob(StrCat("epochs: must be above 0, and at most ", kMostEpochs));
  return {};
}

}  // namespace

std::string EnvironmentOf(const Json& settings) {
  const std::string_view named = settings["environment"].AsString(kDefaultEnvironment);
  return IsExternal(settings) && named == kDefaultEnvironment ? std::string() : std::string(named);
}

bool IsElsewhere(std::string_view uri) { return uri.starts_with(kBucket); }

Status CheckSettings(const Json& settings) {
  for (const auto& [key, least] : kLeast)
    if (!settings[key].is_null() && settings[key].AsInt(least - 1) < least)
      return WrongJob(StrCat(key, ": must be ", least, " or more"));
  RETURN_IF_ERROR(CheckLength(settings));
  if (!settings["data_disk"].is_null() && settings["data_disk"].AsInt() < 1)
    return WrongJob("data_disk: must be a size above 0, such as 200GiB");
  if (settings["processes"].AsInt(1) > kMostProcesses)
    return WrongJob(StrCat("processes: at most ", kMostProcesses, " on one machine"));
  if (!settings["config"].is_object() && !settings["config"].is_null())
    return WrongJob("config: must be a map, such as { preset: tiny }");
  ASSIGN_OR_RETURN(const HostKeys keys, ReadHostKeys(settings));
  RETURN_IF_ERROR(CheckHostKeys(keys));
  RETURN_IF_ERROR(CheckExternal(settings));
  RETURN_IF_ERROR(CheckEarlyStop(settings));
  RETURN_IF_ERROR(CheckProfile(settings));
  RETURN_IF_ERROR(CheckPruning(settings));
  if (settings.Has("patience") && !(settings["patience"].AsDouble() > 0))
    return WrongJob("patience: must be above 0");
  if (settings.Has("environment") && settings["environment"].AsString().empty())
    return WrongJob("environment: must name a directory; `pipe trainer setup` makes one");
  return {};
}

std::string KeptRun(const TrainJob& job) {
  return StrCat(job.kept, "/runs", job.run_uri.substr(job.run_uri.rfind('/')));
}

Result<TrainJob> ParseTrainJob(const Json& request) {
  TrainJob job;
  job.stage = request["stage"].AsString();
  job.recipe = request["recipe"].AsString();
  job.settings = request["config"];
  job.threads = static_cast<int>(request["threads"].AsInt(1));
  ASSIGN_OR_RETURN(job.run_uri, Place(request["out"], "`out`"));
  const Json& inputs = request["inputs"];
  const bool own_data = IsExternal(job.settings) && inputs.Has("data_set");
  if (own_data) {
    ASSIGN_OR_RETURN(job.data_set_uri, Place(inputs["data_set"], "the artifact at `data_set`"));
    job.data_set_manifest = inputs["data_set"]["manifest"].AsString();
  }
  if (!own_data || inputs.Has("data")) {
    ASSIGN_OR_RETURN(job.data_uri, Place(inputs["data"], "the artifact at `data`"));
  }
  if (!own_data || inputs.Has("tokenizer")) {
    ASSIGN_OR_RETURN(job.tokenizer_uri, Place(inputs["tokenizer"], "the tokenizer at `tokenizer`"));
    job.tokenizer_manifest = inputs["tokenizer"]["manifest"].AsString();
    job.tokenizer_file = inputs["tokenizer"]["facts"]["model"].AsString(kTokenizerFiles[0]);
    if (job.tokenizer_manifest.empty()) {
      RETURN_IF_ERROR(OtherFilesOfTokenizer(job.tokenizer_uri).status());
      const std::size_t directory = job.tokenizer_uri.rfind('/');
      job.tokenizer_file = job.tokenizer_uri.substr(directory + 1);
      job.tokenizer_uri.resize(directory);
    }
  }
  if (inputs.Has("init_from")) {
    ASSIGN_OR_RETURN(job.init_uri, Place(inputs["init_from"], "the model at `init_from`"));
    job.init_manifest = inputs["init_from"]["manifest"].AsString();
  }
  job.kept = request["kept"].AsString();
  job.has_position = request.Has("position");
  job.position = PositionFromJson(request["position"]);
  // With several hosts, the run directory of each is on its own disk.
  const bool apart = IsElsewhere(job.run_uri) || job.position.hosts > 1;
  const bool elsewhere =
      apart || IsElsewhere(job.data_uri) || IsElsewhere(job.tokenizer_uri) || IsElsewhere(job.init_uri);
  if (elsewhere && job.kept.empty())
    return Status(Code::kUnimplemented,
                  "this program gives no directory for copies of objects in buckets; take a newer program");
  job.run_dir = apart ? KeptRun(job) : job.run_uri;
  if (!IsElsewhere(job.data_uri)) job.data_dir = job.data_uri;
  if (!IsElsewhere(job.tokenizer_uri)) job.tokenizer_dir = job.tokenizer_uri;
  if (!IsElsewhere(job.init_uri)) job.init_from = job.init_uri;
  job.data_manifest = inputs["data"]["manifest"].AsString();
  if (job.recipe.size() != 32 || job.stage.empty())
    return Status(Code::kInternal, "the request has no recipe");
  RETURN_IF_ERROR(CheckSettings(job.settings));
  return job;
}

Status NoBeginningBeside(const TrainJob& job, std::int64_t finished) {
  return Status(
      Code::kFailedPrecondition,
      StrCat(job.run_uri, ": has the finished model of ", finished, " steps and no checkpoint, so ",
             job.steps(),
             " steps would begin at step 0 and replace that model; bring its checkpoints back, or take "
             "--force ",
             job.stage));
}

}  // namespace pipeline
