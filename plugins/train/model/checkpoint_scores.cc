#include "plugins/train/model/checkpoint_scores.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/random_name.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/words.h"
#include "plugins/train/copied_checkpoints.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/model/checkpoint_copy.h"
#include "plugins/train/model/named_rows.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/object_files.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kFolder = "tensorboard/eval/";
constexpr std::string_view kBegin = "events.out.tfevents.", kEnd = ".scores";
constexpr std::size_t kDigits = 12;
constexpr std::string_view kCopy = "step-";  // with a random name behind it, below the cache
constexpr auto kLook = 5s;                   // between two looks at the checkpoints of a training

/// The training of a command, its rows on this machine, and how a checkpoint is scored.
struct Scoring {
  NamedTraining training;
  std::string python;
  std::string cache;
  CheckpointUse use;  // without a step
};

Result<Scoring> BeginScoring(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(NamedTraining training, FindTraining(words.alone.front(), call));
  ASSIGN_OR_RETURN(std::string python, FindPythonFor(words));
  CheckpointUse use;
  use.split = words.Flag("--split", kScoredSplit);
  use.rows_of_others = words.alone.size() == 2;
  const std::string place = use.rows_of_others ? words.alone.back() : training.rows();
  ASSIGN_OR_RETURN(const std::string rows,
                   FindRows(place, training.SplitsFor(use.split), CacheOf(words), call));
  use.rows = fs::absolute(rows).string();
  use.scored_rows = WholeFlag(words, "--rows");
  return Scoring{std::move(training), std::move(python), CacheOf(words), std::move(use)};
}

/// Removes the copies of checkpoints that kills have left: nobody holds their lock.
void RemoveLeftCopies(const std::string& cache) {
  for (const std::string& name : NamesIn(cache)) {
    const std::string directory = StrCat(cache, "/", name);
    if (name.starts_with(kCopy) && LockDirectory(directory).ok()) (void)RemoveAll(directory);
  }
}

Result<CheckpointCopy> Copied(const Scoring& scoring, const CheckpointUse& use, const PluginServices& call) {
  RemoveLeftCopies(scoring.cache);
  const std::string directory = fs::absolute(StrCat(scoring.cache, "/", kCopy, RandomName(8))).string();
  return CheckpointCopy::Make(scoring.training, use, directory, scoring.cache, call);
}

/// The steps of the files below tensorboard/eval/.
Result<std::set<std::int64_t>> ScoredSteps(const std::string& run, const PluginStorage& storage) {
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects,
                   storage.List(StrCat(run, "/", kFolder.substr(0, kFolder.size() - 1))));
  std::set<std::int64_t> steps;
  for (const PluginStorage::Object& object : objects) {
    std::string_view name = object.name;
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    name.remove_prefix(kBegin.size());
    name.remove_suffix(kEnd.size());
    if (const auto step = ParseNumber<std::int64_t>(name)) steps.insert(*step);
  }
  return steps;
}

/// Puts the file that the trainer wrote beside those of the training.
Status Publish(const std::string& board, const std::string& run, std::int64_t step,
               const PluginServices& call) {
  const std::vector<std::string> files = NamesIn(board);
  if (files.size() != 1)
    return Status(Code::kInternal, StrCat(board, ": has ", files.size(), " files instead of one"));
  const std::string from = StrCat(board, "/", files.front()), to = StrCat(run, "/", ScoresOfStep(step));
  if (IsElsewhere(run)) {
    const Status put =
        PutFile(*call.storage, from, to, {PluginStorage::Creation::kCreateOnly, PluginStorage::AtStop::kEnds},
                [&call] { return call.stopped(); });
    return put.code() == Code::kAlreadyExists ? Status() : put;
  }
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  const std::string part = to + ".part";
  if (!error) fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(part, to, error);
  return error ? SystemError(to, error.value()) : Status();
}

/// The steps of a finished training; absent: the training goes on.
Result<std::optional<std::int64_t>> FinishedSteps(const std::string& run, const PluginStorage& storage) {
  ASSIGN_OR_RETURN(const Json result, ReadJson(storage, run + "/result.json"));
  // A training with more steps leaves the finished result in its place until it has its own.
  const bool longer = !IsElsewhere(run) && RunsLonger(run);
  return StepsOf(result).is_int() && !longer ? std::optional(StepsOf(result).AsInt()) : std::nullopt;
}

/// Scores one checkpoint of a training that is followed. False: it is gone.
Result<bool> ScoreOne(const Scoring& scoring, std::int64_t step, const PluginServices& call) {
  CheckpointUse use = scoring.use;
  use.step = step;
  const Result<CheckpointCopy> copy = Copied(scoring, use, call);
  if (!copy.ok() && copy.status().code() == Code::kNotFound) {
    call.log(Level::kWarning, StrCat("the checkpoint at step ", step, " was removed before it was scored; ",
                                     "`keep_checkpoints` keeps more of them"));
    return false;
  }
  RETURN_IF_ERROR(copy.status());
  RETURN_IF_ERROR(copy->Run(scoring.python, {"--short", StrCat("--board=", copy->Path("board"))}, call));
  RETURN_IF_ERROR(Publish(copy->Path("board"), scoring.training.uri, step, call));
  return true;
}

}  // namespace

std::string ScoresOfStep(std::int64_t step) {
  const std::string digits = StrCat(step);
  return StrCat(kFolder, kBegin, std::string(kDigits - std::min(kDigits, digits.size()), '0'), digits, kEnd);
}

Status ScoreCheckpoint(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(Scoring scoring, BeginScoring(words, call));
  ASSIGN_OR_RETURN(const std::set<std::int64_t> steps, StepsOfRun(scoring.training.uri, *call.storage));
  ASSIGN_OR_RETURN(scoring.use.step, ChosenStep(scoring.training, steps, WholeFlag(words, "--step"), call));
  if (!scoring.use.scored_rows) scoring.use.scored_rows = 0;
  ASSIGN_OR_RETURN(const CheckpointCopy copy, Copied(scoring, scoring.use, call));
  std::vector<std::string> asked;
  if (words.flags.contains("--json")) asked.push_back(StrCat("--json=", words.Flag("--json", "")));
  return copy.Run(scoring.python, std::move(asked), call);
}

Status FollowCheckpoints(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(const Scoring scoring, BeginScoring(words, call));
  const std::string& run = scoring.training.uri;
  ASSIGN_OR_RETURN(std::set<std::int64_t> known, ScoredSteps(run, *call.storage));
  if (!known.empty())
    call.log(Level::kInfo, StrCat(known.size(), known.size() == 1 ? " checkpoint is" : " checkpoints are",
                                  " scored already, the newest at step ", *known.rbegin()));
  do {
    // Read first: no checkpoint comes after the end.
    ASSIGN_OR_RETURN(const std::optional<std::int64_t> finished, FinishedSteps(run, *call.storage));
    ASSIGN_OR_RETURN(const std::set<std::int64_t> steps, StepsOfRun(run, *call.storage));
    bool news = false;
    for (const std::int64_t step : steps) {
      if (known.contains(step)) continue;
      RETURN_IF_ERROR(ScoreOne(scoring, step, call).status());
      known.insert(step);
      news = true;
      if (call.stopped()) return Status(Code::kCancelled, "stopped");
    }
    if (news || !finished || (!steps.empty() && *steps.rbegin() > *finished)) continue;
    call.log(Level::kInfo,
             StrCat("the training has ended at step ", *finished, ", and its checkpoints are scored"));
    return {};
  } while (WaitFor(kLook, call.stop));
  return Status(Code::kCancelled, "stopped");
}

}  // namespace pipeline
