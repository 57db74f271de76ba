// Parses the JSON that `describe` replies into stage types and commands. Format: plugins/ABI.md.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

struct PluginWord {
  std::vector<std::string> flags;    // empty: a positional word
  std::string value;                 // empty: a flag without a value
  std::vector<std::string> choices;  // empty: any value
  std::string help;
  bool required = false;
  bool repeats = false;
};

struct PluginCommand {
  std::string name;
  std::string help;
  bool has_words = false;  // describes its words, so that the host answers --help
  std::vector<PluginWord> words = {};
  std::vector<PluginCommand> commands = {};  // its subcommands
};

/// Owns the texts that its stage types refer to: neither moves nor changes after parsing.
struct PluginDescription {
  std::vector<StageType> stages;  // of jobs, without hooks; named "PLUGIN.TYPE"
  std::vector<PluginCommand> commands;
  /// By stage type: the named inputs whose artifacts are verified before a job begins.
  std::map<std::string_view, std::vector<std::string_view>> verified_inputs;
  /// By stage type: the keys whose value may be the path of a file, whose digest enters the recipe.
  std::map<std::string_view, std::vector<std::string_view>> content_keys;
  std::deque<std::string> texts;  // the texts that the string_views of `stages` refer to

  PluginDescription() = default;
  PluginDescription(const PluginDescription&) = delete;
  PluginDescription& operator=(const PluginDescription&) = delete;

  /// The type with this name in the pipeline file; null: there is none.
  const StageType* Find(std::string_view plugin, std::string_view name) const;
};

/// kInvalidArgument names the missing, wrong or unknown member: "stages[0].keys[1].type: ...".
Result<std::unique_ptr<PluginDescription>> ParseDescription(std::string_view plugin, std::string_view json);

}  // namespace pipeline
