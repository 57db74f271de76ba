// Loads a pipeline file by name and prints all its mistakes on standard error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/terminal/options.h"
#include "cli/workspace/plugins.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/registry.h"

namespace pipeline {

/// A pipeline file without mistakes. The graph refers to the spec, so neither moves.
struct LoadedPipeline {
  Registry registry;
  Plugins plugins;  // used by the file; the spec refers to their types
  PipelineSpec spec;
  Graph graph;

  explicit LoadedPipeline(Registry types) : registry(std::move(types)) {}
};

/// Null if the file cannot be read or has mistakes, which are printed. `text`: receives the content of the
/// file, unless null.
std::unique_ptr<LoadedPipeline> LoadPipeline(const Options& options, std::string* text = nullptr);

/// As LoadPipeline, from the text of a file called `options.file`.
std::unique_ptr<LoadedPipeline> LoadPipelineText(const std::string& text, const Options& options);

/// --work, PIPE_WORK, or ./.pipe/NAME; for a --subset run a directory below it, so that the log of the
/// whole corpus is not affected.
std::string WorkPath(const Options& options, const PipelineSpec& spec);

/// The run log for a command that writes nothing; null after printing an error if it cannot be read.
std::unique_ptr<RunLog> LoadRunLog(const WorkDir& work);

}  // namespace pipeline
