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

constexpr std::string_view kFolder = "tensorboard/eval";
constexpr std::string_view kBegin = "events.out.tfevents.", kEnd = ".scores";
constexpr int kDigits = 12;
constexpr std::string_view kCopies = "copies";  // below the cache; a copy has a random name
constexpr std::size_t kNameDigits = 8;
constexpr auto kLook = 5s;      // between two looks at the checkpoints of a training
constexpr auto kSettled = 60s;  // after which the lock of a new copy is held, if somebody makes one

/// The training of a command, its rows on this machine, and how a checkpoint is scored.
struct Scoring {
  NamedTraining training;
  std::string python;
  std::string cache;
  CheckpointUse use;  // without a step
};

Result<Scoring> BeginScoring(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(NamedTraining training, FindTraining(words.alone.front(), Meant::kGoingOn, call));
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

/// Removes the copies of checkpoints that kills have left: nobody holds their locks.
void RemoveLeftCopies(const std::string& copies) {
  for (const std::string& name : NamesIn(copies)) {
    const std::string directory = StrCat(copies, "/", name);
    std::error_code error;
    const auto locked = fs::last_write_time(directory + "/lock", error);
    if (!error && fs::file_time_type::clock::now() - locked >= kSettled)
      CheckpointCopy::RemoveLeft(directory);
  }
}

Result<CheckpointCopy> Copied(const Scoring& scoring, const CheckpointUse& use, const PluginServices& call) {
  const std::string copies = fs::absolute(StrCat(scoring.cache, "/", kCopies)).string();
  RemoveLeftCopies(copies);
  return CheckpointCopy::Make(scoring.training, use, StrCat(copies, "/", RandomName(kNameDigits)),
                              scoring.cache, call);
}

/// The name of the file of a checkpoint below kFolder. It sorts by the step, and no segment of a journal has
/// such a name.
std::string NameOfScores(const CheckpointName& checkpoint) {
  return StrCat(kBegin, ZeroPadded(static_cast<std::uint64_t>(checkpoint.step), kDigits), ".", checkpoint.id,
                kEnd);
}

/// The names of the files below kFolder.
Result<std::set<std::string>> Scored(const std::string& run, const PluginStorage& storage) {
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, storage.List(StrCat(run, "/", kFolder)));
  std::set<std::string> names;
  for (const PluginStorage::Object& object : objects)
    if (object.name.starts_with(kBegin) && object.name.ends_with(kEnd)) names.insert(object.name);
  return names;
}

/// Puts the file that the trainer wrote beside those of the training, and removes that of an earlier
/// checkpoint at this step, behind which the training went back.
Status Publish(const std::string& board, const std::string& run, const CheckpointName& checkpoint,
               const PluginServices& call) {
  const std::vector<std::string> files = NamesIn(board);
  if (files.size() != 1)
    return Status(Code::kInternal, StrCat(board, ": has ", files.size(), " files instead of one"));
  const std::string name = NameOfScores(checkpoint), folder = StrCat(run, "/", kFolder, "/");
  RETURN_IF_ERROR(PutFile(*call.storage, StrCat(board, "/", files.front()), folder + name, ObjectRule(),
                          [&call] { return call.stopped(); }));
  ASSIGN_OR_RETURN(const std::set<std::string> names, Scored(run, *call.storage));
  const std::string step = name.substr(0, name.size() - checkpoint.id.size() - kEnd.size());
  for (const std::string& other : names)
    if (other != name && other.starts_with(step)) RETURN_IF_ERROR(call.storage->Remove(folder + other));
  return {};
}

/// The steps of a finished training; absent: the training goes on.
Result<std::optional<std::int64_t>> FinishedSteps(const std::string& run, const PluginStorage& storage) {
  ASSIGN_OR_RETURN(const Json result, ReadJson(storage, run + "/result.json"));
  // A training with more steps leaves the finished result in its place until it has its own.
  ASSIGN_OR_RETURN(const Json longer, ReadJson(storage, StrCat(run, "/", kNextJob)));
  return StepsOf(result).is_int() && !longer.is_object() ? std::optional(StepsOf(result).AsInt())
                                                         : std::nullopt;
}

