#include "plugins/train/slice/host_digests.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

/// Of this program, its plugin, and the trainer's Python files.
Result<std::string> ProgramDigest(const fs::path& bundled) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(bundled / "pipe_trainer", error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".py") files.push_back(at->path());
  if (error) return SystemError(bundled.string(), error.value());
  std::sort(files.begin(), files.end());
  files.insert(files.begin(), {"/proc/self/exe", bundled.parent_path() / "pipe_train.so"});
  Hasher hasher;
  for (const fs::path& file : files) {
    const Result<std::string> content = ReadWholeFile(file);
    if (!content.ok()) continue;  // a plugin under another name
    hasher.Update(StrCat(file.filename().string(), " ", content->size(), " "));
    hasher.Update(*content);
  }
  return hasher.Finish().ToHex();
}

}  // namespace

Result<std::map<std::string, std::string>> HostDigests(const TrainJob& job,
                                                       const std::string& data_manifest) {
  const fs::path bundled = BundledDirectory();
  std::map<std::string, std::string> digests;
  ASSIGN_OR_RETURN(digests["program"], ProgramDigest(bundled));
  const EnvironmentMark mark = ReadMark(job.environment());
  digests["environment"] = mark.digest.empty() ? std::string("own") : StrCat(mark.digest, " ", mark.version);
  // If absent: numpy reads the rows, with the same result.
  const Result<std::string> reader = ReadWholeFile(bundled / "libpipe_reader.so");
  digests["reader"] = reader.ok() ? DigestOf(*reader).ToHex() : std::string("none");
  digests["recipe"] = job.recipe;
  digests["data"] = DigestOf(data_manifest).ToHex();
  return digests;
}

}  // namespace pipeline
