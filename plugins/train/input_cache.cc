#include "plugins/train/input_cache.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/fetch_files.h"
#include "plugins/train/object_files.h"
#include "plugins/train/rows/row_supply.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostManifest = 256 << 20;
constexpr const char* kManifest = "MANIFEST.json";

}  // namespace

Result<ArtifactCopy> LockArtifact(const std::string& from, const std::string& manifest,
                                  const std::string& cache, const std::string& what,
                                  const PluginServices& call) {
  ArtifactCopy copy;
  copy.from = from;
  copy.what = what;
  ASSIGN_OR_RETURN(copy.manifest, ReadText(*call.storage, manifest, kMostManifest));
  Result<Json> parsed = Json::Parse(copy.manifest);
  if (!parsed.ok())
    return Status(Code::kDataLoss, StrCat(manifest, ": is not JSON: ", parsed.status().message()));
  copy.parsed = std::move(*parsed);
  ASSIGN_OR_RETURN(copy.files, FilesOfManifest(copy.parsed, manifest));
  // The whole manifest gives the name, so artifacts that differ in anything have directories of their own.
  copy.directory = StrCat(cache, "/", DigestOf(copy.manifest).ToHex());
  ASSIGN_OR_RETURN(copy.lock, WaitForDirectory(copy.directory, [&call] { return call.stopped(); }));
  return copy;
}

Status BringFiles(const ArtifactCopy& copy, std::vector<FileFacts> files, const PluginServices& call,
                  std::function<void(std::uint64_t bytes)> moved) {
  const PluginStorage& storage = *call.storage;
  const FetchPlan plan{copy.from, std::move(files), copy.directory, copy.what};
  const FetchMeans means{
      .storage = storage,
      .stopped = [&call] { return call.stopped(); },
      .tell = [&](std::uint64_t done, std::uint64_t of) { TellBringing(call, copy.what, done, of); },
      .moved = std::move(moved)};
  RETURN_IF_ERROR(FetchFiles(plan, means));
  // After a crash it is fetched again.
  return WriteWholeFile(StrCat(copy.directory, "/", kManifest), copy.manifest, Durability::kSeen);
}

Result<std::string> BringArtifact(const std::string& from, const std::string& manifest,
                                  const std::vector<std::string>& prefixes, const std::string& cache,
                                  const std::string& what, const PluginServices& call) {
  ASSIGN_OR_RETURN(ArtifactCopy copy, LockArtifact(from, manifest, cache, what, call));
  std::erase_if(copy.files, [&](const FileFacts& file) {
    return std::none_of(prefixes.begin(), prefixes.end(),
                        [&](const std::string& prefix) { return file.name.starts_with(prefix); });
  });
  RETURN_IF_ERROR(BringFiles(copy, copy.files, call));
  return copy.directory;
}

Result<std::unique_ptr<RowSupply>> BringInputs(TrainJob& job, const PluginServices& call) {
  std::unique_ptr<RowSupply> rows;
  if (IsElsewhere(job.data_uri)) {
    ASSIGN_OR_RETURN(rows, RowSupply::Open(job, call));
    job.data_dir = rows->directory();
  }
  if (IsElsewhere(job.tokenizer_uri)) {
    ASSIGN_OR_RETURN(job.tokenizer_dir,
                     BringArtifact(job.tokenizer_uri, job.tokenizer_manifest, {job.tokenizer_file},
                                   job.kept + "/inputs", "the tokenizer", call));
  }
  if (IsElsewhere(job.init_uri)) {
    // `config.json` tells the trainer why a run has no export.
    ASSIGN_OR_RETURN(job.init_from, BringArtifact(job.init_uri, job.init_manifest, {"export/", "config.json"},
                                                  job.kept + "/inputs", "the model to begin with", call));
  }
  return rows;
}

}  // namespace pipeline
