// Downloads files of a checkpoint from a bucket into a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// Decides about a file by its name in the checkpoint.
using FileTest = std::function<bool(const std::string& name)>;

/// Downloads the files of `marker` for which `wanted` is true (empty: all) into `directory`, with their
/// names; files that are there and correct are not downloaded again. `uri`: of checkpoints/. Errors as of
/// FetchFiles. Returns the bytes of these files.
Result<std::uint64_t> FetchCheckpoint(const CheckpointMarker& marker, const std::string& uri,
                                      const std::string& directory, const HostCall& call,
                                      const FileTest& wanted = {},
                                      const std::function<bool()>& given_up = {});

}  // namespace pipeline
