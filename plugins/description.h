// What a plugin says that it has: the JSON of `describe` as stage types and commands. Format: plugins/ABI.md.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/registry.h"

namespace pipeline {

struct PluginWord {
  std::vector<std::string> flags;    // none: it is told by its place
  std::string value;                 // empty: a flag without one
  std::vector<std::string> choices;  // none: anything
  std::string help;
  bool required = false;
  bool repeats = false;
};

struct PluginCommand {
  std::string name;
  std::string help;
  bool has_words = false;  // says its words, so that the host answers --help
  std::vector<PluginWord> words = {};
  std::vector<PluginCommand> commands = {};  // that stand behind it
};

/// Owns what its stage types point at: neither moves nor changes once parsed.
struct PluginDescription {
  std::vector<StageType> stages;  // without `make` and `check`; named "PLUGIN.TYPE"
  std::vector<PluginCommand> commands;
  /// By the name of the stage type: ports whose artifacts are verified before a job begins.
  std::map<std::string_view, std::vector<std::string_view>> verified_ports;
  std::deque<std::string> texts;  // what the string_views of `stages` refer to

  PluginDescription() = default;
  PluginDescription(const PluginDescription&) = delete;
  PluginDescription& operator=(const PluginDescription&) = delete;

  /// The type that `type:` calls `name`; null where there is none.
  const StageType* Find(std::string_view plugin, std::string_view name) const;
};

/// kInvalidArgument naming the member that is missing, wrong or unknown: "stages[0].keys[1].type: ...".
Result<std::unique_ptr<PluginDescription>> ParseDescription(std::string_view plugin, std::string_view json);

}  // namespace pipeline
