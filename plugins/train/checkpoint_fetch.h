// Downloads files of a checkpoint from a bucket, and makes them a checkpoint of this disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// Decides about a file by its name in the checkpoint.
using FileTest = std::function<bool(const std::string& name)>;

/// Downloads the files of `marker` for which `wanted` is true (empty: all) into `directory`, with their
/// names; files that are there and correct are not downloaded again. `uri`: of checkpoints/. Errors as of
/// FetchFiles. Returns the bytes of these files.
Result<std::uint64_t> FetchCheckpoint(const CheckpointMarker& marker, const std::string& uri,
                                      const std::string& directory, const PluginServices& call,
                                      const FileTest& wanted = {},
                                      const std::function<bool()>& given_up = {});

/// With the id of a checkpoint behind it: the directory of the run directory into which it is downloaded.
inline constexpr const char* kIncoming = "incoming-";

/// True if the failure to open or to fetch a checkpoint shows that it can never be used.
inline bool IsUseless(const Status& failure) {
  return failure.code() == Code::kDataLoss || failure.code() == Code::kNotFound;
}

/// Replaces checkpoints/STEP of the run directory by the directory `incoming`, with `list` as STEP.json. A
/// kill leaves no new directory without its list.
Status InstallCheckpoint(const RunDirectory& run, std::int64_t step, const Json& list,
                         const std::string& incoming);

}  // namespace pipeline
