#include "plugins/train/input_cache.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/digest.h"
#include "base/str.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/fetch_files.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostManifest = 256 << 20;
constexpr const char* kManifest = "MANIFEST.json";

/// The file is whole or absent; after a crash it is fetched again.
Status WriteWhole(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".part";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) return SystemError(temporary, errno);
  }
  return std::rename(temporary.c_str(), path.c_str()) == 0 ? Status() : SystemError(path, errno);
}

}  // namespace

Result<std::string> BringArtifact(const std::string& from, const std::string& manifest,
                                  const std::string& prefix, const std::string& cache,
                                  const std::string& what, const HostCall& call) {
  const HostStorage storage = call.storage();
  ASSIGN_OR_RETURN(const std::string text, storage.Read(manifest, kMostManifest));
  const Result<Json> parsed = Json::Parse(text);
  if (!parsed.ok())
    return Status(Code::kDataLoss, StrCat(manifest, ": is not JSON: ", parsed.status().message()));
  FetchPlan plan;
  ASSIGN_OR_RETURN(plan.files, FilesOfManifest(*parsed, manifest));
  std::erase_if(plan.files, [&](const FileFacts& file) { return !file.name.starts_with(prefix); });
  plan.from = from;
  plan.what = what;
  // The whole manifest gives the name, so artifacts that differ in anything have directories of their own.
  plan.directory = StrCat(cache, "/", DigestOf(text).ToHex());
  const auto stopped = [&call] { return call.stopped(); };
  ASSIGN_OR_RETURN(const FileDescriptor lock, WaitForDirectory(plan.directory, stopped));
  const FetchMeans means{
      .storage = storage, .stopped = stopped, .tell = [&](std::uint64_t done, std::uint64_t of) {
        Json progress;
        progress["kind"] = "progress";
        progress["done"] = done;
        progress["of"] = of;
        progress["text"] = StrCat("bringing ", what, " here: ", HumanBytes(done), " of ", HumanBytes(of));
        call.Emit(progress);
      }};
  RETURN_IF_ERROR(FetchFiles(plan, means));
  RETURN_IF_ERROR(WriteWhole(StrCat(plan.directory, "/", kManifest), text));
  return plan.directory;
}

Status BringInputs(TrainJob& job, const HostCall& call) {
  const std::string cache = job.kept + "/inputs";
  if (IsElsewhere(job.data_uri)) {
    ASSIGN_OR_RETURN(job.data_dir,
                     BringArtifact(job.data_uri, job.data_manifest, "", cache, "the rows", call));
  }
  if (IsElsewhere(job.tokenizer_uri)) {
    ASSIGN_OR_RETURN(job.tokenizer_dir, BringArtifact(job.tokenizer_uri, job.tokenizer_manifest,
                                                      "tokenizer.model", cache, "the tokenizer", call));
  }
  return {};
}

}  // namespace pipeline
