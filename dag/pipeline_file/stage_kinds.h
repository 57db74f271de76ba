// The kinds of stages: the factory of each, and the hooks that no other kind has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/local_input.h"
#include "dag/pipeline_file/stage_context.h"

namespace pipeline {

class BarrierStage;
class JobStage;
class ReaderStage;
class SinkStage;
class SourceStage;
class Transform;

template <class Stage>
using StageFactory = std::function<Result<std::unique_ptr<Stage>>(const StageContext&)>;

/// Lists the files that a Source reads. It has no records, and no unit runs it.
struct FileListKind {
  std::function<Result<std::vector<LocalInput>>(const Json& config)> local_inputs;
};

/// Opens the files that a FileListKind lists, and gives their records.
struct SourceKind {
  StageFactory<SourceStage> make = {};
  /// Checks whether it can read files of these names, before a run starts anything. Empty: it can read any
  /// file.
  std::function<Status(const Json& config, const std::vector<std::string>& files)> check_inputs = {};
  /// Returns the values that it takes from the name of each file; they enter the recipe. Empty, or an empty
  /// result: file names do not matter.
  std::function<std::vector<std::string>(const Json& config, const std::vector<std::string>& files)>
      taken_from_names = {};
};

struct TransformKind {
  StageFactory<Transform> make = {};
};

struct ReaderKind {
  StageFactory<ReaderStage> make = {};
};

struct SinkKind {
  StageFactory<SinkStage> make = {};
};

struct BarrierKind {
  StageFactory<BarrierStage> make = {};
};

struct JobKind {
  StageFactory<JobStage> make = {};
};

}  // namespace pipeline
