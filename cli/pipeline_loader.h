// From the name of a pipeline file to its stages, with every mistake on standard error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/plugins.h"
#include "dag/run_log.h"
#include "dag/work_dir.h"
#include "spec/graph.h"
#include "spec/pipeline_file.h"
#include "spec/registry.h"

namespace pipeline {

/// A pipeline file that has no mistake. The graph refers to the spec, so neither moves.
struct LoadedPipeline {
  Registry registry;
  Plugins plugins;  // that the file names; the spec refers to their types
  PipelineSpec spec;
  Graph graph;

  explicit LoadedPipeline(Registry types) : registry(std::move(types)) {}
};

/// Null where the file cannot be read or has mistakes, after saying so. `text`, where given, gets what the
/// file holds.
std::unique_ptr<LoadedPipeline> LoadPipeline(const Options& options, std::string* text = nullptr);

/// The same from the text of a file called `options.file`.
std::unique_ptr<LoadedPipeline> LoadPipelineText(const std::string& text, const Options& options);

/// --work, PIPE_WORK, or ./.pipe/NAME; for a trial a directory below, so that it leaves no trace in the log
/// of the whole.
std::string WorkPath(const Options& options, const PipelineSpec& spec);

/// The run log for a command that writes nothing; null where it cannot be read, after saying so.
std::unique_ptr<RunLog> LoadRunLog(const WorkDir& work);

}  // namespace pipeline
