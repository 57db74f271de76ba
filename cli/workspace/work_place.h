// The place of the runs of a pipeline: a directory, or a home in a bucket with its scratch on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/books/work_dir.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "storage/uri.h"

namespace pipeline {

struct WorkPlace {
  std::string home;                               // --work: a path, or the URI of a home in a bucket
  std::string scratch = {};                       // of a home in a bucket: a directory of this machine
  std::optional<std::uint64_t> most_cached = {};  // bytes of the scratch for copies; absent: the default

  bool is_remote() const { return IsRemote(home); }
  /// False: no run can have been there. A home in a bucket is not asked.
  bool may_exist() const;
  /// The directory of this machine: the work directory, or the scratch.
  WorkDir directory() const { return WorkDir(is_remote() ? scratch : home); }
};

/// --work, PIPE_WORK, or ./.pipe/NAME; of a home in a bucket, also --scratch, or ./.pipe/NAME.scratch, or one
/// beside it if another home has that (reads the disk). For a --subset run directories below these, so that
/// the log of the whole corpus is not affected.
WorkPlace WorkPlaceOf(const PipelineOptions& options, const PipelineSpec& spec);

/// OK: no artifact of `graph` is among the objects of the home, and the home is in none. kInvalidArgument
/// otherwise. Always OK for a directory.
Status CheckApart(const WorkPlace& place, const Graph& graph);

}  // namespace pipeline
