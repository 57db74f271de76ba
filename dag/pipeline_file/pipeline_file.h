// Parses a pipeline file: YAML text becomes checked stages, or a list of every mistake in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/expectation.h"
#include "dag/pipeline_file/mistake.h"

namespace pipeline {

class Registry;
struct NamedInput;
struct StageType;

/// The value that the file gives to one named input.
struct NamedInputSpec {
  const NamedInput* named_input = nullptr;  // of the stage's type
  std::string value;                        // the name of a stage, or a path if the input takes files
  FilePosition at;                          // of the value
};

struct StageSpec {
  std::string name;
  const StageType* type = nullptr;  // owned by the registry
  Json config;        // every key of the type's table, defaults filled in; null if it has mistakes
  std::string input;  // name of the stage that it reads; empty: none
  std::vector<NamedInputSpec> named_inputs;  // only the given ones
  std::string out;                           // location that it publishes to; empty: it publishes nothing
  bool keep = false;                         // keep its output in the work directory
  bool rules_are_chosen = false;             // a plan chose its reading rules, not the file: reading_rules.h
  std::vector<Expectation> expect;
  FilePosition at;        // of its name
  FilePosition input_at;  // of the value of `input`
};

/// A stage type of a plugin.
struct PluginStageType {
  const StageType* type = nullptr;  // lives as long as the spec; null: the stage is left out
  std::string without = {};         // if `type` is null: as in UnseenStage
  std::string why = {};
};

/// A stage that was left out: its plugin must not be asked for its type, or it reads such a stage.
struct UnseenStage {
  std::string name;
  FilePosition at;      // of its name
  std::string without;  // what would bring it back: "--allow-plugin"
  std::string why;
};

struct PipelineSpec {
  std::string name;
  std::string file;                // as the user named it
  std::uint64_t memory_limit = 0;  // bytes; 4 GiB if the file does not give it
  std::optional<std::uint64_t> disk_limit;
  std::vector<StageSpec> stages;  // in the order of the file
  /// Values of the variables; `env:NAME` is a variable of the environment. Some may be secrets.
  std::map<std::string, std::string> variables;
  std::vector<UnseenStage> unseen;    // not in `stages`; their needs are unknown
  std::vector<std::string> warnings;  // e.g. a var that nothing uses
  std::vector<std::string> notes;     // what keys of stages stand for
};

struct ParseOptions {
  std::vector<std::pair<std::string, std::string>> set;  // --set NAME=V, stages.S.KEY=V, limits.KEY=V
  /// Reads the environment. Called only for names listed under `env:`.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// Returns the plugin's stage type `type`, for a stage with `plugin: NAME`. Empty: there are no plugins.
  std::function<Result<PluginStageType>(const std::string& plugin, const std::string& type)> plugin_stage =
      {};
};

/// Exactly one member is filled.
struct ParsedPipeline {
  std::optional<PipelineSpec> spec;
  std::vector<Mistake> mistakes;  // by position
};

/// Checks everything that the file alone determines: syntax, keys, types, names, inputs, cycles, flows and
/// columns (through spec/graph). Reads nothing but its arguments.
ParsedPipeline ParsePipeline(std::string_view text, std::string_view file, const Registry& registry,
                             const ParseOptions& options);

/// Prefix of the location of an artifact below artifacts/ of the work directory.
inline constexpr std::string_view kWorkLocation = "work:";

/// Returns the URI of a publishing stage's artifact. Empty: the stage has no `out`, or the name of the
/// location has the recipe.
std::string LocationOfStage(const StageSpec& spec);

}  // namespace pipeline
