// Loads a pipeline file by name and prints all its mistakes on standard error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/workspace/pipeline_words.h"
#include "cli/workspace/plugins.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// A pipeline file without mistakes. The graph refers to the spec, so neither moves.
struct LoadedPipeline {
  Registry registry;
  Plugins plugins;  // used by the file; the spec refers to their types
  PipelineSpec spec;
  Graph graph;

  explicit LoadedPipeline(Registry types);
  ~LoadedPipeline();
};

/// Why a file is loaded. It decides about plugins that the file names by a path, and about limits.memory of
/// more than this machine has.
enum class LoadPurpose : std::uint8_t {
  kRun,    // stages run here: loads these plugins; more memory is an error
  kWork,   // units that fit this machine run here: loads these plugins; the memory does not matter, and the
           // command that made the plan has told the warnings
  kOffer,  // stages run elsewhere: loads these plugins; more memory is a warning
  kCheck,  // nothing runs: loads these plugins with --allow-plugin only; more memory is a warning
  kRead,   // as kCheck; the memory does not matter
};

/// Null if the file cannot be read or has mistakes, which are printed. `text`: receives the content of the
/// file, unless null. `last`: the last stage that is wanted; other stages whose plugin is not installed are
/// left out then. Empty: all stages are wanted.
std::unique_ptr<LoadedPipeline> LoadPipeline(const PipelineOptions& options, LoadPurpose purpose,
                                             std::string* text = nullptr, const std::string& last = {});

/// The name in the pipeline file; empty: it cannot be read, or has none.
std::string NameOfPipeline(const std::string& file);

/// As LoadPipeline, from the text of a file called `options.file`.
std::unique_ptr<LoadedPipeline> LoadPipelineText(const std::string& text, const PipelineOptions& options,
                                                 LoadPurpose purpose, const std::string& last = {});

}  // namespace pipeline
