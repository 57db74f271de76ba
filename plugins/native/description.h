// The stages and commands of a plugin. In JSON: plugins/ABI.md, section 6.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_entry.h"
#include "base/form_version.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Neither moves nor changes once a plugin has it, because its stage types are referred to.
struct PluginDescription {
  std::vector<StageType> stages;  // of jobs, without hooks; named "PLUGIN.TYPE"
  std::vector<CommandEntry> commands;
  /// By stage type: the named inputs whose artifacts are verified before a job begins.
  std::map<std::string_view, std::vector<std::string_view>> verified_inputs = {};
  /// By stage type: the keys whose value may be the path of a file, whose digest enters the recipe.
  std::map<std::string_view, std::vector<std::string_view>> content_keys = {};
  std::vector<FormVersion> forms = {};  // of its files, for `pipe plugins`; empty: unknown
  std::deque<std::string> texts = {};   // those texts of `stages` that are no constants

  /// The type with this name in the pipeline file; null: there is none.
  const StageType* Find(std::string_view plugin, std::string_view name) const {
    for (const StageType& type : stages)
      if (type.name.starts_with(plugin) && type.name.substr(plugin.size()).starts_with('.') &&
          type.name.substr(plugin.size() + 1) == name)
        return &type;
    return nullptr;
  }
};

}  // namespace pipeline
