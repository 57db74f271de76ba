#include <filesystem>
#include <utility>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/model/checkpoint_copy.h"
#include "plugins/train/model/checkpoint_scores.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/model/named_rows.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

namespace {

Status CheckEvalWords(const CommandWords& words) {
  const auto wrong = [](std::string_view why) { return Status(Code::kInvalidArgument, std::string(why)); };
  RETURN_IF_ERROR(CheckNumber(words, "--rows", 1, 1'000'000'000, true));
  RETURN_IF_ERROR(CheckNumber(words, "--step", 1, 1e15, true));
  RETURN_IF_ERROR(CheckTarget(words, "--json"));
  if (words.flags.contains("--split") && words.Flag("--split", "").empty())
    return wrong("--split: must name a split");
  if (!words.flags.contains("--follow")) return {};
  if (words.flags.contains("--step")) return wrong("--follow: scores all checkpoints; leave --step out");
  if (words.flags.contains("--json"))
    return wrong("--follow: its scores go to the TensorBoard files of the training; leave --json out");
  for (const char* flag : {"--split", "--rows"})
    if (words.flags.contains(flag))
      return wrong(StrCat("--follow: scores the rows that the training does; leave ", flag, " out"));
  return {};
}

/// The model that is scored, and the place of the rows.
struct Asked {
  std::string run, rows;
};
/// The rows are those that a person names, or those of the training.
Result<Asked> FindAsked(const CommandWords& words, const PluginServices& call) {
  if (words.alone.size() == 2) return Asked{words.alone.front(), words.alone.back()};
  const Result<NamedTraining> training = FindTraining(words.alone.front(), Meant::kFinished, call);
  if (training.ok()) return Asked{training->uri, training->rows()};
  return Status(training.status().code(),
                StrCat("DATA is not named, and the model has no training beside it that would tell: ",
                       training.status().message()));
}

}  // namespace

Status RunEval(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("eval");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  if (words.alone.empty() || words.alone.size() > 2) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckEvalWords(words));
  if (words.flags.contains("--follow")) return FollowCheckpoints(words, call);
  if (words.flags.contains("--step")) return ScoreCheckpoint(words, call);
  ASSIGN_OR_RETURN(const Asked asked, FindAsked(words, call));
  ASSIGN_OR_RETURN(const NamedRun run, BringRun(asked.run, words, call));
  ASSIGN_OR_RETURN(const std::string rows,
                   FindRows(asked.rows, {words.Flag("--split", kScoredSplit)}, CacheOf(words), call));
  std::vector<std::string> program = {
      "-m", "pipe_trainer.score", "--run", run.directory, "--data", std::filesystem::absolute(rows).string()};
  for (const auto& [flag, value] : words.flags)
    if (flag != "--environment" && flag != "--cache") program.push_back(StrCat(flag, "=", value));
  return PrintTrainer(run.python, std::move(program), {}, call);
}

}  // namespace pipeline
