#include "plugins/train/model/named_rows.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/str.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/model_file.h"
#include "plugins/train/object_files.h"
#include "plugins/train/rows/row_facts.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

/// Returns true for the file that tells the kind of the rows.
bool IsRowInfo(std::string_view name) { return name == kRowsInfo || name == kPairsInfo; }

/// True if the rows of these splits need this file.
bool IsOfSplits(std::string_view name, const std::vector<std::string>& splits) {
  return IsRowInfo(name) || IsTokenizerFile(name) ||
         std::any_of(splits.begin(), splits.end(),
                     [&](const std::string& split) { return name.starts_with(StrCat(split, "-")); });
}

Status NoRows(const std::string& place) {
  return Status(Code::kNotFound,
                StrCat(place, ": no packed rows and no pairs of sentences: neither ", kRowsInfo, " nor ",
                       kPairsInfo, " is there; name the location that a stage `", kRowsMaker, "` or `",
                       kPairsMaker, "` published to"));
}

/// Checks that the rows in `directory` have the splits. `place`: their place as a person knows it.
Status CheckSplits(const std::string& directory, const std::string& place,
                   const std::vector<std::string>& splits, const PluginServices& call) {
  const std::string path = fs::absolute(directory).string();
  const Result<RowFacts> rows = ReadRowFacts(path, path + "/MANIFEST.json", ReaderOf(*call.storage));
  if (!rows.ok()) return rows.status().code() == Code::kNotFound ? NoRows(place) : rows.status();
  const Json& there = rows->facts["splits"];
  std::string all;
  for (const auto& [name, totals] : there.AsObject()) all += StrCat(all.empty() ? "" : ", ", name);
  for (const std::string& split : splits)
    if (!there.Has(split))
      return Status(Code::kNotFound, StrCat(place, ": has no split '", split, "'; it has ",
                                            all.empty() ? "none" : all, ": name one with --split"));
  return {};
}

Result<std::string> BringRows(const std::string& place, const std::vector<std::string>& splits,
                              const std::string& cache, const PluginServices& call) {
  ASSIGN_OR_RETURN(ArtifactCopy copy, LockArtifact(place, place + "/MANIFEST.json", cache, "the rows", call));
  if (std::none_of(copy.files.begin(), copy.files.end(),
                   [](const FileFacts& file) { return IsRowInfo(file.name); }))
    return NoRows(place);
  std::erase_if(copy.files, [&](const FileFacts& file) { return !IsOfSplits(file.name, splits); });
  RETURN_IF_ERROR(BringFiles(copy, copy.files, call));
  RETURN_IF_ERROR(CheckSplits(copy.directory, place, splits, call));
  return copy.directory;
}

}  // namespace

Result<std::string> FindRows(std::string place, const std::vector<std::string>& splits,
                             const std::string& cache, const PluginServices& call) {
  if (IsElsewhere(place)) {
    while (place.ends_with('/')) place.pop_back();
    return BringRows(place, splits, cache, call);
  }
  RETURN_IF_ERROR(CheckSplits(place, place, splits, call));
  const std::string remedy = StrCat("look at all of it with `pipe verify ", place, "`, and publish it again");
  RETURN_IF_ERROR(CheckFiles(
      place, [&](std::string_view name) { return IsOfSplits(name, splits); }, "rows", remedy, call));
  return place;
}

}  // namespace pipeline
