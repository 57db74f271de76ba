#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/object_files.h"
#include "plugins/train/train_job.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackedInfo = "packed.json";
constexpr std::uint64_t kMostInfo = 256 << 20;
constexpr std::string_view kValidation = "validation";  // the split of the program if none is named

/// True if the rows of a split need this file.
bool IsOfSplit(std::string_view name, std::string_view split) {
  return name == kPackedInfo || name == "tokenizer.model" || name.starts_with(StrCat(split, "-"));
}

Status NoRows(const std::string& place) {
  return Status(Code::kNotFound, StrCat(place, ": no packed rows: ", kPackedInfo,
                                        " is not there; name the location that a stage `write_packed` "
                                        "published to"));
}

/// Checks that the rows in `directory` have the split. `place`: their place as a person knows it.
Status CheckSplit(const std::string& directory, const std::string& place, const std::string& split,
                  const PluginServices& call) {
  const std::string path = fs::absolute(directory).string() + "/" + std::string(kPackedInfo);
  ASSIGN_OR_RETURN(const std::string text, ReadText(*call.storage, path, kMostInfo));
  const Result<Json> info = Json::Parse(text);
  if (!info.ok()) return Status(Code::kDataLoss, StrCat(path, ": is not JSON: ", info.status().message()));
  std::string all;
  for (const auto& [name, rows] : (*info)["splits"].AsObject()) {
    if (name == split) return {};
    all += StrCat(all.empty() ? "" : ", ", name);
  }
  return Status(Code::kNotFound, StrCat(place, ": has no split '", split, "'; it has ",
                                        all.empty() ? "none" : all, ": name one with --split"));
}

/// Brings the rows of one split here.
Result<std::string> BringRows(const std::string& place, const std::string& split, const std::string& cache,
                              const PluginServices& call) {
  ASSIGN_OR_RETURN(ArtifactCopy copy, LockArtifact(place, place + "/MANIFEST.json", cache, "the rows", call));
  if (std::none_of(copy.files.begin(), copy.files.end(),
                   [](const FileFacts& file) { return file.name == kPackedInfo; }))
    return NoRows(place);
  std::erase_if(copy.files, [&](const FileFacts& file) { return !IsOfSplit(file.name, split); });
  RETURN_IF_ERROR(BringFiles(copy, copy.files, call));
  RETURN_IF_ERROR(CheckSplit(copy.directory, place, split, call));
  return copy.directory;
}

/// Returns the directory of the rows on this machine.
Result<std::string> FindRows(std::string place, const CommandWords& words, const PluginServices& call) {
  const std::string split = words.Flag("--split", kValidation);
  if (IsElsewhere(place)) {
    while (place.ends_with('/')) place.pop_back();
    return BringRows(place, split, CacheOf(words), call);
  }
  std::error_code error;
  if (!fs::is_regular_file(fs::path(place) / kPackedInfo, error)) return NoRows(place);
  RETURN_IF_ERROR(CheckSplit(place, place, split, call));
  const std::string remedy = StrCat("look at all of it with `pipe verify ", place, "`, and publish it again");
  RETURN_IF_ERROR(CheckFiles(
      place, [&](std::string_view name) { return IsOfSplit(name, split); }, "rows", remedy, call));
  return place;
}

}  // namespace

Status RunEval(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("eval");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  if (words.alone.size() != 2) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--rows", 1, 1'000'000'000, true));
  if (words.flags.contains("--split") && words.Flag("--split", "").empty())
    return Status(Code::kInvalidArgument, "--split: must name a split");
  RETURN_IF_ERROR(CheckTarget(words, "--json"));
  ASSIGN_OR_RETURN(const NamedRun run, BringRun(words.alone.front(), words, call));
  ASSIGN_OR_RETURN(const std::string rows, FindRows(words.alone.back(), words, call));
  std::vector<std::string> asked = {"-m",     "pipe_trainer.score",       "--run", run.directory,
                                    "--data", fs::absolute(rows).string()};
  for (const auto& [flag, value] : words.flags)
    if (flag != "--environment" && flag != "--cache") asked.push_back(StrCat(flag, "=", value));
  return PrintTrainer(run.python, std::move(asked), {}, call);
}

}  // namespace pipeline
