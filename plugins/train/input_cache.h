// Keeps the inputs of a training on this machine: CONTRACT.md, section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/train_job.h"

namespace pipeline {

class RowSupply;

/// Downloads the inputs of `job` that are in a bucket into its directory `kept`, and sets their directories
/// in `job`. Correct files are not downloaded again. Returns the rows, if they are in a bucket; else null.
Result<std::unique_ptr<RowSupply>> BringInputs(TrainJob& job, const PluginServices& call);

/// Downloads the objects below `from` that `manifest` lists and whose names begin with one of `prefixes`,
/// into a directory below `cache` that is named by their content; returns its path.
Result<std::string> BringArtifact(const std::string& from, const std::string& manifest,
                                  const std::vector<std::string>& prefixes, const std::string& cache,
                                  const std::string& what, const PluginServices& call);

/// An artifact in a bucket, and its directory on this machine, which belongs to the owner of this value.
struct ArtifactCopy {
  std::string from;  // URI above the names of `files`
  std::string what;  // for people: "the rows"
  std::string manifest;
  Json parsed;                   // `manifest`
  std::vector<FileFacts> files;  // all objects that the manifest lists
  std::string directory;         // named by the digest of the manifest
  FileDescriptor lock;
};
/// Reads the manifest, and waits for the directory.
Result<ArtifactCopy> LockArtifact(const std::string& from, const std::string& manifest,
                                  const std::string& cache, const std::string& what,
                                  const PluginServices& call);
/// Downloads these files of the artifact, and then the manifest. `moved`, if any: bytes downloaded since the
/// last call.
Status BringFiles(const ArtifactCopy& copy, std::vector<FileFacts> files, const PluginServices& call,
                  std::function<void(std::uint64_t bytes)> moved = {});

}  // namespace pipeline
