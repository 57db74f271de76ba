// The pipeline file: YAML text to checked stages, or every mistake in it at once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "spec/expectation.h"
#include "spec/mistake.h"
#include "spec/registry.h"

namespace pipeline {

/// What the file says of one of the type's ports.
struct PortSpec {
  const Port* port = nullptr;  // of the type
  std::string value;           // the name of a stage, or a path where the port takes files
  FilePosition at;             // of the value
};

struct StageSpec {
  std::string name;
  const StageType* type = nullptr;  // owned by the registry
  Json config;                      // every key of the type's table, defaults filled in; null while
                                    // it has mistakes
  std::string input;                // name of the stage it reads; empty for one without input
  std::vector<PortSpec> ports;      // those that are given
  std::string out;                  // where it publishes; empty for one that does not
  bool keep = false;                // materialise its output in the work directory
  std::vector<Expectation> expect;
  FilePosition at;        // of its name
  FilePosition input_at;  // of the value of `input`
};

/// A stage that was left out, since what it is was not asked of its plugin, or since it reads such a one.
struct UnseenStage {
  std::string name;
  FilePosition at;  // of its name
  std::string why;
};

struct PipelineSpec {
  std::string name;
  std::string file;                // as the user named it
  std::uint64_t memory_limit = 0;  // bytes; 4 GiB where the file does not say
  std::optional<std::uint64_t> disk_limit;
  std::vector<StageSpec> stages;  // in the order of the file
  /// What each variable stands for; `env:NAME` of the environment. There may be secrets among them.
  std::map<std::string, std::string> variables;
  std::vector<UnseenStage> unseen;    // in no list of stages; nothing is said of what they need
  std::vector<std::string> warnings;  // e.g. a var that nothing uses
};

struct ParseOptions {
  std::vector<std::pair<std::string, std::string>> set;  // --set NAME=V, stages.S.KEY=V, limits.KEY=V
  /// The environment; asked only for names listed under `env:`.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// The type that a plugin calls `type`, for a stage with `plugin: NAME`; lives as long as the spec.
  /// Null: the plugin must not be asked, and the stage is left out. Empty where there are no plugins.
  std::function<Result<const StageType*>(const std::string& plugin, const std::string& type)> plugin_stage =
      {};
};

/// Exactly one of the two is filled.
struct ParsedPipeline {
  std::optional<PipelineSpec> spec;
  std::vector<Mistake> mistakes;  // by position
};

/// Checks everything that the file alone can tell: syntax, keys, types, names, inputs, cycles,
/// flows and columns (through spec/graph). Reads nothing but its arguments.
ParsedPipeline ParsePipeline(std::string_view text, std::string_view file, const Registry& registry,
                             const ParseOptions& options);

}  // namespace pipeline
