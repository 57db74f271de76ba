#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/command_table.h"
#include "plugins/train/copied_checkpoints.h"
#include "plugins/train/model/checkpoint_copy.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/model/named_rows.h"
#include "plugins/train/model/named_run.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

/// Returns config.export of the job that the words ask for; null: the model alone.
Json ExportConfig(const CommandWords& words) {
  Json config;
  if (words.flags.contains("--int8")) config["int8"] = true;
  if (words.flags.contains("--gguf")) config["gguf"] = words.Flag("--gguf", "");
  if (words.flags.contains("--prune"))
    config["prune"] = std::strtod(words.Flag("--prune", "").c_str(), nullptr);
  return config;
}

Status CheckOut(const std::string& out) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat("--out: '", out, "' ", why));
  };
  std::error_code error;
  if (out.empty()) return wrong("names no directory");
  if (out.find("://") != std::string::npos)
    return wrong("must be a directory on this machine; copy it with `pipe cp` then");
  if (fs::symlink_status(out, error).type() != fs::file_type::not_found)
    return wrong("is there already; name another directory, or remove it");
  if (const fs::path above = fs::path(out).parent_path(); !above.empty() && !fs::is_directory(above, error))
    return wrong("has no directory above it yet; make that one");
  return {};
}

/// Makes room for a copy. kInvalidArgument: something else is there, or another export writes there.
Status ClearPart(const std::string& part) {
  std::error_code error;
  if (!fs::exists(part, error) || CheckpointCopy::RemoveLeft(part)) return {};
  return Status(Code::kInvalidArgument,
                StrCat(part,
                       ": is there, and is no copy that a killed `pipe export` has left; wait "
                       "for the one that writes it, remove it, or take another --out"));
}

}  // namespace

Status RunExport(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("export");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  if (words.alone.size() != 1 || !words.flags.contains("--out"))
    return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--step", 1, 1e15, true));
  RETURN_IF_ERROR(CheckNumber(words, "--prune", 0, 1, false));
  if (ExportConfig(words)["prune"].AsDouble() >= 1)
    return Status(Code::kInvalidArgument, "--prune: 1 would leave no weight");
  std::string out = words.Flag("--out", "");
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  RETURN_IF_ERROR(CheckOut(out));
  ASSIGN_OR_RETURN(const NamedTraining training, FindTraining(words.alone.front(), Meant::kFinished, call));
  ASSIGN_OR_RETURN(const std::string python, FindPythonFor(words));
  ASSIGN_OR_RETURN(const auto checkpoints, CheckpointsOfRun(training.uri, *call.storage));
  CheckpointUse use;
  ASSIGN_OR_RETURN(use.step, ChosenStep(training, checkpoints, WholeFlag(words, "--step"), call));
  use.split = kScoredSplit;
  use.exports = true;
  use.export_config = ExportConfig(words);
  const std::string place = words.Flag("--data", training.rows());
  Result<std::string> rows = FindRows(place, training.SplitsFor(use.split), CacheOf(words), call);
  if (!rows.ok() && !words.flags.contains("--data"))
    return Status(rows.status().code(), StrCat("the rows of the training, which the export is scored on: ",
                                               rows.status().message(), "; or name them with --data"));
  if (!rows.ok()) return rows.status();
  use.rows = fs::absolute(*rows).string();
  const std::string part = fs::absolute(out).string() + ".part";
  RETURN_IF_ERROR(ClearPart(part));
  ASSIGN_OR_RETURN(const CheckpointCopy copy,
                   CheckpointCopy::Make(training, use, part, CacheOf(words), call));
  RETURN_IF_ERROR(copy.Run(python, {}, call));
  std::error_code error;
  fs::rename(copy.Path("export"), out, error);
  if (error) return SystemError(out, error.value());
  return SyncFile(fs::absolute(out).parent_path().string());
}

}  // namespace pipeline