/// Scores one checkpoint of a training that is followed. OK also if it is gone.
Status ScoreOne(const Scoring& scoring, const CheckpointName& checkpoint, const PluginServices& call) {
  CheckpointUse use = scoring.use;
  use.step = checkpoint.step;
  const Result<CheckpointCopy> copy = Copied(scoring, use, call);
  if (!copy.ok() && copy.status().code() == Code::kNotFound) {
    call.log(Level::kWarning,
             StrCat("the checkpoint at step ", checkpoint.step, " is not scored: it is gone, or ",
                    "damaged; with a larger `keep_checkpoints` the training keeps more"));
    return {};
  }
  RETURN_IF_ERROR(copy.status());
  RETURN_IF_ERROR(copy->Run(scoring.python, {"--short", StrCat("--board=", copy->Path("board"))}, call));
  return Publish(copy->Path("board"), scoring.training.uri, checkpoint, call);
}

}  // namespace

Status ScoreCheckpoint(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(Scoring scoring, BeginScoring(words, call));
  ASSIGN_OR_RETURN(const auto checkpoints, CheckpointsOfRun(scoring.training.uri, *call.storage));
  ASSIGN_OR_RETURN(scoring.use.step,
                   ChosenStep(scoring.training, checkpoints, WholeFlag(words, "--step"), call));
  if (!scoring.use.scored_rows) scoring.use.scored_rows = 0;
  ASSIGN_OR_RETURN(const CheckpointCopy copy, Copied(scoring, scoring.use, call));
  std::vector<std::string> asked;
  if (words.flags.contains("--json")) asked.push_back(StrCat("--json=", words.Flag("--json", "")));
  return copy.Run(scoring.python, std::move(asked), call);
}

Status FollowCheckpoints(const CommandWords& words, const PluginServices& call) {
  ASSIGN_OR_RETURN(Scoring scoring, BeginScoring(words, call));
  scoring.use.rows_of_others = false;  // all files are scores of the same rows
  const std::string& run = scoring.training.uri;
  std::set<std::string> tried;
  bool told = false;
  do {
    // Read first: no checkpoint comes after the end.
    ASSIGN_OR_RETURN(const std::optional<std::int64_t> finished, FinishedSteps(run, *call.storage));
    ASSIGN_OR_RETURN(const auto checkpoints, CheckpointsOfRun(run, *call.storage));
    std::size_t scored = 0, made = 0;
    for (const auto& [step, checkpoint] : checkpoints) {
      // Looked at each time: there may be another follower.
      ASSIGN_OR_RETURN(const std::set<std::string> names, Scored(run, *call.storage));
      scored += names.contains(NameOfScores(checkpoint)) ? 1 : 0;
      if (names.contains(NameOfScores(checkpoint)) || !tried.insert(NameOfScores(checkpoint)).second)
        continue;
      RETURN_IF_ERROR(ScoreOne(scoring, checkpoint, call));
      ++made;
      if (call.stopped()) return Status(Code::kCancelled, "stopped");
    }
    if (made > 0) continue;
    const bool over = finished && (checkpoints.empty() || checkpoints.rbegin()->first <= *finished);
    if (over || !told)
      call.log(Level::kInfo,
               StrCat(run, ": ", scored, " of ", checkpoints.size(), " checkpoints are scored; ",
                      over ? StrCat("the training has ended at step ", *finished)
                           : std::string("more are scored as they come, until the training ends")));
    told = true;
    if (over) return {};
  } while (WaitFor(kLook, call.stop));
  return Status(Code::kCancelled, "stopped");
}

}  // namespace pipeline
